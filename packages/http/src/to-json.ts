/**
 * Values of a journal as plain JSON, for reading. Values that JSON cannot express are converted to the
 * nearest equivalent, which is not reversible. Send values in the form that your workflow's schema accepts.
 */

import { limits } from "@durable/core";

/** A plain JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Shared parts are written each time they occur, so a value with very many of them, or long ones, is cut. */
const mostNodes = 1_000_000;
const mostText = 2 * limits.valueBytes;

/**
 * Turns a value of a journal into plain JSON, for reading. A value that JSON cannot express is replaced by
 * the nearest form, and cannot be turned back.
 */
export function toJson(value: unknown): Json {
  return new Converter().convert(value);
}

class Converter {
  readonly #open = new Set<object>();
  #nodes = 0;
  #text = 0;

  convert(value: unknown): Json {
    this.#nodes += 1;
    switch (typeof value) {
      case "string":
        this.#text += value.length;
        return this.#text > mostText ? "[cut]" : value;
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) ? value : null;
      case "bigint":
        return String(value);
      case "object":
        return value === null ? null : this.#object(value);
      default:
        return null;
    }
  }

  #object(value: object): Json {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (value instanceof URL || value instanceof RegExp) return String(value);
    if (ArrayBuffer.isView(value))
      return base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    if (value instanceof ArrayBuffer) return base64(new Uint8Array(value));
    if (this.#open.has(value)) return "[cycle]";
    // A sparse array may be very long and take no room.
    const length = Array.isArray(value) ? value.length : 0;
    if (this.#nodes + length > mostNodes) return "[cut]";
    this.#open.add(value);
    try {
      return this.#parts(value);
    } finally {
      this.#open.delete(value);
    }
  }

  #parts(value: object): Json {
    if (Array.isArray(value)) return Array.from(value, (item) => this.convert(item));
    if (value instanceof Set) return Array.from(value, (item) => this.convert(item));
    if (value instanceof Map)
      return Array.from(value, ([key, item]) => [this.convert(key), this.convert(item)]);
    if (value instanceof Error) return this.#error(value);
    return this.#members(Object.entries(value));
  }

  /** Without its stack and further fields, which belong in logs. */
  #error(error: Error): Json {
    const { name, message, code, cause, errors } = error as Error & { code?: unknown; errors?: unknown };
    return this.#members(Object.entries({ name, message, code, cause, errors }));
  }

  #members(entries: readonly (readonly [string, unknown])[]): Json {
    // A member may be named `__proto__`.
    const members = Object.create(null) as Record<string, Json>;
    for (const [key, item] of entries) if (item !== undefined) members[key] = this.convert(item);
    return members;
  }
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
