/**
 * The name of a branch, from any text: the key of an item is data of the user, and a name goes into a key path.
 *
 * branch-name.1. Two texts have two names. In a name `%` begins `%2F` (a character), `%uD800` (half of a surrogate
 *     pair), `%~` (a digest follows) or stands alone (the empty text), so no name can be read in two ways.
 * branch-name.2. A valid name without `%` stays as it is.
 */

import { digest } from "./hash.ts";
import { limits } from "./limits.ts";

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
