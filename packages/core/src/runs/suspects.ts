/**
 * Runs that were started several times without progress. One of them may kill its process, and the others only happened
 * to be driven beside it.
 *
 * suspects.1. A suspect is driven alone, so that its crash stops no other run and a run that is innocent can finish.
 * suspects.2. Those with the fewest starts go first: a run that kills its process gathers starts, the others do not.
 */

import type { AdvanceOptions } from "../engine/stop.ts";
import type { Outcome } from "../journal/outcome.ts";
import type { DriverLease } from "../engine/lease.ts";
import type { RunJournal } from "../journal/journal.ts";
import { DurableError } from "../values/errors.ts";
import type { Host } from "./host.ts";

/** Starts without progress that a run may have while others are driven beside it. */
const startsBeside = 3;

export class Suspects {
  readonly #limits: { readonly beside: number; readonly alone: number };
  readonly #starts = new Map<string, number>();

  /** `maxStarts`: how often a run may be started without progress. Alone, it is started once at the least. */
  constructor(maxStarts: number) {
    const beside = Math.max(1, Math.min(maxStarts - 1, startsBeside));
    this.#limits = { beside, alone: Math.max(maxStarts, beside + 1) };
  }

  /** The options of an advance beside other runs, or alone. */
  optionsOf(alone: boolean): Pick<AdvanceOptions, "maxStarts" | "alone"> {
    return { maxStarts: alone ? this.#limits.alone : this.#limits.beside, alone };
  }

  /** Keeps a run that was refused beside others; false for any other outcome. */
  add(outcome: Outcome<unknown>): boolean {
    if (outcome.status !== "blocked" || outcome.error.code !== "poison") return false;
    this.#starts.set(outcome.runId, Number(outcome.error.details["starts"]));
    return true;
  }

  get any(): boolean {
    return this.#starts.size > 0;
  }

  /** The next suspect to drive alone. */
  take(): string | null {
    const [first] = [...this.#starts].toSorted(([, a], [, b]) => a - b);
    if (first === undefined) return null;
    this.#starts.delete(first[0]);
    return first[0];
  }
}

interface Started {
  readonly journal: RunJournal;
  readonly lease: DriverLease;
  readonly starts: number;
  readonly length: number;
}

/** Gives the lease of a run back that was started too often without progress. */
export async function poisoned(
  host: Host,
  { journal, lease, starts, length }: Started,
  runId: string,
  { alone = true, hooks }: AdvanceOptions,
): Promise<Outcome<unknown>> {
  const error = new DurableError(
    "poison",
    `Run ${runId} was started ${starts - 1} times without progress, so it may kill its driver. Check the step after its last entry; then advance it again.`,
    { details: { starts: starts - 1 } },
  );
  const since = alone ? await lease.note(error, length) : 0;
  await lease.giveBack();
  if (alone) void host.observing(hooks).then((observe) => observe?.(journal).blocked(error, runId));
  return { runId, recorded: false, state: "blocked", status: "blocked", error, since, waiting: [] };
}
