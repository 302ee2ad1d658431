/** Survivors that were looked at and change nothing that a user could see. They leave the denominator of the score. */
import { readFileSync } from "node:fs";
import type { Mutant } from "./sites.ts";

export type Equivalent = {
  readonly id: string;
  readonly file: string;
  /** For people: what is changed, and where. */
  readonly change: string;
  readonly reason: string;
};

export type Equivalents = ReadonlyMap<string, Equivalent>;

export function readEquivalents(
  path: string | URL = new URL("../equivalent.json", import.meta.url),
): Equivalents {
  const list = JSON.parse(readFileSync(path, "utf8")) as Equivalent[];
  for (const { id, reason } of list)
    if (reason.trim() === "") throw new Error(`Equivalent mutant ${id} has no reason.`);
  return new Map(list.map((one) => [one.id, one]));
}

/** Entries of these files whose mutant does not exist any more. */
export function outdatedEntries(
  equivalents: Equivalents,
  files: ReadonlySet<string>,
  mutants: Iterable<Mutant>,
): Equivalent[] {
  const ids = new Set(Array.from(mutants, ({ id }) => id));
  return [...equivalents.values()].filter(({ id, file }) => files.has(file) && !ids.has(id));
}
