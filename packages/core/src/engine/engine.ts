/**
 * Drives one run until it ends or only waiting is left.
 *
 * engine.1. Durable before visible: a call settles only from an entry of the journal, never from work directly.
 * engine.2. One settlement is delivered at a time, and microtasks are drained before the next (law 4).
 * engine.3. Work starts, and waits open, only when nothing is deliverable.
 * engine.4. Suspension never throws: when only waiting is left, the loop appends a park and releases the run.
 * engine.5. When the workflow function has settled, work that still runs gets a bounded time, then the end is recorded.
 * engine.6. Once the run is blocked, lost or ended, nothing is written, except the outcome of work that was already
 *     running when the run became blocked.
 */

import type { Json } from "../values/codec/tags.ts";
import type { Fact } from "../journal/entry.ts";
import { traitsOf } from "../journal/kinds.ts";
import { DurableError } from "../values/errors.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { World } from "../ports/world.ts";
import { Budgets } from "./budget.ts";
import { Changes } from "./changes.ts";
import { Ending } from "./ending.ts";
import { EffectsOff } from "./evals.ts";
import { FreshCalls } from "./fresh-calls.ts";
import { InFlight, Verdicts } from "./verdicts.ts";
import type { CallEngine } from "./calls/call.ts";
import { CallRegistry, type Asked, type Call, type Entered } from "./registry.ts";
import { after, begun, stopOf, type Phase } from "./phase.ts";
import {
  type Driving,
  type EngineOptions,
  type Finish,
  type OnReplayEnd,
  type ReplayEnd,
  type Stop,
  type Undoable,
  abortReason,
  failure,
  isParked,
  parkOf,
} from "./stop.ts";
import { News } from "./news.ts";
import { Outbox } from "./outbox.ts";
import { Signal } from "./promise.ts";
import { Replay, type Settlement } from "./replay.ts";
import { Placement } from "./placement.ts";
import type { Rename } from "./renames.ts";
import { Timers } from "./timers.ts";

/** How long replay waits for the call of an uncalled settlement, once per drive. */
const graceMs = 30;
/** After this many rounds the event loop gets a turn, so that a long replay does not starve other work. */
const roundsPerTurn = 512;

export class Engine implements ReplayEnd, CallEngine {
  readonly options: EngineOptions;
  readonly journal: RunJournal;
  readonly world: World;
  readonly replay = new Replay();
  readonly calls: CallRegistry;
  readonly ending = new Ending(this);
  readonly undoables = new Map<string, Undoable>();
  readonly budgets = new Budgets(this);
  readonly off: EffectsOff | null;
  readonly unwritten = new Set<() => void>();
  readonly timers: Timers;
  readonly inFlight = new InFlight(() => this.wake());
  readonly verdicts = new Verdicts(this.inFlight);
  readonly #outbox: Outbox;
  readonly placement: Placement;
  readonly #changes = new Changes(this);
  readonly #news: News;
  #given: Driving = { patienceMs: 0 };
  readonly #fresh = new FreshCalls(this.replay, (call) => this.#begin(call));
  #phase: Phase = { kind: "driving" };
  /** The code is in a turn that the loop gave it, may be running because it got an outcome or has made a call, or is still. */
  #code: "in turn" | "moving" | "still" = "in turn";
  /** Called once per drive, when nothing is left to replay. */
  #onReplayEnd: OnReplayEnd | null = null;
  #graceSpent = false;
  #imagined = 0;
  readonly #signal = new Signal();

