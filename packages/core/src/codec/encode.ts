/**
 * From a value to what the journal keeps.
 *
 * C1. What decodes is equal to what was encoded, or encoding throws `not-serializable` with its path.
 *     An error of a user's class comes back under its name; a subclass of Date comes back as a Date
 *     (the fake clocks of tests are such).
 * C2. Objects are numbered in the order they are met; a second meeting is a reference, so cycles and
 *     shared parts keep their shape. The decoder counts in the same order.
 * C3. The tree shares nothing with the value: changing the value later changes no record.
 */

import { DurableError, describeError } from "../errors.ts";
import { limits } from "../limits.ts";
import { className, isError, ownKeys, typeOfError, typeOfRecord } from "./error-types.ts";
import { reduceThrown } from "./thrown.ts";
import { arrayTypes, bigintDigits, overBytes, toBase64, type Json, type Where } from "./tags.ts";

/** Encodes one value, refusing what cannot be kept or is too large; `where` names it in the message. */
export function encode(value: unknown, where: Where, limit: number = limits.valueBytes): Json {
  const json = new Encoder(where, false).run(value);
  const text = JSON.stringify(json);
  if (!overBytes(text, limit)) return json;
  const size = new TextEncoder().encode(text).length;
  throw new DurableError(
    "too-large",
    `The ${where} takes ${size} bytes; ${limit} is the limit. Keep it in a file or a bucket and pass its address.`,
    { details: { size, limit } },
  );
}

/** Encodes one value with the fields of its objects in one order: for comparing, not for keeping. */
export function encodeSorted(value: unknown, where: Where): Json {
  return new Encoder(where, true).run(value);
}

/** Encodes something thrown. Never refuses: an error must be recorded whatever hangs on it. */
export function encodeThrown(thrown: unknown, where: Where): Json {
  try {
    return encode(reduceThrown(thrown), where);
  } catch (error) {
    return encode(new Error(`A thrown ${typeof thrown} could not be kept (${describeError(error)})`), where);
  }
}

class Encoder {
  readonly #where: Where;
  readonly #sorted: boolean;
  readonly #seen = new Map<object, number>();
  readonly #path: (string | number)[] = [];

  constructor(where: Where, sorted: boolean) {
    this.#where = where;
    this.#sorted = sorted;
  }

  run(value: unknown): Json {
    try {
      return this.#value(value);
    } catch (error) {
      if (error instanceof DurableError) throw error;
      // A getter that throws, a detached buffer, a revoked proxy.
      return this.#refuse(`something that cannot be read (${describeError(error)})`, { cause: error });
    }
  }

