/**
 * The journal of one run, opened by one driver or by one caller from outside.
 *
 * journal.1. Reads come from memory. The storage is read at `open`, and later only after a wake-up or an unknown outcome.
 * journal.2. At most one append is in flight. Its content is written once, under one write id (law 8).
 * journal.3. An unknown outcome is settled by reading: if our write id is there, the append succeeded; if the position
 *     is free, the same text is appended again.
 * journal.4. A driver accepts new batches only from outside; a caller from outside accepts all new batches.
 * journal.5. A driver that has seen a batch of another driver writes nothing more.
 * journal.6. A read with fewer batches than the length that the storage reports is refused, and so is a journal that shrank.
 * journal.7. Memory holds one chapter: the entry that begins the next one replaces entries and state.
 */

import {
  corrupt,
  endsCode,
  readBatch,
  runIdOf,
  writeBatch,
  type ReadBatch,
  chapterOf,
  type WrittenFact,
} from "./batch.ts";
import type { Chain, Cipher } from "../ports/cipher.ts";
import type { Json } from "../values/codec/tags.ts";
import type { ChildOf, Entry, Fact, SpawnedBy } from "./entry.ts";
import { Envelope, openNote } from "./envelope.ts";
import { DurableError } from "../values/errors.ts";
import { reportMade, RunState, summarize } from "./fold.ts";
import { HeadMarks } from "./head-marks.ts";
import { incomplete, isFinal, isGivenUp, isGone, misplaced, regressed, unsettled } from "./errors.ts";
import { locatorOf } from "./keys.ts";
import { isBeginning, type Beginning } from "./kinds.ts";
import { fingerprintOf } from "../values/codec/fingerprint.ts";
import { retaken } from "./taken-back.ts";
import { type KnownAncestors, inheritedBy } from "./ancestors.ts";
import type { Inherited } from "./lineage.ts";
import { Turns } from "../values/turns.ts";
import type { AppendRequest, BlockedNote, ReadReply, Storage } from "../ports/storage.ts";
import type { Prices } from "../values/usage.ts";
import { backOff, type World } from "../ports/world.ts";

export interface JournalOptions {
  readonly storage: Storage;
  readonly world: World;
  readonly cipher?: Cipher | null;
  /** Opens this chapter to read it; the current one by default. */
  readonly chapter?: number | undefined;
  /** Ancestors of forks that were read before. */
  readonly known?: KnownAncestors | undefined;
  /** What models cost, for what is used from now on. */
  readonly prices?: Prices | undefined;
  /** Keeps what is asked of models from now on. */
  readonly prompts?: boolean | undefined;
}

type TailBatch = { readonly batch: ReadBatch; readonly entries: readonly Entry[] };

const settleTries = 12;
/** About one second: a person must free some space, and should hear of it soon. */
const fullTries = 6;

export class RunJournal {
  readonly locator: string;
  readonly #storage: Storage;
  readonly #world: World;
  readonly #cipher: Cipher | null;
  readonly #envelope: Envelope;
  readonly #chain: Chain | undefined;
  /** The id of the writer; a new one each time a journal is opened. */
  readonly driver: string;
  readonly prices: Prices | undefined;
  readonly prompts: boolean | undefined;
  state = new RunState();
  /** All entries of the chapter that a workflow may see: inherited ones, then the run's own. */
  entries: Entry[] = [];
  /** What retries have struck from the entries. */
  struck: readonly Entry[] = [];
  /** How many batches have been read or written. */
  position = 0;
  /** Characters of the batches of this chapter, as a measure of the memory that it takes. */
  size = 0;
  #writes = 0;
  #seq = 0;
  #inherited: Inherited | null = null;
  #first: Beginning | null = null;
  readonly #chapter: number | undefined;
  /** Where the ancestors of a fork are read. */
  readonly #source: { storage: Storage; envelope: Envelope; known: KnownAncestors | undefined };
  /** One read or append at a time, so that a batch that is read before its append returns is not added twice. */
  readonly #turns = new Turns();
  /** True when the run was deleted, and the storage keeps it only for its forks. */
  deleted = false;
  /** Why the run cannot continue, according to the note beside its head. */
  blocked: BlockedNote | null = null;
  /** The lease of the present driver was not given back by the one before. */
  takenOver = false;
  /** Whether the run had a live driver when it was last read; `undefined` where the storage does not say so. */
  held: boolean | undefined;
  readonly #marks: HeadMarks;
  /** Set by the driver. From then on a batch of another driver means that this one has lost the run. */
  driven = false;
  /** Another driver has the run, so this one must not go on. */
  lost = false;
  /** How many of its leases were given back: each has a name of its own. */
  leases = 0;
  /** The last of them, while it may not have been given back. */
  unreturned: string | null = null;

