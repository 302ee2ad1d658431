/** Code of the user that runs while a value is encoded: it may throw anything, or return what does not fit. */

import { describe, expect, it } from "vitest";
import { decode } from "../../src/values/codec/decode.ts";
import { encode, encodeThrown } from "../../src/values/codec/encode.ts";
import { fingerprint } from "../../src/values/codec/fingerprint.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import { DurableError } from "../../src/values/errors.ts";
import { failureOf } from "../support/codec-failure.ts";

const where = "output of a test";
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

/** An error that cannot be looked at. */
const unreadable = Object.defineProperties(new Error("m"), {
  name: { get: () => raise(new Error("its name")) },
  message: { get: () => raise(new Error("its message")) },
});

class Thing {
  readonly x = 1;
}

function raise(thrown: unknown): never {
  throw thrown;
}

/** What a hook throws. None of these may get out as it is. */
const throwables: [string, unknown][] = [
  ["an error", new Error("boom")],
  ["a text", "boom"],
  ["undefined", undefined],
  ["an error of this library", new DurableError("suspended", "boom")],
  ["a refusal of another value", failureOf(() => encode(() => 1, where))],
  ["an error that cannot be read", unreadable],
  ["a revoked proxy", revoked],
];

const trap = (name: keyof ProxyHandler<object>, thrown: unknown, target: object = { a: 1 }): object =>
  new Proxy(target, { [name]: () => raise(thrown) });
const own = (value: object, key: PropertyKey, thrown: unknown): object =>
  Object.defineProperty(value, key, { get: () => raise(thrown), enumerable: true });
/** An object of that class whose method or accessor throws. */
const overridden = (value: object, key: PropertyKey, thrown: unknown): object =>
  Object.defineProperty(value, key, { get: () => raise(thrown) });

/** Places where code of the user runs, each with its path inside of a field. */
const hooks: [string, (thrown: unknown) => unknown, string][] = [
  ["a getter", (thrown) => own({}, "b", thrown), "value.a.b"],
  ["a getter in a list", (thrown) => own([1, 2], 1, thrown), "value.a[1]"],
  ["a getter of a bare object", (thrown) => own(Object.create(null) as object, "b", thrown), "value.a.b"],
  ["a toJSON", (thrown) => ({ toJSON: () => raise(thrown) }), "value.a.toJSON"],
  ["ownKeys of a proxy", (thrown) => trap("ownKeys", thrown), "value.a"],
  ["getPrototypeOf of a proxy", (thrown) => trap("getPrototypeOf", thrown), "value.a"],
  ["getOwnPropertyDescriptor of a proxy", (thrown) => trap("getOwnPropertyDescriptor", thrown), "value.a"],
  ["get of a proxy", (thrown) => trap("get", thrown, { b: 1 }), "value.a.b"],
  ["get of a proxy of a list", (thrown) => trap("get", thrown, [1]), "value.a"],
  ["get of a proxy of a Map", (thrown) => trap("get", thrown, new Map([[1, 2]])), "value.a"],
  ["get of a proxy of bytes", (thrown) => trap("get", thrown, new Uint8Array(3)), "value.a"],
  ["the tag of an object", (thrown) => overridden(new Thing(), Symbol.toStringTag, thrown), "value.a"],
  [
    "the constructor of a class",
    (thrown) => Object.create(Object.defineProperty({}, "constructor", { get: () => raise(thrown) })),
    "value.a",
  ],
  ["the name of an error", (thrown) => own(new Error("m"), "name", thrown), "value.a"],
  ["the message of an error", (thrown) => own(new Error("m"), "message", thrown), "value.a"],
  ["the stack of an error", (thrown) => own(new Error("m"), "stack", thrown), "value.a"],
  ["the cause of an error", (thrown) => own(new Error("m"), "cause", thrown), "value.a.cause"],
  ["a field of an error", (thrown) => own(new Error("m"), "status", thrown), "value.a.status"],
  ["errors of an AggregateError", (thrown) => own(new AggregateError([]), "errors", thrown), "value.a"],
  [
    "the iterator of such errors",
    (thrown) => Object.assign(new AggregateError([]), { errors: { [Symbol.iterator]: () => raise(thrown) } }),
    "value.a",
  ],
  [
    "a name that is not a text",
    (thrown) => Object.assign(new Error("m"), { name: { toString: () => raise(thrown) } }),
    "value.a",
  ],
  [
    "a message that is not a text",
    (thrown) => Object.assign(new Error("m"), { message: { toString: () => raise(thrown) } }),
    "value.a",
  ],
  ["the source of a RegExp", (thrown) => overridden(/a/, "source", thrown), "value.a"],
  ["the flags of a RegExp", (thrown) => overridden(/a/, "flags", thrown), "value.a"],
  ["one flag of a RegExp", (thrown) => overridden(/a/, "global", thrown), "value.a"],
];

