/**
 * Reduces a thrown value to what is recorded: a copy of its errors with their causes, small and safe to encode.
 * Own fields are kept if they are small primitives, so that request bodies and headers stay out of the journal.
 * Fields that cannot be read are left out. Texts are scrubbed before they are cut, because half of a secret would not be
 * recognized.
 */

import { describeError } from "../errors.ts";
import { limits } from "../limits.ts";
import { scrub } from "../scrub.ts";
import { isError, makeError, ownKeys, typeOfError } from "./error-types.ts";

/** The largest number of own fields of an error, and of errors of an AggregateError, that are recorded. */
const mostParts = 100;
const longestText = 1_024;

/** A copy of a thrown error that can be recorded. A value that is not an error is returned unchanged. */
export function reduceThrown(thrown: unknown): unknown {
  return isError(thrown) ? new Reducer().error(thrown, 0) : thrown;
}

/** Like `reduceThrown`, for `cause`. If the value cannot be read, returns a description. */
export function causeOf(thrown: unknown): unknown {
  try {
    return reduceThrown(thrown);
  } catch {
    return describeError(thrown);
  }
}

class Reducer {
  readonly #copies = new Map<Error, Error>();

  error(error: Error, depth: number): Error {
    const known = this.#copies.get(error);
    if (known !== undefined) return known;
    const { type, name } = typeOfError(error);
    const shortName = scrub(name).slice(0, longestText);
    const copy = makeError(type, scrub(String(error.message)).slice(0, limits.stackLength), shortName);
    this.#copies.set(error, copy);
    put(copy, "stack", () => scrub(error.stack ?? "").slice(0, limits.stackLength));
    if (type === "DOMException") return copy;
    put(copy, "name", () => shortName);
    if ("cause" in error) put(copy, "cause", () => this.#part(error.cause, depth));
    if ("errors" in error && copy instanceof AggregateError)
      put(copy, "errors", () =>
        [...(error.errors as Iterable<unknown>)].slice(0, mostParts).map((one) => this.#part(one, depth)),
      );
    this.#fields(error, copy);
    return copy;
  }

  #part(part: unknown, depth: number): unknown {
    if (depth >= limits.causeDepth) return "further causes were left out";
    return isError(part) ? this.error(part, depth + 1) : reduced(part);
  }

  #fields(error: Error, copy: Error): void {
    const fields = error as unknown as Record<string, unknown>;
    for (const key of ownKeys(Object.keys(error)).slice(0, mostParts)) {
      try {
        const field = fields[key];
        // The details of a DurableError are plain data of this library, and are needed in full.
        if (isSmall(field) || (key === "details" && copy.name === "DurableError"))
          define(copy, scrub(key), clean(field), true);
      } catch {
        // A getter that throws is left out.
      }
    }
  }
}

/** What is recorded of a cause that is not an error: a small primitive, or the small fields of an object. */
function reduced(value: unknown): unknown {
  if (typeof value === "string") return scrub(value).slice(0, longestText);
  if (isSmall(value)) return value;
  if (typeof value !== "object" || value === null) return `(a ${typeof value} was left out)`;
  const fields = Object.entries(value).filter(([, field]) => isSmall(field));
  return Object.fromEntries(fields.slice(0, mostParts).map(([key, field]) => [scrub(key), clean(field)]));
}

function clean(field: unknown): unknown {
  return typeof field === "string" ? scrub(field) : field;
}

function isSmall(value: unknown): boolean {
  return (
    value === null ||
    ["undefined", "number", "boolean"].includes(typeof value) ||
    (typeof value === "string" && value.length <= longestText) ||
    value instanceof Date
  );
}

/** Copies a part; one that throws when it is read is left out. */
function put(copy: Error, key: string, read: () => unknown): void {
  try {
    define(copy, key, read(), false);
  } catch {
    // See above.
  }
}

function define(copy: Error, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(copy, key, { value, enumerable, writable: true, configurable: true });
}
