/** A handle to read one run, wait for it, cancel it or fork it. It has no state of the run itself. */

import type { Definition, MessageSchemas } from "./engine/definition.ts";
import type { CancelOptions } from "./runs/tree.ts";
import { create, type FlowStart } from "./runs/create.ts";
import { advance, cancelRun } from "./runs/drive.ts";
import type { Duration } from "./values/duration.ts";
import { DurableError, show } from "./values/errors.ts";
import { forkRun, type ForkOptions } from "./runs/fork.ts";
import type { Host } from "./runs/host.ts";
import type { RunJournal } from "./journal/journal.ts";
import { byId, definitionOf, notFound, openRun, outcomeWithChildren, readerOf } from "./runs/lookup.ts";
import { hasEnded } from "./ports/storage-kit.ts";
import { pause } from "./ports/world.ts";
import { assertOptions } from "./values/options.ts";
import type { Tags } from "./values/run-tags.ts";
import {
  dropChapters,
  editedCalls,
  entriesOf,
  type EditedCalls,
  type EntriesOptions,
  readStream,
  type ReadOptions,
  type StreamEvent,
} from "./runs/reader.ts";
import {
  type Outcome,
  outcomeOf,
  type SuspendPoint,
  suspendedError,
  cancelledError,
  type RunEntry,
} from "./journal/outcome.ts";
import { planRun, type ForkPlan, type PlanOptions } from "./inspect/plan.ts";
import {
  pauseRun,
  retryRun,
  unpauseRun,
  type PauseOptions,
  type RetryRunOptions,
  type UnpauseOptions,
} from "./runs/steer.ts";
import { scoreRun, type Scores } from "./runs/score.ts";
import { send, type SendOptions, type SendResult } from "./runs/send.ts";
import type { SchemaInput } from "./values/schema.ts";

/** A stop, and the journal at that time. */
export interface Driven {
  readonly outcome: Outcome<unknown>;
  readonly journal: RunJournal;
}

/** The longest time between two reads of `result()` while a run grows. */
const slowestLookMs = 200;

/** Options of `flow.run`. */
export interface RunOptions extends FlowStart {
  /**
   * The id of the run; random by default. If a run of this id exists, it is continued, or its recorded
   * outcome is returned.
   */
  readonly id?: string | undefined;
  /**
   * How long the run may take, from its start to its end, waits included, or the date of its end; that of the workflow by
   * default. When it passes, the run fails with code `deadline`.
   */
  readonly deadline?: Duration | Date | undefined;
  /**
   * Tags of a new run, by which lists find it: they win over those of the workflow. Recorded when the run begins,
   * and never encrypted.
   */
  readonly tags?: Tags | undefined;
}

/** The names of `FlowStart`. */
const startNames = "priority delay at debounce singleton";

/** What remains of the options of a start beside those that every run has; `undefined` if nothing. */
function startOf(options: StartOptions): FlowStart | undefined {
  const { priority, delay, at, debounce, singleton } = options;
  const start = { priority, delay, at, debounce, singleton };
  return Object.values(start).some((value) => value !== undefined) ? start : undefined;
}

/** Options of `start`. */
export interface StartOptions extends RunOptions {
  /** False only records the run: a worker, a sweep or an `advance` drives it. True by default. */
  readonly drive?: boolean | undefined;
  /**
   * For whom the run is started, such as a tenant: 1 to 128 characters. It is recorded, never encrypted, and the keys of
   * `singleton` and `debounce` are keys of this scope alone.
   */
  readonly scope?: string | undefined;
  /**
   * Called with the id of the run that has the key of `singleton` or `debounce`, before that run is returned or moved.
   * An error that it throws refuses the start, which then has changed nothing.
   */
  readonly mayJoin?: ((runId: string) => void | Promise<void>) | undefined;
}

/** A handle on one run. Creating one reads nothing. */
export class Run<Output = unknown, Input = unknown, M extends MessageSchemas = MessageSchemas> {
  /** The id of the run. */
  readonly id: string;
  /** True on the handle of a `start` that found a run of this id. */
  readonly repeated: boolean;
  readonly #host: Host;
  /** The drive that this process started, until `result()` has used its outcome. */
  #driving: Promise<Driven> | null;

  constructor(id: string, parts: { host: Host; driving?: Promise<Driven>; repeated?: boolean }) {
    this.id = id;
    this.repeated = parts.repeated ?? false;
    this.#host = parts.host;
    this.#driving = parts.driving ?? null;
  }

