/**
 * Answers that are failures: in some plans, people refuse instead of answering. Draws from a random stream of its own, so
 * that all else in a plan stays as it is.
 *
 * I6. A wait that took a failure took one that was sent to it, and is recorded as rejected; any other is not.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import { seeded } from "@durable/testing";
import type { AnswerAttempt } from "./notes.ts";

/** True when some answers of the plan are failures. */
export function failsAnswers(seed: number, calm: boolean): boolean {
  return !calm && seeded(seed * 3_432_918_353 + 13).chance(0.3);
}

/** The failure that the next answer is; `null` for most. Questions about uncertain steps have answers of their own. */
export function failureFor(
  { seed, failures = false }: { readonly seed: number; readonly failures?: boolean },
  { key }: { readonly key: string },
  answers: number,
): Error | null {
  if (!failures || /\/uncertain(#\d+)?$/.test(key)) return null;
  return seeded(seed * 461_845_907 + answers).chance(0.15) ? new Error(`refused ${answers}`) : null;
}

/** True when somebody answers with rubbish just before the next answer, so that both wait for their check. */
export function isRushed(
  { seed, calm }: { readonly seed: number; readonly calm: boolean },
  answers: number,
): boolean {
  return !calm && seeded(seed * 2_654_435_769 + answers).chance(0.12);
}

/** An answer that a wait took, as recorded. */
export interface TakenAnswer {
  readonly value: unknown;
  readonly rejects: boolean;
}

/** True when the wait took this answer. */
export function isTaken(
  { value, failure }: AnswerAttempt,
  taken: TakenAnswer,
  isSame: (a: unknown, b: unknown) => boolean,
): boolean {
  if (failure === undefined) return !taken.rejects && isSame(value, taken.value);
  return taken.rejects && JSON.stringify(taken.value).includes(`"${failure}"`);
}
