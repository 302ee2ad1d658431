/** Step names from values of models and users. Proven in test/names.test.ts. */

import { fingerprint } from "@durable/core/storage";

/** What core allows in a name, with room for a counter. */
const fits = /^[^#/[\]\p{Cc}\p{Cs}]{1,120}$/u;

/** The parts joined by spaces; if that is not a valid name, a readable part of it and a fingerprint. */
export function stepName(...parts: readonly string[]): string {
  const name = parts.join(" ");
  if (fits.test(name)) return name;
  const readable = name.replaceAll(/[#/[\]\p{Cc}\p{Cs}]/gu, "_").slice(0, 90);
  return `${readable} ${fingerprint(parts, "name")}`;
}
