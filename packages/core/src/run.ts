/** A handle on one run: look at it, wait for it, cancel it, fork it. Holds no state of the run itself. */

import { decode } from "./codec/decode.ts";
import type { Json } from "./codec/tags.ts";
import { advance, cancel, definitionOf, grip, openRun, type Definition, type Find } from "./drive.ts";
import type { Entry } from "./entry.ts";
import { DurableError } from "./errors.ts";
import { createFork, type ForkOptions } from "./fork.ts";
import type { Host } from "./host.ts";
import type { Journal } from "./journal.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";
import { pause } from "./world.ts";

/** One fact of a run's journal, its values decoded. */
export type RunEntry<V = unknown> = Entry<V>;

/** A stop, and the journal as it was known then. */
export interface Driven {
  readonly outcome: Outcome<unknown>;
  readonly journal: Journal;
}

async function driveOn(host: Host, definition: Definition, journal: Journal): Promise<Driven> {
  return { outcome: await advance(host, definition, await grip(host, journal)), journal };
}

export class Run<Output = unknown, Input = unknown> {
  readonly id: string;
  readonly #host: Host;
  readonly #find: Find;
  /** The drive this process started, until somebody has heard how it stopped. */
  #driving: Promise<Driven> | null;

  constructor(id: string, parts: { host: Host; find: Find; driving?: Promise<Driven> }) {
    this.id = id;
    this.#host = parts.host;
    this.#find = parts.find;
    this.#driving = parts.driving ?? null;
  }

  /** Where the run stands, by its journal. */
  async outcome(): Promise<Outcome<Output>> {
    const journal = await openRun(this.#host, this.id);
    return outcomeOf(journal, await this.#host.keyring(), true) as Outcome<Output>;
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
          await this.#changed(journal, outcome.wakeAt);
          break;
        case "running":
          // Its driver may be dead: look again when a lease would have run out.
          await this.#changed(journal, this.#host.world.now() + this.#host.leaseMs);
      }
    }
  }

  async cancel(reason?: string): Promise<Outcome<Output>> {
    return (await cancel(this.#host, await openRun(this.#host, this.id), reason)) as Outcome<Output>;
  }

  /** Every fact the run can see, inherited ones included, with values decoded. */
  async entries(): Promise<RunEntry[]> {
    const journal = await openRun(this.#host, this.id);
    return journal.entries.map((entry) => decodeEntry(entry, journal.runId));
  }

  /** A new run that begins with recorded work of this one, and is driven in the background. */
  async fork(options: ForkOptions<Input>): Promise<Run<Output, Input>> {
    const host = this.#host;
    const parent = await openRun(host, this.id);
    const definition = definitionOf(this.#find, parent);
    const id = await createFork(host, definition, parent, options);
    const driving = openRun(host, id).then((journal) => driveOn(host, definition, journal));
    host.background(`run ${id}`, driving);
    return new Run(id, { host, find: this.#find, driving });
  }

  /** How the drive under way stops; else what the journal says, driven on if it is due. */
  async #next(): Promise<Driven> {
    const driving = this.#driving;
    this.#driving = null;
    if (driving !== null) return driving;
    const host = this.#host;
    const journal = await openRun(host, this.id);
    const { wakeAt } = journal.state.summary;
    if (wakeAt !== null && wakeAt <= host.world.now())
      return driveOn(host, definitionOf(this.#find, journal), journal);
    return { outcome: outcomeOf(journal, await host.keyring(), true), journal };
  }

  /** Settles when the journal has grown, or at a time. */
  async #changed(journal: Journal, until: number | null): Promise<void> {
    const { world } = this.#host;
    const storage = await this.#host.storage();
    const abort = new AbortController();
    const late = until === null ? null : Math.max(0, until - world.now());
    if (storage.changed === undefined) return pause(world, Math.min(late ?? 1_000, 1_000));
    const cancel = late === null ? () => {} : world.timer(late, () => abort.abort());
    try {
      await storage.changed(journal.locator, journal.position, abort.signal);
    } finally {
      cancel();
    }
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

function decodeEntry(entry: Entry, runId: string): RunEntry {
  const decoded: Record<string, unknown> = { ...entry };
  const read = (json: Json): unknown => decode(json, `${entry.kind} of run ${runId}`);
  // A step's input is a fingerprint, a run's is a value.
  const input = entry.kind.startsWith("run.") ? "input" : "";
  for (const field of ["value", "error", "output", "note", input])
    if (decoded[field] !== undefined) decoded[field] = read(decoded[field] as Json);
  if (entry.kind === "run.forked")
    decoded["edits"] = entry.edits.map((edit) => ({ ...edit, value: read(edit.value) }));
  return decoded as unknown as RunEntry;
}

/** `run.fork` as a function: goes back by name, keeps the work of sibling branches. */
export function fork<Output, Input>(
  run: Run<Output, Input>,
  options: ForkOptions<Input>,
): Promise<Run<Output, Input>> {
  return run.fork(options);
}
