/** Any recorded value as JSON that people read. It cannot be read back: `encode` is for that. */

/** A value of JSON. */
export type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain };

/** Options of `plain`. */
export interface PlainOptions {
  /** Longer texts are cut, with a note; not cut by default. */
  readonly textLength?: number | undefined;
  /** Deeper values are replaced by a note; 256 levels by default. */
  readonly depth?: number | undefined;
}

/**
 * A value as JSON for people: dates as ISO texts, maps and sets as lists, bytes as their count, errors with code and
 * causes. A cycle becomes a note.
 */
export function plain(value: unknown, options: PlainOptions = {}): Plain {
  return convert(value, { textLength: options.textLength ?? Infinity, depth: options.depth ?? 256 }, []);
}

type Limits = { readonly textLength: number; readonly depth: number };

function convert(value: unknown, limits: Limits, above: readonly object[]): Plain {
  switch (typeof value) {
    case "string":
      return cutText(value, limits);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "boolean":
      return value;
    case "bigint":
      return `${value}n`;
    case "object":
      break;
    default:
      // undefined, and what a journal cannot hold.
      return null;
  }
  if (value === null) return null;
  if (above.includes(value)) return "[cycle]";
  if (above.length >= limits.depth) return "[deeper]";
  return convertObject(value, limits, [...above, value]);
}

function cutText(text: string, { textLength }: Limits): string {
  return text.length <= textLength ? text : `${text.slice(0, textLength)}... (${text.length} characters)`;
}

function convertObject(value: object, limits: Limits, above: readonly object[]): Plain {
  const inside = (part: unknown): Plain => convert(part, limits, above);
  if (Array.isArray(value)) return value.map(inside);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof Map) return [...value].map(([key, part]) => [inside(key), inside(part)]);
  if (value instanceof Set) return [...value].map(inside);
  if (value instanceof URL || value instanceof RegExp) return cutText(String(value), limits);
  if (value instanceof Error) return convertError(value, inside);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .map(([key, part]) => [key, inside(part)]),
  );
}

function convertError(error: Error, inside: (part: unknown) => Plain): Plain {
  const { name, message, stack, cause } = error;
  const { code, details } = error as { code?: unknown; details?: object };
  return {
    name: inside(name),
    ...(code === undefined ? {} : { code: inside(code) }),
    message: inside(message),
    ...(details === undefined || Object.keys(details).length === 0 ? {} : { details: inside(details) }),
    ...(typeof stack === "string" ? { stack: inside(stack) } : {}),
    ...(cause === undefined ? {} : { cause: inside(cause) }),
    ...(error instanceof AggregateError ? { errors: inside(error.errors) } : {}),
  };
}
