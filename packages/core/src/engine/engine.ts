/**
 * Drives one run until it ends or only waiting is left.
 *
 * engine.1. Durable before visible: a call settles only from an entry of the journal, never from work directly.
 * engine.2. One settlement is delivered at a time, and microtasks are drained before the next (law 4).
 * engine.3. Work starts, and waits open, only when nothing is deliverable.
 * engine.4. Suspension never throws: the loop notices that only waiting is left, parks by an append, and lets go.
 * engine.5. Once the run is blocked, lost or ended nothing is written, but for the outcome of work that was
 *     already running when it was found to be blocked.
 */

import type { Json } from "../values/codec/tags.ts";
import type { Entry, Fact } from "../journal/entry.ts";
import { traitsOf } from "../journal/kinds.ts";
import { DurableError } from "../values/errors.ts";
import type { RunJournal } from "../journal/journal.ts";
import { stepAsked } from "../journal/keys.ts";
import type { World } from "../ports/world.ts";
import { InFlight } from "./in-flight.ts";
import type { CallEngine } from "./calls/call.ts";
import { CallRegistry, type Asked, type Call, type Entered } from "./registry.ts";
import {
  abortReason,
  endOf,
  isParked,
  parkOf,
  type Driving,
  type ReplayEnd,
  type EngineOptions,
  type Finish,
  type Stop,
} from "./stop.ts";
import { Outbox } from "./outbox.ts";
import { Signal } from "./promise.ts";
import { Replay, type Settlement } from "./replay.ts";
import { Scope } from "./scope.ts";
import { Timers } from "./timers.ts";

/** How long a recorded entry that nobody asked for is waited for, once per drive. */
const graceMs = 30;
/** Then the event loop gets a turn: a long replay starves nobody. */
const roundsPerTurn = 512;

export class Engine implements ReplayEnd, CallEngine {
  readonly options: EngineOptions;
  readonly journal: RunJournal;
  readonly world: World;
  readonly replay = new Replay();
  readonly calls: CallRegistry;
  readonly root = new Scope();
  readonly timers: Timers;
  readonly inFlight = new InFlight(() => this.wake());
  readonly #outbox: Outbox;
  /** Entries of the journal that have been learned. */
  #learned = 0;
  #given: Driving = { patienceMs: 0 };
  #fresh: Call[] = [];
  #inTurn = true;
  #graceSpent = false;
  #replayEnded = false;
  #leaving = false;
  #finish: Finish | null = null;
  #blocked: DurableError | null = null;
  #stop: Stop | null = null;
  #failure: { readonly error: unknown } | null = null;
  readonly #signal = new Signal();

