/**
 * Names, ids and key paths. A key is a path of names, assigned before any await:
 * `plan`, `draft#2`, `parallel[credit]/pull`.
 */

import { DurableError, show } from "../values/errors.ts";
import { digest } from "../values/hash.ts";
import { limits } from "../values/limits.ts";

/**
 * Checks the name of a workflow, step, wait, group or branch.
 * Half of a surrogate pair is refused, because keys are hashed as UTF-8, where all halves become the same character.
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
    `${what} has the invalid name ${show(name)}. Use 1 to ${limits.nameLength} characters, without # / [ ], control characters and halves of surrogate pairs.`,
  );
}

/** Checks a key of a journal without a workflow. The user chooses it freely; it need not be a path of names. */
export function assertKey(key: unknown): asserts key is string {
  const fits = typeof key === "string" && key.length > 0 && key.length <= limits.keyLength;
  if (fits && !/[\p{Cc}\p{Cs}]/u.test(key)) return;
  throw new DurableError(
    "invalid-name",
    `${show(key)} is not a valid key. Use 1 to ${limits.keyLength} characters, without control characters and halves of surrogate pairs.`,
  );
}

export function assertRunId(id: unknown): asserts id is string {
  if (typeof id === "string" && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(id)) return;
  throw new DurableError(
    "invalid-id",
    `${show(id)} is not a valid run id. Use 1 to 128 letters, digits, "-" and "_", beginning with a letter or a digit.`,
  );
}

/** The name of a run in a storage: part of a hash of its id, so that hostile ids never reach a storage. */
export const locatorOf = (runId: string): string => digest(18, "run", runId);

// A nonce names one incarnation of a run id, or one of its chapters.

/** The first four characters of every wait of an incarnation: they tell an old token from an early one. */
export function markOf(nonce: string): string {
  // A replay asks for the same one at each of its waits, and a hash is most of what these cost.
  if (marked.nonce !== nonce) marked = { nonce, mark: digest(4, "nonce", nonce) };
  return marked.mark;
}
let marked = { nonce: "", mark: "" };

/** The id of a wait in its token. */
export const waitOf = (key: string, nonce: string): string => markOf(nonce) + digest(6, "wait", nonce, key);
/** The same for all attempts of a step, different in every run and fork. */
export const idempotencyKeyOf = (runId: string, key: string, nonce: string): string =>
  digest(32, "step", runId, nonce, key);
/** Derived, so that a child that is begun twice is still one run. One that begins anew names the life of its parent. */
export const childIdOf = (runId: string, key: string, nonce: string, life = 0): string =>
  digest(26, "child", runId, nonce, key, ...(life === 0 ? [] : [String(life)]));

/** True when two keys are in different branches of the same group, so that neither can depend on the other. */
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

/** The branch of a call: `parallel[a]` for `parallel[a]/draft#2`, empty for `draft`. */
export function pathOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf("/")));
}

/** The step that a question is about: `draft#2` for `draft#2/uncertain`; null for the key of an ordinary call. */
export function stepAsked(key: string): string | null {
  const above = pathOf(key);
  return above === "" || above.endsWith("]") ? null : above;
}

/** The last name of a key, without its number: `draft` for `parallel[a]/draft#2`. */
export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1).replace(/#\d+$/, "");
}

/** True for the sleep that is the deadline of a group or child. The key of the call comes before it. */
export function isDeadline(key: string): boolean {
  return key.endsWith(deadlinePart);
}

export const deadlinePart = "[]/deadline";
