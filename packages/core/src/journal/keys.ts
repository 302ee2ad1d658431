/**
 * Names, ids and key paths. A key is a path of names, assigned before any await:
 * `plan`, `draft#2`, `parallel[credit]/pull`.
 */

import { DurableError, show } from "../values/errors.ts";
import { digest } from "../values/hash.ts";
import { limits } from "../values/limits.ts";

/**
 * Checks a name that a user gave to a workflow, step, wait, group or branch.
 * Half a surrogate pair is refused because keys are hashed as UTF-8, where all halves are one.
 */
export function assertName(name: unknown, what: string): asserts name is string {
  if (
    typeof name === "string" &&
    name.length > 0 &&
    name.length <= limits.nameLength &&
    !/[#/[\]\p{Cc}\p{Cs}]/u.test(name)
  ) {
    return;
  }
  throw new DurableError(
    "invalid-name",
    `${what} is named ${show(name)}. A name has 1 to ${limits.nameLength} characters and none of # / [ ], control characters or halves of surrogate pairs.`,
  );
}

/** Checks a key that a user made up, for a journal without a workflow: it need not be a path of names. */
export function assertKey(key: unknown): asserts key is string {
  const fits = typeof key === "string" && key.length > 0 && key.length <= limits.keyLength;
  if (fits && !/[\p{Cc}\p{Cs}]/u.test(key)) return;
  throw new DurableError(
    "invalid-name",
    `${show(key)} is not a key: use 1 to ${limits.keyLength} characters, no control characters.`,
  );
}

export function assertRunId(id: unknown): asserts id is string {
  if (typeof id === "string" && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(id)) return;
  throw new DurableError(
    "invalid-id",
    `${show(id)} is not a run id. Use 1 to 128 letters, digits, "-" and "_", beginning with a letter or a digit.`,
  );
}

/** Where a run is kept: part of its id's hash, so hostile ids never reach a storage. */
export const locatorOf = (runId: string): string => digest(18, "run", runId);
/** What a token says of its wait. A later generation of one key is another wait. */
export const waitOf = (key: string, generation = 1): string => digest(10, "wait", key, generation);
/** Equal across the attempts of one step, different in every run and fork. */
export const idempotencyKeyOf = (runId: string, key: string): string => digest(32, "step", runId, key);

/** True when two keys first differ in the branch of one same group: neither can depend on the other. */
export function areSiblings(a: string, b: string): boolean {
  const left = a.split("/");
  const right = b.split("/");
  const i = left.findIndex((segment, index) => segment !== right[index]);
  const one = /^(.+)\[.*\]$/.exec(left[i] ?? "");
  const two = /^(.+)\[.*\]$/.exec(right[i] ?? "");
  return one !== null && two !== null && one[1] === two[1];
}

/** True when `key` is `path` itself or lies inside it (a branch, or a group with all its branches). */
export function isWithin(key: string, path: string): boolean {
  return key === path || (key.startsWith(path) && (key[path.length] === "/" || key[path.length] === "["));
}

/** The step that a question is about: `draft#2` for `draft#2/uncertain`; null for what stands in a branch, or in none. */
export function stepAsked(key: string): string | null {
  const above = key.slice(0, Math.max(0, key.lastIndexOf("/")));
  return above === "" || above.endsWith("]") ? null : above;
}

/** The last name of a key, without count: `parallel[a]/draft#2` gives `draft`. */
export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1).replace(/#\d+$/, "");
}
