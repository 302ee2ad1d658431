/**
 * The record of each key, and the order in which settlements are delivered to the workflow (law 4).
 *
 * replay.1. Settlements are delivered lowest position first, among those whose call has been made.
 * replay.2. The first settlement of a key is the only one.
 * replay.3. An answer that is recorded before its wait is held at once; any other settlement without a call is
 *     reported as uncalled, and held only when the engine calls `pass`.
 * replay.4. A record that was made while an attempt of a stream was under way, which was then lost or failed, does not show
 *     that the code was changed: the code may have acted on words that no longer exist. So it may be left unused, its wait
 *     may stay unreached, and a call of its name may declare other input. The same holds for starts of steps that follow
 *     `run.regressed`.
 */

import { callKind, isSettlement, type Settlement } from "../journal/kinds.ts";
import type { Json } from "../values/codec/tags.ts";
import type { CallKind, Entry } from "../journal/entry.ts";
import { isWithin, nameOf, pathOf, stepAsked } from "../journal/keys.ts";
import { unreadOf, type Message } from "../journal/mailbox.ts";
import { DurableError } from "../values/errors.ts";
import { Heap } from "./heap.ts";

export type { CallKind } from "../journal/entry.ts";
export type { Settlement } from "../journal/kinds.ts";

/** The record of one key. */
export interface KeyRecord {
  readonly kind: CallKind;
  /** Declared input, as recorded: a fingerprint, a duration, a list of branches. */
  input: string | null;
  /** Attempts that failed. */
  failures: number;
  retryAt: number | null;
  /** How many starts are recorded, and since when one is open. */
  starts: number;
  started: number | null;
  /** The latest attempt of a stream, and its chunks. */
  attempt: number;
  chunks: Extract<Entry, { kind: "stream.chunks" }>[];
  /** What a step has reached, in any of its attempts. */
  progress: Json | undefined;
  /** Deadline of a sleep or of a suspend point. */
  until: number | null;
  opened: boolean;
  settled: boolean;
  /** When the call was first made, and the position of its first entry. */
  readonly after: number;
  readonly seq: number;
  /** The position of its outcome. */
  end: number | null;
  /** It has a result, or began and its outcome is not known. */
  result: "known" | "unknown" | null;
  /** See `Attempted` in entry.ts. */
  work: string | null;
  /** Its attempts have used tokens. */
  metered: boolean;
  inserted: boolean;
}

/** An attempt of a stream: its branch, and the positions between which its words may have been acted on. */
interface Words {
  readonly path: string;
  readonly from: number;
  to: number;
}

export class Replay {
  readonly #records = new Map<string, KeyRecord>();
  readonly #answers = new Map<number, Extract<Entry, { kind: "suspend.answered" }> | Message>();
  /** Answers that have no verdict yet, by wait: a later timeout does not settle it. */
  readonly #unjudged = new Map<string, Set<number>>();
  readonly #queue: Settlement[] = [];
  readonly #called = new Set<string>();
  /** Recorded keys that the code has not asked for. */
  readonly #unasked = new Set<string>();
  /** Attempts of streams that were lost, or have no end: records from one position to another are not signs of changed code. */
  readonly #lost = new Set<Words>();
  /** The latest attempts of streams that have no end. */
  readonly #streaming = new Map<string, Words>();
  readonly #held = new Map<string, Settlement>();
  /** Held settlements whose call has been made since, by position. */
  readonly #ready = new Heap<Settlement>();
  #cursor = 0;
  /** Keys whose outcome another key took over, because the code was changed. */
  readonly keptBy = new Map<string, string>();
  /** A kept outcome counts as if it had been recorded where it was at first, an inserted one where its call was made. */
  readonly #ranks = new Map<number, number>();
  /** Highest rank delivered. */
  reached = 0;
  /** Highest position delivered. */
  delivered = 0;
  /** Highest time among what was delivered: the run's own clock. */
  clock = 0;

  /** Learns a journal from its beginning; returns how many entries it has. */
  learnAll(entries: readonly Entry[]): number {
    for (const entry of entries) this.learn(entry);
    return entries.length;
  }

  learn(entry: Entry): void {
    if (entry.kind === "suspend.answered") {
      this.#answers.set(entry.seq, entry);
      const unjudged = this.#unjudged.get(entry.wait) ?? new Set();
      this.#unjudged.set(entry.wait, unjudged.add(entry.seq));
    } else if ("key" in entry) {
      this.#learnCall(entry);
    } else if (entry.kind === "run.regressed") {
      // The words and results are gone that the code acted on, so it may come to these steps again, or not.
      this.#lost.add({ path: "", from: entry.seq, to: entry.seq + entry.steps.length + 1 });
    } else {
      const messages = entry.kind === "message.sent" ? [entry] : unreadOf(entry);
      for (const message of messages) this.#answers.set(message.seq, message);
    }
  }

