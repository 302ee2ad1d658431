/** Tags of runs: short texts by name, by which lists find them. They are never encrypted. */

import { DurableError, show } from "./errors.ts";
import { limits } from "./limits.ts";
import { scrub } from "./scrub.ts";

/** Tags by name. Names have letters, digits and `. _ : / -`; values are one line each. */
export type Tags = Readonly<Record<string, string>>;

/** Changes of tags: `null` removes one. */
export type TagChanges = Readonly<Record<string, string | null>>;

/** A copy of the tags, checked; `where` begins the message. */
export function checkedTags(tags: unknown, where: string): TagChanges {
  const given = Object(tags) === tags && !Array.isArray(tags) ? Object.entries(tags as TagChanges) : null;
  const wrong = given?.find(
    ([name, value]) =>
      !/^[\w.:/-]+$/.test(name) || name.length > limits.tagName || !(value === null || fits(value)),
  );
  if (given !== null && wrong === undefined)
    return Object.fromEntries(given.map(([name, value]) => [name, value && scrub(value)]));
  const what = wrong === undefined ? show(tags) : `${show(wrong[0])}: ${show(wrong[1])}`;
  throw new DurableError(
    "invalid-options",
    `${where} got invalid tags: ${what}. Names have 1 to ${limits.tagName} letters, digits and . _ : / -; values are texts of one line, of at most ${limits.tagValue} characters.`,
  );
}

function fits(value: unknown): value is string {
  return typeof value === "string" && value.length <= limits.tagValue && !/[\p{Cc}\p{Cs}]/u.test(value);
}

/** Refuses more tags than a run may have. */
export function assertTagCount(count: number, where: string): void {
  if (count > limits.tags)
    throw new DurableError(
      "limit",
      `${where} has more than ${limits.tags} tags. Remove some with ctx.tag({ name: null }).`,
    );
}
