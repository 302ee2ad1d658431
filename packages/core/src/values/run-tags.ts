/**
 * Tags of runs: short texts by name, by which lists find them. They are never encrypted.
 *
 * branch-name.1. Two texts have two names. In a name `%` begins `%2F` (a character), `%uD800` (half of a surrogate
 *     pair), `%~` (a digest follows) or stands alone (the empty text), so no name can be read in two ways.
 * branch-name.2. A valid name without `%` stays as it is.
 */

import { DurableError, show } from "./errors.ts";
import { limits } from "./limits.ts";
import { scrub } from "./scrub.ts";
import { digest } from "./hash.ts";

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
  return (isText || value === null) && isTagName(name);
}

/** True for a name that tags and scores may have. */
export function isTagName(name: unknown): name is string {
  return typeof name === "string" && name.length <= limits.tagName && /^[\w.:/-]+$/.test(name);
}

/** Refuses more tags than a run may have. */
export function assertTagCount(count: number, where: string): void {
  if (count > limits.tags) throw new DurableError("limit", `${where} has more than ${limits.tags} tags.`);
}

/** Base32 characters of a digest: 130 bits. */
const digestLength = 26;

/** A valid name for a branch, different for every text. A text that is too long keeps its beginning and gets a digest. */
export function branchName(text: string): string {
  const name = text.replaceAll(/[%#/[\]\p{Cc}\p{Cs}]/gu, escaped);
  if (name === "") return "%";
  if (name.length <= limits.nameLength) return name;
  // Whole characters up to the first escape: 48 of them take 96 places at most.
  const [start] = /^[^%]{0,48}/u.exec(name) ?? [""];
  // Of the escaped text, because in UTF-8 all halves of surrogate pairs are the same character.
  return `${start}%~${digest(digestLength, "branch", name)}`;
}

function escaped(character: string): string {
  const code = character.charCodeAt(0).toString(16).toUpperCase();
  return code.length > 2 ? `%u${code}` : `%${code.padStart(2, "0")}`;
}
