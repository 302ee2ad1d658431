/**
 * A journal without a workflow: outcomes by key, for programs with their own control flow.
 *
 * standalone.1. For a key that has a record, that record is returned and the work does not run.
 * standalone.2. Only success is final. A failure is recorded and thrown unchanged; the next call runs the work again.
 * standalone.3. The journal has no driver: several processes may record into it, and the first record of a key counts.
 */

import { callKind } from "../journal/kinds.ts";
import { fitting, writeFact, type WrittenFact } from "../journal/batch.ts";
import { decode } from "../values/codec/decode.ts";
import { encode, encodeThrown } from "../values/codec/encode.ts";
import { fingerprint } from "../values/codec/fingerprint.ts";
import type { Json } from "../values/codec/tags.ts";
import {
  follows,
  isPart,
  Recording,
  type RecordedStream,
  ended,
  otherwise,
  overtaken,
  owned,
} from "./stream.ts";
import { logOf } from "../engine/log.ts";
import type { StepInfo } from "../engine/calls/info.ts";
import { Beats } from "../engine/calls/beats.ts";
import type { Chunks } from "../engine/calls/stream.ts";
import { deferred, type Deferred } from "../engine/promise.ts";
import { Replay } from "../engine/replay.ts";
import type { CallKind, Entry, Fact } from "../journal/entry.ts";
import { DurableError } from "../values/errors.ts";
import { Host, hostOf, hostOptions, type HostOptions } from "../runs/host.ts";
import { RunJournal } from "../journal/journal.ts";
import { assertKey, assertRunId, idempotencyKeyOf, locatorOf } from "../journal/keys.ts";
import { assertOptions, defined } from "../values/options.ts";
import type { World } from "../ports/world.ts";
import { promptField, type KeepsPrompt, type MakePrompt } from "../journal/prompt.ts";
import { decodeEntry, type RunEntry } from "../journal/outcome.ts";
import { Meter } from "../values/usage.ts";
import { validate, type SchemaOutput, type StandardSchema } from "../values/schema.ts";

/** Options of `Journal.open`: the app that the journal belongs to, or where it is stored and how it is encrypted. */
export interface JournalOptions extends Pick<HostOptions, "storage" | "encryption" | "record" | "world"> {
  /** An app of `createApp`: its storage, encryption and clock are used. */
  readonly app?: { readonly world: World } | undefined;
}

/** Options of `journal.record` and `journal.recordStream`. */
export interface RecordOptions {
  /** What the value depends on. A record that was made with another input is an error, and is not reused. */
  readonly input?: unknown;
  /** Passed on to the work. */
  readonly signal?: AbortSignal | undefined;
  /** For what its usage is, in sums of many calls; the key by default. */
  readonly label?: string | undefined;
}

interface Queued {
  readonly written: WrittenFact;
  readonly landed: Deferred<void>;
}

/** Work in progress, and the fingerprint of its input. */
interface Working {
  readonly input: string | null;
  readonly recorded: Promise<void>;
}

type Kind = "step" | "stream";
const recordOptions = "input signal schema label";
type Settled = Extract<Entry, { kind: "step.completed" | "stream.completed" }>;

/**
 * A journal without a workflow: records single calls by key, for programs that have their own control flow.
 */
export class Journal {
  /** The id it was opened with. */
  readonly id: string;
  readonly #host: Host;
  readonly #journal: RunJournal;
  readonly #replay = new Replay();
  readonly #settled = new Map<string, Settled>();
  readonly #working = new Map<string, Working>();
  readonly #streams = new Map<string, Recording>();
  #queue: Queued[] = [];
  #flushing = false;

  private constructor(id: string, host: Host, journal: RunJournal) {
    this.id = id;
    this.#host = host;
    this.#journal = journal;
    this.#learn(journal.entries);
  }

