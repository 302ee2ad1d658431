/** Refuses options that do not exist: a misspelt one would be ignored in silence. */

import { DurableError, show } from "./errors.ts";
import { nearest } from "./near.ts";

/** Checks the names of options. `known` has all of them, with spaces between; `where` begins the message. */
export function assertOptions(options: object | undefined, known: string, where: string): void {
  // What is no object has no option either. Most calls have none, and each step of a long replay comes here.
  const none = options === undefined || Object(options) === options;
  const given = (none ? options : { [JSON.stringify(options)]: options }) as Readonly<
    Record<string, unknown>
  >;
  for (const name in given) {
    const names = known.split(" ");
    if (given[name] === undefined || names.includes(name)) continue;
    throw new DurableError(
      "invalid-options",
      `${where} has no option ${show(name)}. Did you mean ${nearest(name, names).slice(0, 3).map(show).join(", ")}?`,
    );
  }
}
