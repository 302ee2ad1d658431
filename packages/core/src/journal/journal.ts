/**
 * One run's journal, open for one driver or one caller from outside.
 *
 * journal.1. Reads come from memory; storage is read once, at `open`, and then only to settle a doubt or a wake-up.
 * journal.2. At most one append is in flight. What it carries is written once, under one write id (law 8).
 * journal.3. An unknown outcome is settled by reading: our id there means it landed; a free slot, the same text again.
 * journal.4. A driver absorbs batches from outside and nothing else; a caller from outside absorbs whatever came.
 * journal.5. Once another driver's batch has been seen, a driver writes nothing more.
 * journal.6. A read that is not dense up to the length the storage claims is refused; a journal that shrank is, too.
 */

import { corrupt, readBatch, writeBatch, type ReadBatch } from "./batch.ts";
import type { WrittenFact } from "./fact-text.ts";
import type { Cipher } from "../ports/cipher.ts";
import type { Json } from "../values/codec/tags.ts";
import type { ChildOf, Entry, Fact } from "./entry.ts";
import { Envelope } from "./envelope.ts";
import { DurableError } from "../values/errors.ts";
import { RunState, summarize } from "./fold.ts";
import { incomplete, isFinal, regressed, unsettled } from "./errors.ts";
import { locatorOf } from "./keys.ts";
import { inherit, type Inherited } from "./lineage.ts";
import type { AppendRequest, ReadReply, Storage } from "../ports/storage.ts";
import { backOff, type World } from "../ports/world.ts";

export interface JournalOptions {
  readonly storage: Storage;
  readonly world: World;
  readonly cipher?: Cipher | null;
}

/** What became of an append. `absorbed`: others were first, nothing of ours was written, decide again. */
export type Appended =
  | { readonly kind: "landed"; readonly entries: readonly Entry[] }
  | { readonly kind: "absorbed"; readonly entries: readonly Entry[] }
  | { readonly kind: "lost" };

export interface AppendOptions {
  readonly outside?: boolean;
  readonly lease?: AppendRequest["lease"];
  /** False for a batch that is only written, and read back by whoever drives the run. */
  readonly learn?: boolean;
}

type TailBatch = { readonly batch: ReadBatch; readonly entries: readonly Entry[] };

const settleTries = 12;

export class RunJournal {
  readonly locator: string;
  readonly #storage: Storage;
  readonly #world: World;
  readonly #envelope: Envelope;
  /** Who writes through this object; a fresh one each time a journal is opened. */
  readonly driver: string;
  readonly state = new RunState();
  /** All a workflow may see: what is inherited, then the run's own entries. */
  readonly entries: Entry[] = [];
  /** Batches known. */
  position = 0;
  #writes = 0;
  #seq = 0;
  #inherited: Inherited | null = null;
  #last: Promise<void> | null = null;
  /** The storage keeps it for its forks alone. */
  deleted = false;
  /** Set by whoever drives: from then on a batch of another driver means that this one has lost the run. */
  driven = false;
  #lost = false;

  private constructor(locator: string, { storage, world, cipher }: JournalOptions) {
    this.locator = locator;
    this.#storage = storage;
    this.#envelope = new Envelope(cipher ?? null);
    this.#world = world;
    this.driver = world.id().slice(0, 12);
  }

  /** A journal that is about to be written for the first time. */
  static create(runId: string, options: JournalOptions): RunJournal {
    return new RunJournal(locatorOf(runId), options);
  }

  /** Reads a run whole; `null` when the storage does not know it. */
  static async open(locator: string, options: JournalOptions): Promise<RunJournal | null> {
    const journal = new RunJournal(locator, options);
    await journal.refresh();
    return journal.position === 0 || journal.deleted ? null : journal;
  }

  get runId(): string {
    return this.state.summary.runId;
  }

  /** The recorded input. */
  get input(): Json {
    return this.#inherited?.input ?? this.#started?.input ?? null;
  }

