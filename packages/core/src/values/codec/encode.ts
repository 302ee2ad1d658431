/**
 * Converts a value to what the journal stores.
 *
 * encode.1. The decoded value equals the encoded one, or encoding throws `not-serializable` with the path.
 *     An error of a user's class keeps its name; a subclass of Date is decoded as a Date (fake clocks of tests are
 *     subclasses of Date).
 * encode.2. Objects are numbered in the order in which they are visited. A second visit writes a reference, so cycles
 *     and shared parts keep their shape. The decoder counts in the same order.
 * encode.3. The result shares nothing with the value, so a later change of the value changes no record.
 * encode.4. The result contains no registered secret: texts, keys and bytes are scrubbed. This is the exception to encode.1.
 * encode.5. A value that is too large is refused during the walk, before a copy of it is made. Its size is that of its
 *     text, but bytes count as they are and not as base64.
 * encode.6. Code of the user that runs during the walk (getters, proxies, overridden methods) may throw anything: the
 *     result is always `not-serializable`. Content that such code returns instead of built-in content is not used.
 */

import { DurableError, describeError } from "../errors.ts";
import { limits } from "../limits.ts";
import { SecretValue } from "../secret.ts";
import { scrub } from "../scrub.ts";
import { className, isError, ownKeys, typeOfError, typeOfRecord } from "./error-types.ts";
import { causeOf, reduceThrown } from "./thrown.ts";
import { toBase64 } from "../base64.ts";
import { arrayTypes, bigintDigits, overBytes, type Json, type Where } from "./tags.ts";

/** Encodes one value, and refuses what cannot be stored or is too large; `where` names the value in messages. */
export function encode(value: unknown, where: Where, limit: number = limits.valueBytes): Json {
  const encoder = new Encoder(where, false, limit);
  const json = encoder.run(value);
  if (encoder.least * mostPerByte <= limit) return json;
  const text = JSON.stringify(json);
  if (!overBytes(text, limit + encoder.growth)) return json;
  throw tooLarge(where, new TextEncoder().encode(text).length - encoder.growth, limit);
}

/** Encodes one value with sorted fields: for comparing, not for storing. */
export function encodeSorted(value: unknown, where: Where): Json {
  return new Encoder(where, true, limits.valueBytes).run(value);
}

/** Encodes a thrown value. Never refuses, because an error must be recorded whatever it contains. */
export function encodeThrown(thrown: unknown, where: Where): Json {
  try {
    return encode(reduceThrown(thrown), where, thrownBytes);
  } catch (error) {
    return encode(
      new Error(`A thrown ${typeof thrown} could not be recorded (${describeError(error)})`),
      where,
    );
  }
}

/** The largest encoded error. Of a larger one, only its size is recorded. */
const thrownBytes = 8 * 1024 * 1024;
/** What is counted of an object with a tag before its content. */
const counted = 16;
/** Bytes count as at least this many, because their tag is written as well. */
const leastBytes = 64;
/** An upper bound of written bytes per counted byte: a number may have 24 digits, an escaped character 6. */
const mostPerByte = 32;

class Encoder {
  readonly #where: Where;
  readonly #sorted: boolean;
  readonly #limit: number;
  readonly #seen = new Map<object, number>();
  readonly #path: (string | number)[] = [];

  /** A lower bound of the size, for the part visited so far. */
  least = 0;
  #holes = 0;
  /** By how much the text is longer than its size: base64, and the tags of bytes. */
  growth = 0;
  /** What this encoder threw itself. */
  #refusal: unknown = this;

  constructor(where: Where, sorted: boolean, limit: number) {
    this.#where = where;
    this.#sorted = sorted;
    this.#limit = limit;
  }

