import { deepStrictEqual } from "node:assert";
import { runInNewContext } from "node:vm";
import { describe, expect, inject, it, vi } from "vitest";
import { decode } from "../../src/values/codec/decode.ts";
import { encode } from "../../src/values/codec/encode.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import { DurableError, FatalError, RetryError } from "../../src/values/errors.ts";
import { Chance, difference, ValueMaker } from "../support/codec-values.ts";

const where = "output of a test";

/** What goes wrong through the codec directly, or through a real text; null when both give the value back. */
function flawOf(value: unknown): string | null {
  const json = encode(value, where);
  const read = JSON.parse(JSON.stringify(json)) as Json;
  const notJson = difference(read, json);
  const direct = difference(value, decode(json, where));
  const written = difference(value, decode(read, where));
  if (notJson !== null) return `not plain JSON: ${notJson}`;
  return direct === null ? written : `direct: ${direct}`;
}

function roundTrip<T>(value: T): T {
  const flaw = flawOf(value);
  if (flaw !== null) throw new Error(flaw);
  return decode(JSON.parse(JSON.stringify(encode(value, where))) as Json, where) as T;
}

class Day extends Date {}
const real = new Date(7);
const holes: unknown[] = [1];
holes[3] = undefined;
holes.length = 6;

describe("H49 round trip", () => {
  it.each<[string, unknown]>([
    ["undefined at the top", undefined],
    ["undefined in a field", { a: undefined, b: { c: undefined } }],
    ["undefined in a list", [undefined, null, undefined]],
    ["holes", holes],
    ["only holes", Array.from<unknown>({ length: 0 }).concat(new Array(3))],
    ["an empty list and object", [[], {}, Object.create(null)]],
    ["numbers", [0, -0, Number.NaN, Infinity, -Infinity, 1e308, 5e-324, 2 ** 53 + 2, 0.1 + 0.2]],
    ["-0 as a field", { zero: -0 }],
    ["BigInt", [0n, -1n, 2n ** 64n, -(10n ** 500n)]],
    ["the longest BigInt", 10n ** 99_999n],
    ["booleans and null", [true, false, null]],
    ["dates", [new Date(0), new Date(1e15), new Date(-1), new Date(Number.NaN)]],
    ["texts", ["", "é", "e\u0301", "𝄞", "\u0000\u001f\u2028", '"\\/', "</script>"]],
    ["lone surrogates", ["\ud800", "a\udfffb", "\udfff\ud800", { "\ud800": 1, "\udc00": 2 }]],
    ["own __proto__", JSON.parse('{"__proto__":{"x":1},"a":{"__proto__":null}}')],
    ["own $", { $: "date", v: 5 }],
    ["own $ inside", [{ $: { $: "ref", v: 0 } }]],
    ["names of Object.prototype", JSON.parse('{"constructor":1,"toString":2,"valueOf":null,"then":4}')],
    ["numeric keys", { 10: "a", 2: "b", "01": "c", "-1": "d" }],
    ["no prototype", Object.assign(Object.create(null) as object, { b: 1, a: { c: 2 }, $: 3 })],
    [
      "maps",
      new Map<unknown, unknown>([
        [Number.NaN, 1],
        [{ a: 1 }, new Map([[[], new Set()]])],
        ["k", undefined],
      ]),
    ],
    ["sets", new Set<unknown>([1, "1", new Set([new Map([[1n, -0]])]), undefined, Number.NaN])],
    ["a URL", [new URL("https://user:pw@example.test:8080/a%20b?q=1&q=2#é"), new URL("mailto:a@b.test")]],
    ["regular expressions", [/a+/gi, /[/]\n/u, new RegExp(""), /(?<y>\d{4})/dy, new RegExp("\\p{L}", "v")]],
    ["an ArrayBuffer", [Uint8Array.of(1, 2, 255).buffer, new ArrayBuffer(0)]],
    ["a DataView", new DataView(Uint8Array.of(9, 8, 7, 6).buffer, 1, 2)],
    ["a Buffer and its bytes", [Buffer.from("žluťoučký"), new Uint8Array(Buffer.from("žluťoučký"))]],
    ["a large Buffer", new Chance(1).bytes(100_000)],
  ])("%s", (_, value) => {
    expect(flawOf(value)).toBeNull();
  });

  it.each([
    "Int8Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "Int16Array",
    "Uint16Array",
    "Int32Array",
    "Uint32Array",
    "Float16Array",
    "Float32Array",
    "Float64Array",
    "BigInt64Array",
    "BigUint64Array",
  ])("%s, whole, as a part of a buffer, and empty", (name) => {
    const known = globalThis as unknown as Record<string, new (...args: unknown[]) => ArrayBufferView>;
    // Node 22 has no Float16Array.
    const View = known[name] ?? Uint8Array;
    const { buffer } = new Chance(2).bytes(64);
    const [whole, part, none] = roundTrip([new View(buffer), new View(buffer, 8, 2), new View(0)]);
    expect(whole).toBeInstanceOf(View);
    expect(part?.buffer.byteLength).toBe(part?.byteLength);
    expect(none?.byteLength).toBe(0);
  });

  it("plain JSON stands for itself, so that a journal can be read", () => {
    const plain = { list: [], object: {}, nested: [[1, "x", null, true]], number: 1.5 };
    expect(encode(plain, where)).toEqual(plain);
    expect(JSON.stringify(encode(plain, where))).toBe(JSON.stringify(plain));
  });

  it("a Buffer stays a Buffer, a Uint8Array does not become one", () => {
    const back = roundTrip({ buffer: Buffer.from("ab"), bytes: Uint8Array.of(97, 98) });
    expect(Buffer.isBuffer(back.buffer)).toBe(true);
    expect(Buffer.isBuffer(back.bytes)).toBe(false);
    expect(back.buffer.toString()).toBe("ab");
  });

  it("a regular expression goes on where it stood", () => {
    const regexp = /a/g;
    regexp.exec("aaa");
    expect(roundTrip(regexp).lastIndex).toBe(1);
  });

  it("a symbol that is not enumerable is left out: the AI SDK marks its tool calls with one", () => {
    const call = { type: "tool-call", toolCallId: "c1", toolName: "search", input: { query: "tides" } };
    const marked = { ...call, input: { ...call.input } };
    for (const part of [marked, marked.input])
      Object.defineProperty(part, Symbol.for("vercel.ai.input"), { value: () => part, enumerable: false });
    expect(roundTrip({ calls: [marked] })).toEqual({ calls: [call] });
    expect(encode(marked, where)).toEqual(encode(call, where));
    const bare = Object.assign(Object.create(null) as object, { a: 1 });
    Object.defineProperty(bare, Symbol("hidden"), { value: 1 });
    expect(encode(bare, where)).toEqual({ $: "object", v: [["a", 1]], bare: true });
    const both = Object.defineProperty({ [Symbol("shown")]: 1 }, Symbol("hidden"), { value: 1 });
    expect(() => encode(both, where)).toThrow(/symbol as key at value/);
  });

  it("shared parts stay shared, copies stay copies", () => {
    const part = { x: [1] };
    const back = roundTrip({ a: part, b: part, c: { x: [1] }, d: [part.x] });
    expect(back.a).toBe(back.b);
    expect(back.c).not.toBe(back.a);
    expect(back.d[0]).toBe(back.a.x);
  });

  it("cycles through objects, lists, maps (as key and value), sets and errors", () => {
    const object: Record<string, unknown> = {};
    object["self"] = object;
    const list: unknown[] = [object];
    list.push(list);
    const map = new Map<unknown, unknown>([["list", list]]);
    map.set(map, map);
    const set = new Set<unknown>([map]);
    set.add(set);
    const error = new Error("x", { cause: set }) as Error & { back?: unknown };
    error.back = error;
    object["error"] = error;
    const back = roundTrip([object, list, map, set, error]);
    expect((back[2] as Map<unknown, unknown>).get(back[2])).toBe(back[2]);
  });

  it("errors: class, name, message, stack, cause, own fields", () => {
    const cause = Object.assign(new TypeError("inner"), { code: "E_X", status: 500, list: [1, new Date(5)] });
    const back = roundTrip(new RangeError("outer", { cause }));
    expect(back).toBeInstanceOf(RangeError);
    expect(back.cause).toBeInstanceOf(TypeError);
    for (const Type of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError])
      expect(Object.getPrototypeOf(roundTrip(new Type("m")))).toBe(Type.prototype);
    expect("cause" in roundTrip(new Error("none"))).toBe(false);
    expect("cause" in roundTrip(new Error("given", { cause: undefined }))).toBe(true);
  });

  it("AggregateError, DOMException and our own classes", () => {
    const many = roundTrip(new AggregateError([new Error("a"), 5, "text"], "all", { cause: "why" }));
    expect(many).toBeInstanceOf(AggregateError);
    expect(many.errors).toHaveLength(3);
    const dom = roundTrip(new DOMException("stopped", "AbortError"));
    expect([dom.name, dom.code, dom instanceof DOMException]).toEqual(["AbortError", 20, true]);
    const ours = new DurableError("too-deep", "m", {
      cause: new Error("c"),
      details: { path: "x", list: [1] },
    });
    expect(roundTrip(ours)).toBeInstanceOf(DurableError);
    expect(DurableError.is(roundTrip(ours), "too-deep")).toBe(true);
    expect(roundTrip(new FatalError("f", { cause: 1 }))).toBeInstanceOf(FatalError);
    for (const after of ["30s", 5, new Date(9)] as const)
      expect(roundTrip(new RetryError("r", { after }))).toBeInstanceOf(RetryError);
  });

  it("a long chain of causes, and what is shared behind its end", () => {
    const shared = { x: 1 };
    let error = new Error("0");
    for (let i = 1; i < 40; i++) error = new Error(String(i), { cause: error });
    expect(flawOf([Object.assign(error, { first: shared }), shared, { again: shared }])).toBeNull();
  });

  it("thousands of random nested values", () => {
    const flaws: unknown[] = [];
    for (let seed = 1; seed <= (inject("full") ? 3_000 : 700); seed++) {
      const value = new ValueMaker(new Chance(seed)).value();
      const flaw = flawOf(value);
      if (flaw !== null) flaws.push([seed, flaw]);
      // A second opinion, and a second trip that must write the same.
      const text = JSON.stringify(encode(value, where));
      const back = decode(JSON.parse(text) as Json, where);
      if (!text.includes('"error"')) deepStrictEqual(back, value);
      if (JSON.stringify(encode(back, where)) !== text)
        flaws.push([seed, "written otherwise the second time"]);
    }
    expect(flaws).toEqual([]);
  });

  it("a subclass of Date comes back as a Date: the fake clocks of tests make such", () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 5 });
    const fake = new Date();
    const inside = encode([fake, real], where);
    vi.useRealTimers();
    expect(inside).toEqual([
      { $: "date", v: 5 },
      { $: "date", v: 7 },
    ]);
    expect(encode([fake, new Day(9)], where)).toEqual([
      { $: "date", v: 5 },
      { $: "date", v: 9 },
    ]);
  });

  it("values of another realm, as test runners and sandboxes make them", () => {
    const foreign = runInNewContext('({ a: [1, { b: "x" }], n: null })') as object;
    expect(decode(encode(foreign, where), where)).toEqual({ a: [1, { b: "x" }], n: null });
  });
});