  constructor(options: EngineOptions) {
    this.options = options;
    this.journal = options.journal;
    this.world = options.world;
    this.calls = new CallRegistry(this.journal.runId, this.replay, this.world);
    this.timers = new Timers(this.world, () => this.wake());
    this.#outbox = new Outbox(
      { ...options, inFlight: this.inFlight },
      {
        learn: (entries) => this.learn(entries),
        stopped: (kind) => this.#end({ kind }),
        failed: (error) => this.#fail(error),
      },
    );
    for (const entry of this.journal.entries) this.replay.learn(entry);
    this.#learned = this.journal.entries.length;
  }

  /** Lets a call in, or answers null: its promise then stays pending for good. */
  enter(asked: Asked): Entered | null {
    if (asked.scope.closed || this.#blocked !== null) return null;
    if (this.#stop !== null && !this.#revived()) return null;
    const entered = this.calls.enter(asked, this.#inTurn || asked.own === true);
    if (!(entered instanceof DurableError)) return entered;
    this.block(entered);
    return null;
  }

  /** Makes a call known to the loop. */
  add(call: Call, name: string): void {
    this.calls.add(call, name);
    this.queue(call);
  }

  /** The call begins when the loop comes to it, here or wherever the run is driven next. */
  queue(call: Call): void {
    this.#fresh.push(call);
    if (!this.#inTurn) this.wake();
  }

  /** Queues a fact for the next append. */
  write(fact: Fact<Json>): void {
    if (this.#stop !== null || (this.#blocked !== null && !traitsOf(fact).paid)) return;
    this.#outbox.push(fact);
    this.wake();
  }

  writeWithNext(fact: Fact<Json>): void {
    this.#outbox.writeWithNext(fact);
  }

  /** The run cannot go on here. */
  block(error: DurableError): void {
    this.#blocked ??= error;
    this.wake();
  }

  /** The workflow function has settled. */
  finish(finish: Finish): void {
    this.#finish = finish;
    this.wake();
  }

  /** Hands the run on: no further work begins here, and what is under way is recorded first. */
  leave(): void {
    this.#leaving = true;
    this.wake();
  }

  /** Only waiting was left, and the run was let go. */
  get parked(): boolean {
    return this.#stop?.kind === "suspended";
  }

  get finished(): boolean {
    return this.#finish !== null;
  }

  /** No further attempt may start: the run is over, or this driver is. */
  get closing(): boolean {
    return this.#finish !== null || this.ceasing;
  }

  /** Nothing more begins here. */
  get ceasing(): boolean {
    return this.#stop !== null || this.#blocked !== null || this.#leaving || this.journal.state.end !== null;
  }

  /** Takes in entries that came from outside, or our own that have become durable. */
  learn(entries: readonly Entry[]): void {
    this.#learned += entries.length;
    for (const entry of entries) {
      this.replay.learn(entry);
      this.calls.notify(entry);
    }
    this.wake();
  }

  /** Something changed: the loop looks again. */
  wake(): void {
    this.#signal.set();
  }

  /** Runs to the next stop. The function has just been called and its first turn is under way, or it was parked. */
  async drive(given: Driving): Promise<Stop> {
    const { lease } = this.options;
    this.#given = given;
    this.#stop = null;
    this.#leaving = this.#replayEnded = false;
    if (this.#learned < this.journal.entries.length) this.learn(this.journal.entries.slice(this.#learned));
    lease.start(this.journal, {
      moved: (entries) => this.learn(entries),
      lost: () => this.#end({ kind: "lost" }),
      failed: (error) => this.#fail(error),
    });
    try {
      for (let rounds = 1; this.#stop === null; rounds++) {
        await (rounds % roundsPerTurn === 0 ? this.world.turn() : this.world.drain());
        this.#inTurn = false;
        if (this.#failure !== null) throw this.#failure.error;
        if (this.journal.state.end !== null) this.#end({ kind: "ended" });
        else if (this.#blocked !== null) await this.#settleBlocked(this.#blocked);
        else if (!(await this.#deliver())) await this.#idle();
      }
      return this.#stop;
    } finally {
      this.timers.clear();
      lease.stop();
      const reason = abortReason(this.journal, this.#stop ?? { kind: "left" }, this.inFlight.idle);
      if (reason !== null) this.root.abort(reason);
    }
  }

  /** Delivers one settlement, or passes over one that nobody asks for; false when there is none. */
  async #deliver(): Promise<boolean> {
    const next = this.replay.next();
    if (next === null) return false;
    const { settlement } = next;
    if (next.kind === "uncalled") {
      // Changed code or a foreign await: the call may still come. A call that does is answered first.
      if (this.#graceSpent || this.calls.isClosed(settlement.key)) this.replay.pass();
      else this.#graceSpent = await this.#signal.silence(this.world, graceMs);
      return true;
    }
    const call = this.calls.get(settlement.key);
    if (call !== undefined && !call.scope.closed) this.#settle(call, settlement);
    return true;
  }

  #settle(call: Call, settlement: Settlement): void {
    this.replay.delivered = Math.max(this.replay.delivered, settlement.seq);
    // What was answered about a step is not told again once the step has settled: it moves no clock.
    if (stepAsked(call.key) === null) this.replay.clock = Math.max(this.replay.clock, settlement.at);
    this.timers.cancel(call);
    this.#inTurn = true;
    call.settle(settlement);
  }

  /** Nothing is deliverable: place the answer, start work, open waits, append, park or wait. */
  async #idle(): Promise<void> {
    const { lease } = this.options;
    if (!this.#replayEnded) {
      const next = await this.#given.onReplayEnd?.(this);
      this.#replayEnded = next !== "again";
      if (next === "leave" && this.#blocked === null) this.#end({ kind: "left" });
      if (next !== undefined) return;
    }
    // What came while the lease was out is looked at before anything begins.
    if (!lease.valid) return void (await lease.renew());
    // The function may have ended with calls that nobody waits for: whoever comes next begins them.
    const open = this.#finish === null || this.#fresh.length > 0;
    if (this.#leaving && open) return this.#settleWork({ kind: "left" });
    this.#begin();
    this.timers.fire();
    if (this.inFlight.idle && !this.#outbox.appending) return this.#rest();
    if (this.#outbox.size > 0) this.#outbox.flush();
    await this.#signal.wait();
  }

  /** Calls the journal says nothing of begin now, in the order they were made; one that begins may make another. */
  #begin(): void {
    for (let call = this.#fresh.shift(); call !== undefined; call = this.#fresh.shift())
      if (!call.scope.closed && this.replay.record(call.key)?.settled !== true) call.begin();
  }

  /** No work is under way and no append in flight: write what is queued, and with it the stop if this is one. */
  async #rest(): Promise<void> {
    const { size, settles } = this.#outbox;
    if (!settles && this.#finish !== null) return this.#complete(this.#finish);
    const patient = this.timers.endsWithin(this.#given.patienceMs);
    const parks = this.#finish === null && this.timers.waiting > 0 && !patient && !settles;
    if (parks) return this.#park(size === 0);
    if (size > 0) return this.#outbox.append(null);
    if (this.timers.waiting > 0) this.options.lease.watch();
    await this.#signal.wait();
  }

  /** A run that is parked already, for the same time, needs no entry to say so again. */
  async #park(alone: boolean): Promise<void> {
    const park = parkOf(this.timers.stops());
    if (alone && isParked(this.journal, park)) return this.#end({ kind: "suspended" });
    await this.#outbox.append(park);
  }

  async #complete(finish: Finish): Promise<void> {
    const end = endOf(finish, this);
    if (end instanceof DurableError) return this.block(end);
    await this.options.reportEnd(end);
    await this.#outbox.append(end);
  }

  async #settleBlocked(error: DurableError): Promise<void> {
    this.#outbox.keepAttempts();
    await this.#settleWork({ kind: "blocked", error });
  }

  /** Stops once the work that is under way has been recorded. */
  async #settleWork(stop: Stop): Promise<void> {
    if (this.inFlight.idle && !this.#outbox.appending && this.#outbox.size === 0) return this.#end(stop);
    if (this.#outbox.size > 0) this.#outbox.flush();
    await this.#signal.wait();
  }

  #end(stop: Stop): void {
    this.#stop ??= stop;
    this.wake();
  }

  #fail(error: unknown): void {
    if (DurableError.is(error, "journal-regressed")) return this.block(error);
    this.#failure ??= { error };
    this.wake();
  }

  /** A foreign wait ended after the run was parked: this same life of the function goes on. */
  #revived(): boolean {
    if (!this.parked) return false;
    this.#stop = null;
    this.options.revive();
    return true;
  }
}
