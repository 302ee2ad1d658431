/**
 * A journal without a workflow: outcomes by key, for programs that keep their own flow.
 *
 * P1. A key that has a record gives that record, and its work does not run.
 * P2. Only success is kept for good. A failure is noted and thrown as it is; asked for again, the work runs again.
 * P3. Nobody owns the journal: several processes may record into it, and the first record of a key stands.
 */

import { writeFact, type WrittenFact } from "./batch.ts";
import { decode } from "./codec/decode.ts";
import { encode, encodeThrown } from "./codec/encode.ts";
import { fingerprint } from "./codec/fingerprint.ts";
import type { Json } from "./codec/tags.ts";
import { Recording, type RecordedStream } from "./direct-stream.ts";
import type { StepInfo } from "./engine/attempts.ts";
import type { Chunks } from "./engine/chunks.ts";
import { deferred, type Deferred } from "./engine/promise.ts";
import { Replay } from "./engine/replay.ts";
import type { Entry, Fact } from "./entry.ts";
import { DurableError, show } from "./errors.ts";
import { Host, type HostOptions } from "./host.ts";
import { Journal } from "./journal.ts";
import { assertRunId, idempotencyKeyOf, locatorOf } from "./keys.ts";
import { limits } from "./limits.ts";
import { decodeEntry, type RunEntry } from "./run-entry.ts";
import { validate, type SchemaOutput, type StandardSchema } from "./schema.ts";

export type JournalOptions = Pick<HostOptions, "storage" | "encryption" | "world">;

export interface RecordOptions {
  /** What the outcome depends on. A record made with another input is an error, not reused. */
  readonly input?: unknown;
  /** Handed to the work. */
  readonly signal?: AbortSignal | undefined;
}

interface Queued {
  readonly written: WrittenFact;
  readonly landed: Deferred<void>;
}

/** Outcomes kept by key, in a journal that no workflow drives. */
export class DirectJournal {
  readonly id: string;
  readonly #host: Host;
  readonly #journal: Journal;
  readonly #replay = new Replay();
  readonly #settled = new Map<string, Entry>();
  readonly #working = new Map<string, Promise<unknown>>();
  readonly #streams = new Map<string, Recording>();
  #queue: Queued[] = [];
  #flushing = false;

  private constructor(id: string, host: Host, journal: Journal) {
    this.id = id;
    this.#host = host;
    this.#journal = journal;
    this.#learn(journal.entries);
  }

  /** Opens the journal of this id; it comes to be with its first record. */
  static async open(id: string, options: JournalOptions = {}): Promise<DirectJournal> {
    assertRunId(id);
    const host = new Host(options, () => null);
    const journals = await host.journals();
    const journal = (await Journal.open(locatorOf(id), journals)) ?? Journal.create(id, journals);
    const { workflow } = journal.state.summary;
    if (workflow === "") return new DirectJournal(id, host, journal);
    throw new DurableError(
      "workflow-mismatch",
      `Run ${id} belongs to workflow "${workflow}": it is written by that workflow alone. Choose another id.`,
    );
  }

  /** True when the key has a record: `record` would not run its work. */
  has(key: string): boolean {
    return this.#settled.has(key);
  }

  /** The recorded outcome of a key, or that of the work, which is then recorded. */
  record<S extends StandardSchema>(
    key: string,
    work: (info: StepInfo) => unknown,
    options: RecordOptions & { readonly schema: S },
  ): Promise<SchemaOutput<S>>;
  record<T>(key: string, work: (info: StepInfo) => T, options?: RecordOptions): Promise<Awaited<T>>;
  record(
    key: string,
    work: (info: StepInfo) => unknown,
    options: RecordOptions & { readonly schema?: StandardSchema } = {},
  ): Promise<unknown> {
    // Asked for twice at once, it still runs once.
    const known = this.#working.get(key);
    if (known !== undefined) return known;
    const working = this.#record(key, work, options).finally(() => this.#working.delete(key));
    this.#working.set(key, working);
    return working;
  }

