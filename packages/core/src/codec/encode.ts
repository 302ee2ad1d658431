/**
 * From a value to what the journal keeps.
 *
 * C1. What decodes is equal to what was encoded, or encoding throws `not-serializable` with its path.
 * C2. Objects are numbered in the order they are met; a second meeting is a reference, so cycles and
 *     shared parts keep their shape. The decoder counts in the same order.
 * C3. The tree shares nothing with the value: changing the value later changes no record.
 */

import { DurableError } from "../errors.ts";
import { limits } from "../limits.ts";
import { overBytes, toBase64, type ArrayType, type Json, type Where } from "./tags.ts";

/** Encodes one value, refusing what cannot be kept; `where` names it in the message. */
export function encode(value: unknown, where: Where): Json {
  return new Encoder(where, false).run(value);
}

/**
 * Encodes something thrown. Never refuses: an error must be recorded whatever hangs on it, so own
 * fields are kept only if they are primitives (request bodies and headers stay out of the journal).
 */
export function encodeThrown(thrown: unknown, where: Where): Json {
  try {
    return new Encoder(where, true).run(thrown);
  } catch (error) {
    const kind = Object.prototype.toString.call(thrown).slice(8, -1);
    return new Encoder(where, true).run(
      new Error(`A thrown ${kind} could not be kept (${error instanceof Error ? error.message : "unknown"})`),
    );
  }
}

/** Throws `too-large` when the written form of a value passes the limit. */
export function assertSize(text: string, where: Where): void {
  if (overBytes(text, limits.valueBytes)) {
    throw new DurableError(
      "too-large",
      `The ${where} takes ${text.length} characters; a value may take ${limits.valueBytes} bytes. Keep the large part outside (a file, a bucket) and return its address.`,
      { details: { size: text.length, limit: limits.valueBytes } },
    );
  }
}

class Encoder {
  readonly #where: Where;
  readonly #lenient: boolean;
  readonly #seen = new Map<object, number>();
  readonly #path: (string | number)[] = [];

  constructor(where: Where, lenient: boolean) {
    this.#where = where;
    this.#lenient = lenient;
  }

  run(value: unknown): Json {
    return this.#value(value);
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
        return { $: "bigint", v: String(value) };
      case "object":
        return value === null ? null : this.#object(value);
      case "function":
        return this.#refuse(`a function${value.name === "" ? "" : ` (${value.name})`}`);
      case "symbol":
        return this.#refuse(`a symbol (${String(value)})`);
    }
  }

  #object(value: object): Json {
    const seen = this.#seen.get(value);
    if (seen !== undefined) return { $: "ref", v: seen };
    this.#seen.set(value, this.#seen.size);
    if (this.#path.length > limits.valueDepth) {
      throw new DurableError(
        "too-deep",
        `The ${this.#where} is nested deeper than ${limits.valueDepth} levels at ${this.#pathText().slice(0, 80)}. Flatten it before you hand it over.`,
      );
    }
    if (Array.isArray(value)) return this.#array(value);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) return this.#plain(value, prototype === null);
    return this.#special(value) ?? this.#refuse(`an instance of class ${className(value)}`);
  }

  #array(value: readonly unknown[]): Json {
    const keys = Object.keys(value);
    if (keys.length === value.length) return value.map((item, i) => this.#at(i, item));
    const items = keys.map((key): Json => {
      const index = Number(key);
      if (String(index) !== key || index >= value.length) this.#refuse(`an array with a field "${key}"`);
      return [index, this.#at(index, value[index])];
    });
    return { $: "sparse", n: value.length, v: items };
  }

  #plain(value: object, bare: boolean): Json {
    const fields = this.#fields(value);
    if (!bare && !fields.some(([key]) => key === "$" || key === "__proto__"))
      return Object.fromEntries(fields);
    return { $: "object", v: fields, ...(bare ? { bare: true } : {}) };
  }

  #fields(value: object): [string, Json][] {
    if (Object.getOwnPropertySymbols(value).length > 0) this.#refuse("an object with a symbol as key");
    return Object.keys(value).map((key) => [key, this.#at(key, (value as Record<string, unknown>)[key])]);
  }

  #at(part: string | number, value: unknown): Json {
    this.#path.push(part);
    const json = this.#value(value);
    this.#path.pop();
    return json;
  }

  #special(value: object): Json | undefined {
    if (value instanceof Date) {
      return { $: "date", v: Number.isNaN(value.getTime()) ? null : value.getTime() };
    }
    if (value instanceof Map) {
      return {
        $: "map",
        v: [...value].map(([k, v], i) => [this.#at(`key ${i}`, k), this.#at(`value ${i}`, v)]),
      };
    }
    if (value instanceof Set)
      return { $: "set", v: [...value].map((item, i) => this.#at(`item ${i}`, item)) };
    if (value instanceof Error || isDomException(value)) return this.#error(value as Error);
    if (value instanceof URL) return { $: "url", v: value.href };
    if (value instanceof RegExp) return { $: "regexp", v: [value.source, value.flags, value.lastIndex] };
    if (value instanceof ArrayBuffer)
      return { $: "bytes", t: "ArrayBuffer", v: toBase64(new Uint8Array(value)) };
    if (ArrayBuffer.isView(value)) {
      const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
      return { $: "bytes", t: className(value) as ArrayType, v: toBase64(bytes) };
    }
    return undefined;
  }

  #error(error: Error): Json {
    const written: Record<string, Json> = {
      $: "error",
      name: String(error.name),
      message: String(error.message),
    };
    const type = className(error);
    if (type !== error.name && type !== "Error") written["type"] = type;
    if (typeof error.stack === "string") written["stack"] = error.stack.slice(0, limits.stackLength);
    if (isDomException(error)) return written;
    if ("cause" in error) written["cause"] = this.#cause(error.cause);
    if (error instanceof AggregateError) written["errors"] = this.#at("errors", [...error.errors]);
    const own = Object.entries(error).filter(
      ([key, field]) =>
        !["name", "message", "stack", "cause", "errors"].includes(key) && (!this.#lenient || isSmall(field)),
    );
    // DurableError's own details are plain data of ours; they must survive even where fields are filtered.
    if (this.#lenient && error.name === "DurableError" && "details" in error)
      own.push(["details", error.details]);
    if (own.length > 0) written["own"] = own.map(([key, field]) => [key, this.#at(key, field)]);
    return written;
  }

  #cause(cause: unknown): Json {
    if (this.#path.filter((part) => part === "cause").length < limits.causeDepth)
      return this.#at("cause", cause);
    return { $: "error", name: "Error", message: "further causes were left out" };
  }

  #pathText(): string {
    return this.#path.reduce<string>(
      (text, part) => text + (typeof part === "number" ? `[${part}]` : `.${part}`),
      "value",
    );
  }

  #refuse(what: string): never {
    const path = this.#pathText();
    throw new DurableError(
      "not-serializable",
      `The ${this.#where} holds ${what} at ${path}, which a journal cannot keep. Return plain data instead: pick the fields you need, or keep it outside the step.`,
      { details: { path } },
    );
  }
}

function isSmall(field: unknown): boolean {
  return (
    (typeof field === "string" && field.length <= 1_024) ||
    typeof field === "number" ||
    typeof field === "boolean"
  );
}

function isDomException(value: object): boolean {
  return typeof DOMException === "function" && value instanceof DOMException;
}

function className(value: object): string {
  const constructor: unknown = value.constructor;
  return typeof constructor === "function" && constructor.name !== "" ? constructor.name : "(anonymous)";
}
