/** Refuses options that do not exist: a misspelt one would be ignored in silence. */

import { DurableError, show } from "./errors.ts";
import { nearest } from "./near.ts";

/** Checks the names of options. `known` has all of them, with spaces between; `where` begins the message. */
export function assertOptions(options: object | undefined, known: string, where: string): void {
  // Most calls have none, and each step of a long replay comes here.
  for (const name in options) {
    const names = known.split(" ");
    if ((options as Record<string, unknown>)[name] === undefined || names.includes(name)) continue;
    throw new DurableError(
      "invalid-options",
      `${where} has no option ${show(name)}. Did you mean ${nearest(name, names).slice(0, 3).map(show).join(", ")}?`,
    );
  }
}
