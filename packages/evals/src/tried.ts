/** What an eval has found, before it is put into a report. */

import type { Verdict } from "./judge.ts";
import type { Amount, Said, Took } from "./measure.ts";
import type { Case } from "./options.ts";
import type { GivenScore } from "./report.ts";
import type { Scored } from "./scorers.ts";

/** What became of one fork. */
export interface Tried {
  readonly runId: string;
  readonly variant: string;
  readonly forkId: string;
  /** `said`: it can be scored. `stopped`: it asked for something off the record. `skipped`: the budget was spent. */
  readonly end: "said" | "stopped" | "failed" | "skipped";
  /** Why it stopped or failed. */
  readonly reason: string | null;
  readonly said: Said;
  readonly paid: Amount;
  readonly reused: Amount;
  readonly answered: number;
  readonly providerTools: readonly string[];
  readonly took: Took;
}

/** The verdicts of judges, by run, variant and score. */
export type Verdicts = ReadonlyMap<string, Verdict>;

export const verdictKey = (runId: string, variant: string, score: string): string =>
  JSON.stringify([runId, variant, score]);

/** A recorded run, with what is known of it. */
export interface Recorded extends Case {
  readonly input: unknown;
  readonly said: Said;
  readonly given: readonly GivenScore[];
}

/** What scorers get of an answer. */
export function scoredOf(
  { runId, input, expected, said: before, given }: Recorded,
  { variant, said: after }: { readonly variant: string; readonly said: Said },
): Scored {
  return { runId, input, expected, before, after, given, variant };
}