  /** Opens the journal of this id. It is created with its first record. */
  static async open(id: string, options: JournalOptions = {}): Promise<Journal> {
    const host = hostFor(id, options, "Journal.open");
    const journals = await host.journals();
    const journal =
      (await RunJournal.open(locatorOf(id), journals)) ?? new RunJournal(locatorOf(id), journals);
    const direct = new Journal(id, host, journal);
    if (direct.#foreign !== null) throw direct.#foreign;
    return direct;
  }

  /** Removes the journal of this id, if it is there. */
  static async delete(id: string, options: JournalOptions = {}): Promise<void> {
    const host = hostFor(id, options, "Journal.delete");
    await (await host.storage()).delete(locatorOf(id));
  }

  /** True when the key has a record, so that `record` would not run its work. */
  has(key: string): boolean {
    return this.#settled.has(key);
  }

  /** Returns the recorded value of a key; if there is none, runs the work and records its value. */
  record<S extends StandardSchema>(
    key: string,
    work: (info: StepInfo) => unknown,
    options: RecordOptions & { readonly schema: S },
  ): Promise<SchemaOutput<S>>;
  record<T>(key: string, work: (info: StepInfo) => T, options?: RecordOptions): Promise<Awaited<T>>;
  async record(
    key: string,
    work: (info: StepInfo) => unknown,
    options: RecordOptions & { readonly schema?: StandardSchema } = {},
  ): Promise<unknown> {
    const input = this.#input(key, "step", options);
    // Two concurrent calls with one key run the work once.
    if (!this.has(key) && !this.#working.has(key)) {
      const recorded = this.#record(key, work, { ...options, input }).finally(() =>
        this.#working.delete(key),
      );
      this.#working.set(key, { input: input.input ?? null, recorded });
    }
    await this.#working.get(key)?.recorded;
    const settled = this.#settled.get(key);
    return settled?.kind === "step.completed"
      ? decode(settled.value, `output of "${key}" of journal ${this.id}`)
      : undefined;
  }

