/** Converts values of foreign code to data that can be recorded or hashed. Proven in test/names.test.ts. */

import { fingerprint } from "@durable/core/storage";

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

/** Bytes are hashed by themselves; otherwise an image would be hashed as base64 text. */
export function byDigest(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    // Node's Buffer is a Uint8Array subclass.
    return fingerprint(
      new Uint8Array(value.buffer, value.byteOffset, value.byteLength),
      "bytes of a question",
    );
  }
  if (Array.isArray(value)) return value.map(byDigest);
  if (typeof value !== "object" || value === null || value instanceof Date || value instanceof URL)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, byDigest(field)]));
}