  #learnCall(entry: Extract<Entry, { key: string }>): void {
    const record = this.#records.get(entry.key) ?? this.#newRecord(entry);
    if ("input" in entry && entry.input !== undefined) record.input = entry.input;
    if ("branches" in entry) record.input = branchesInput(entry.branches);
    if ("topic" in entry && entry.topic !== undefined) record.input = entry.topic;
    if (entry.kind.endsWith(".opened")) record.opened = true;
    if (entry.kind === "sleep.opened") record.until = entry.until;
    if (entry.kind === "suspend.opened") record.until = entry.expiresAt;
    if (entry.kind === "step.started") {
      record.starts += 1;
      record.started = entry.attempt === 0 ? null : entry.at;
    }
    if (entry.kind === "cleanup.started") record.started = entry.at;
    if (entry.kind === "step.progress") record.progress = entry.value;
    noteResult(record, entry);
    if (entry.kind === "attempt.failed") {
      record.failures += 1;
      record.retryAt = entry.retryAt;
      record.started = null;
    }
    if ("kept" in entry && entry.kept !== undefined) {
      this.call(entry.kept);
      this.keptBy.set(entry.kept, entry.key);
      const { kept } = entry;
      this.#ranks.set(entry.seq, this.rank(this.#queue.find(({ key }) => key === kept)?.seq ?? 0));
    }
    if ("attempt" in entry && entry.attempt > record.attempt) {
      if (record.kind === "stream") this.#stream(entry);
      record.attempt = entry.attempt;
      record.chunks = noChunks;
    }
    if (entry.kind === "stream.chunks" && entry.attempt === record.attempt) {
      if (record.chunks === noChunks) record.chunks = [];
      record.chunks.push(entry);
    }
    if (entry.kind === "suspend.expired" && (this.#unjudged.get(entry.wait)?.size ?? 0) > 0) return;
    // Once all answers are refused, or the wait was closed, a timeout may settle it again.
    if (entry.kind === "suspend.closed") this.#unjudged.delete(entry.wait);
    if (entry.kind === "suspend.rejected") this.#unjudged.get(entry.wait)?.delete(entry.answer);
    if (isSettlement(entry) && !record.settled) {
      record.settled = true;
      record.end = entry.seq;
      if (record.inserted) this.#ranks.set(entry.seq, this.rank(entry.after));
      if (record.kind === "stream")
        this.#spoken(entry.key, entry.kind === "stream.failed" ? entry.seq : null);
      this.#queue.push(entry);
    }
  }

  #newRecord(entry: Extract<Entry, { key: string }>): KeyRecord {
    const record = newRecord(callKind(entry), entry);
    this.#records.set(entry.key, record);
    if (!this.#called.has(entry.key)) this.#unasked.add(entry.key);
    return record;
  }

  /** The first entry of an attempt of a stream: the words of the one before it are gone. */
  #stream({ key, seq }: { readonly key: string; readonly seq: number }): void {
    this.#spoken(key, seq);
    const words = { path: pathOf(key), from: seq, to: Infinity };
    this.#lost.add(words);
    this.#streaming.set(key, words);
  }

