/**
 * Drives one run until it ends or only waiting is left.
 *
 * N1. Durable before visible: a call settles only from an entry of the journal, never from work directly.
 * N2. One settlement is delivered at a time, and microtasks are drained before the next (law 4).
 * N3. Work starts, and waits open, only when nothing is deliverable.
 * N4. Suspension never throws: the loop notices that only waiting is left, parks by an append, and lets go.
 * N5. The journal is never written to once the run is blocked, lost or ended, but for the outcome of
 *     work that was already running when it was found to be blocked.
 */

import type { Json } from "../codec/tags.ts";
import { writeFact, type Entry, type Fact, type WrittenFact } from "../entry.ts";
import { DurableError } from "../errors.ts";
import type { Journal } from "../journal.ts";
import { limits } from "../limits.ts";
import type { World } from "../world.ts";
import { Calls, type Asked, type Call, type Entered } from "./calls.ts";
import type { Hold } from "./hold.ts";
import { Replay, type Settlement } from "./replay.ts";
import { Scope } from "./scope.ts";
import { Timers } from "./timers.ts";

/** Why a drive came to its end. What the run's outcome is, the journal says. */
export type Stop =
  | { readonly kind: "ended" | "suspended" | "lost" | "left" }
  | { readonly kind: "blocked"; readonly error: DurableError };

/** The end of the workflow function, encoded. */
export type Finish = (orphans: readonly string[]) => Fact<Json>;

/** Something done once, when replay has come to its end and before any work starts: placing an answer. */
export type AtEdge = (engine: Engine) => Promise<"go on" | "leave">;

export interface EngineOptions {
  readonly journal: Journal;
  readonly world: World;
  /** The lease, kept alive while driving. */
  readonly hold: Hold;
  readonly patienceMs: number;
  readonly atEdge?: AtEdge | undefined;
  /** A call on a parked run: told so that somebody may drive it on. */
  readonly revive?: ((drive: () => Promise<Stop>) => void) | undefined;
}

/** How long a recorded entry that nobody asked for is waited for, once per drive. */
const graceMs = 30;
/** After so many deliveries the event loop gets a turn, so that a long replay starves nobody. */
const deliveriesPerTurn = 512;

