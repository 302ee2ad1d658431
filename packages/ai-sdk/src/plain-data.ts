/** Values of foreign code as data that can be recorded or hashed. Proven in test/names.test.ts. */

import { fingerprint } from "@durable/core/storage";

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
