/** Values of foreign code, as names, as data that can be recorded, and as an estimate. */

import { fingerprint } from "../values/codec/fingerprint.ts";

/** What core allows in a name, with room for a counter. */
const fits = /^[^#/[\]\p{Cc}\p{Cs}]{1,120}$/u;

/** The parts joined by spaces; if that is not a valid name, a readable part of it and a fingerprint. */
export function stepName(...parts: readonly string[]): string {
  const name = parts.join(" ");
  if (fits.test(name)) return name;
  const readable = name.replaceAll(/[#/[\]\p{Cc}\p{Cs}]/gu, "_").slice(0, 90);
  return `${readable} ${fingerprint(parts, "name")}`;
}

/**
 * A copy of plain data, dates, URLs and bytes. Undefined fields, functions and symbols are left out, and an
 * instance of a class is copied by its fields.
 */
export function plain(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date || value instanceof URL || value instanceof ArrayBuffer) return value;
  if (ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(plain);
  return plainFields(value);
}

function plainFields(value: object): Record<string, unknown> {
  const fields = Object.entries(value).map(([key, field]) => [key, plain(field)] as const);
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}

/** Characters of a text that make about one token. */
const perToken = 4;

/** About how many tokens the texts in a question make. */
export function tokensIn(question: unknown): number {
  return Math.ceil(lengthOf(question) / perToken);
}

/** Characters of all texts. The bytes of a file do not say how many tokens it makes, so they do not count. */
function lengthOf(value: unknown, depth = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || depth > 12 || ArrayBuffer.isView(value)) return 0;
  if ((value as { readonly type?: unknown }).type === "file") return 0;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return parts.reduce<number>((sum, part) => sum + lengthOf(part, depth + 1), 0);
}