export class Engine {
  readonly journal: Journal;
  readonly world: World;
  readonly replay = new Replay();
  readonly calls: Calls;
  readonly root = new Scope();
  readonly timers: Timers;
  readonly #options: EngineOptions;
  #fresh: Call[] = [];
  #queue: WrittenFact[] = [];
  /** Facts that need no append of their own: they ride on the next one. */
  #riders: WrittenFact[] = [];
  #inFlight = false;
  /** Work that will lead to an append: bodies, and answers being judged. */
  #busy = 0;
  #inTurn = true;
  #foreignSeen = false;
  #graceSpent = false;
  #edgeReached = false;
  #finish: Finish | null = null;
  #blocked: DurableError | null = null;
  #stop: Stop | null = null;
  #failure: { readonly error: unknown } | null = null;
  #kicked = false;
  #wake: (() => void) | null = null;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.journal = options.journal;
    this.world = options.world;
    this.calls = new Calls(this.journal.runId, this.replay);
    this.timers = new Timers(this.world, () => this.kick());
    for (const entry of this.journal.entries) this.replay.learn(entry);
  }

  // ---- what calls use -------------------------------------------------------------------------

  /** Lets a call in, or answers null: its promise then stays pending for good. */
  enter(asked: Asked): Entered | null {
    if (asked.scope.closed || this.#blocked !== null) return null;
    if (this.#stop !== null && !this.#revived()) return null;
    const entered = this.calls.enter(asked, this.#inTurn);
    if (entered instanceof DurableError) {
      this.block(entered);
      return null;
    }
    if (!this.#inTurn) this.#foreign(entered.key);
    return entered;
  }

  /** Makes a call known to the loop. */
  add(call: Call, name: string): void {
    this.calls.add(call, name);
    this.#fresh.push(call);
    if (!this.#inTurn) this.kick();
  }

  /** Queues a fact for the next append. */
  write(fact: Fact<Json>): void {
    if (this.#stop !== null) return;
    if (this.#blocked !== null && !isAttempt(fact)) return;
    this.#queue.push(writeFact(fact, this.world.now()));
    this.kick();
  }

  ride(fact: Fact<Json>): void {
    this.#riders.push(writeFact(fact, this.world.now()));
  }

  /** Work has begun that will write something. */
  occupy(): void {
    this.#busy += 1;
  }

  vacate(): void {
    this.#busy -= 1;
    this.kick();
  }

  /** The run cannot go on with this code or this journal; nothing further is written. */
  block(error: DurableError): void {
    this.#blocked ??= error;
    this.kick();
  }

  /** The workflow function has settled. */
  finish(finish: Finish): void {
    this.#finish = finish;
    this.kick();
  }

  get finished(): boolean {
    return this.#finish !== null;
  }

  /** No attempt may start any more: the run is over, or this driver is. */
  get closing(): boolean {
    return this.#finish !== null || this.#stop !== null || this.#blocked !== null;
  }

  /** Entries that came from outside, or our own that have become durable. */
  learn(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.replay.learn(entry);
      if (entry.kind === "attempt.failed") this.calls.get(entry.key)?.begin();
      if (entry.kind === "suspend.answered") this.calls.byWait(entry.wait)?.look?.();
    }
    this.kick();
  }

  kick(): void {
    this.#kicked = true;
    this.#wake?.();
  }

  // ---- the loop -------------------------------------------------------------------------------

  /** Runs to the next stop. The workflow function has just been called: its first turn is under way. */
  async drive(): Promise<Stop> {
    const { hold } = this.#options;
    hold.start(this.journal, {
      moved: (entries) => this.learn(entries),
      lost: () => this.#end({ kind: "lost" }),
      failed: (error) => this.#fail(error),
    });
    try {
      for (let deliveries = 1; this.#stop === null; deliveries++) {
        await (deliveries % deliveriesPerTurn === 0 ? this.world.turn() : this.world.drain());
        this.#inTurn = false;
        if (this.#failure !== null) throw this.#failure.error;
        if (this.journal.state.end !== null) this.#end({ kind: "ended" });
        else if (this.#blocked !== null || !(await this.#deliver())) await this.#idle();
      }
    } finally {
      this.timers.clear();
      hold.stop();
    }
    const stop = this.#stop;
    if (stop.kind !== "suspended") this.root.abort(abortReason(this.journal.runId, stop));
    return stop;
  }

  /** Delivers one settlement, or passes over one that nobody asks for; false when there is none. */
  async #deliver(): Promise<boolean> {
    const next = this.replay.next();
    if (next === null) return false;
    const { settlement } = next;
    if (next.kind === "uncalled") {
      if (!this.#graceSpent && !this.calls.isClosed(settlement.key)) await this.#grace();
      else this.replay.pass();
      return true;
    }
    const call = this.calls.get(settlement.key);
    if (call === undefined || call.scope.closed) return true;
    this.#settle(call, settlement);
    return true;
  }

  #settle(call: Call, settlement: Settlement): void {
    this.replay.delivered = Math.max(this.replay.delivered, settlement.seq);
    this.replay.clock = Math.max(this.replay.clock, settlement.at);
    this.timers.cancel(call);
    this.#inTurn = true;
    call.settle(settlement);
  }

  async #grace(): Promise<void> {
    let over = false;
    const cancel = this.world.timer(graceMs, () => {
      over = true;
      this.kick();
    });
    this.#kicked = false;
    await this.#kick();
    cancel();
    // A call that came meanwhile gets its answer first; the rest of the grace is not given again.
    this.#graceSpent = over || this.#graceSpent;
  }

  /** Nothing is deliverable: place the answer, start work, open waits, append, park or wait. */
  async #idle(): Promise<void> {
    if (this.#blocked !== null) return this.#settleBlocked();
    if (!this.#edgeReached) {
      this.#edgeReached = true;
      if (this.#options.atEdge !== undefined) return this.#atEdge(this.#options.atEdge);
    }
    if (!this.#options.hold.valid && !(await this.#options.hold.renew())) return;
    this.#begin();
    this.timers.fire();
    if (this.#queue.length > 0 && this.#busy > 0) this.#flush();
    else if (this.#busy === 0 && !this.#inFlight) return this.#rest();
    await this.#kick();
  }

  async #atEdge(place: AtEdge): Promise<void> {
    if ((await place(this)) === "leave" && this.#blocked === null) this.#end({ kind: "left" });
  }

  /** Calls the journal says nothing of begin now, in the order they were made. */
  #begin(): void {
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const call of fresh) {
      if (call.scope.closed || this.replay.fact(call.key)?.settled === true) continue;
      call.begin();
    }
  }

  /** No work is under way and no append in flight: write what is queued, and with it the stop if this is one. */
  async #rest(): Promise<void> {
    if (this.#queue.length > limits.batchEntries) return this.#append(null);
    if (this.#finish !== null && this.#queue.length === 0) return this.#complete(this.#finish);
    const wakeAt = this.timers.earliest();
    const patient = wakeAt !== null && wakeAt - this.world.now() <= this.#options.patienceMs;
    const parks = this.#finish === null && !patient && this.timers.waiting > 0 && !this.#settling();
    if (parks && this.#queue.length === 0 && this.#isParkedAt(wakeAt))
      return this.#end({ kind: "suspended" });
    if (parks) return this.#append({ kind: "run.suspended", wakeAt });
    if (this.#queue.length > 0) return this.#append(null);
    if (this.timers.waiting > 0) this.#options.hold.watch();
    await this.#kick();
  }

  /** Something queued will let the workflow go on once it is durable: no time to park. */
  #settling(): boolean {
    return this.#queue.some(({ fact }) => !fact.kind.endsWith(".opened") && fact.kind !== "suspend.rejected");
  }

  #isParkedAt(wakeAt: number | null): boolean {
    const { status, wakeAt: recorded } = this.journal.state.summary;
    return status === "suspended" && recorded === wakeAt;
  }

  async #complete(finish: Finish): Promise<void> {
    const vanished = this.journal.state
      .openWaits()
      .find(({ opened }) => !this.replay.isCalled(opened.key) && !this.calls.isClosed(opened.key));
    if (vanished !== undefined) return this.block(vanishedWait(this.journal.runId, vanished.opened.key));
    const orphans = this.replay.orphans().filter((key) => !this.calls.isClosed(key));
    if (orphans.length > 0) this.world.warn(orphanWarning(this.journal.runId, orphans));
    await this.#append(finish(orphans));
  }

  async #settleBlocked(): Promise<void> {
    this.#riders = [];
    this.#queue = this.#queue.filter(({ fact }) => isAttempt(fact));
    if (this.#busy === 0 && !this.#inFlight && this.#queue.length === 0) {
      return this.#end({ kind: "blocked", error: this.#blocked as DurableError });
    }
    if (this.#queue.length > 0) this.#flush();
    await this.#kick();
  }

  // ---- appends --------------------------------------------------------------------------------

  /** Appends in the background, after a turn in which what settles together is gathered. */
  #flush(): void {
    if (this.#inFlight) return;
    this.#inFlight = true;
    this.world
      .turn()
      .then(() => this.#write(null))
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#inFlight = false;
        this.kick();
      });
  }

  async #append(stop: Fact<Json> | null): Promise<void> {
    this.#inFlight = true;
    try {
      await this.#write(stop);
    } finally {
      this.#inFlight = false;
    }
  }

  async #write(stop: Fact<Json> | null): Promise<void> {
    const facts = [...this.#riders, ...this.#take()];
    this.#riders = [];
    const now = this.world.now();
    const batch = stop === null ? facts : [...facts, writeFact(stop, now)];
    if (batch.length === 0 || this.#stop !== null) return;
    const appended = await this.journal.append(batch, { lease: this.#options.hold.claim(stop !== null) });
    if (appended.kind === "lost")
      return this.#end({ kind: this.journal.state.end === null ? "lost" : "ended" });
    this.learn(appended.entries);
    if (appended.kind === "absorbed") {
      this.#queue.unshift(...facts.filter(({ fact }) => !this.#isStale(fact)));
    } else if (stop !== null) {
      this.#options.hold.released();
      this.#end({ kind: stop.kind === "run.suspended" ? "suspended" : "ended" });
    }
  }

  #take(): WrittenFact[] {
    let size = 0;
    const count = this.#queue.findIndex(
      ({ text }, i) => i >= limits.batchEntries || (i > 0 && (size += text.length) > limits.batchBytes),
    );
    return this.#queue.splice(0, count === -1 ? this.#queue.length : count);
  }

  /** A time-out that lost against an answer. */
  #isStale(fact: Fact<Json>): boolean {
    if (fact.kind !== "suspend.expired") return false;
    const { answer, settled } = this.journal.state.wait(fact.wait);
    return answer !== null || settled !== null;
  }

  // ---- the rest -------------------------------------------------------------------------------

  #end(stop: Stop): void {
    this.#stop ??= stop;
    this.kick();
  }

  #fail(error: unknown): void {
    if (DurableError.is(error, "journal-regressed")) return this.block(error);
    this.#failure ??= { error };
    this.kick();
  }

  async #kick(): Promise<void> {
    if (!this.#kicked) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#kicked = false;
    this.#wake = null;
  }

  #revived(): boolean {
    const { revive } = this.#options;
    if (this.#stop?.kind !== "suspended" || revive === undefined) return false;
    this.#stop = null;
    revive(() => this.drive());
    return true;
  }

  #foreign(key: string): void {
    if (this.#foreignSeen) return;
    this.#foreignSeen = true;
    this.world.warn(
      `run ${this.journal.runId} asked for "${key}" after waiting for something other than ctx. Put timers, fetches and other waits inside a step: replay cannot see them.`,
    );
  }
}

function isAttempt(fact: Fact<Json>): boolean {
  return fact.kind === "step.completed" || fact.kind === "step.failed" || fact.kind === "attempt.failed";
}

function abortReason(runId: string, stop: Stop): DurableError {
  if (stop.kind === "blocked") return stop.error;
  if (stop.kind === "ended")
    return new DurableError("cancelled", `Run ${runId} has ended; this work is no longer needed.`);
  return new DurableError("conflict", `Run ${runId} is driven elsewhere; this driver has let go.`);
}

export function vanishedWait(runId: string, key: string): DurableError {
  return new DurableError(
    "diverged",
    `Run ${runId} does not fit this code: suspend point "${key}" is open, somebody may hold its token, and the code came to its end without reaching it. The open wait is kept. Put ctx.suspend("${key}") back, or fork the run; then advance it again.`,
    { details: { key, recorded: { kind: "suspend" }, asked: null } },
  );
}

function orphanWarning(runId: string, orphans: readonly string[]): string {
  return `run ${runId} ended with ${orphans.length} recorded result(s) that the code no longer asks for: ${orphans.slice(0, 10).join(", ")}. If a step was renamed, { was: "old name" } keeps its result.`;
}