  /** An attempt is over: its words are gone from here on, or recorded. */
  #spoken(key: string, gone: number | null): void {
    const words = this.#streaming.get(key);
    if (words === undefined) return;
    if (gone === null) this.#lost.delete(words);
    else words.to = gone;
    this.#streaming.delete(key);
  }

  record(key: string): KeyRecord | undefined {
    return this.#records.get(key);
  }

  /** Recorded keys, for messages and checks. */
  keys(): IterableIterator<string> {
    return this.#records.keys();
  }

  isCalled(key: string): boolean {
    return this.#called.has(key);
  }

  /** The workflow asked for this key. */
  call(key: string): void {
    this.#called.add(key);
    this.#unasked.delete(key);
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#held.delete(key);
    this.#ready.push(held.seq, held);
  }

  /** The next settlement up to `end` to deliver, or an uncalled one that is before it, or null. */
  next(end = Infinity): { kind: "deliver" | "uncalled"; settlement: Settlement } | null {
    const ready = this.#ready.pop();
    if (ready !== undefined) return { kind: "deliver", settlement: ready };
    for (;;) {
      const settlement = this.#queue[this.#cursor];
      if (settlement === undefined || settlement.seq > end) return null;
      if (this.#called.has(settlement.key)) {
        this.#cursor += 1;
        return { kind: "deliver", settlement };
      }
      if (settlement.kind !== "suspend.resolved") return { kind: "uncalled", settlement };
      this.pass();
    }
  }

  /** Holds the settlement at the cursor until its call is made, and moves on. */
  pass(): void {
    const settlement = this.#queue[this.#cursor++];
    if (settlement !== undefined) this.#held.set(settlement.key, settlement);
  }

  /** Keys with a recorded settlement and no call. */
  orphans(): string[] {
    return [...this.#held.keys()];
  }

  /** Recorded outcomes in a branch that the code could have asked for by now, and has not. */
  unclaimed(path: string): Settlement[] {
    return [...this.#held.values()].filter(
      ({ key, after }) => this.rank(after) <= this.reached && pathOf(key) === path && !this.isLost(key),
    );
  }

  /** Recorded calls of a branch that the code has not asked for, the first one first. */
  *unasked(path: string): Generator<readonly [key: string, record: KeyRecord]> {
    for (const key of this.#unasked) {
      const record = this.#records.get(key);
      if (record !== undefined && pathOf(key) === path && !this.isLost(key)) yield [key, record];
    }
  }

  /** True when a call of another name has the same source text. */
  sharesWork(source: string, name: string): boolean {
    for (const [key, { work }] of this.#records) if (work === source && nameOf(key) !== name) return true;
    return false;
  }

  /** The code has asked for all that is recorded. */
  get isAsked(): boolean {
    return this.#unasked.size === 0;
  }

  /** True for a record that answers words which no longer exist. */
  isLost(key: string): boolean {
    const { seq = 0 } = this.#records.get(key) ?? {};
    for (const { path, from, to } of this.#lost) {
      const isIn = path === "" || isWithin(key, path);
      if (isIn && from < seq && seq < to) return true;
    }
    return false;
  }

  /** A settlement is delivered. */
  deliver({ key, seq, at }: Settlement): void {
    this.delivered = Math.max(this.delivered, seq);
    // Answers about an uncertain step are not replayed after it settles, so they must not advance ctx.now().
    if (stepAsked(key) === null) this.clock = Math.max(this.clock, at);
    this.reached = Math.max(this.reached, this.rank(seq));
  }

  /** Where a position stands in the order of the code. */
  rank(seq: number): number {
    return this.#ranks.get(seq) ?? seq;
  }

  /** The encoded answer of a resolved wait: in the entry itself, or in the answer or message that it refers to. */
  answer(entry: Extract<Entry, { kind: "suspend.resolved" }>, topic?: string): Json {
    if (entry.value !== undefined) return entry.value;
    const found = this.#answers.get(entry.answer ?? 0);
    // The reference is not encrypted, so it may have been changed to the answer of another wait.
    if (found !== undefined && ("wait" in found ? found.wait === entry.wait : found.topic === topic))
      return found.value;
    throw new DurableError(
      "corrupt",
      `The answer to suspend point "${entry.key}" is missing. Restore the journal from a backup.`,
    );
  }
}

/** Shared by all keys that have none, which are nearly all. */
const noChunks: KeyRecord["chunks"] = [];

/** The result of a call, or that it has begun; and what a rename of it is known by. */
function noteResult(record: KeyRecord, entry: Extract<Entry, { key: string }>): void {
  const { kind } = entry;
  if (entry.inserted === true) record.inserted = true;
  if ("usage" in entry && entry.usage !== undefined) record.metered = true;
  if ("work" in entry && entry.work !== undefined) record.work = entry.work;
  if (kind === "step.started") record.result = entry.attempt === 0 ? null : "unknown";
  if (kind === "child.opened" || kind === "spawn.opened") record.result = "unknown";
  if (kind.endsWith(".failed") || kind === "child.closed") record.result = null;
  if (kind.endsWith(".completed") || kind === "spawn.started") record.result = "known";
}

function newRecord(kind: CallKind, { after, seq }: { after: number; seq: number }): KeyRecord {
  return {
    after,
    seq,
    end: null,
    result: null,
    work: null,
    metered: false,
    inserted: false,
    kind,
    input: null,
    failures: 0,
    retryAt: null,
    starts: 0,
    started: null,
    attempt: 0,
    chunks: noChunks,
    progress: undefined,
    until: null,
    opened: false,
    settled: false,
  };
}

/** Branches as declared input, independent of the order in which the code writes them. */
export function branchesInput(branches: readonly string[] | number): string {
  return typeof branches === "number" ? `${branches} branches` : `branches ${branches.toSorted().join(", ")}`;
}
