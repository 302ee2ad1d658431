/** A handle on one run: look at it, wait for it, cancel it, fork it. Holds no state of the run itself. */

import type { Definition } from "./engine/definition.ts";
import { advance, begin, cancelRun, driveOn, record } from "./runs/drive.ts";
import { DurableError } from "./values/errors.ts";
import { createFork, type ForkOptions } from "./runs/fork.ts";
import type { Host } from "./runs/host.ts";
import type { RunJournal } from "./journal/journal.ts";
import { definitionOf, openRun } from "./runs/lookup.ts";
import type { Outcome } from "./journal/outcome.ts";
import { planFork, type ForkPlan, type PlanOptions } from "./inspect/plan.ts";
import { outcomeWithChildren } from "./runs/status.ts";
import { decodeEntry, type RunEntry } from "./journal/run-entry.ts";
import { readStream, type ReadOptions, type StreamEvent } from "./runs/reader.ts";

/** A stop, and the journal as it was known then. */
export interface Driven {
  readonly outcome: Outcome<unknown>;
  readonly journal: RunJournal;
}

export interface RunOptions {
  /** With the id of a run that exists, that run is continued, or its recorded outcome returned. */
  readonly id?: string | undefined;
}

export interface StartOptions extends RunOptions {
  /** False only records the run: a worker, a sweep or an `advance` elsewhere drives it. True by default. */
  readonly drive?: boolean;
}

export class Run<Output = unknown, Input = unknown> {
  readonly id: string;
  /** True on the handle whose `start` recorded the run; false when there was one of this id. */
  readonly created: boolean;
  readonly #host: Host;
  /** The drive this process started, until somebody has heard how it stopped. */
  #driving: Promise<Driven> | null;

  constructor(id: string, parts: { host: Host; driving?: Promise<Driven>; created?: boolean }) {
    this.id = id;
    this.created = parts.created ?? false;
    this.#host = parts.host;
    this.#driving = parts.driving ?? null;
  }

  /** Where the run stands, by its journal. */
  async outcome(): Promise<Outcome<Output>> {
    const journal = await openRun(this.#host, this.id);
    return (await outcomeWithChildren(this.#host, journal, true)) as Outcome<Output>;
  }

  /**
   * Waits for the end and gives the output; drives the run when it is due and nobody else does.
   * When only answers from outside can help, rejects with code `suspended`, or waits on with `{ wait: true }`.
   */
  async result(options: { readonly wait?: boolean } = {}): Promise<Output> {
    for (;;) {
      const { outcome, journal } = await this.#next();
      switch (outcome.status) {
        case "completed":
          return outcome.output as Output;
        case "failed":
        case "blocked":
          throw outcome.error;
        case "cancelled":
          throw new DurableError("cancelled", `Run ${this.id} was cancelled.`);
        case "suspended":
          if (options.wait !== true && waitsForOutside(outcome)) throw suspendedError(outcome);
          await this.#host.changed(journal, journal.state.summary.wakeAt);
          break;
        case "running":
          // Its driver may be dead: look again when a lease would have run out.
          await this.#host.changed(journal, this.#host.world.now() + this.#host.leaseMs);
      }
    }
  }

  async cancel(reason?: string): Promise<Outcome<Output>> {
    return (await cancelRun(this.#host, await openRun(this.#host, this.id), reason)) as Outcome<Output>;
  }

  /** Every fact the run can see, inherited ones included, with values decoded. */
  async entries(): Promise<RunEntry[]> {
    const journal = await openRun(this.#host, this.id);
    return journal.entries.map((entry) => decodeEntry(entry, journal.runId));
  }

  /** Reads a stream of the run along: what is recorded, then what comes, until its end. */
  stream<T = unknown>(name: string, options?: ReadOptions): AsyncGenerator<StreamEvent<T>, void, undefined> {
    return readStream(this.#host, this.id, name, options) as AsyncGenerator<StreamEvent<T>, void, undefined>;
  }

  /** A new run that begins with recorded work of this one, and is driven in the background. */
  async fork(options: ForkOptions<Input>): Promise<Run<Output, Input>> {
    const host = this.#host;
    const parent = await openRun(host, this.id);
    const definition = definitionOf(host, parent);
    const id = await createFork(host, definition, parent, options);
    const driving = openRun(host, id).then(async (journal) => ({
      outcome: await driveOn(host, definition, journal),
      journal,
    }));
    host.background(`run ${id}`, driving);
    return new Run(id, { host, driving });
  }

  /** What a fork with these options would reuse, run and wait for. Nothing is written, and nothing runs but the body's own code. */
  async plan(options: ForkOptions<Input> & PlanOptions): Promise<ForkPlan> {
    const parent = await openRun(this.#host, this.id);
    return planFork(this.#host, definitionOf(this.#host, parent), parent, options);
  }

  /** How the drive under way stops; else what the journal says, driven on if it is due. */
  async #next(): Promise<Driven> {
    const driving = this.#driving;
    this.#driving = null;
    if (driving !== null) return driving;
    const host = this.#host;
    const journal = await openRun(host, this.id);
    const { wakeAt } = journal.state.summary;
    const due = wakeAt !== null && wakeAt <= host.world.now();
    const outcome = due
      ? await driveOn(host, definitionOf(host, journal), journal)
      : await outcomeWithChildren(host, journal, true);
    return { outcome, journal };
  }
}

/** Nothing but an answer, or an answer's deadline, can move it. */
function waitsForOutside(outcome: Outcome<unknown> & { status: "suspended" }): boolean {
  const { waiting, wakeAt } = outcome;
  return waiting.length > 0 && (wakeAt === null || waiting.some(({ expiresAt }) => expiresAt === wakeAt));
}

function suspendedError(outcome: Outcome<unknown> & { status: "suspended" }): DurableError {
  const names = outcome.waiting.map(({ key }) => `"${key}"`).join(", ");
  return new DurableError(
    "suspended",
    `Run ${outcome.runId} waits for ${names}. Answer with resume(token, value), the tokens are in error.details.waiting; or use result({ wait: true }).`,
    { details: { waiting: outcome.waiting } },
  );
}

/** Records a run, or finds the one that has this id, and drives it in the background. */
export async function start(
  host: Host,
  definition: Definition,
  input: unknown,
  { id, drive = true }: StartOptions,
): Promise<Run> {
  if (!drive) {
    const { journal, created } = await record(host, definition, input, { id, takeLease: false });
    return new Run(journal.runId, { host, created });
  }
  const leased = await begin(host, definition, input, { id });
  const { journal } = leased;
  const driving = advance(host, definition, leased).then((outcome) => ({ outcome, journal }));
  host.background(`run ${journal.runId}`, driving);
  return new Run(journal.runId, { host, driving, created: leased.created });
}

/** `run.fork` as a function: goes back by name, keeps the work of sibling branches. */
export function fork<Output, Input>(
  run: Run<Output, Input>,
  options: ForkOptions<Input>,
): Promise<Run<Output, Input>> {
  return run.fork(options);
}
