/** A place for packed values: what each brings that was not there, and whether it comes back; and values to pack. */

import { createHash } from "node:crypto";
import { pack, unpack } from "../../src/journal/pack.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import type { Chance } from "./codec-values.ts";

export interface Packed {
  readonly text: string;
  /** Blobs that were not there before, and their length. */
  readonly fresh: readonly string[];
  readonly freshLength: number;
  /** All the names it was given, old ones too, each once. */
  readonly named: ReadonlySet<string>;
}

/** As long as the names of the library are, and made faster. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

export class Blobs {
  readonly texts = new Map<string, string>();

  pack(value: Json): Packed {
    const fresh: string[] = [];
    const named = new Set<string>();
    const text = pack(value, (part) => {
      const name = hashOf(part);
      named.add(name);
      if (!this.texts.has(name)) fresh.push(part);
      this.texts.set(name, part);
      return name;
    });
    return { text, fresh, named, freshLength: fresh.reduce((sum, part) => sum + part.length, 0) };
  }

  unpack(text: string): Json {
    const known = new Map<string, Json>();
    const find = (name: string): Json => {
      const body = this.texts.get(name);
      if (body === undefined) throw new Error(`There is no blob ${name}.`);
      const value = known.get(name) ?? unpack(JSON.parse(body) as Json, find);
      known.set(name, value);
      return value;
    };
    return unpack(JSON.parse(text) as Json, find);
  }
}

/** True when a value comes back as it went in. */
export function comesBack(value: Json, blobs = new Blobs()): boolean {
  return JSON.stringify(blobs.unpack(blobs.pack(value).text)) === JSON.stringify(value);
}

const tokens = ["the ", "model ", "said, ", "é", "𝄞", "\ud800", "\udfff", '"', "\\", "\n", "\u2028", "0 "];

/** Text of some length that compresses badly enough to have many different parts. */
export function prose(chance: Chance, length: number): string {
  const parts: string[] = [];
  for (let sum = 0; sum < length;) {
    const part = chance.below(9) === 0 ? chance.pick(tokens) : `${chance.below(1e9).toString(36)} `;
    parts.push(part);
    sum += part.length;
  }
  return parts.join("").slice(0, length);
}

const tags = ["object", "map", "set", "sparse", "sealed", "ref", "bytes", "error"];
const keys = ["a", "$", "v", "__proto__", "constructor", "7", "0", "é", ""];

/** JSON of any shape, also such as no codec writes; what looks like a packed part is left out. */
export function randomJson(chance: Chance): Json {
  return new JsonMaker(chance, chance.pick([20, 100, 400])).value(8);
}

class JsonMaker {
  readonly #chance: Chance;
  /** Parts that may still be made: a value is wide or deep, and never endless. */
  #left: number;

  constructor(chance: Chance, parts: number) {
    this.#chance = chance;
    this.#left = parts;
  }

  value(depth: number): Json {
    const chance = this.#chance;
    this.#left -= 1;
    const kind = chance.below(depth === 0 || this.#left <= 0 ? 6 : 14);
    if (kind === 0) return null;
    if (kind === 1) return chance.below(2) === 0;
    if (kind === 2) return chance.below(1e9) / chance.pick([1, 3, -7]);
    if (kind === 3) return prose(chance, chance.below(12) === 0 ? chance.below(40_000) : 9);
    if (kind <= 5) return prose(chance, chance.below(chance.pick([3, 40, 800])));
    return kind <= 9
      ? this.#list(depth - 1)
      : kind === 10
        ? this.#tagged(depth - 1)
        : this.#object(depth - 1);
  }

  #list(depth: number): Json[] {
    const list: Json[] = [];
    for (let left = this.#chance.below(this.#left + 1); left > 0 && this.#left > 0; left--)
      list.push(this.value(depth));
    return list;
  }

  /** As the codec marks what is no plain JSON. */
  #tagged(depth: number): Json {
    return { $: this.#chance.pick(tags), v: this.value(depth) };
  }

  #object(depth: number): Json {
    const fields = this.#list(depth).map((part, i): [string, Json] => [
      this.#chance.below(3) === 0 ? this.#chance.pick(keys) : `k${i}`,
      part,
    ]);
    return Object.fromEntries(fields.filter(([key]) => key !== "$"));
  }
}
