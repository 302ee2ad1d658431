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
  const given = Object.entries(Object(tags) as TagChanges);
  if (Object(tags) === tags && !Array.isArray(tags) && given.every(fits))
    return Object.fromEntries(given.map(([name, value]) => [name, value && scrub(value)]));
  throw new DurableError(
    "invalid-options",
    `${where} got invalid tags: ${show(JSON.stringify(tags))}. Use names of letters, digits and . _ : / -, and short texts of one line.`,
  );
}

function fits([name, value]: readonly [string, unknown]): boolean {
  const isText =
    typeof value === "string" && value.length <= limits.tagValue && !/[\p{Cc}\p{Cs}]/u.test(value);
  return (isText || value === null) && name.length <= limits.tagName && /^[\w.:/-]+$/.test(name);
}

/** Refuses more tags than a run may have. */
export function assertTagCount(count: number, where: string): void {
  if (count > limits.tags) throw new DurableError("limit", `${where} has more than ${limits.tags} tags.`);
}
