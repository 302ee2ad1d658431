/** Refuses options that do not exist: a misspelt one would be ignored in silence. */

import { DurableError, show } from "./errors.ts";
import { renamedOptions } from "./renamed.ts";

/**
 * Throws `invalid-options` for a name that is not known, with the nearest ones. `known` has all names, as a list or with
 * spaces between; `where` begins the message.
 */
export function assertOptions(
  options: object | undefined,
  known: string | readonly string[],
  where: string,
  what = "option",
): void {
  // Options that are not an object are refused as an unknown option. Most calls have no options, and each step of a long
  // replay comes here.
  const none = options === undefined || Object(options) === options;
  const given = (none ? options : { [JSON.stringify(options)]: options }) as Readonly<
    Record<string, unknown>
  >;
  for (const name in given) {
    const names = typeof known === "string" ? known.split(" ") : known;
    if (given[name] === undefined || names.includes(name)) continue;
    const renamed = renamedOptions[name]?.split(" ").find((now) => names.includes(now));
    throw new DurableError(
      "invalid-options",
      renamed === undefined
        ? `${where} has no ${what} ${show(name)}. Did you mean ${nearest(name, names).slice(0, 3).map(show).join(", ")}?`
        : `${where} has no ${what} ${show(name)}. It is called ${show(renamed)} now.`,
    );
  }
}

/** A copy of options without those that are `undefined`, which count as left out. */
export function defined<T extends object>(options: T): Defined<T> {
  const given = Object.entries(options).filter(([, option]) => option !== undefined);
  return Object.fromEntries(given) as Defined<T>;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** All candidates, sorted by how many pairs of letters they share with the given name. */
export function nearest(
  name: string,
  candidates: Iterable<string>,
  nameOf = (candidate: string): string => candidate,
): string[] {
  const asked = new Set(pairs(name));
  const score = (candidate: string): number => {
    const own = pairs(nameOf(candidate));
    return own.filter((pair) => asked.has(pair)).length / (own.length + asked.size);
  };
  return [...candidates].toSorted((a, b) => score(b) - score(a));
}

function pairs(text: string): string[] {
  return Array.from(text, (letter, i) => letter + text.charAt(i + 1));
}

/** The field of an entry that allows changes of the code. */
export function allowed(changes: unknown, where: string): { readonly changes?: "allow" } {
  if (changes === undefined) return {};
  if (changes === "allow") return { changes };
  throw new DurableError("invalid-options", `${where} got changes: ${show(changes)}. Pass "allow".`);
}
