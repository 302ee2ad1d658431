/**
 * The facts that one drive has yet to append to the journal.
 *
 * outbox.1. One append at a time; facts that are queued meanwhile go with the next one (at most one append per step).
 * outbox.2. A fact of `writeWithNext` causes no append: it goes with the next batch, before the facts that caused it.
 * outbox.3. While an answer is validated, results and timers wait: the answer is earlier in the journal, so its verdict
 *     is written and delivered first.
 * outbox.4. A stop (park or end) is written with everything that is queued, and dropped on a conflict: an answer
 *     that was appended first means that the run must not park.
 * outbox.5. A fact that was withdrawn is not written, also when it was part of an append that met a conflict.
 * outbox.6. No batch has a settlement before a verdict on a message: it may close the receive, which then takes none.
 *     Facts after such a verdict wait with it.
 */

import type { Json } from "../values/codec/tags.ts";
import { fitting, writeFact, type WrittenFact } from "../journal/batch.ts";
import type { Fact } from "../journal/entry.ts";
import { traitsOf } from "../journal/kinds.ts";
import type { WaitState } from "../journal/waits.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { World } from "../ports/world.ts";
import type { DriverLease } from "./lease.ts";
import type { Verdicts } from "./verdicts.ts";

export interface OutboxEvents {
  /** Entries became durable: from this driver or from another writer. */
  learn(): void;
  stopped(kind: "suspended" | "ended" | "lost" | "continued"): void;
  failed(error: unknown): void;
}

export class Outbox {
  readonly #journal: RunJournal;
  readonly #world: World;
  readonly #lease: DriverLease;
  readonly #events: OutboxEvents;
  readonly #verdicts: Verdicts;
  #queue: WrittenFact[] = [];
  #withNext: WrittenFact[] = [];
  readonly #withdrawn = new Set<Fact<Json>>();
  #appending = false;

  constructor(
    parts: { journal: RunJournal; world: World; lease: DriverLease; verdicts: Verdicts },
    events: OutboxEvents,
  ) {
    this.#verdicts = parts.verdicts;
    this.#journal = parts.journal;
    this.#world = parts.world;
    this.#lease = parts.lease;
    this.#events = events;
  }

  push(fact: Fact<Json>): void {
    this.#queue.push(writeFact(fact, this.#world.now()));
  }

  writeWithNext(fact: Fact<Json>): void {
    this.#withNext.push(writeFact(fact, this.#world.now()));
  }

  /** The fact is not written, unless it is durable already. */
  withdraw(fact: Fact<Json>): void {
    this.#withdrawn.add(fact);
  }

  /** How many facts can be written now. */
  get size(): number {
    return this.#queue.length === 0 ? 0 : this.#ready().length;
  }

  /** Something is still to be written. */
  get holds(): boolean {
    return this.size + this.#withNext.length > 0;
  }

  get appending(): boolean {
    return this.#appending;
  }

  /** A queued fact lets the workflow continue once it is durable, so the drive must not stop yet. */
  get settles(): boolean {
    return this.#queue.some(({ fact }) => traitsOf(fact).quiet !== true && !this.#wait(fact).settled);
  }

  /** The run is blocked, or its code is over: only what is already paid for is still recorded, with the openings of the groups around it. */
  keepPaid(): void {
    this.#withNext.push(...this.#queue.filter(isGroup));
    this.#queue = this.#queue.filter(({ fact }) => traitsOf(fact).paid);
  }

  /** Appends in the background, after one turn of the event loop, so that facts of that turn share a batch. */
  flush(): void {
    if (this.#appending) return;
    this.#appending = true;
    void this.#world.turn().then(() => this.#send(null));
  }

  /** Appends now, with a stop if one is given. */
  async append(stop: Fact<Json> | null): Promise<void> {
    this.#appending = true;
    await this.#send(stop);
  }

  async #send(stop: Fact<Json> | null): Promise<void> {
    try {
      await this.#write(stop);
    } catch (error) {
      this.#events.failed(error);
    } finally {
      this.#appending = false;
      this.#events.learn();
    }
  }

  async #write(stop: Fact<Json> | null): Promise<void> {
    const facts = this.#take();
    // A stop must be the last entry, so it waits until the rest of the queue is written.
    if (this.holds) stop = null;
    const batch = stop === null ? facts : [...facts, writeFact(stop, this.#world.now())];
    if (batch.length === 0) return;
    const appended = await this.#journal.append(batch, {
      lease: this.#lease.extend(stop !== null && !goesOn(stop)),
    });
    if (appended.kind === "lost")
      return this.#events.stopped(this.#journal.state.end === null ? "lost" : "ended");
    if (appended.kind === "absorbed") this.#queue.unshift(...facts);
    this.#events.learn();
    if (appended.kind === "absorbed" || stop === null) return;
    if (stop.kind === "run.failing") return;
    if (goesOn(stop)) return this.#events.stopped("continued");
    this.#lease.released();
    this.#events.stopped(stop.kind === "run.suspended" ? "suspended" : "ended");
  }

  /** The facts that can be written now: verdicts on answers first, timers last. */
  #ready(): WrittenFact[] {
    const { pending } = this.#verdicts;
    const ready = this.#queue.filter(({ fact }) => {
      const { settles, timer } = traitsOf(fact);
      const { settled, answers = [] } = this.#wait(fact);
      return !settled && !(timer && answers.length > 0) && !(pending && settles && !isVerdict(fact));
    });
    const { unread } = this.#journal.state.mailbox;
    let settles = false;
    let waits = false;
    return ready
      .toSorted((a, b) => rank(a) - rank(b))
      .filter(({ fact }) => {
        waits ||= settles && fact.kind === "suspend.resolved" && unread.has(fact.answer ?? 0);
        settles ||= traitsOf(fact).settles === true;
        return !(waits && (traitsOf(fact).settles || isVerdict(fact)));
      });
  }

  #take(): WrittenFact[] {
    const ready = [...this.#withNext, ...this.#ready()];
    const taken = new Set(ready.slice(0, fitting(ready)));
    const stays = (written: WrittenFact): boolean => !taken.has(written);
    this.#withNext = this.#withNext.filter(stays);
    this.#queue = this.#queue.filter((written) => stays(written) && !this.#wait(written.fact).settled);
    return [...taken];
  }

  /** The recorded state of the wait that a timeout is about: if settled, the timeout is dropped; if answered, it waits. */
  #wait(fact: Fact<Json>): Partial<WaitState> {
    const { state } = this.#journal;
    if (this.#withdrawn.has(fact)) return { settled: "closed" };
    // The child may have reported its end itself in the meantime.
    if (fact.kind === "child.completed" || fact.kind === "child.failed")
      return state.children.get(fact.key)?.over === true ? { settled: "closed" } : {};
    return fact.kind === "suspend.expired" ? state.wait(fact.wait) : {};
  }
}

/** The next chapter begins, or the run is undone, and its driver keeps the lease. */
function goesOn({ kind }: Fact<Json>): boolean {
  return kind === "run.continued" || kind === "run.failing";
}

/** A group is opened before what happens in it; then come verdicts, and timers after all else. */
function rank({ fact }: WrittenFact): number {
  return isGroup({ fact }) ? 0 : isVerdict(fact) ? 1 : traitsOf(fact).timer ? 3 : 2;
}

/** The opening of a group of branches. */
function isGroup({ fact }: Pick<WrittenFact, "fact">): boolean {
  return "branches" in fact;
}

/** The verdict on a recorded answer. */
function isVerdict({ kind }: Fact<Json>): boolean {
  return kind === "suspend.resolved" || kind === "suspend.rejected";
}