describe("H7 nothing is shared with the record", () => {
  it("changing the value after encoding changes no record", () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const value = {
      list: [1],
      map: new Map([["k", { x: 1 }]]),
      date: new Date(5),
      bytes,
      error: new Error("e"),
    };
    const json = encode(value, where);
    const before = JSON.stringify(json);
    value.list.push(2);
    value.map.get("k")!.x = 9;
    value.date.setTime(99);
    bytes.fill(0);
    value.error.message = "changed";
    (value as Record<string, unknown>)["more"] = 1;
    expect(JSON.stringify(json)).toBe(before);
  });

  it("changing a decoded copy changes neither the record nor the next copy", () => {
    const json = encode({ list: [{ x: 1 }], set: new Set([1]), bytes: Uint8Array.of(7) }, where);
    const before = JSON.stringify(json);
    const copy = decode(json, where) as { list: { x: number }[]; set: Set<number>; bytes: Uint8Array };
    copy.list[0]!.x = 2;
    copy.list.push({ x: 3 });
    copy.set.clear();
    copy.bytes[0] = 0;
    expect(JSON.stringify(json)).toBe(before);
    expect(decode(json, where)).toEqual({ list: [{ x: 1 }], set: new Set([1]), bytes: Uint8Array.of(7) });
  });
});
