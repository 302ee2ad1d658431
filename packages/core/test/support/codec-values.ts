/** Seeded chance, a generator of values the codec keeps, and a comparison that misses nothing. */

/** A stream of numbers in [0, 1) that a seed decides. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Whole numbers below `n`, and picks from lists, from one seed. */
export class Chance {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seeded(seed);
  }

  below(n: number): number {
    return Math.floor(this.#next() * n);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.below(256));
  }

  text(): string {
    const parts = ["a", "é", "𝄞", "\u0000", "\ud800", "\udfff", '"', "\\", "$", "__proto__", "\u2028", " "];
    return Array.from({ length: this.below(5) }, () => this.pick(parts)).join("");
  }
}

const numbers = [0, -0, 1, -1, 0.1, 1e21, 2 ** 53, Number.MIN_VALUE, Number.NaN, Infinity, -Infinity];
const views: readonly (new (buffer: ArrayBuffer) => ArrayBufferView)[] = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
];

/** Random nested values, with parts that are shared and parts that hold what holds them. */
export class ValueMaker {
  readonly #chance: Chance;
  #made: object[] = [];

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  value(): unknown {
    this.#made = [];
    return this.#any(5);
  }

  #any(depth: number): unknown {
    const chance = this.#chance;
    if (this.#made.length > 0 && chance.below(8) === 0) return chance.pick(this.#made);
    if (depth === 0 || chance.below(3) === 0) return this.#leaf();
    return this.#container(depth - 1);
  }

  #leaf(): unknown {
    const chance = this.#chance;
    return chance.pick<() => unknown>([
      () => undefined,
      () => null,
      () => chance.below(2) === 0,
      () => chance.pick(numbers),
      () => chance.text(),
      () => BigInt(chance.below(1e9)) ** 3n * (chance.below(2) === 0 ? 1n : -1n),
      () => this.#keep(new Date(chance.pick([0, 1e12, -1, Number.NaN]))),
      () => this.#keep(new URL(`https://example.test/${chance.below(99)}?q=é#x`)),
      () => this.#regexp(),
      () => this.#keep(new (chance.pick(views))(chance.bytes(8 * chance.below(4)).buffer)),
      () => this.#keep(Buffer.from(chance.bytes(chance.below(9)))),
      () => this.#keep(chance.bytes(chance.below(9)).buffer),
    ])();
  }

  #container(depth: number): object {
    const items = (): number[] => Array.from({ length: this.#chance.below(4) }, (_, i) => i);
    return this.#chance.pick<() => object>([
      () => {
        const list: unknown[] = this.#keep([]);
        for (const _ of items()) list.push(this.#any(depth));
        return list;
      },
      () => {
        const list: unknown[] = this.#keep([]);
        list.length = this.#chance.below(9);
        for (const i of items()) if (i < list.length) list[i * 2] = this.#any(depth);
        return list;
      },
      () => this.#fields(this.#keep({}), depth),
      () => this.#fields(this.#keep(Object.create(null) as object), depth),
      () => {
        const map = this.#keep(new Map<unknown, unknown>());
        for (const _ of items()) map.set(this.#any(depth), this.#any(depth));
        return map;
      },
      () => {
        const set = this.#keep(new Set<unknown>());
        for (const _ of items()) set.add(this.#any(depth));
        return set;
      },
      () => this.#error(depth),
    ])();
  }

  #fields<T extends object>(object: T, depth: number): T {
    for (let i = this.#chance.below(4); i > 0; i--) {
      const key = this.#chance.pick(["a", "b", "$", "v", "__proto__", "constructor", "then", "7", "é"]);
      const value = this.#any(depth);
      Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
    }
    return object;
  }

  #error(depth: number): Error {
    const text = this.#chance.text();
    const error = this.#keep(
      this.#chance.pick<() => Error>([
        () => new Error(text),
        () => new TypeError(text),
        () => new AggregateError([this.#any(depth)], text),
        () => new Error(text, { cause: this.#any(depth) }),
      ])(),
    );
    return this.#fields(error, depth);
  }

  #regexp(): RegExp {
    const regexp = new RegExp(
      this.#chance.pick(["a+", "/", "\\n", ""]),
      this.#chance.pick(["", "g", "iu", "y"]),
    );
    regexp.lastIndex = this.#chance.below(3);
    return this.#keep(regexp);
  }

  #keep<T extends object>(made: T): T {
    this.#made.push(made);
    return made;
  }
}

/** Where two values first differ, or null: knows -0, NaN, holes, prototypes, shared parts and cycles. */
export function difference(a: unknown, b: unknown): string | null {
  return new Comparison().values(a, b, "value");
}

class Comparison {
  readonly #there = new Map<object, object>();
  readonly #back = new Map<object, object>();

  values(a: unknown, b: unknown, path: string): string | null {
    if (!isObject(a) || !isObject(b)) return Object.is(a, b) ? null : path;
    if (this.#there.has(a) || this.#back.has(b))
      return this.#there.get(a) === b && this.#back.get(b) === a ? null : `${path}: shared otherwise`;
    this.#there.set(a, b);
    this.#back.set(b, a);
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return `${path}: another class`;
    return this.#list(inside(a), inside(b), path) ?? this.#fields(a, b, path);
  }

  #list(a: readonly unknown[], b: readonly unknown[], path: string): string | null {
    if (a.length !== b.length) return `${path}: ${a.length} and ${b.length} parts`;
    for (let i = 0; i < a.length; i++) {
      const found = this.values(a[i], b[i], `${path}<${i}>`);
      if (found !== null) return found;
    }
    return null;
  }

  #fields(a: object, b: object, path: string): string | null {
    const keys = fieldsOf(a);
    const others = fieldsOf(b);
    if (keys.join("\n") !== others.join("\n")) return `${path}: fields ${keys.join()} and ${others.join()}`;
    for (const key of keys) {
      const { writable, configurable } = Object.getOwnPropertyDescriptor(b, key) ?? {};
      if (!writable || !configurable) return `${path}.${key}: cannot be changed`;
      const found = this.values(
        (a as Record<string, unknown>)[key],
        (b as Record<string, unknown>)[key],
        `${path}.${key}`,
      );
      if (found !== null) return found;
    }
    return null;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** What an object holds besides its enumerable fields. */
function inside(value: object): readonly unknown[] {
  if (Array.isArray(value)) return [value.length];
  if (value instanceof Map) return [...value].flat(1);
  if (value instanceof Set) return [...value];
  if (value instanceof Date) return [value.getTime()];
  if (value instanceof URL) return [value.href];
  if (value instanceof RegExp) return [value.source, value.flags, value.lastIndex];
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (ArrayBuffer.isView(value)) return [...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)];
  if (value instanceof Error || value instanceof DOMException) {
    const { name, message, stack, cause, errors } = value as Error & { errors?: unknown };
    return [name, message, stack, "cause" in value, cause, errors];
  }
  return [];
}

function fieldsOf(value: object): string[] {
  if (ArrayBuffer.isView(value)) return [];
  const keys = Object.keys(value);
  // Whether a name is the class's or the error's own does not show.
  return value instanceof Error ? keys.filter((key) => key !== "name") : keys;
}
