/**
 * Converts what the journal stores to a value. The data may be hostile: the list of tags is closed, no class or
 * function is looked up by a name from the data, and no key is assigned through a setter.
 */

import { DurableError, show } from "../errors.ts";
import { limits } from "../limits.ts";
import { isSecretName, SecretValue } from "../secret.ts";
import { makeError, typeOfRecord } from "./error-types.ts";
import { fromBase64 } from "../base64.ts";
import { arrayTypes, bigintDigits, type Json, type Tag, type Where } from "./tags.ts";

type Tagged = { readonly [key: string]: Json };

/** Decodes one value. Throws `corrupt` for anything that `encode` could not have written. */
export function decode(json: Json, where: Where): unknown {
  return new Decoder(where).value(json, 0);
}

const numbers = ["-0", "NaN", "Infinity", "-Infinity"];

class Decoder {
  readonly #where: Where;
  #holes = 0;
  readonly #made: unknown[] = [];

  constructor(where: Where) {
    this.#where = where;
  }

  value(json: Json, depth: number): unknown {
    if (json === null || typeof json !== "object") return json;
    if (depth > limits.valueDepth + 8) return this.#corrupt("nesting");
    if (isArray(json)) {
      const list: unknown[] = this.#keep([]);
      for (const item of json) list.push(this.value(item, depth + 1));
      return list;
    }
    const tag = Object.hasOwn(json, "$") ? json["$"] : undefined;
    return tag === undefined ? this.#plain(json, depth) : this.#tagged(tag as Tag, json, depth);
  }