  /** A journal that is not read yet. */
  constructor(locator: string, { storage, world, cipher, chapter, known, prices, prompts }: JournalOptions) {
    this.locator = locator;
    this.#chapter = chapter;
    this.#storage = storage;
    this.#cipher = cipher ?? null;
    this.#envelope = new Envelope(this.#cipher);
    this.#marks = new HeadMarks(this.#envelope);
    this.#source = { storage, envelope: this.#envelope, known };
    this.#chain = this.#envelope.chain();
    this.#world = world;
    this.prices = prices;
    this.prompts = prompts;
    this.driver = world.id().slice(0, 12);
  }

  /**
   * Reads the current chapter of a run; `null` when the storage does not have it. With `wait`, only what an answer to that
   * wait needs: the head, the first entry and the batches that name the wait, where the storage gives the head.
   */
  static async open(locator: string, options: JournalOptions, wait?: string): Promise<RunJournal | null> {
    const journal = new RunJournal(locator, options);
    await (wait === undefined ? journal.refresh() : journal.#skim(wait));
    return journal.exists ? journal : null;
  }

  get exists(): boolean {
    return this.position > 0 && !this.deleted;
  }

  get runId(): string {
    return this.state.summary.runId;
  }

  /** True when it holds an earlier chapter, which has ended. */
  get past(): boolean {
    return this.#chapter !== undefined && this.lost;
  }

  /** The first entry of the chapter. */
  get first(): Beginning {
    if (this.#first === null) throw corrupt(`The beginning of run ${this.locator}`);
    return this.#first;
  }

  /** The recorded input. */
  get input(): Json {
    return this.#inherited?.input ?? this.#first?.input ?? null;
  }

  /** System prompts that a fork replaces, by those that the code gives; empty in any other run. */
  get otherPrompts(): ReadonlyMap<string, string> {
    return this.#inherited?.prompts ?? new Map();
  }

  /** Fingerprint of the input with which the run was started. */
  get firstInput(): string {
    return this.first.kind === "run.continued" ? this.first.first : fingerprintOf(this.input);
  }

  /** Names this incarnation and chapter; empty while nothing is recorded. */
  get nonce(): string {
    return this.#first?.nonce ?? "";
  }

  get chapter(): number {
    return this.#first?.kind === "run.continued" ? this.#first.chapter : 1;
  }

  /** The parent and the call of a child run. */
  get childOf(): ChildOf | undefined {
    return this.#first?.kind === "run.forked" ? undefined : this.#first?.childOf;
  }

  /** The run that spawned this one. */
  get spawnedBy(): SpawnedBy | undefined {
    return this.#first?.kind === "run.forked" ? undefined : this.#first?.spawnedBy;
  }

  /** The schedule that started this run. */
  get schedule(): string | undefined {
    return this.#first?.kind === "run.forked" ? undefined : this.#first?.schedule;
  }

  /** The position of the latest entry. */
  get seq(): number {
    return this.#seq;
  }

  /** The time at which the history of the run begins. */
  get clock(): number {
    // A fork sees the times of its parent until its own entries.
    return this.#inherited?.clock ?? this.first.at;
  }

  /** See `Inherited`; a retry may allow changes, too. */
  get loose(): number {
    return Math.max(this.#inherited?.loose ?? 0, this.state.loose);
  }

  /** A fork makes a call of its ancestors again. */
  isLeft(key: string): boolean {
    return this.#inherited?.left.has(key) === true;
  }

  /** What seeds random values at a position: an ancestor in inherited history, then the run itself. */
  seedAt(delivered: number): string {
    return this.#ancestorAt(delivered)?.seed ?? this.nonce;
  }

  /** The run that wrote the entry at a position. */
  runAt(seq: number): string {
    return this.#ancestorAt(seq)?.runId ?? this.runId;
  }

  #ancestorAt(position: number): Inherited["seeds"][number] | undefined {
    return this.#inherited?.seeds.find(({ upTo }) => position <= upTo);
  }

  /** Reads the batches that were added since; returns their entries. */
  refresh(): Promise<readonly Entry[]> {
    return this.#turns.take(async () => (await this.#tail()).flatMap(({ entries }) => entries));
  }

  /** Appends facts as one batch. Resolves when it is durable, or when others were first. */
  append(facts: readonly WrittenFact[], options: AppendOptions = {}): Promise<Appended> {
    const { position } = this;
    return this.#turns.take(() => {
      // A read that was in progress added entries that the caller has not seen, so the caller decides again.
      if (this.position !== position) return Promise.resolve({ kind: "absorbed", entries: [] });
      return this.#append(facts, options);
    });
  }