describe("H50 a hook that throws is `not-serializable`, with its path and its cause", () => {
  describe.each(throwables)("%s", (_, thrown) => {
    it.each(hooks)("%s", (_name, make, path) => {
      const error = failureOf(() => encode({ a: make(thrown) }, where));
      expect(DurableError.is(error, "not-serializable")).toBe(true);
      const { details, message, cause } = error as DurableError;
      expect(details).toEqual({ path });
      expect(message).toContain(` at ${path}, `);
      expect(message.length).toBeLessThan(10_000);
      if (!path.endsWith("toJSON")) expect("cause" in (error as DurableError)).toBe(true);
      // The refusal itself can be recorded, with its cause.
      const back = decode(JSON.parse(JSON.stringify(encodeThrown(error, where))) as Json, where);
      expect(back).toMatchObject({ code: "not-serializable", details: { path } });
      if (thrown === throwables[0]?.[1] && !path.endsWith("toJSON"))
        expect(cause).toMatchObject({ message: "boom" });
    });

    it.each(hooks)("fingerprint: %s", (_name, make) => {
      const error = failureOf(() => fingerprint([make(thrown)], where));
      expect(DurableError.is(error, "not-serializable")).toBe(true);
    });

    it.each(hooks)("thrown: %s", (_name, make) => {
      for (const value of [make(thrown), { a: make(thrown) }, new Error("m", { cause: make(thrown) })]) {
        const text = JSON.stringify(encodeThrown(value, where));
        expect(text.length).toBeLessThan(100_000);
        expect(() => decode(JSON.parse(text) as Json, where)).not.toThrow();
      }
    });
  });

  it("a huge error of a hook is cut", () => {
    const huge = new Error("x".repeat(40e6));
    const value = own({}, "b", huge);
    expect((failureOf(() => encode(value, where)) as DurableError).message.length).toBeLessThan(10_000);
    for (const thrown of [value, own(new Error("m"), "name", huge)])
      expect(JSON.stringify(encodeThrown(thrown, where)).length).toBeLessThan(20_000);
  });

  it("a getter that recurses without end is refused", () => {
    const endless = Object.defineProperty({}, "again", {
      enumerable: true,
      get: (): unknown => ({ ...endless }),
    });
    expect(failureOf(() => encode(endless, where))).toMatchObject({ code: "not-serializable" });
  });
});

describe("H49 a hook that answers does not decide what is recorded", () => {
  class OddDate extends Date {
    override getTime(): number {
      return "no number" as unknown as number;
    }
    override valueOf = (): number => raise(new Error("boom"));
    override toISOString = (): string => raise(new Error("boom"));
  }
  const odd = <T extends object>(value: T, fields: Record<PropertyKey, unknown>): T => {
    for (const key of Reflect.ownKeys(fields))
      Object.defineProperty(value, key, {
        value: fields[key],
        configurable: true,
      });
    return value;
  };
  const junk: Record<PropertyKey, unknown> = {
    [Symbol.iterator]: () => ["junk"].values(),
    entries: () => ["junk"],
    size: Number.NaN,
  };

  it.each<[string, unknown, unknown]>([
    ["a Date", new OddDate(7), { $: "date", v: 7 }],
    ["a Map", odd(new Map([[1, 2]]), { ...junk, forEach: () => {} }), { $: "map", v: [[1, 2]] }],
    ["a Set", odd(new Set([1]), { ...junk, forEach: () => {} }), { $: "set", v: [1] }],
    ["a list", odd([1, 2], { map: () => ["junk"], [Symbol.iterator]: junk[Symbol.iterator] }), [1, 2]],
    [
      "a list that names another constructor",
      odd([1], { constructor: { [Symbol.species]: function Junk() {} } }),
      [1],
    ],
    ["a URL", odd(new URL("https://a.test/"), { href: { length: 0 } }), { $: "url", v: "https://a.test/" }],
  ])("%s", (_, value, json) => {
    expect(encode(value, where)).toEqual(json);
  });

  it.each<[string, unknown]>([
    ["a RegExp with a source that is not a text", odd(/a/, { source: 5 })],
    ["a RegExp with flags that do not exist", odd(/a/, { flags: {} })],
    ["an object that says it is a Date", Object.create(Date.prototype)],
    ["an object that says it is a Map", Object.create(Map.prototype)],
    ["an object that says it is a Set", Object.create(Set.prototype)],
    ["an object that says it is a URL", Object.create(URL.prototype)],
    ["an object that says it is bytes", Object.create(Uint8Array.prototype)],
    ["an object that says it is a buffer", Object.create(ArrayBuffer.prototype)],
    [
      "a class that is called like bytes",
      new (class Uint8Array {
        readonly length = 3;
      })(),
    ],
    ["a proxy of numbers", new Proxy(new Float64Array([1.5]), {})],
    ["a proxy of a Map", new Proxy(new Map(), {})],
    [
      "a proxy of a list with an odd length",
      new Proxy([1], { get: (_, key) => (key === "length" ? {} : 1) }),
    ],
    [
      "a proxy of a list that is longer than it says",
      new Proxy([1, 2, 3], {
        get: (list, key) => (key === "length" ? 1 : (Reflect.get(list, key) as unknown)),
      }),
    ],
  ])("%s is refused", (_, value) => {
    const error = failureOf(() => encode({ a: value }, where));
    expect(DurableError.is(error, "not-serializable")).toBe(true);
    expect((error as DurableError).details).toEqual({ path: "value.a" });
  });

  it("a class whose name is not a text is called anonymous", () => {
    class Odd extends Error {
      static override readonly name = { length: 3 } as unknown as string;
    }
    expect(decode(encode(new Odd("m"), where), where)).toMatchObject({ name: "Error", message: "m" });
    class Other extends Thing {
      static override readonly name = { toString: () => raise(new Error("boom")) } as unknown as string;
    }
    expect(failureOf(() => encode(new Other(), where))).toMatchObject({ code: "not-serializable" });
  });
});
