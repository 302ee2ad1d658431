import { afterEach, describe, expect, inject, it, vi } from "vitest";
import { decode } from "../../src/values/codec/decode.ts";
import { encode } from "../../src/values/codec/encode.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import { DurableError } from "../../src/values/errors.ts";
import { damaged } from "../support/codec-damage.ts";
import { Chance, ValueMaker } from "../support/codec-values.ts";
import { failureOf, messageOf } from "../support/codec-failure.ts";

const where = "output of a test";
const records = inject("full") ? 6_000 : 1_200;

const namesOf = (): string =>
  [Object, Array, Error, Map, Function].map(({ prototype }) => Reflect.ownKeys(prototype).map(String)).join();
const untouched = namesOf();
afterEach(() => {
  if (namesOf() !== untouched || "x" in {}) throw new Error("a prototype was changed");
});

class Account {
  balance = 5;
}
class Bag extends Map<string, number> {}
class Tags extends Set<string> {}
class Link extends URL {}
class Pattern extends RegExp {}
class Rows extends Array<number> {}
class Bytes extends Uint8Array {}
function search(): void {}

const oddMatch = Object.assign([1, 2], { index: 5 });
const hiddenHole = Object.assign([1], { extra: 5 }) as unknown[];
hiddenHole.length = 2;
const oddRegExp = /a/g;
(oddRegExp as { lastIndex: unknown }).lastIndex = "1";

describe("H50 what cannot be kept", () => {
  it.each<[string, unknown, string]>([
    ["a function", () => 1, "value"],
    ["a named function", { tools: [{ execute: search }] }, "value.tools[0].execute"],
    ["a class", { Account }, "value.Account"],
    ["a symbol", [Symbol("x")], "value[0]"],
    ["a symbol as key", { a: { [Symbol("k")]: 1 } }, "value.a"],
    ["a class instance", { user: new Account() }, "value.user"],
    [
      "an instance with no class name",
      [
        new (class {
          x = 1;
        })(),
      ],
      "value[0]",
    ],
    ["an inherited object", Object.create({ x: 1 }), "value"],
    ["a subclass of Map", { bag: new Bag() }, "value.bag"],
    ["a subclass of Set", { tags: new Tags() }, "value.tags"],
    ["a subclass of URL", { link: new Link("https://a.test") }, "value.link"],
    ["a subclass of RegExp", { pattern: new Pattern("a") }, "value.pattern"],
    ["an object that inherits from a bare one", Object.create(Object.create(null) as object), "value"],
    ["a subclass of Array", { rows: Rows.from([1, 2]) }, "value.rows"],
    ["a subclass of a typed array", { bytes: new Bytes(2) }, "value.bytes"],
    ["a promise", { later: Promise.resolve(1) }, "value.later"],
    ["a WeakMap", [new WeakMap()], "value[0]"],
    ["a WeakRef", [new WeakRef({})], "value[0]"],
    ["a Response", { response: new Response("x") }, "value.response"],
    ["Headers", new Headers(), "value"],
    ["a boxed number", [new Number(5)], "value[0]"],
    ["a generator", [[].values()], "value[0]"],
    ["shared memory", [new SharedArrayBuffer(1)], "value[0]"],
    ["a Map value", new Map([["k", () => 1]]), "value.value 0"],
    ["a Map key", new Map([[() => 1, 1]]), "value.key 0"],
    ["a Set item", new Set([1, () => 1]), "value.item 1"],
    ["a field of an error", Object.assign(new Error("x"), { config: { fn: () => 1 } }), "value.config.fn"],
    ["a cause", new Error("x", { cause: { fn: () => 1 } }), "value.cause.fn"],
    ["one of many errors", new AggregateError([() => 1]), "value.errors[0]"],
    ["a list with fields", { match: oddMatch }, "value.match"],
    ["a list with a field that is nearly a position", Object.assign([1, 2], { "0.5": 1 }), "value"],
    ["a list with a field below all positions", Object.assign([1, 2], { "-1": 1 }), "value"],
    ["a list with a field written as a position", Object.assign([1, 2], { "01": 1 }), "value"],
    ["a list with a field in place of an item", { list: hiddenHole }, "value.list"],
    ["a list that is nearly all holes", { list: new Array(2 ** 31) }, "value.list"],
    ["a BigInt nobody could read back", { n: 10n ** 100_001n }, "value.n"],
    ["a regular expression that stands nowhere", { r: oddRegExp }, "value.r"],
    [
      "a getter that throws",
      {
        a: {
          get b(): never {
            throw new Error("boom");
          },
        },
      },
      "value.a.b",
    ],
    ["a detached buffer", { d: detached() }, "value.d"],
    ["a revoked proxy", { p: revoked() }, "value.p"],
  ])("%s is `not-serializable`, with its path", (_, value, path) => {
    const error = failureOf(() => encode(value, 'output of step "draft" in run r-17'));
    expect(DurableError.is(error) ? error.code : error).toBe("not-serializable");
    const { message, details } = error as DurableError;
    expect(details).toEqual({ path });
    expect(message).toContain(`output of step "draft" in run r-17`);
    expect(message).toContain(` at ${path}, `);
    expect(message.length).toBeLessThan(600);
  });

  it("names the class or the function that is in the way", () => {
    expect(messageOf(() => encode([new Account()], where))).toContain("class Account");
    expect(messageOf(() => encode({ f: search }, where))).toContain("search");
    expect(messageOf(() => encode(Promise.resolve(), where))).toContain("Promise");
  });

  it("a getter that throws is the cause of the refusal", () => {
    const boom = new Error("boom");
    const value = {
      get x(): never {
        throw boom;
      },
    };
    expect((failureOf(() => encode(value, where)) as Error).cause).toEqual(boom);
  });
});