  /**
   * The recorded chunks of a key, or those of a producer, handed on as they come and recorded.
   * Its end is withheld until it is durable. Recording goes on when the reader leaves.
   */
  recordStream<T>(
    key: string,
    producer: (info: StepInfo) => Chunks<T> | Promise<Chunks<T>>,
    options: RecordOptions = {},
  ): RecordedStream<T> {
    const input = this.#input(key, "stream", options);
    const known = this.#streams.get(key);
    if (known !== undefined && !known.failed) return known.read() as RecordedStream<T>;
    const recording = new Recording(
      { key, input, info: this.#info(key, (this.#replay.fact(key)?.attempt ?? 0) + 1, options) },
      {
        world: this.#host.world,
        where: `stream "${key}" of journal ${this.id}`,
        seq: () => this.#journal.seq,
        append: (fact) => this.#append(fact),
      },
    );
    const settled = this.#settled.get(key);
    if (settled?.kind === "stream.completed") recording.replay(settled, this.#replay.fact(key)?.chunks ?? []);
    else recording.start(producer);
    this.#streams.set(key, recording);
    return recording.read() as RecordedStream<T>;
  }

  /** Every fact in the journal, with values decoded. */
  entries(): RunEntry[] {
    return this.#journal.entries.map((entry) => decodeEntry(entry, this.id));
  }

  /** Says that nothing more will be recorded: lists show the journal as completed. */
  async end(): Promise<void> {
    if (this.#journal.state.end === null) await this.#append({ kind: "run.completed", output: null });
  }

  async #record(
    key: string,
    work: (info: StepInfo) => unknown,
    options: RecordOptions & { readonly schema?: StandardSchema },
  ): Promise<unknown> {
    const where = `"${key}" of journal ${this.id}`;
    const input = this.#input(key, "step", options);
    if (!this.has(key)) {
      const attempt = (this.#replay.fact(key)?.failures ?? 0) + 1;
      const startedAt = this.#host.world.now();
      const attempted = { key, after: this.#journal.seq, startedAt, attempt, ...input };
      let value: Json;
      try {
        const result = await validate(options.schema, await work(this.#info(key, attempt, options)));
        if (!result.ok)
          throw new DurableError(
            "invalid-output",
            `The output of ${where} does not fit its schema: ${result.issues}.`,
          );
        value = encode(result.value, `output of ${where}`);
      } catch (thrown) {
        const error = encodeThrown(thrown, `error of ${where}`);
        await this.#append({ kind: "attempt.failed", ...attempted, error, retryAt: this.#host.world.now() });
        throw thrown;
      }
      await this.#append({ kind: "step.completed", ...attempted, value });
    }
    const settled = this.#settled.get(key);
    return settled?.kind === "step.completed" ? decode(settled.value, `output of ${where}`) : undefined;
  }

  /** Checks what is asked for against what is recorded, before anything runs. */
  #input(key: string, kind: "step" | "stream", { input }: RecordOptions): { readonly input?: string } {
    if (
      typeof key !== "string" ||
      key === "" ||
      key.length > limits.keyLength ||
      /[\p{Cc}\p{Cs}]/u.test(key)
    ) {
      throw new DurableError(
        "invalid-name",
        `${show(key)} is not a key: use 1 to ${limits.keyLength} characters, no control characters.`,
      );
    }
    const fact = this.#replay.fact(key);
    const asked = input === undefined ? null : fingerprint(input, `input of "${key}" of journal ${this.id}`);
    if (fact !== undefined && fact.kind !== kind) throw this.#diverged(key, `as a ${fact.kind}`);
    if (this.has(key) && fact !== undefined && fact.input !== null && fact.input !== asked)
      throw this.#diverged(key, "with another input");
    return asked === null ? {} : { input: asked };
  }

  #diverged(key: string, how: string): DurableError {
    return new DurableError(
      "diverged",
      `"${key}" of journal ${this.id} is recorded ${how}. Use another key, or put the input into the key.`,
      { details: { key } },
    );
  }

  #info(key: string, attempt: number, { signal }: RecordOptions): StepInfo {
    const idempotencyKey = idempotencyKeyOf(this.id, key);
    return { key, attempt, idempotencyKey, signal: signal ?? new AbortController().signal };
  }

  /** Settles when the fact is durable, or the key has been settled by another. What comes together shares one write. */
  #append(fact: Fact<Json>): Promise<void> {
    const landed = deferred<void>();
    this.#queue.push({ written: writeFact(fact, this.#host.world.now()), landed });
    if (!this.#flushing) void this.#flush();
    return landed.promise;
  }

  async #flush(): Promise<void> {
    this.#flushing = true;
    // What settles in this turn is gathered first.
    await this.#host.world.turn();
    while (this.#queue.length > 0) {
      const taken = this.#queue.splice(0, limits.batchEntries);
      try {
        await this.#write(taken);
      } catch (error) {
        for (const { landed } of taken) landed.reject(error);
      }
    }
    this.#flushing = false;
  }

  async #write(taken: readonly Queued[]): Promise<void> {
    for (let left = taken; left.length > 0;) {
      const fresh = left.filter((queued) => this.#isFree(queued));
      if (fresh.length === 0) return;
      const first = this.#journal.position === 0 ? [writeFact(this.#started, this.#host.world.now())] : [];
      const facts = [...first, ...fresh.map(({ written }) => written)];
      const appended = await this.#journal.append(facts, { outside: true });
      if (appended.kind !== "lost") this.#learn(appended.entries);
      if (appended.kind === "landed") for (const { landed } of fresh) landed.resolve();
      left = appended.kind === "landed" ? [] : fresh;
    }
  }

  /** What may still be written: others may have settled the key, or ended the journal. */
  #isFree({ written: { fact }, landed }: Queued): boolean {
    if (this.#journal.state.end !== null) {
      landed.reject(
        new DurableError(
          "conflict",
          `Journal ${this.id} was ended: it takes no further records. Choose another id.`,
        ),
      );
      return false;
    }
    if (!("key" in fact)) return true;
    const { attempt, chunks = [] } = this.#replay.fact(fact.key) ?? {};
    const last = chunks.at(-1);
    const next = last === undefined ? 0 : last.from + last.chunks.length;
    const index =
      fact.kind === "stream.chunks" ? fact.from : fact.kind === "stream.completed" ? fact.count : null;
    // The next of the latest attempt, or the first of a later one: anything else is another's.
    const mine =
      "attempt" in fact &&
      (attempt === fact.attempt ? next === index : index === 0 && fact.attempt > (attempt ?? 0));
    if (index !== null && (this.has(fact.key) || !mine)) {
      const why = `Another process records stream "${fact.key}" of journal ${this.id} as well, and was first.`;
      landed.reject(new DurableError("conflict", `${why} Open the journal again to read it.`));
      return false;
    }
    if (this.has(fact.key)) landed.resolve();
    return !this.has(fact.key);
  }

  get #started(): Fact<Json> {
    return { kind: "run.started", runId: this.id, workflow: "", version: null, input: null };
  }

  #learn(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#replay.learn(entry);
      const settles = entry.kind === "step.completed" || entry.kind === "stream.completed";
      if (settles && !this.#settled.has(entry.key)) this.#settled.set(entry.key, entry);
    }
  }
}
