/**
 * The written form of values, shared by both directions.
 * Plain JSON stands for itself; all else is an object whose "$" names one of these tags (a closed list).
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

/** Where a value stands, for messages: `output of step "draft" in run r-17`. */
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

/** Digits of the longest BigInt that is kept: reading one takes time that grows with its square. */
export const bigintDigits = 100_000;

/** Bytes of a text in UTF-8, without making a copy when the text cannot be over `limit` anyway. */
export function overBytes(text: string, limit: number): boolean {
  return text.length * 3 > limit && (text.length > limit || new TextEncoder().encode(text).length > limit);
}