  /** Begins with a fact that is not written, to see what follows from it. */
  imagine(fact: Fact<Json>, at: number): Promise<readonly Entry[]> {
    return this.#learn({ driver: this.driver, writeId: "", outside: false, facts: [{ fact, at }] });
  }

  /** Resolves when no read and no append is in progress. */
  settled(): Promise<void> {
    return this.#turns.settled();
  }

  async #append(facts: readonly WrittenFact[], options: AppendOptions): Promise<Appended> {
    const outside = options.outside === true;
    if (!outside && (this.lost || this.state.end !== null)) return { kind: "lost" };
    const writeId = `${this.driver}.${++this.#writes}`;
    const summary = { ...this.state.summary };
    const { locator, position } = this;
    for (const { fact, at } of facts) summarize(summary, fact, at, position);
    if (facts[0]?.fact.kind === "run.continued") this.#envelope.beginChapter();
    const spot = { runId: summary.runId, position };
    const wrapped = this.#envelope.wrapPlain(facts) ?? (await this.#envelope.wrap(facts, spot));
    const text = writeBatch(writeId, outside, wrapped.texts);
    const report = reportMade(facts, this.state.report, this.#first);
    const same = this.#marks.unchanged(facts, this);
    const marks = same ?? (await this.#marks.after(facts, this, summary));
    const head = { locator, ...summary, ...marks };
    const request: AppendRequest = {
      locator,
      position,
      batch: this.#chain === undefined ? text : await this.#chain.sign(text, spot),
      head,
      ...(position > 0 && same === null && this.#marks.isNew(head) ? { newMarks: true } : {}),
      ...(report !== undefined && {
        report: await this.#envelope.sealText(report, { runId: spot.runId, at: "report" }),
      }),
      // Folding makes a new object for every change.
      ...(position > 0 && summary.tags !== this.state.summary.tags ? { newTags: true } : {}),
      ...(facts[0]?.fact.kind === "run.retried" ? { revives: true } : {}),
      ...(wrapped.blobs.length === 0 ? {} : { blobs: wrapped.blobs }),
      ...(options.lease === undefined ? {} : { lease: options.lease }),
    };
    for (let tries = 1; ; tries++) {
      try {
        await this.#storage.append(request);
        this.#envelope.landed(wrapped);
        if (this.#chain !== undefined) await this.#chain.check([request.batch], spot);
        this.size += request.batch.length;
        const own = facts.map(({ fact, at }) => ({ fact: { ...fact }, at }));
        const batch = { driver: this.driver, writeId, outside, facts: own };
        this.#marks.keep(head, marks);
        if (options.learn === false) return { kind: "landed", entries: [] };
        return { kind: "landed", entries: position === 0 ? await this.#learn(batch) : this.#add(batch) };
      } catch (error) {
        const settled = await this.#settle(writeId, outside, error);
        if (settled !== null) return settled;
        const isOver = tries >= (DurableError.is(error, "storage-full") ? fullTries : settleTries);
        if (isOver || isGivenUp(error)) throw unsettled(this.runId || summary.runId, settleTries, error);
        await backOff(this.#world, tries);
      }
    }
  }

  /** Reads from the position of an uncertain append; `null` when the position is free, or the read failed as well. */
  async #settle(writeId: string, outside: boolean, error: unknown): Promise<Appended | null> {
    if (isGone(error)) throw error;
    let tail: TailBatch[];
    try {
      tail = await this.#tail();
    } catch (readError) {
      if (isFinal(readError)) throw readError;
      return null;
    }
    // The position is free, so the same text is appended again, unless a retry cannot help.
    if (tail.length === 0 && isFinal(error)) throw error;
    if (tail.length === 0) return null;
    const ours = tail.some(({ batch }) => batch.writeId === writeId);
    const others = tail.some(({ batch }) => !batch.outside && batch.driver !== this.driver);
    if (!outside && (others || (this.state.end !== null && !ours))) return { kind: "lost" };
    return { kind: ours ? "landed" : "absorbed", entries: tail.flatMap(({ entries }) => entries) };
  }

  async #tail(): Promise<TailBatch[]> {
    const reply = await readPart(this.#storage, this, this.#chapter);
    const { batches, length, deleted, blobs, blocked, driven, head, from = this.position } = reply;
    // The id was deleted and is used again: what was read belongs to another run.
    if (this.position > 0 && head !== undefined && head.createdAt !== this.state.summary.createdAt)
      throw regressed(this.runId, this.position, true);
    this.deleted = deleted === true;
    this.blocked = blocked === undefined ? null : await openNote(blocked, this.locator, this.#cipher);
    this.held = driven;
    this.#marks.keep(head ?? null);
    if (length < this.position) throw regressed(this.runId, this.position, length === 0);
    // Earlier chapters are not read, or were dropped. The batches that follow begin with a chapter.
    this.position = Math.max(this.position, from);
    if (this.position + batches.length !== length)
      throw incomplete(this.locator, this.position + batches.length, length);
    let { runId } = this;
    // Read before the seals are checked, because a later format may have other seals.
    const reads = batches.map((text, i) => {
      const read = readBatch(text, `Batch ${this.position + i} of run ${runId || this.locator}`);
      // Before the first batch is learned, the run id is known only from its text.
      runId ||= runIdOf(read);
      return read;
    });
    await this.#chain?.check(batches, { runId, position: this.position });
    if (blobs !== undefined) await this.#envelope.learn(blobs, { runId, own: true });
    const learned: TailBatch[] = [];
    // Not with iterators: until the loop is compiled, they allocate for each batch of a replay.
    for (let i = 0; i < reads.length; i++) {
      const read = reads[i] as ReadBatch;
      const text = batches[i] as string;
      const spot = { runId, position: this.position };
      this.size += text.length;
      try {
        const [begins] = read.facts;
        if (begins?.fact.kind === "run.continued" && begins.fact.chapter > (this.#chapter ?? Infinity)) {
          this.lost = true;
          return learned;
        }
        // Most batches need nothing that has to be awaited, and a turn for each would be most of a long replay.
        const opened = this.#envelope.unwrap(read, text, spot);
        const batch = opened instanceof Promise ? await opened : opened;
        this.lost ||= this.driven && !batch.outside && batch.driver !== this.driver;
        const entries = this.position === 0 ? await this.#learn(batch) : this.#add(batch);
        learned.push({ batch, entries });
      } catch (error) {
        // A field that this library did not write may be detected only when it is used. Other errors are passed on,
        // because an ancestor may be unreadable only now.
        throw error instanceof TypeError || error instanceof RangeError
          ? corrupt(`Batch ${spot.position} of run ${runId}`)
          : error;
      }
    }
    return learned;
  }

  async #skim(wait: string): Promise<void> {
    const { batches, length, deleted, head, from = 0 } = await readPart(this.#storage, this, this.#chapter);
    // With encryption the whole chapter is read, so that nothing is appended without the right key.
    const isPart = head === undefined || from + batches.length !== length;
    const whole = isPart || this.#envelope.seals(batches) || batches.some(endsCode);
    if (whole) return void (await this.refresh());
    this.deleted = deleted === true;
    this.position = length;
    const { locator: _, report: __, waits: _w, mark: _m, error: _e, ...summary } = head;
    Object.assign(this.state.summary, summary);
    this.state.skimmed = this.#marks.keep(head);
    for (const [i, text] of batches.entries()) {
      if (i > 0 && !text.includes(wait)) continue;
      const { facts, outside } = readBatch(text, `Batch ${from + i} of run ${head.runId}`);
      for (const { fact, at } of facts) {
        const entry: Entry = { ...fact, at, seq: 0, outside };
        if (i === 0 && isBeginning(entry)) this.#begin(entry);
        if ("wait" in entry && entry.wait === wait) this.state.waits.learn(entry);
      }
    }
  }

  async #learn(batch: ReadBatch): Promise<Entry[]> {
    const [first] = batch.facts;
    if (first?.fact.kind === "run.forked" && this.#seq === 0) await this.#inherit(first.fact, first.at);
    return this.#add(batch);
  }

  #add(batch: ReadBatch): Entry[] {
    const learned: Entry[] = [];
    const { position } = this;
    this.position += 1;
    for (const { fact, at } of batch.facts) {
      if (fact.kind === "run.continued") this.#turnPage(fact.base);
      if (fact.kind === "run.retried") Object.assign(this, retaken(this, fact, this.#seq + 1));
      // The fact itself becomes the entry: it was made for this batch alone.
      const entry: Entry = Object.assign(fact, { at, seq: ++this.#seq, outside: batch.outside });
      if (isBeginning(entry)) this.#begin(entry);
      if (entry.kind === "run.queued" && entry.input !== undefined)
        this.#first = { ...this.first, input: entry.input };
      this.entries.push(entry);
      this.state.learn(entry, position);
      learned.push(entry);
    }
    return learned;
  }

  /** A journal that was copied from another run is refused, although its seals are right. */
  #begin(entry: Beginning): void {
    if (locatorOf(entry.runId) !== this.locator) throw misplaced(entry.runId);
    this.#first = entry;
    this.state.endsBy = entry.deadline ?? null;
  }

  /** A chapter begins: nothing of the one before is needed. */
  #turnPage(base: number): void {
    this.entries = [];
    this.struck = [];
    this.size = 0;
    this.state = new RunState();
    this.#inherited = null;
    this.#seq = base;
  }

  /**
   * Lets go of entries and values, for a reader that only needs what comes next. A value that shares a part with an earlier
   * one is then `corrupt`: the run must be opened again.
   */
  forget(): void {
    const { summary } = this.state;
    this.#turnPage(this.#seq);
    Object.assign(this.state.summary, summary);
    this.#first = { ...this.first, input: null };
    this.#envelope.forget();
  }

  /** The first batch of a fork names its ancestors, so they are read concurrently; one more round per anchor in a line. */
  async #inherit(forked: Fact<Json> & { kind: "run.forked" }, at: number): Promise<void> {
    this.#inherited = await inheritedBy(forked, at, this.#source);
    this.#seq = forked.base;
    for (const entry of this.#inherited.entries) {
      this.entries.push(entry);
      this.state.learn(entry, 0);
    }
  }
}

/**
 * The result of an append. `absorbed`: others appended first and nothing was written; the caller decides again with the
 * new entries. `lost`: another driver has the run, or it has ended.
 */
export type Appended =
  | { readonly kind: "landed"; readonly entries: readonly Entry[] }
  | { readonly kind: "absorbed"; readonly entries: readonly Entry[] }
  | { readonly kind: "lost" };

export interface AppendOptions {
  readonly outside?: boolean;
  readonly lease?: AppendRequest["lease"];
  /** False if the batch need not be added to this object, because the driver of the run will read it. */
  readonly learn?: boolean;
}

/** A driver or a caller reads the current chapter alone; a reader of an earlier one reads that one. */
export function readPart(
  storage: Storage,
  { locator, position }: { readonly locator: string; readonly position: number },
  chapter: number | undefined,
): Promise<ReadReply> {
  if (position > 0 || storage.readChapter === undefined) return storage.read(locator, position);
  return chapter === undefined ? storage.readChapter(locator) : readEarlier(storage, locator, chapter);
}

async function readEarlier(storage: Storage, locator: string, chapter: number): Promise<ReadReply> {
  const begins = (text: string | undefined): number =>
    text === undefined ? 0 : chapterOf(readBatch(text, `A chapter of run ${locator}`));
  const current = await storage.readChapter?.(locator);
  const back = begins(current?.batches[0]) - chapter;
  if (current === undefined || back <= 0) return current ?? storage.read(locator);
  const part = await storage.readChapter?.(locator, back);
  const isWhole =
    part !== undefined &&
    part.batches.length > 1 &&
    begins(part.batches[0]) === chapter &&
    begins(part.batches.at(-1)) === chapter + 1;
  return isWhole ? { ...part, length: part.from + part.batches.length } : storage.read(locator);
}