  /**
   * Returns the recorded chunks of a key; if there are none, passes on the chunks of a producer as they come,
   * and records them. The end is held back until everything is durable. Recording goes on when the reader
   * leaves.
   */
  recordStream<T>(
    key: string,
    producer: (info: StepInfo) => Chunks<T> | Promise<Chunks<T>>,
    options: RecordOptions = {},
  ): RecordedStream<T> {
    const input = this.#input(key, "stream", options);
    const known = this.#streams.get(key);
    if (known !== undefined && !known.failed) return known.read() as RecordedStream<T>;
    const where = `stream "${key}" of journal ${this.id}`;
    const meter = new Meter(where, this.#journal.prices, options.label);
    const attempt = (this.#replay.record(key)?.attempt ?? 0) + 1;
    const recording = new Recording(
      { key, input, meter, info: this.#info(key, { attempt, meter }, options) },
      {
        world: this.#host.world,
        where,
        seq: () => this.#journal.seq,
        append: (fact) => this.#append(fact),
      },
    );
    const settled = this.#settled.get(key);
    if (settled?.kind === "stream.completed")
      recording.replay(settled, this.#replay.record(key)?.chunks ?? []);
    else recording.start(producer);
    this.#streams.set(key, recording);
    return recording.read() as RecordedStream<T>;
  }

  /** All entries of the journal, with decoded values. */
  entries(): RunEntry[] {
    return this.#journal.entries.map((entry) => decodeEntry(entry, this.id));
  }

  /** Marks the journal as completed. Further records are refused. */
  async end(): Promise<void> {
    if (this.#journal.state.end === null) await this.#append({ kind: "run.completed", output: null });
  }

  async #record(
    key: string,
    work: (info: StepInfo) => unknown,
    options: RecordOptions & {
      readonly schema?: StandardSchema;
      readonly input: { readonly input?: string };
    },
  ): Promise<void> {
    const where = `"${key}" of journal ${this.id}`;
    const attempt = (this.#replay.record(key)?.failures ?? 0) + 1;
    const startedAt = this.#host.world.now();
    const attempted = { key, after: this.#journal.seq, startedAt, attempt, ...options.input };
    const meter = new Meter(where, this.#journal.prices, options.label);
    const { after } = attempted;
    const beats = new Beats(this.#host.world, (progress) => {
      // A progress that cannot be recorded is lost; the result says whether the storage works.
      this.#append({ kind: "step.progress", key, after, attempt, value: progress }).catch(() => {});
    });
    let value: Json;
    try {
      const info = this.#info(key, { attempt, meter, beats }, options);
      const result = await validate(options.schema, await work(info));
      if (!result.ok)
        throw new DurableError(
          "invalid-output",
          `The output of ${where} does not fit its schema: ${result.issues}.`,
        );
      value = encode(result.value, `output of ${where}`);
      beats.end({ failed: false });
    } catch (thrown) {
      beats.end({ failed: true });
      const error = encodeThrown(thrown, `error of ${where}`);
      const retryAt = this.#host.world.now();
      await this.#append({ kind: "attempt.failed", ...attempted, ...meter.noted, error, retryAt });
      throw thrown;
    }
    await this.#append({ kind: "step.completed", ...attempted, ...meter.noted, value });
  }

  /** Compares a call with what is recorded or in progress, before anything runs. */
  #input(key: string, kind: Kind, options: RecordOptions): { readonly input?: string } {
    assertKey(key);
    assertOptions(options, recordOptions, `The record of "${key}"`);
    const { input } = options;
    if (!this.has(key) && this.#journal.state.end !== null) throw ended(this.id);
    const known = this.#known(key);
    const asked = input === undefined ? null : fingerprint(input, `input of "${key}" of journal ${this.id}`);
    if (known !== null && known.kind !== kind) throw otherwise(this.id, key, `as a ${known.kind}`);
    if ((known?.input ?? asked) !== asked) throw otherwise(this.id, key, "with another input");
    return asked === null ? {} : { input: asked };
  }

  /** The kind of a key and the input it is bound to. A failed attempt does not bind a key to its input. */
  #known(key: string): { readonly kind: CallKind; readonly input: string | null } | null {
    const settled = this.#settled.get(key);
    if (settled !== undefined) return { kind: callKind(settled), input: settled.input ?? null };
    const [stream, step] = [this.#streams.get(key), this.#working.get(key)];
    if (stream?.failed === false) return { kind: "stream", input: stream.input };
    if (step !== undefined) return { kind: "step", input: step.input };
    const record = this.#replay.record(key);
    return record === undefined ? null : { kind: record.kind, input: null };
  }

  #info(
    key: string,
    { attempt, meter, beats }: { readonly attempt: number; readonly meter: Meter; readonly beats?: Beats },
    { signal = new AbortController().signal }: RecordOptions,
  ): StepInfo & KeepsPrompt {
    const idempotencyKey = idempotencyKeyOf(this.id, key, this.id);
    const { world } = this.#host;
    const log = logOf({ world, journal: { state: { summary: { runId: this.id, workflow: "" } } } }, key);
    const keepPrompt = (make: MakePrompt): void => {
      meter.asked = promptField(this.#journal, make, { key, after: this.#journal.seq });
    };
    const where = `progress of "${key}" of journal ${this.id}`;
    const heartbeat = (said?: unknown): void => beats?.beat(said === undefined ? said : encode(said, where));
    const reached = this.#replay.record(key)?.progress;
    const progress = reached === undefined ? undefined : decode(reached, where);
    return { key, attempt, idempotencyKey, signal, log, meter: meter.add, keepPrompt, heartbeat, progress };
  }

  /** Resolves when the fact is durable, or another process has settled the key. Facts of one turn share one write. */
  #append(fact: Fact<Json>): Promise<void> {
    const landed = deferred<void>();
    this.#queue.push({ written: writeFact(fact, this.#host.world.now()), landed });
    if (!this.#flushing) void this.#flush();
    return landed.promise;
  }

  async #flush(): Promise<void> {
    this.#flushing = true;
    // First collect everything that settles in this turn.
    await this.#host.world.turn();
    while (this.#queue.length > 0) {
      const taken = this.#queue.splice(0, fitting(this.#queue.map(({ written }) => written)));
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

  /** True if the fact may still be written: others may have settled its key, restarted its stream, or ended the journal. */
  #isFree({ written: { fact }, landed }: Queued): boolean {
    const refusal = this.#refusalOf(fact);
    if (refusal !== null) landed.reject(refusal);
    else if ("key" in fact && this.has(fact.key)) landed.resolve();
    else return true;
    return false;
  }

  #refusalOf(fact: Fact<Json>): DurableError | null {
    if (this.#foreign !== null) return this.#foreign;
    if (this.#journal.state.end !== null) return ended(this.id);
    if (!("key" in fact)) return null;
    const known = this.#replay.record(fact.key);
    if (known !== undefined && known.kind !== callKind(fact))
      return otherwise(this.id, fact.key, `as a ${known.kind}`);
    if (!isPart(fact) || (!this.has(fact.key) && follows(fact, known))) return null;
    return overtaken(this.id, fact.key);
  }

  /** An error if a workflow has started a run with this id. */
  get #foreign(): DurableError | null {
    const { workflow } = this.#journal.state.summary;
    return workflow === "" ? null : owned(this.id, workflow);
  }

  /** Its id is its nonce: a call is made before anything is recorded, and processes that race make the same one. */
  get #started(): Fact<Json> {
    const { id } = this;
    return { kind: "run.started", runId: id, nonce: id, workflow: "", version: null, input: null };
  }

  #learn(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#replay.learn(entry);
      const settles = entry.kind === "step.completed" || entry.kind === "stream.completed";
      if (settles && !this.#settled.has(entry.key)) this.#settled.set(entry.key, entry);
    }
  }
}

function hostFor(id: string, options: JournalOptions, what: string): Host {
  assertRunId(id);
  assertOptions(options, `app ${hostOptions}`, what);
  const { app, ...own } = defined(options);
  const both = app === undefined ? [] : Object.keys(own);
  if (both.length > 0)
    throw new DurableError(
      "invalid-options",
      `${what} got an app and ${both.join(", ")}. Leave these to the app, or pass no app.`,
    );
  return app === undefined ? new Host(own, () => null) : hostOf(app);
}
