/** Names made of what models and users made up. */

import { fingerprint } from "@durable/core";

/** What core allows in a name, with room for a count. */
const fits = /^[^#/[\]\p{Cc}\p{Cs}]{1,120}$/u;

/** The parts with spaces between them; where that is no name, as much of it as can be, and a fingerprint. */
export function nameOf(...parts: readonly string[]): string {
  const name = parts.join(" ");
  if (fits.test(name)) return name;
  const readable = name.replaceAll(/[#/[\]\p{Cc}\p{Cs}]/gu, "_").slice(0, 90);
  return `${readable} ${fingerprint(parts, "name")}`;
}