  /**
   * Reads the journal and returns where the run is. Does not drive it.
   * @example const { state } = await run.outcome();
   */
  async outcome(): Promise<Outcome<Output>> {
    const read = async (): Promise<Outcome<unknown>> =>
      outcomeWithChildren(this.#host, await openRun(this.#host, this.id), true);
    return (await this.#on(read)) as Outcome<Output>;
  }

  /**
   * Waits for the end and gives the output; drives the run when it is due and no other process does. When
   * only an answer from outside can help, rejects with code `suspended`, or waits on with `{ wait: true }`.
   * @example const output = await run.result();
   */
  async result(options: { readonly wait?: boolean | undefined } = {}): Promise<Output> {
    assertOptions(options, "wait", "run.result");
    for (let known: RunJournal | null = null, looks = 0; ; looks++) {
      const next: Promise<Driven> = this.#next(known);
      const { outcome, journal }: Driven = await this.#on(() => next);
      known = journal;
      switch (outcome.status) {
        case "completed":
          return outcome.output as Output;
        case "failed":
        case "blocked":
          throw outcome.error;
        case "cancelled":
          throw cancelledError(this.id, outcome);
        case "suspended":
          if (options.wait !== true && this.#waitsForOutside(outcome, journal.state.endsBy))
            throw suspendedError(outcome);
          await this.#host.changed(journal, journal.state.summary.wakeAt);
          break;
        case "paused":
          await this.#host.changed(journal, null);
          break;
        case "running":
          // Its driver may be dead: check again when its lease would have expired.
          await this.#host.changed(journal, this.#host.world.now() + this.#host.leaseMs);
          // Beside a busy writer every append wakes this loop, so it reads less often the longer it waits.
          if (looks > 0) await pause(this.#host.world, Math.min(10 * looks, slowestLookMs));
      }
    }
  }

  /**
   * Sends a message, which `ctx.receive(topic)` reads. Only appends it: the driver of the run reads it, or a
   * worker, a sweep or `result()` finds the run.
   */
  async send<K extends keyof M & string>(
    topic: K,
    payload: SchemaInput<M[K]>,
    options: SendOptions = {},
  ): Promise<SendResult> {
    return send(this.#host, this.id, { topic, payload, options });
  }

  /**
   * Records what a person or a check thinks of the run, also after its end: lists, searches and evals have it. The last score of a
   * name counts, and `null` removes it. Returns all scores of the run. The note is encrypted where values are; the score is not.
   * @example await run.score("helpful", 0, "It promises a refund that we do not give.");
   */
  async score(name: string, value: number | boolean | null, note?: string): Promise<Scores> {
    return this.#on(() => scoreRun(this.#host, this.id, { name, value, note }));
  }

  /**
   * Ends the run and all its children. A run with a clean-up or a compensation is `cancelling` until these have run;
   * `force` ends it without them.
   */
  async cancel(options?: CancelOptions): Promise<Outcome<Output>> {
    const end = async (): Promise<Outcome<unknown>> =>
      cancelRun(this.#host, await openRun(this.#host, this.id), options);
    return (await this.#on(end)) as Outcome<Output>;
  }

  /**
   * Stops the run until it is unpaused: no worker, sweep, `advance` or answer continues it. Work under way is
   * finished and recorded, and answers are recorded. Its children are not paused.
   */
  async pause(options?: PauseOptions): Promise<Outcome<Output>> {
    return (await this.#on(() => pauseRun(this.#host, this.id, options))) as Outcome<Output>;
  }

  /** Lets a paused run continue, and drives it in the background. */
  async unpause(options?: UnpauseOptions): Promise<Outcome<Output>> {
    return (await this.#on(() => unpauseRun(this.#host, this.id, options))) as Outcome<Output>;
  }

  /**
   * Continues a failed run in place, and drives it in the background: the call whose failure ended the run gets
   * new attempts, all other recorded work stays. Rejects with `retry-refused` if the run did not fail, if a
   * compensation has run, or if a parent has recorded the failure.
   * @example await run.retry({ steps: ["charge"] });
   */
  async retry(options?: RetryRunOptions): Promise<Outcome<Output>> {
    return (await this.#on(() => retryRun(this.#host, this.id, options))) as Outcome<Output>;
  }

  /** Entries of a chapter that the run can see, inherited ones included, with decoded values. */
  async entries(options: EntriesOptions = {}): Promise<RunEntry[]> {
    return this.#on(() => entriesOf(this.#host, this.id, options));
  }

  /** What a fork with edits of these names would replace. Pass the keys and the chapter to `fork`. */
  async editedCalls(names: readonly string[]): Promise<EditedCalls> {
    return this.#on(() => editedCalls(this.#host, this.id, names));
  }

  /** Reads a stream of the run: recorded chunks first, then new ones, until its end. */
  async *stream<T = unknown>(
    name: string,
    options?: ReadOptions,
  ): AsyncGenerator<StreamEvent<T>, void, undefined> {
    const events = readStream(this.#host, this.id, name, options);
    yield* events as AsyncGenerator<StreamEvent<T>, void, undefined>;
  }

  /**
   * Creates a run that begins with recorded work of this one, and drives it in the background.
   * @example const fork = await run.fork({ from: "draft", input: { tone: "short" } });
   */
  async fork(options: ForkOptions<Input>): Promise<Run<Output, Input, M>> {
    const { id, driving } = await this.#on(() => forkRun(this.#host, this.id, options));
    return new Run(id, { host: this.#host, driving });
  }

  /** What a fork with these options would reuse, run and wait for. Writes nothing, and runs no step. */
  async plan(options: ForkOptions<Input> & PlanOptions): Promise<ForkPlan> {
    return this.#on(() => planRun(this.#host, this.id, options));
  }

  /**
   * Removes all chapters before the current one. Rejects with `conflict` while a fork reads one of them, and
   * with `invalid-options` where the storage keeps all chapters.
   */
  async dropChapters(): Promise<void> {
    await this.#on(() => dropChapters(this.#host, this.id));
  }

  /** Does something to the run. */
  #on<T>(work: () => Promise<T>): Promise<T> {
    return byId(this.#host, this.id, work);
  }

  /**
   * Only an answer can continue the run, or the deadline of an answer or of the run. A timeout within `patience` counts as a
   * sleep, and a receive with a timeout goes on by itself.
   */
  #waitsForOutside(outcome: Outcome<unknown> & { status: "suspended" }, endsBy: number | null): boolean {
    const { waiting, wakeAt } = outcome;
    const { world, patienceMs } = this.#host;
    if (waiting.length === 0 || wakeAt === null || wakeAt === endsBy) return waiting.length > 0;
    const ends = ({ expiresAt, topic }: SuspendPoint): boolean => topic === undefined && expiresAt === wakeAt;
    return waiting.some(ends) && wakeAt > world.now() + patienceMs;
  }

  /** The end that the drive under way came to; otherwise the outcome now, after an advance if the run is due. */
  async #next(known: RunJournal | null): Promise<Driven> {
    const driving = this.#driving;
    this.#driving = null;
    const driven = await driving;
    // Any other stop may be long past: another caller may have driven the run on since.
    if (driven !== null && hasEnded(driven.outcome)) return driven;
    const host = this.#host;
    // Only what is new is read, unless this handle has driven the run itself.
    const before = known?.position;
    const journal = (await refreshed(known)) ?? (await openRun(host, this.id));
    const grown = journal === known && journal.position !== before;
    if (journal.deleted) throw notFound(this.id);
    const { wakeAt, status } = journal.state.summary;
    // A run that grows has a driver.
    const due = wakeAt !== null && wakeAt <= host.world.now() && !(grown && status === "running");
    const outcome = due
      ? await advance(host, definitionOf(host, journal), journal)
      : status === "running"
        ? // Another driver has it. The waits below it are of no use to `result()`, which reads often.
          outcomeOf(journal, await readerOf(host, journal), true)
        : await outcomeWithChildren(host, journal, true);
    return { outcome, journal };
  }
}

/** Reads what is new; `null` when the run must be read anew: this handle has driven it, or its id was deleted. */
async function refreshed(known: RunJournal | null): Promise<RunJournal | null> {
  if (known === null || known.driven) return null;
  try {
    await known.refresh();
    return known;
  } catch (error) {
    if (DurableError.is(error, "journal-regressed")) return null;
    throw error;
  }
}

/** Records a run, or finds the one that has this id, and drives it until it stops. */
export async function runToStop(
  host: Host,
  definition: Definition,
  input: unknown,
  given: RunOptions,
): Promise<Outcome<unknown>> {
  assertOptions(given, `id deadline tags ${startNames}`, `The run of "${definition.name}"`);
  const { id, deadline, tags } = given;
  const created = { id, deadline, tags, takeLease: true, start: startOf(given) };
  return advance(host, definition, await create(host, definition, input, created));
}

/** Creates a fork of a run of this workflow, and drives it in the background. */
export async function forkOf(
  host: Host,
  definition: Definition,
  runId: string,
  options: ForkOptions,
): Promise<Run> {
  const { id, driving } = await byId(host, runId, () => forkRun(host, runId, options, definition));
  return new Run(id, { host, driving });
}

/** Records a run, or finds the one that has this id, and drives it in the background. */
export async function start(
  host: Host,
  definition: Definition,
  input: unknown,
  given: StartOptions,
): Promise<Run> {
  assertOptions(
    given,
    `id deadline drive tags scope mayJoin ${startNames}`,
    `The start of "${definition.name}"`,
  );
  const { id, deadline, tags, scope, mayJoin, drive: takeLease = true } = given;
  assertScope(scope, definition.name);
  const start = startOf(given);
  const options = { id, deadline, tags, scope, mayJoin, isNew: true, takeLease, start };
  const leased = await create(host, definition, input, options);
  const { journal } = leased;
  const repeated = !leased.created;
  if (!takeLease) return new Run(journal.runId, { host, repeated });
  const driving = advance(host, definition, leased).then((outcome) => ({ outcome, journal }));
  host.background(`run ${journal.runId}`, driving);
  return new Run(journal.runId, { host, driving, repeated });
}

/** It is part of keys, and heads show it. */
function assertScope(scope: unknown, workflow: string): void {
  const fits = typeof scope === "string" && /^.{1,128}$/su.test(scope) && scope.isWellFormed();
  if (scope === undefined || fits) return;
  throw new DurableError(
    "invalid-options",
    `The start of "${workflow}" has the scope ${show(scope)}. Use a text of 1 to 128 characters.`,
  );
}

/** `run.fork` as a function. */
export function fork<Output, Input, M extends MessageSchemas>(
  run: Run<Output, Input, M>,
  options: ForkOptions<Input>,
): Promise<Run<Output, Input, M>> {
  return run.fork(options);
}
