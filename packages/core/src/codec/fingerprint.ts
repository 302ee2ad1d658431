/** A short name for a value's content. Equal values have equal ones, whatever the order of their fields. */

import { digest } from "../hash.ts";
import { encode } from "./encode.ts";
import type { Json, Where } from "./tags.ts";

export function fingerprint(value: unknown, where: Where): string {
  return fingerprintOf(encode(value, where));
}

export function fingerprintOf(json: Json): string {
  return digest(16, stable(json));
}

function stable(json: Json): string {
  return JSON.stringify(json, (_key, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
