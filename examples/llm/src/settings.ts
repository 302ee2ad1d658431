/** Settings from the environment. An invalid one is a RangeError, whose message is one line that says what to do. */

import type { Environment } from "./choose.ts";

/** A whole number from `least` to `most`. */
export function wholeIn(
  env: Environment,
  name: string,
  { usual, least = 0, most }: { readonly usual: number; readonly least?: number; readonly most: number },
): number {
  const value = Number(env[name] || usual);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${name} is "${env[name]}". Use a whole number from ${least} to ${most}.`);
}

/** Where a server listens; 0 is any free port. */
export function portIn(env: Environment, usual: number): number {
  return wholeIn(env, "PORT", { usual, most: 65_535 });
}