  /** Whose child the run is, if it is one. */
  get childOf(): ChildOf | undefined {
    return this.#started?.childOf;
  }

  get #started(): (Entry & { kind: "run.started" }) | undefined {
    return this.entries.find((entry) => entry.kind === "run.started");
  }

  /** The position of the latest entry. */
  get seq(): number {
    return this.#seq;
  }

  /** The run whose draws of chance hold at a position: a fork's own from its first own entry on. */
  seedAt(delivered: number): string {
    return this.#inherited?.seeds.find((seed) => delivered <= seed.upTo)?.runId ?? this.runId;
  }

  /** Reads what came since and takes it in; returns the new entries of the run itself. */
  refresh(): Promise<readonly Entry[]> {
    return this.#alone(async () => (await this.#tail()).flatMap(({ entries }) => entries));
  }

  /** Adds facts as one batch. Settles when it is durable, or when others were first. */
  append(facts: readonly WrittenFact[], options: AppendOptions = {}): Promise<Appended> {
    const { position } = this;
    return this.#alone(() => {
      // A look that was under way took something in: the caller decided without it, and decides again.
      if (this.position !== position) return Promise.resolve({ kind: "absorbed", entries: [] });
      return this.#append(facts, options);
    });
  }

  /** Settles when no read and no append is under way. */
  async settled(): Promise<void> {
    await this.#last;
  }

  /** One read or append at a time: a batch of ours that is seen while its reply is under way is not taken in twice. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last === null ? work() : this.#last.then(work);
    const last = result.then(nothing, nothing).then(() => {
      if (this.#last === last) this.#last = null;
    });
    this.#last = last;
    return result;
  }

  async #append(facts: readonly WrittenFact[], options: AppendOptions): Promise<Appended> {
    const outside = options.outside === true;
    if (!outside && (this.#lost || this.state.end !== null)) return { kind: "lost" };
    const writeId = `${this.driver}.${++this.#writes}`;
    const summary = { ...this.state.summary };
    for (const { fact, at } of facts) summarize(summary, fact, at);
    const { locator, position } = this;
    const wrapped = await this.#envelope.wrap(facts, { runId: summary.runId, position });
    const request: AppendRequest = {
      locator,
      position,
      batch: writeBatch(writeId, outside, wrapped),
      head: { locator, ...summary },
      ...(wrapped.blobs.length === 0 ? {} : { blobs: wrapped.blobs }),
      ...(options.lease === undefined ? {} : { lease: options.lease }),
    };
    for (let tries = 1; ; tries++) {
      try {
        await this.#storage.append(request);
        this.#envelope.landed(wrapped);
        const batch = { driver: this.driver, writeId, outside, facts };
        return { kind: "landed", entries: options.learn === false ? [] : await this.#learn(batch) };
      } catch (error) {
        const settled = await this.#settle(writeId, outside, error);
        if (settled !== null) return settled;
        if (tries >= settleTries) throw unsettled(this.runId || summary.runId, settleTries, error);
        await backOff(this.#world, tries);
      }
    }
  }

  /** Reads from the position of a doubtful append; `null` means the slot is free, or reading failed as well. */
  async #settle(writeId: string, outside: boolean, error: unknown): Promise<Appended | null> {
    if (DurableError.is(error, "conflict") && error.details["deleted"] === true) throw error;
    let tail: TailBatch[];
    try {
      tail = await this.#tail();
    } catch (readError) {
      if (isFinal(readError)) throw readError;
      return null;
    }
    // A free slot, whatever the refusal meant: the same text is written again, unless it was refused for good.
    if (tail.length === 0 && isFinal(error)) throw error;
    if (tail.length === 0) return null;
    const entries = tail.flatMap(({ entries: learned }) => learned);
    const ours = tail.some(({ batch }) => batch.writeId === writeId);
    const others = tail.some(({ batch }) => !batch.outside && batch.driver !== this.driver);
    if (!outside && (others || (this.state.end !== null && !ours))) return { kind: "lost" };
    return { kind: ours ? "landed" : "absorbed", entries };
  }

  async #tail(): Promise<TailBatch[]> {
    const { batches, length, deleted, blobs } = await this.#storage.read(this.locator, this.position);
    this.deleted = deleted === true;
    if (length < this.position) throw regressed(this.runId, this.position);
    if (this.position + batches.length !== length)
      throw incomplete(this.locator, this.position + batches.length, length);
    const [first] = batches;
    if (blobs !== undefined && first !== undefined) {
      // Whose they are stands in the first batch, which has not been taken in yet.
      const runId = this.runId || runIdOf(readBatch(first, `Batch 0 of run ${this.locator}`));
      await this.#envelope.learn(blobs, { runId, own: true });
    }
    const learned: TailBatch[] = [];
    for (const text of batches) {
      const { position } = this;
      const where = `Batch ${position} of run ${this.runId || this.locator}`;
      const read = readBatch(text, where);
      try {
        const spot = { runId: this.runId || runIdOf(read), position };
        const batch = await this.#envelope.unwrap(read, text, spot);
        this.#lost ||= this.driven && !batch.outside && batch.driver !== this.driver;
        learned.push({ batch, entries: await this.#learn(batch) });
      } catch (error) {
        // A field that none of us wrote may only be found out when it is used; an ancestor may not be readable now.
        throw error instanceof TypeError || error instanceof RangeError ? corrupt(where) : error;
      }
    }
    return learned;
  }

  async #learn(batch: ReadBatch): Promise<Entry[]> {
    const learned: Entry[] = [];
    this.position += 1;
    for (const { fact, at } of batch.facts) {
      if (fact.kind === "run.forked" && this.#seq === 0) await this.#inherit(fact, at);
      const entry: Entry = { ...fact, at, seq: ++this.#seq, outside: batch.outside };
      this.entries.push(entry);
      this.state.learn(entry);
      learned.push(entry);
    }
    return learned;
  }

  /** Ancestors are named in the fork's first batch, so they are all read at once, whatever the depth. */
  async #inherit(forked: Fact<Json> & { kind: "run.forked" }, at: number): Promise<void> {
    const texts = await Promise.all(
      forked.ancestry.map(({ runId, length }) => readAncestor(this.#storage, locatorOf(runId), length)),
    );
    for (const [i, { blobs }] of texts.entries())
      await this.#envelope.learn(blobs, { runId: forked.ancestry[i]?.runId ?? "", own: false });
    const journals = forked.ancestry.map(async ({ runId, base }, index) => {
      let seq = base;
      const entries: Entry[] = [];
      for (const [position, text] of (texts[index]?.batches ?? []).entries()) {
        const read = readBatch(text, `Batch ${position} of run ${runId}`);
        const { facts, outside } = await this.#envelope.unwrap(read, text, { runId, position });
        for (const { fact, at: time } of facts) entries.push({ ...fact, at: time, seq: ++seq, outside });
      }
      return entries;
    });
    const own = { ...forked, at, seq: forked.base + 1, outside: false };
    this.#inherited = inherit(forked.ancestry, await Promise.all(journals), own);
    this.#seq = forked.base;
    for (const entry of this.#inherited.entries) {
      this.entries.push(entry);
      this.state.learn(entry);
    }
  }
}

async function readAncestor(
  storage: Storage,
  locator: string,
  length: number,
): Promise<Pick<ReadReply, "batches" | "blobs">> {
  const { batches, blobs } = await storage.read(locator);
  if (batches.length < length) throw incomplete(locator, batches.length, length);
  return { batches: batches.slice(0, length), ...(blobs === undefined ? {} : { blobs }) };
}

/** Only a beginning says it. */
function runIdOf({ facts: [first] }: ReadBatch): string {
  return first !== undefined && "runId" in first.fact ? first.fact.runId : "";
}

function nothing(): void {}