  run(value: unknown): Json {
    try {
      return this.#value(value);
    } catch (error) {
      // Compared by identity, because code of the user may throw a DurableError, or something that cannot be read.
      if (error === this.#refusal) throw error;
      // A getter that throws, a detached buffer, a revoked proxy.
      return this.#refuse(`something that cannot be read (${describeError(error)})`, {
        cause: causeOf(error),
      });
    }
  }

  #value(value: unknown): Json {
    switch (typeof value) {
      case "string":
        return this.#text(value);
      case "boolean":
        this.#count(4);
        return value;
      case "number":
        this.#count(1);
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : { $: "number", v: Object.is(value, -0) ? "-0" : String(value) };
      case "undefined":
        this.#count(17);
        return { $: "undefined" };
      case "bigint":
        return this.#bigint(value);
      case "object":
        if (value !== null) return this.#object(value);
        this.#count(4);
        return null;
      case "function":
        return this.#refuse(`a function${value.name === "" ? "" : ` (${value.name})`}`);
      case "symbol":
        return this.#refuse(`a symbol (${String(value)})`);
    }
  }

  #count(bytes: number): void {
    this.least += bytes;
    if (this.least > this.#limit) this.#fail(tooLarge(this.#where, this.least, this.#limit, "at least "));
  }

  #text(text: string): string {
    // Counted before scrubbing, which would copy a huge text.
    this.#count(text.length + 2);
    const scrubbed = scrub(text);
    if (scrubbed !== text) this.#count(Math.max(0, scrubbed.length - text.length));
    return scrubbed;
  }

  #bigint(value: bigint): Json {
    // Hexadecimal first, because the decimal form of the largest numbers takes minutes.
    const digits = value.toString(16).length > bigintDigits ? "" : String(value);
    if (digits === "" || digits.length > bigintDigits)
      this.#refuse(`a BigInt of over ${bigintDigits} digits`);
    this.#count(digits.length + 21);
    return { $: "bigint", v: digits };
  }

  #object(value: object): Json {
    this.#count(2);
    const seen = this.#seen.get(value);
    if (seen !== undefined) return { $: "ref", v: seen };
    this.#seen.set(value, this.#seen.size);
    if (this.#path.length > limits.valueDepth) {
      this.#fail(
        new DurableError(
          "too-deep",
          `The ${this.#where} is nested deeper than ${limits.valueDepth} levels at ${scrub(this.#pathText()).slice(0, 80)}. Flatten it.`,
        ),
      );
    }
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (Array.isArray(value) && Array.isArray(prototype)) return this.#array(value);
    if (prototype === null || isObjectPrototype(prototype)) return this.#plain(value, prototype === null);
    return this.#special(value) ?? this.#refuse(`an instance of class ${className(value) ?? "(anonymous)"}`);
  }

  #array(value: readonly unknown[]): Json {
    const { length } = value;
    // The keys of a huge list take more memory than the list, so first check whether it has too many items anyway.
    const most = (this.#limit - this.least + 1) / 2;
    if (length > most && isFull(value, most)) this.#count(length * 2 - 1);
    const keys = Object.keys(value);
    this.#count(Math.max(0, keys.length - 1));
    // Keys that are positions come first. If the last key is a position, all are.
    if (keys.length === length && (length === 0 || keys[length - 1] === String(length - 1)))
      return keys.map((_, i) => this.#field(value, i));
    this.#holes += length;
    // Read as a list, every hole takes five characters.
    if (!(this.#holes * 5 <= limits.valueBytes)) this.#refuse(`a sparse array that is too long`);
    const items = keys.map((key): Json => {
      const index = Number(key);
      if (String(index) !== key || !Number.isInteger(index) || index < 0 || index >= length)
        this.#refuse(`an array with a field "${scrub(key).slice(0, 80)}"`);
      return [index, this.#field(value, index)];
    });
    return { $: "sparse", n: length, v: items };
  }

  #plain(value: object, bare: boolean): Json {
    // A symbol that is not enumerable is a mark of a library, and no data.
    if (
      Object.getOwnPropertySymbols(value).some((key) =>
        Object.prototype.propertyIsEnumerable.call(value, key),
      )
    )
      this.#refuse("an object with a symbol as key");
    const keys = this.#keys(value);
    const fields = keys.map((key): [string, Json] => [this.#text(key), this.#field(value, key)]);
    // Scrubbed keys may have become equal, or sort differently. Pairs keep all fields, in the order of the count.
    const odd = fields.some(([key], i) => key === "$" || key === "__proto__" || key !== keys[i]);
    if (!bare && !odd) return Object.fromEntries(fields);
    return { $: "object", v: fields, ...(bare ? { bare: true } : {}) };
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

  /** Reads the field after its key is on the path, because a getter may throw. */
  #field(value: object, key: string | number): Json {
    this.#path.push(key);
    const json = this.#value((value as Record<string | number, unknown>)[key]);
    this.#path.pop();
    return json;
  }

  #special(value: object): Json | undefined {
    this.#count(counted - 2);
    if (value instanceof Date) {
      const time = Date.prototype.getTime.call(value);
      return { $: "date", v: Number.isNaN(time) ? null : time };
    }
    if (isError(value)) return this.#error(value);
    if (value instanceof SecretValue) return { $: "secret", v: value.name };
    // The other types must match exactly, because a subclass would lose what it adds.
    const type = className(value);
    if (value instanceof Map && type === "Map") {
      this.#count(Math.max(0, sizeOf(Map, value) * 4 - 1));
      const pairs = Map.prototype.entries.call(value);
      return {
        $: "map",
        v: Array.from(pairs, ([k, v], i) => [this.#at(`key ${i}`, k), this.#at(`value ${i}`, v)]),
      };
    }
    if (value instanceof Set && type === "Set") {
      this.#count(Math.max(0, sizeOf(Set, value) - 1));
      const items = Set.prototype.values.call(value);
      return { $: "set", v: Array.from(items, (item, i) => this.#at(`item ${i}`, item)) };
    }
    if (value instanceof URL && type === "URL") {
      const href = URL.prototype.toString.call(value);
      const scrubbed = this.#text(href);
      // If the host was a secret, the scrubbed text is no longer a valid URL.
      return { $: "url", v: scrubbed === href || URL.canParse(scrubbed) ? scrubbed : "secret:" };
    }
    if (value instanceof RegExp && type === "RegExp") return this.#regexp(value);
    return this.#bytes(value, type);
  }

  #regexp({ source, flags, lastIndex }: RegExp): Json {
    if (!Number.isInteger(lastIndex)) this.#refuse("a RegExp whose lastIndex is not an integer");
    if (typeof source !== "string" || typeof flags !== "string") this.#refuse("a RegExp without a source");
    // A scrubbed source may not compile.
    const scrubbed = this.#text(source);
    return { $: "regexp", v: [scrubbed === source ? source : "\\[secret\\]", flags, lastIndex] };
  }

  #bytes(value: object, type: string | null): Json | undefined {
    const known = arrayTypes.find((name) => name === type);
    if (known === undefined) return undefined;
    const bytes = ArrayBuffer.isView(value)
      ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
      : // A DataView refuses what only claims to be a buffer.
        new Uint8Array(new DataView(value as ArrayBuffer).buffer);
    const size = Math.max(bytes.length, leastBytes);
    this.#count(size - counted);
    const text = scrub(toBase64(bytes), "A");
    this.growth += '{"$":"bytes","t":"","v":""}'.length + known.length + text.length - size;
    return { $: "bytes", t: known, v: text };
  }

  #error(error: Error): Json {
    const { type, name: given } = typeOfError(error);
    const name = this.#text(given);
    const written: Record<string, Json> = { $: "error", name, message: this.#text(String(error.message)) };
    if (type !== typeOfRecord(undefined, name)) written["type"] = type;
    // Scrubbed before it is cut, because half of a secret would not be recognized.
    if (typeof error.stack === "string")
      written["stack"] = this.#text(scrub(error.stack).slice(0, limits.stackLength));
    if (type === "DOMException") return written;
    // The same order as in the decoder, because references count objects.
    if ("cause" in error) written["cause"] = this.#field(error, "cause");
    if (error instanceof AggregateError) written["errors"] = this.#at("errors", [...error.errors]);
    const own = ownKeys(this.#keys(error)).map((key): Json => [this.#text(key), this.#field(error, key)]);
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
    const path = scrub(this.#pathText());
    return this.#fail(
      new DurableError(
        "not-serializable",
        `The ${this.#where} contains ${scrub(what)} at ${path}, which a journal cannot store. Use plain data.`,
        { details: { path }, ...options },
      ),
    );
  }

  #fail(error: DurableError): never {
    this.#refusal = error;
    throw error;
  }
}

function tooLarge(where: Where, size: number, limit: number, least = ""): DurableError {
  return new DurableError(
    "too-large",
    `The ${where} takes ${least}${size} bytes; the limit is ${limit}. Store it elsewhere, and pass its address.`,
    { details: { size, limit } },
  );
}

/** The size of a Map or Set, also if a subclass has another idea of it. */
function sizeOf({ prototype }: MapConstructor | SetConstructor, value: object): number {
  return Reflect.get(prototype, "size", value);
}

/** True when the list has no hole before that position. */
function isFull(list: readonly unknown[], end: number): boolean {
  for (let i = 0; i < end; i++) if (!Object.hasOwn(list, i)) return false;
  return true;
}

/** True for `Object.prototype` of any realm, because test runners and sandboxes pass objects of their own realm. */
function isObjectPrototype(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf");
}
