/** Functions whose first argument, the context, may be left out. */

import type { Context } from "../engine/context.ts";

/** The context, if it is the first argument, and the others. */
export function placed(args: readonly unknown[]): {
  readonly ctx: Context | undefined;
  readonly rest: readonly unknown[];
} {
  const [first, ...rest] = args;
  if (isContext(first)) return { ctx: first, rest };
  return { ctx: undefined, rest: first === undefined ? rest : args };
}

/** No options, model or list of tools has these fields. */
function isContext(value: unknown): value is Context {
  return typeof value === "object" && value !== null && "runId" in value && "continueAs" in value;
}