function detached(): ArrayBuffer {
  const buffer = new ArrayBuffer(8);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** `code` for a refusal, "decoded" for none; any other failure is shown, so that a test fails on it. */
function verdict(json: unknown): unknown {
  try {
    decode(json as Json, where);
    return "decoded";
  } catch (error) {
    return DurableError.is(error) ? error.code : error;
  }
}

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let json: unknown = 1;
  for (let i = 0; i < depth; i++) json = wrap(json);
  return json;
}

describe("H51 hostile records", () => {
  it.each<[string, string]>([
    ["an unknown tag", '{"$":"function","v":"() => 1"}'],
    ["a tag of Object.prototype", '{"$":"constructor","v":"x"}'],
    ["the tag __proto__", '{"$":"__proto__","v":{}}'],
    ["a tag that is no text", '{"$":{"$":"date"}}'],
    ["a tag that is null", '{"$":null}'],
    ["a number in words", '{"$":"number","v":"five"}'],
    ["a number that JSON could say", '{"$":"number","v":"5"}'],
    ["a number with no text", '{"$":"number"}'],
    ["a bigint in hex", '{"$":"bigint","v":"0x10"}'],
    ["a bigint with an exponent", '{"$":"bigint","v":"1e9"}'],
    ["an empty bigint", '{"$":"bigint","v":""}'],
    ["a bigint that is a number", '{"$":"bigint","v":5}'],
    ["a date in words", '{"$":"date","v":"2026-01-01"}'],
    ["a date with nothing", '{"$":"date"}'],
    ["a map that is an object", '{"$":"map","v":{}}'],
    ["a map of triples", '{"$":"map","v":[[1,2,3]]}'],
    ["a map of texts", '{"$":"map","v":["ab"]}'],
    ["a set that is a text", '{"$":"set","v":"ab"}'],
    ["a set with nothing", '{"$":"set"}'],
    ["an object with a number as key", '{"$":"object","v":[[1,2]]}'],
    ["an object of texts", '{"$":"object","v":["ab"]}'],
    ["a list of huge length", '{"$":"sparse","n":2147483648,"v":[]}'],
    ["a list of length -1", '{"$":"sparse","n":-1,"v":[]}'],
    ["a list of length 1.5", '{"$":"sparse","n":1.5,"v":[]}'],
    ["a list of length 1e400", '{"$":"sparse","n":1e400,"v":[]}'],
    ["a list of length in words", '{"$":"sparse","n":"3","v":[]}'],
    ["an index past the end", '{"$":"sparse","n":3,"v":[[3,1]]}'],
    ["a negative index", '{"$":"sparse","n":3,"v":[[-1,1]]}'],
    ["a broken index", '{"$":"sparse","n":3,"v":[[0.5,1]]}'],
    ["an index that is a key", '{"$":"sparse","n":3,"v":[["__proto__",1]]}'],
    ["a regexp nobody can compile", '{"$":"regexp","v":["(","",0]}'],
    ["a regexp with odd flags", '{"$":"regexp","v":["a","gg",0]}'],
    ["a regexp of numbers", '{"$":"regexp","v":[1,2,3]}'],
    ["a regexp that is a text", '{"$":"regexp","v":"/a/"}'],
    ["a regexp that stands at a key", '{"$":"regexp","v":["a","g","x"]}'],
    ["a URL that is none", '{"$":"url","v":"not a url"}'],
    ["a URL that is a list", '{"$":"url","v":["https://a.test"]}'],
    ["bytes of a class of no bytes", '{"$":"bytes","t":"Function","v":"AA=="}'],
    ["bytes of eval", '{"$":"bytes","t":"eval","v":"AA=="}'],
    ["bytes of no class", '{"$":"bytes","v":"AA=="}'],
    ["bytes that are no base64", '{"$":"bytes","t":"Uint8Array","v":"?"}'],
    ["bytes that do not fit", '{"$":"bytes","t":"Float64Array","v":"AAAA"}'],
    ["bytes of numbers", '{"$":"bytes","t":"Uint8Array","v":[1,2]}'],
    ["a reference to nothing", '{"$":"ref","v":0}'],
    ["a reference ahead", '[{"$":"ref","v":1},{}]'],
    ["a reference below 0", '[{"$":"ref","v":-1}]'],
    ["a broken reference", '[{"$":"ref","v":0.5}]'],
    ["a reference to a name", '[{"$":"ref","v":"length"}]'],
    ["a reference with nothing", '[{"$":"ref"}]'],
    ["an error with no name", '{"$":"error","message":"x"}'],
    ["an error with no message", '{"$":"error","name":"Error"}'],
    ["an error whose name is a list", '{"$":"error","name":["a"],"message":"x"}'],
    ["an error whose own fields are an object", '{"$":"error","name":"E","message":"x","own":{"a":1}}'],
    ["an error whose own fields are no pairs", '{"$":"error","name":"E","message":"x","own":[["a"]]}'],
    ["an error with a bad cause", '{"$":"error","name":"E","message":"x","cause":{"$":"?"}}'],
  ])("%s is `corrupt`", (_, text) => {
    expect(verdict(JSON.parse(text))).toBe("corrupt");
    expect(messageOf(() => decode(JSON.parse(text) as Json, where))).toContain("output of a test");
  });

  it("keys never reach a prototype: they stay own data", () => {
    const texts = [
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
      '{"$":"object","v":[["__proto__",{"polluted":1}],["constructor",1]]}',
      '{"$":"error","name":"E","message":"m","own":[["__proto__",{"polluted":1}],["toString","x"],["stack",1]]}',
      '{"$":"error","type":"__proto__","name":"__proto__","message":"m"}',
      '{"$":"error","type":"constructor","name":"hasOwnProperty","message":"m"}',
    ];
    for (const text of texts) {
      const value = decode(JSON.parse(text) as Json, where) as object;
      expect([Object.prototype, Error.prototype]).toContain(Object.getPrototypeOf(value));
      expect((value as { polluted?: unknown }).polluted).toBeUndefined();
    }
  });

  it("a setter on a prototype is not called", () => {
    const set = vi.fn<(value: unknown) => void>();
    Reflect.defineProperty(Object.prototype, "trap", { set, configurable: true });
    try {
      const value = decode({ trap: 1 }, where) as { trap: unknown };
      expect([value.trap, set.mock.calls]).toEqual([1, []]);
    } finally {
      Reflect.deleteProperty(Object.prototype, "trap");
    }
  });

  it("`then` stays data: a decoded value can be awaited", async () => {
    const value = decode(JSON.parse('{"then":"x","a":{"then":{"$":"undefined"}}}') as Json, where);
    expect(Object.keys((await value) as object)).toEqual(["then", "a"]);
  });

  it("time and memory stay bounded", () => {
    const started = process.threadCpuUsage();
    const before = process.memoryUsage().heapUsed;
    // As JSON, holes take five characters each: a short record must not become a large reply.
    const sparse = (n: number, count: number): unknown =>
      Array.from({ length: count }, () => ({ $: "sparse", n, v: [] }));
    expect(verdict(sparse(3_000, 2_000))).toBe("decoded");
    expect(verdict(sparse(8_000_000, 1))).toBe("corrupt");
    expect(verdict(sparse(8_000, 2_000))).toBe("corrupt");
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200e6);
    expect(verdict({ $: "bigint", v: "9".repeat(100_001) })).toBe("corrupt");
    expect(verdict({ $: "bigint", v: "9".repeat(10_000_000) })).toBe("corrupt");
    expect(verdict({ $: "bigint", v: "9".repeat(100_000) })).toBe("decoded");
    expect(verdict({ $: "regexp", v: ["^(a+)+$", "", 0] })).toBe("decoded");
    expect(verdict({ $: "regexp", v: ["(".repeat(1_000_000), "", 0] })).toBe("corrupt");
    expect(verdict({ $: "number", v: "9".repeat(1_000_000) })).toBe("corrupt");
    expect(verdict({ $: "x".repeat(10_000_000) })).toBe("corrupt");
    expect(process.threadCpuUsage(started).user).toBeLessThan(5_000_000);
    expect(messageOf(() => decode({ $: "x".repeat(10_000_000) }, where)).length).toBeLessThan(500);
  });

  it("H52 a depth bomb of any kind is `corrupt`, not a stack overflow", () => {
    const wraps: ((inner: unknown) => unknown)[] = [
      (inner) => [inner],
      (inner) => ({ a: inner }),
      (inner) => ({ $: "map", v: [[inner, 1]] }),
      (inner) => ({ $: "map", v: [[1, inner]] }),
      (inner) => ({ $: "set", v: [inner] }),
      (inner) => ({ $: "sparse", n: 1, v: [[0, inner]] }),
      (inner) => ({ $: "object", v: [["a", inner]] }),
      (inner) => ({ $: "error", name: "E", message: "", cause: inner }),
      (inner) => ({ $: "error", name: "E", message: "", errors: inner }),
      (inner) => ({ $: "error", name: "E", message: "", own: [["a", inner]] }),
      (inner) => ({ $: inner }),
      (inner) => ({ $: "date", v: inner }),
    ];
    for (const wrap of wraps) expect(verdict(nested(100_000, wrap))).toBe("corrupt");
    expect(verdict(JSON.parse("[".repeat(100_000) + "]".repeat(100_000)))).toBe("corrupt");
  });

  it("thousands of damaged records decode, or are `corrupt`: never another failure", () => {
    const found = damagedRecords(records, (chance, text) => damaged(chance, JSON.parse(text)));
    expect(found.others).toEqual([]);
    expect(Math.min(found.decoded, found.corrupt)).toBeGreaterThan(records / 12);
  });

  it("thousands of records with one damaged byte: no JSON, decoded, or `corrupt`", () => {
    const found = damagedRecords(records, (chance, text) => {
      const at = chance.below(text.length);
      const byte = chance.pick(['"', "0", "-", "e", "{", "]", "$", "v"]);
      return parsed(text.slice(0, at) + byte + text.slice(at + 1));
    });
    expect(found.others).toEqual([]);
    expect(Math.min(found.decoded, found.corrupt)).toBeGreaterThan(records / 60);
  });
});

/** Decodes `count` damaged records; `others` are those that failed in a way nobody may see. */
function damagedRecords(
  count: number,
  damage: (chance: Chance, text: string) => unknown,
): { decoded: number; corrupt: number; others: unknown[] } {
  const found = { decoded: 0, corrupt: 0, others: [] as unknown[] };
  for (let seed = 1; seed <= count; seed++) {
    const text = JSON.stringify(encode(new ValueMaker(new Chance(seed % 1_500)).value(), where));
    const json = damage(new Chance(seed), text);
    if (json === undefined) continue;
    const seen = verdict(json);
    if (seen === "decoded" || seen === "corrupt") found[seen] += 1;
    else found.others.push([seed, JSON.stringify(json), seen]);
  }
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
