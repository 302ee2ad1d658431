/** Refuses options that do not exist: a misspelt one would be ignored in silence. */

import { DurableError, show } from "./errors.ts";
import { nearest } from "./near.ts";

/** A quick test, because most calls have none. */
function noOptions(options: object): boolean {
  for (const _ in options) return false;
  return typeof options === "object" && options !== null;
}

/** Checks the names of options; `where` begins the message: `ctx.step "draft"`. */
export function assertOptions(options: object | undefined, known: readonly string[], where: string): void {
  if (options === undefined || noOptions(options)) return;
  const unknown =
    options === null || typeof options !== "object"
      ? show(options)
      : Object.entries(options).find(([name, value]) => value !== undefined && !known.includes(name))?.[0];
  if (unknown === undefined) return;
  throw new DurableError(
    "invalid-options",
    `${where} has no option ${show(unknown)}. Did you mean ${nearest(unknown, known).slice(0, 3).map(show).join(", ")}?`,
  );
}