  #plain(json: Tagged, depth: number): unknown {
    const object = this.#keep({});
    for (const key of Object.keys(json)) define(object, key, this.value(json[key] as Json, depth + 1));
    return object;
  }

  #tagged(tag: Tag, json: Tagged, depth: number): unknown {
    const v = json["v"] as Json;
    switch (tag) {
      case "undefined":
        return undefined;
      case "number":
        return numbers.includes(this.#text(v)) ? Number(v) : this.#corrupt(tag);
      case "bigint":
        return this.#bigint(this.#text(v));
      case "date":
        return this.#keep(new Date(v === null ? Number.NaN : this.#number(v)));
      case "map":
      case "set":
      case "sparse":
      case "object":
        return this.#collection(tag, json, depth);
      case "regexp":
        return this.#regexp(this.#list(v));
      case "url":
        return URL.canParse(this.#text(v)) ? this.#keep(new URL(this.#text(v))) : this.#corrupt(tag);
      case "error":
        return this.#error(json, depth);
      case "bytes":
        return this.#bytes(this.#text(json["t"]), this.#text(v));
      case "secret":
        return isSecretName(v) ? this.#keep(new SecretValue(v)) : this.#corrupt(tag);
      case "ref":
        return this.#made[this.#index(v, this.#made.length)];
      default:
        return this.#corrupt(`tag ${show(tag)}`);
    }
  }

  #bigint(digits: string): bigint {
    return digits.length <= bigintDigits && /^-?\d+$/.test(digits) ? BigInt(digits) : this.#corrupt("bigint");
  }

  #collection(tag: "map" | "set" | "sparse" | "object", json: Tagged, depth: number): unknown {
    const items = this.#list(json["v"]);
    if (tag === "set") {
      const set = this.#keep(new Set<unknown>());
      for (const item of items) set.add(this.value(item, depth + 1));
      return set;
    }
    if (tag === "map") {
      const map = this.#keep(new Map<unknown, unknown>());
      for (const pair of items) {
        const [key, value] = this.#pair(pair);
        const decoded = this.value(key, depth + 1);
        map.set(decoded, this.value(value, depth + 1));
      }
      return map;
    }
    if (tag === "object") {
      const object = this.#keep(json["bare"] === true ? (Object.create(null) as object) : {});
      for (const pair of items)
        define(object, this.#text(this.#pair(pair)[0]), this.value(this.#pair(pair)[1], depth + 1));
      return object;
    }
    const list: unknown[] = this.#keep([]);
    const length = this.#index(json["n"], limits.valueBytes + 1);
    this.#holes += length;
    // As text, a hole takes five characters.
    if (this.#holes * 5 > limits.valueBytes) this.#corrupt(tag);
    // Sets the length through its last item, which allocates nothing: a short record must not become a large array.
    if (length > 0) list[length - 1] = undefined;
    Reflect.deleteProperty(list, length - 1);
    for (const pair of items) {
      const index = this.#index(this.#pair(pair)[0], length);
      list[index] = this.value(this.#pair(pair)[1], depth + 1);
    }
    return list;
  }

  #regexp([source, flags, lastIndex]: readonly Json[]): RegExp {
    try {
      const regexp = new RegExp(this.#text(source), this.#text(flags));
      regexp.lastIndex = this.#number(lastIndex ?? 0);
      return this.#keep(regexp);
    } catch {
      return this.#corrupt("regexp");
    }
  }

  #bytes(type: string, text: string): unknown {
    const known = arrayTypes.find((name) => name === type) ?? this.#corrupt(`bytes of ${type}`);
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = fromBase64(text);
    } catch {
      return this.#corrupt("base64");
    }
    if (known === "ArrayBuffer") return this.#keep(bytes.buffer);
    if (known === "DataView") return this.#keep(new DataView(bytes.buffer));
    if (known === "Buffer") {
      // On a platform without Buffer the result is a Uint8Array.
      const from = (globalThis as { Buffer?: { from(buffer: ArrayBuffer): Uint8Array } }).Buffer;
      return this.#keep(from === undefined ? bytes : from.from(bytes.buffer));
    }
    const View = (globalThis as unknown as Record<string, new (buffer: ArrayBuffer) => ArrayBufferView>)[
      known
    ];
    try {
      return this.#keep(new (View ?? this.#corrupt(known))(bytes.buffer));
    } catch {
      return this.#corrupt(known);
    }
  }

  #error(json: Tagged, depth: number): unknown {
    const index = this.#made.length;
    this.#made.push(undefined);
    const name = this.#text(json["name"]);
    const message = this.#text(json["message"]);
    const type = typeOfRecord(json["type"], name);
    const error = makeError(type, message, name);
    this.#made[index] = error;
    hide(error, "stack", typeof json["stack"] === "string" ? json["stack"] : `${name}: ${message}`);
    if (type === "DOMException") return error;
    if (error.name !== name) hide(error, "name", name);
    // The order matters, because references count objects in the order of the encoder.
    if ("cause" in json) hide(error, "cause", this.value(json["cause"], depth + 1));
    if ("errors" in json) hide(error, "errors", this.value(json["errors"], depth + 1));
    for (const pair of "own" in json ? this.#list(json["own"]) : []) {
      const [key, value] = this.#pair(pair);
      define(error, this.#text(key), this.value(value, depth + 1));
    }
    return error;
  }

  #keep<T>(made: T): T {
    this.#made.push(made);
    return made;
  }

  #text(json: Json | undefined): string {
    return typeof json === "string" ? json : this.#corrupt("text");
  }

  #number(json: Json | undefined): number {
    return typeof json === "number" ? json : this.#corrupt("number");
  }

  #index(json: Json | undefined, end: number): number {
    const index = this.#number(json);
    return Number.isInteger(index) && index >= 0 && index < end ? index : this.#corrupt("index");
  }

  #list(json: Json | undefined): readonly Json[] {
    return isArray(json) ? json : this.#corrupt("list");
  }

  #pair(json: Json): readonly [Json, Json] {
    const list = this.#list(json);
    return list.length === 2 ? [list[0] as Json, list[1] as Json] : this.#corrupt("pair");
  }

  #corrupt(what: string): never {
    throw new DurableError(
      "corrupt",
      `The ${this.#where} cannot be read: ${what} was not written by this library. Restore the journal from a backup.`,
    );
  }
}

function isArray(json: Json | undefined): json is readonly Json[] {
  return Array.isArray(json);
}

/** Defines an own property and never calls a setter, so `__proto__` in the data stays data. */
function define(object: object, key: string, value: unknown): void {
  if (key === "__proto__" || key in object) {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    (object as Record<string, unknown>)[key] = value;
  }
}

function hide(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, enumerable: false, configurable: true });
}