  constructor(options: EngineOptions) {
    this.options = options;
    this.journal = options.journal;
    this.world = options.world;
    this.off = options.off ? new EffectsOff(options.off, this.journal, this.replay) : null;
    this.calls = new CallRegistry(this.journal.runId, this.replay, this.world, !options.lease.owned);
    this.placement = new Placement(this.journal.runId, this.world);
    this.timers = new Timers(this.world, () => this.wake());
    this.#outbox = new Outbox(
      { ...options, verdicts: this.verdicts },
      {
        learn: () => this.learn(),
        stopped: (kind) => this.#end({ kind }),
        failed: (error) => this.#fail(error),
      },
    );
    this.timers.deadline = this.journal.state.endsBy;
    this.replay.clock = this.journal.clock;
    this.#news = new News(this.journal, this.replay.learnAll(this.journal.entries));
  }

  /** Accepts a call, or returns null: its promise then stays pending forever. */
  enter(asked: Asked): Entered | null {
    this.placement.check(asked);
    if (asked.scope.closed || this.#isBlocked) return null;
    if (stopOf(this.#phase) !== null && !this.#revived()) {
      if (this.finished) this.placement.afterEnd(asked);
      return null;
    }
    const entered = this.calls.enter(asked, this.#code === "in turn" || asked.own === true);
    if (!(entered instanceof DurableError)) return entered;
    this.block(entered);
    return null;
  }

  /** Makes a call known to the loop. */
  add(call: Call, name: string): void {
    this.calls.add(call, name);
    this.queue(call);
  }

  /** The call begins when the loop comes to it, in this drive or the next one. */
  queue(call: Call): void {
    this.#fresh.list.push(call);
    if (this.#code === "in turn") return;
    this.#code = "moving";
    this.wake();
  }

  /** Queues a fact for the next append. */
  write(fact: Fact<Json>): void {
    if (!this.#mayWrite(fact)) return;
    if (fact.kind !== "stream.chunks") for (const flush of this.unwritten) flush();
    if (fact.kind === "cleanup.opened") this.#fresh.registered = fact.key;
    if (this.calls.inspects && "kept" in fact) this.#imagine(fact);
    else this.#outbox.push(this.#changes.marked(fact));
    this.wake();
  }

  /** A replay that writes nothing sees a kept outcome as if it were recorded. */
  #imagine(fact: Fact<Json>): void {
    const seq = this.journal.seq + ++this.#imagined;
    this.replay.learn({ ...fact, seq, at: this.world.now(), outside: false });
  }

  writeWithNext(fact: Fact<Json>): void {
    this.#outbox.writeWithNext(fact);
  }

  withdraw(fact: Fact<Json>): void {
    this.#outbox.withdraw(fact);
  }

  /** The run cannot continue with this code or configuration. */
  block(error: DurableError): void {
    this.#enter({ kind: "blocked", error });
  }

  /** The workflow function has settled. */
  finish(finish: Finish): void {
    this.ending.settle(finish);
    // The code has ended in time. A deadline that passes now must not wake the loop again and again.
    this.timers.deadline = null;
    this.#move();
    this.wake();
  }

  /** Code of the run is called now, by a call that begins: what it calls belongs to this turn. */
  enterTurn(): void {
    this.#code = "in turn";
  }

  /** A stream waits for the code: the run may be parked meanwhile, and goes on with what comes next. */
  rest(): () => void {
    this.inFlight.resting += 1;
    this.wake();
    return () => {
      this.inFlight.resting -= 1;
      this.#revived();
    };
  }

  /** Hands the run over: no further work begins here, and work under way is recorded first. */
  leave(): void {
    this.#enter({ kind: "leaving" });
  }

  /** The one place where the phase changes, but for the begin of a drive. */
  #enter(phase: Phase): void {
    this.#phase = after(this.#phase, phase);
    this.wake();
  }

  /** Only waiting was left, and the run was released. */
  get parked(): boolean {
    return this.#phase.kind === "parked";
  }

  /** The drive has stopped: nothing more is written. */
  get stopped(): boolean {
    return this.#phase.kind === "stopped";
  }

  get finished(): boolean {
    return this.ending.finish !== null;
  }

  /** The run undoes its work. */
  get undoing(): boolean {
    return this.ending.undo !== null;
  }

  get unsure(): Iterable<Rename> {
    return this.#changes.unsure.values();
  }

  preview(): boolean {
    const known = this.#imagined;
    this.#fresh.list = this.#changes.judge(this.#fresh.list, "at once") ?? [];
    return this.#imagined > known;
  }

  get thrown(): Finish["thrown"] {
    return this.ending.finish?.thrown;
  }

  /** A call may begin in this drive, also one that a workflow which has ended does not await. */
  get mayBegin(): boolean {
    return this.#phase.kind === "driving" && !this.ending.over;
  }

  /** An attempt may start, and a child be driven: the code still waits for it. */
  get mayStart(): boolean {
    return this.mayBegin && !this.finished;
  }

  #mayWrite(fact: Fact<Json>): boolean {
    if (stopOf(this.#phase) !== null || (this.#isBlocked && !traitsOf(fact).paid)) return false;
    return this.ending.accepts(fact);
  }

  /** It is blocked, or stopped because it was. */
  get #isBlocked(): boolean {
    const { kind } = stopOf(this.#phase) ?? this.#phase;
    return kind === "blocked" || (this.#phase.kind === "parked" && this.#phase.error !== undefined);
  }

  /**
   * Processes what the journal has learned since: entries from outside, and our own that have become durable. Others in
   * this process may have appended through the same journal, so news is found in its entries, and not by who appended.
   */
  learn(): void {
    for (const entry of this.#news.take()) {
      this.replay.learn(entry);
      this.calls.notify(entry);
      this.options.watch.observer?.learned(entry);
    }
    this.wake();
  }

  /** Something changed: the loop checks again. */
  wake(): void {
    this.#signal.set();
  }

  /** Runs to the next stop. The workflow function was just called, and is in its first turn, or it was parked. */
  async drive(given: Driving): Promise<Stop> {
    const { lease } = this.options;
    this.#given = given;
    this.#onReplayEnd = given.onReplayEnd ?? null;
    this.#phase = begun(this.#phase);
    this.#move();
    this.learn();
    lease.start(this.journal, {
      moved: () => this.learn(),
      lost: () => this.#end({ kind: "lost" }),
      failed: (error) => this.#fail(error),
    });
    try {
      for (let rounds = 1; ; rounds++) {
        const stop = stopOf(this.#phase);
        if (stop !== null) return stop;
        if (rounds % roundsPerTurn === 0) await this.world.turn();
        else if (this.#code !== "still") await this.world.drain();
        this.#code = "still";
        await this.#round(this.#phase);
      }
    } finally {
      this.ending.stop();
      this.#changes.clear();
      this.timers.clear();
      lease.stop();
      const reason = abortReason(this.journal, stopOf(this.#phase) ?? { kind: "left" }, this.inFlight.idle);
      if (reason !== null) this.ending.abort(reason);
    }
  }

  /** Checks the run once, when its code is still. */
  async #round(phase: Phase): Promise<void> {
    if (phase.kind === "broken") throw phase.error;
    if (this.#news.isOver) return this.#end({ kind: "lost" });
    if (this.journal.state.end !== null) return this.#end({ kind: "ended" });
    if (phase.kind === "blocked") return this.#settleWork(phase);
    const next = this.replay.next(this.ending.codeEnd);
    if (next === null) return this.#idle();
    const { settlement } = next;
    const call = this.calls.get(settlement.key);
    // One that its deadline has settled is kept only for those who inspect a replay: it gets no second outcome.
    if (next.kind !== "uncalled")
      return call?.settled === false && !call.scope.closed ? this.#settle(call, settlement) : undefined;
    if (this.#graceSpent || this.calls.isClosed(settlement.key)) return this.replay.pass();
    // Changed code or a foreign await. The call may still come, and is then answered first.
    this.#graceSpent = await this.#signal.silence(this.world, graceMs);
  }

  /** A fork of an eval begins nothing that has effects. */
  #begin(call: Call): void {
    const judged = this.off?.judge(call, this.world.now()) ?? null;
    if (judged === null) call.begin();
    else if (judged instanceof DurableError) this.finish(failure(judged, this.journal.runId));
    else this.write(judged);
  }

  #settle(call: Call, settlement: Settlement): void {
    this.replay.deliver(settlement);
    this.timers.cancel(call);
    this.enterTurn();
    call.settle(settlement);
  }

  /** Nothing is deliverable: place the answer, start work, open waits, append, park or wait. */
  async #idle(): Promise<void> {
    const { lease } = this.options;
    // Another caller in this process has appended through the same journal, and the code has not seen it yet.
    if (this.#news.waits) return this.learn();
    if (this.#onReplayEnd !== null) {
      const next = await this.#onReplayEnd(this);
      if (next !== "again") this.#onReplayEnd = null;
      if (next === "leave" && !this.#isBlocked) this.#end({ kind: "left" });
      return;
    }
    // Entries that came while the lease was expired are processed before anything begins.
    if (!lease.valid) return void (await lease.renew());
    // The function may have ended with calls that it does not await: the next driver begins them.
    const open = !this.finished || this.#fresh.list.length > 0 || this.ending.frozen;
    if (this.ending.isPaused || (this.#phase.kind === "leaving" && open))
      return this.#settleWork({ kind: "left" });
    if (this.ending.frozen) return this.#freeze();
    const { deadline } = this.timers;
    if (deadline !== null && !this.finished && deadline <= this.world.now()) return this.#expire(deadline);
    const judged = this.#changes.judge(this.#fresh.list);
    if (judged === null) return this.#pause();
    this.#fresh.begin(judged, () => this.#isBlocked);
    // A clean-up has begun, and may make its first calls in this turn.
    if (this.#code === "in turn") return;
    this.verdicts.flush();
    this.timers.fire();
    if (this.#idleWork && !this.#outbox.appending) return this.#rest();
    if (this.finished && !this.ending.isLate) this.ending.linger();
    await this.#pause();
  }

  /** The deadline of the run has passed: nothing more begins, and the run fails once what came before is recorded. */
  async #expire(deadline: number): Promise<void> {
    // An answer to an open wait was recorded before. Its verdict may still let the code end.
    this.#fresh.beginAsked(() => this.#isBlocked);
    this.verdicts.flush();
    if (this.verdicts.pending || this.#outbox.appending || this.#outbox.size > 0) return this.#pause();
    const failing = this.ending.expire(deadline, this.calls);
    if (failing !== null) return this.#outbox.append(failing);
    this.timers.deadline = null;
    this.#move();
  }

  /** The code is over: work under way is recorded, then what the run has begun is undone. */
  async #freeze(): Promise<void> {
    this.timers.deadline = null;
    this.#outbox.keepPaid();
    this.verdicts.flush();
    if (this.ending.isBehind(this)) return this.#pause();
    if (!this.ending.close(this.#idleWork && !this.#outbox.appending && this.#outbox.size === 0))
      return this.#pause();
    this.#fresh.drop();
    this.enterTurn();
    this.ending.undo = await this.options.undo();
  }

  #move(): void {
    if (this.#code === "still") this.#code = "moving";
  }

  /** Writes what is queued, and waits for something to happen. */
  async #pause(): Promise<void> {
    if (this.#outbox.size > 0) this.#outbox.flush();
    await this.#signal.wait();
  }

  /** No work is under way that the run waits for. */
  get #idleWork(): boolean {
    return this.ending.isIdle(this.inFlight);
  }

  /** No work is under way and no append is in flight: write the queue, with a park or an end if the run stops here. */
  async #rest(): Promise<void> {
    const { size, settles } = this.#outbox;
    const { finish } = this.ending;
    if (!settles && finish !== null) return this.#complete(finish);
    const patient = this.timers.endsWithin(this.#given.patienceMs) || this.#fresh.list.length > 0;
    const waits = this.timers.waiting > 0;
    if (finish === null && waits && !patient && !settles) return this.#park(size === 0);
    if (size > 0) return this.#outbox.append(null);
    if (waits) this.options.lease.watch();
    await this.#signal.wait();
  }

  /** A run that is already parked until the same time needs no second entry. */
  async #park(alone: boolean): Promise<void> {
    const park = parkOf(this);
    // What is queued stays unwritten: a wait that is opened under its new name could not be given its old one.
    if (park instanceof DurableError) return this.#changes.isStill ? this.block(park) : this.#signal.wait();
    if (alone && isParked(this.journal, park)) return this.#end({ kind: "suspended" });
    await this.#outbox.append(park);
  }

  async #complete(finish: Finish): Promise<void> {
    const end = this.ending.factOf(finish, this);
    const { position } = this.journal;
    if (end instanceof DurableError) return this.block(end);
    // A chapter begins with a batch of its own.
    if (end.kind === "run.continued" && this.#outbox.holds) return this.#outbox.append(null);
    if (traitsOf(end).ends) await this.options.reportEnd(end);
    // Entries that came meanwhile, such as a cancel, are taken into account first.
    if (this.journal.position === position) await this.#outbox.append(end);
  }

  /** Stops once the work under way is recorded. */
  async #settleWork(stop: Stop): Promise<void> {
    // Without the lease it only reads: what follows from recorded answers, the driver of the run writes.
    if (this.calls.inspects) return this.#end(stop);
    if (stop.kind === "blocked" || this.ending.frozen) this.#outbox.keepPaid();
    this.verdicts.flush();
    if (this.#idleWork && !this.#outbox.appending && this.#outbox.size === 0) return this.#end(stop);
    await this.#pause();
  }

  #end(stop: Stop): void {
    this.#enter(stop.kind === "suspended" ? { kind: "parked" } : { kind: "stopped", stop });
  }

  #fail(error: unknown): void {
    if (DurableError.is(error, "journal-regressed")) return this.block(error);
    this.#enter({ kind: "broken", error });
  }

  /** A foreign await ended after the run was parked: the same execution of the function continues. */
  #revived(): boolean {
    if (!this.parked) return false;
    this.#phase = begun(this.#phase);
    this.options.revive();
    return true;
  }
}
