/**
 * The encoded form of values, for encoder and decoder.
 * Plain JSON is written as it is; every other value is an object whose "$" is one of these tags (a closed list).
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type Tag =
  | "undefined"
  | "number"
  | "bigint"
  | "date"
  | "map"
  | "set"
  | "regexp"
  | "url"
  | "error"
  | "bytes"
  | "sparse"
  | "object"
  | "secret"
  | "ref";

/** What a value is, for messages: `output of step "draft" of run r-17`. */
export type Where = string;

export const arrayTypes = [
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
  "ArrayBuffer",
  "DataView",
  "Buffer",
] as const;

/** Digits of the longest BigInt that can be recorded, because the time to parse one grows with the square of its length. */
export const bigintDigits = 100_000;

/** True when a text has more than `limit` bytes in UTF-8. Makes no copy if its length already decides. */
export function overBytes(text: string, limit: number): boolean {
  return text.length * 3 > limit && (text.length > limit || new TextEncoder().encode(text).length > limit);
}