  #value(value: unknown): Json {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : { $: "number", v: Object.is(value, -0) ? "-0" : String(value) };
      case "undefined":
        return { $: "undefined" };
      case "bigint":
        return this.#bigint(String(value));
      case "object":
        return value === null ? null : this.#object(value);
      case "function":
        return this.#refuse(`a function${value.name === "" ? "" : ` (${value.name})`}`);
      case "symbol":
        return this.#refuse(`a symbol (${String(value)})`);
    }
  }

  #bigint(digits: string): Json {
    if (digits.length > bigintDigits) this.#refuse(`a BigInt of ${digits.length} digits`);
    return { $: "bigint", v: digits };
  }

  #object(value: object): Json {
    const seen = this.#seen.get(value);
    if (seen !== undefined) return { $: "ref", v: seen };
    this.#seen.set(value, this.#seen.size);
    if (this.#path.length > limits.valueDepth) {
      throw new DurableError(
        "too-deep",
        `The ${this.#where} is nested deeper than ${limits.valueDepth} levels at ${this.#pathText().slice(0, 80)}. Flatten it.`,
      );
    }
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (Array.isArray(value) && Array.isArray(prototype)) return this.#array(value);
    if (prototype === null || isObjectPrototype(prototype)) return this.#plain(value, prototype === null);
    return this.#special(value) ?? this.#refuse(`an instance of class ${className(value) ?? "(anonymous)"}`);
  }

  #array(value: readonly unknown[]): Json {
    const { length } = value;
    const keys = Object.keys(value);
    // Keys that are positions come first: if the last one is, all are.
    if (keys.length === length && (length === 0 || keys[length - 1] === String(length - 1)))
      return value.map((item, i) => this.#at(i, item));
    if (length > limits.valueBytes) this.#refuse(`an array of length ${length}, most of it holes`);
    const items = keys.map((key): Json => {
      const index = Number(key);
      if (String(index) !== key || !Number.isInteger(index) || index < 0)
        this.#refuse(`an array with a field "${key}"`);
      return [index, this.#at(index, value[index])];
    });
    return { $: "sparse", n: length, v: items };
  }

  #plain(value: object, bare: boolean): Json {
    const fields = this.#fields(value);
    if (!bare && !fields.some(([key]) => key === "$" || key === "__proto__"))
      return Object.fromEntries(fields);
    return { $: "object", v: fields, ...(bare ? { bare: true } : {}) };
  }

  #fields(value: object): [string, Json][] {
    if (Object.getOwnPropertySymbols(value).length > 0) this.#refuse("an object with a symbol as key");
    return this.#keys(value).map((key) => [key, this.#field(value, key)]);
  }

  #keys(value: object): string[] {
    return this.#sorted ? Object.keys(value).toSorted() : Object.keys(value);
  }

  #at(part: string | number, value: unknown): Json {
    this.#path.push(part);
    const json = this.#value(value);
    this.#path.pop();
    return json;
  }

  /** Reads the field under its own path: a getter may throw. */
  #field(value: object, key: string): Json {
    this.#path.push(key);
    const json = this.#value((value as Record<string, unknown>)[key]);
    this.#path.pop();
    return json;
  }

  #special(value: object): Json | undefined {
    if (value instanceof Date) {
      return { $: "date", v: Number.isNaN(value.getTime()) ? null : value.getTime() };
    }
    if (isError(value)) return this.#error(value);
    // What is left is told by its very class: a subclass would lose what makes it one.
    const type = className(value);
    if (value instanceof Map && type === "Map") {
      return {
        $: "map",
        v: [...value].map(([k, v], i) => [this.#at(`key ${i}`, k), this.#at(`value ${i}`, v)]),
      };
    }
    if (value instanceof Set && type === "Set")
      return { $: "set", v: [...value].map((item, i) => this.#at(`item ${i}`, item)) };
    if (value instanceof URL && type === "URL") return { $: "url", v: value.href };
    if (value instanceof RegExp && type === "RegExp") return this.#regexp(value);
    return this.#bytes(value, type);
  }

  #regexp({ source, flags, lastIndex }: RegExp): Json {
    if (!Number.isInteger(lastIndex)) this.#refuse("a RegExp whose lastIndex is no whole number");
    return { $: "regexp", v: [source, flags, lastIndex] };
  }

  #bytes(value: object, type: string | null): Json | undefined {
    const known = arrayTypes.find((name) => name === type);
    if (known === undefined) return undefined;
    const bytes = ArrayBuffer.isView(value)
      ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
      : new Uint8Array(value as ArrayBuffer);
    return { $: "bytes", t: known, v: toBase64(bytes) };
  }

  #error(error: Error): Json {
    const { type, name } = typeOfError(error);
    const written: Record<string, Json> = { $: "error", name, message: String(error.message) };
    if (type !== typeOfRecord(undefined, name)) written["type"] = type;
    if (typeof error.stack === "string") written["stack"] = error.stack.slice(0, limits.stackLength);
    if (type === "DOMException") return written;
    // In the order in which the decoder counts.
    if ("cause" in error) written["cause"] = this.#field(error, "cause");
    if (error instanceof AggregateError) written["errors"] = this.#at("errors", [...error.errors]);
    const own = ownKeys(this.#keys(error)).map((key): Json => [key, this.#field(error, key)]);
    if (own.length > 0) written["own"] = own;
    return written;
  }

  #pathText(): string {
    return this.#path.reduce<string>(
      (text, part) => text + (typeof part === "number" ? `[${part}]` : `.${part}`),
      "value",
    );
  }

  #refuse(what: string, options: { cause?: unknown } = {}): never {
    const path = this.#pathText();
    throw new DurableError(
      "not-serializable",
      `The ${this.#where} holds ${what} at ${path}, which a journal cannot keep. Return plain data instead: pick the fields you need.`,
      { details: { path }, ...options },
    );
  }
}

/** Of this realm or another: test runners and sandboxes hand over objects of theirs. */
function isObjectPrototype(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf");
}
