/** Recorded values as texts, and as what a page shows of them. Proven in test/bounds.test.ts. */

import { plain, type Plain } from "@durable/core/inspect";

const MiB = 1024 * 1024;

/** The room that the values of one answer have together. A value that does not fit is replaced by a note. */
export class Room {
  #left: number;

  constructor(left = 8 * MiB) {
    this.#left = left;
  }

  /** A value as JSON; longer texts in it are cut. */
  show(value: unknown, textLength = 200_000): Plain {
    const size = sizeOf(value, { textLength, most: this.#left }, []);
    if (size > this.#left) return "[too large for this page; `durable show --json` has it]";
    this.#left -= size;
    return plain(value, { textLength });
  }
}

interface Measure {
  readonly textLength: number;
  readonly most: number;
}

/** About how many characters a value has as JSON, counted until there are more than `most`. */
function sizeOf(value: unknown, measure: Measure, above: readonly object[]): number {
  if (typeof value === "string") return Math.min(value.length, measure.textLength) + 16;
  if (typeof value !== "object" || value === null || above.includes(value)) return 16;
  let size = 16;
  const inside = [...above, value];
  for (const part of partsOf(value)) {
    size += sizeOf(part, { ...measure, most: measure.most - size }, inside);
    if (size > measure.most) break;
  }
  return size;
}

function partsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value) || value instanceof Set) return value;
  if (value instanceof Map) return [...value].flat();
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return [];
  if (value instanceof Error)
    return [value.name, value.message, value.stack, value.cause, Object.entries(value)];
  return Object.entries(value).flat();
}

/** An error, or whatever was thrown, in one line. */
export function describe(error: unknown): string {
  const text =
    error instanceof Error
      ? `${error.name === "Error" ? "" : `${error.name}: `}${error.message}`
      : asText(error);
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= longest ? line : `${line.slice(0, longest)}…`;
}

const longest = 300;

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return `a value of type ${typeof value}`;
  }
}

/** True for what survives JSON: such a value can be edited as text without losing anything. */
export function isJson(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth > 256) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((item) => isJson(item, depth + 1));
}
