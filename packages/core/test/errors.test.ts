import { existsSync, readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { describe, expect, it, vi } from "vitest";
import { decode } from "../src/codec/decode.ts";
import { encode, encodeThrown } from "../src/codec/encode.ts";
import type { Json } from "../src/codec/tags.ts";
import { describeError, DurableError, errorCodes, FatalError, RetryError, show } from "../src/errors.ts";
import { limits } from "../src/limits.ts";

const where = "error of a test";
const textOf = (thrown: unknown): string => JSON.stringify(encodeThrown(thrown, where));
const kept = (thrown: unknown): unknown => decode(JSON.parse(textOf(thrown)) as Json, where);

const boom = (): never => {
  throw new Error("boom");
};

class PaymentDeclined extends Error {}
class BadShape extends TypeError {}
class Named extends Error {
  override name = "NamedByItself";
}
class Declined extends FatalError {
  override name = "Declined";
}
class Manifold extends AggregateError {}

describe("DurableError", () => {
  it("has a code, details, a cause only when given, and codes without twins", () => {
    const error = new DurableError("conflict", "m", { cause: 5, details: { a: 1 } });
    expect([error.name, error.code, error.message, error.cause]).toEqual([
      "DurableError",
      "conflict",
      "m",
      5,
    ]);
    expect(error.details).toEqual({ a: 1 });
    expect("cause" in new DurableError("conflict", "m")).toBe(false);
    expect("cause" in new DurableError("conflict", "m", { cause: undefined })).toBe(true);
    expect(new DurableError("conflict", "m").details).toEqual({});
    expect(new Set(errorCodes).size).toBe(errorCodes.length);
    for (const code of errorCodes) expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  it("is told by name and code, whichever copy of the package made it", async () => {
    vi.resetModules();
    const copy = await import("../src/errors.ts");
    expect(copy.DurableError).not.toBe(DurableError);
    const byHand = Object.assign(new Error("m"), { name: "DurableError", code: "conflict" });
    for (const error of [new copy.DurableError("conflict", "m"), byHand, new DurableError("conflict", "m")]) {
      expect(DurableError.is(error)).toBe(true);
      expect(DurableError.is(error, "conflict")).toBe(true);
      expect(DurableError.is(error, "limit")).toBe(false);
      expect(copy.DurableError.is(error, "conflict")).toBe(true);
    }
  });

  it("has two companions that users throw", () => {
    const fatal = new FatalError("m", { cause: 5 });
    expect([fatal.name, fatal.message, fatal.cause]).toEqual(["FatalError", "m", 5]);
    const retry = new RetryError("m", { after: "5s", cause: 5 });
    expect([retry.name, retry.after, retry.cause]).toEqual(["RetryError", "5s", 5]);
    expect("cause" in new RetryError("m", { after: 1 }) || "cause" in new FatalError("m")).toBe(false);
  });

  it("is nothing else", () => {
    const others = [
      new Error("m"),
      Object.assign(new Error("m"), { code: "conflict" }),
      Object.assign(new Error("m"), { name: "DurableError" }),
      Object.assign(new Error("m"), { name: "DurableError", code: 5 }),
      { name: "DurableError", code: "conflict", message: "m" },
      new FatalError("m"),
      null,
      undefined,
      "conflict",
    ];
    for (const other of others) expect(DurableError.is(other)).toBe(false);
  });

  it("survives the journal, as value and as thrown, with details and causes", () => {
    const error = new DurableError("suspended", "waits", {
      cause: new DurableError("step-failed", "inner", { cause: new TypeError("x") }),
      details: { waiting: [{ key: "a", note: { list: [1, new Date(5)] } }] },
    });
    for (const back of [decode(encode(error, where), where), kept(error)]) {
      expect(back).toBeInstanceOf(DurableError);
      expect(DurableError.is(back, "suspended") && back.details).toEqual(error.details);
      expect(DurableError.is((back as Error).cause, "step-failed")).toBe(true);
      expect(((back as Error).cause as Error).cause).toBeInstanceOf(TypeError);
    }
  });

  it("of another copy comes back as ours", async () => {
    vi.resetModules();
    const copy = await import("../src/errors.ts");
    expect(kept(new copy.DurableError("limit", "m"))).toBeInstanceOf(DurableError);
    expect(kept(new copy.FatalError("m"))).toBeInstanceOf(FatalError);
    expect(kept(new copy.RetryError("m", { after: "5s" }))).toMatchObject({ after: "5s" });
  });
});

describe("describeError and show", () => {
  it("give a short text for anything", () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect(describeError(new TypeError("bad"))).toBe("TypeError: bad");
    expect(describeError("just text")).toBe("just text");
    expect(describeError({ code: 5 })).toBe('{"code":5}');
    expect(describeError(undefined)).toBe("undefined");
    expect(describeError(Object.create(null))).toBe("{}");
    const hostile = [
      5n,
      Symbol("s"),
      cyclic,
      new (class extends Error {
        override get message(): string {
          throw this;
        }
      })(),
    ];
    for (const value of hostile) expect(describeError(value)).toMatch(/./);
    expect([show(Number.NaN), show(-0), show("a"), show(5n), show(null)]).toEqual([
      "NaN",
      "0",
      '"a"',
      "5n",
      "null",
    ]);
    for (const value of ["x".repeat(1e6), Array.from({ length: 1e5 }, () => 7)])
      expect(show(value).length).toBeLessThan(250);
  });
});

describe("H50 whatever is thrown is recorded", () => {
  const cyclic = new Error("a", { cause: new Error("b") });
  (cyclic.cause as Error).cause = cyclic;
  const narcissus = new Error("m");
  narcissus.cause = narcissus;
  const deep: unknown[] = [];
  for (let i = 0, at = deep; i < 100_000; i++) at.push((at = []));
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const getter = (key: string): Error =>
    Object.defineProperty(new Error("m"), key, { get: boom, enumerable: true });

  it.each<[string, unknown]>([
    ["null", null],
    ["undefined", undefined],
    ["a text", "boom"],
    ["a long text", "x".repeat(20e6)],
    ["a number", -0],
    ["a BigInt", 10n ** 200_000n],
    ["a symbol", Symbol("s")],
    ["a function", boom],
    ["a promise", Promise.resolve()],
    ["a Response", new Response("x")],
    [
      "a class instance",
      new (class Thing {
        x = 1;
      })(),
    ],
    [
      "an instance whose getters throw",
      {
        get message(): string {
          return boom();
        },
      },
    ],
    [
      "an object whose tag throws",
      {
        get [Symbol.toStringTag](): string {
          return boom();
        },
      },
    ],
    ["a revoked proxy", proxy],
    ["a deep list", deep],
    ["errors in a circle", cyclic],
    ["an error that is its own cause", narcissus],
    ["an error whose name throws", getter("name")],
    ["an error whose message throws", getter("message")],
    ["an error whose stack throws", getter("stack")],
    ["an error whose cause throws", getter("cause")],
    ["an error whose field throws", getter("field")],
    ["an error with a huge message", new Error("x".repeat(20e6))],
    ["an error with a huge name", Object.assign(new Error("m"), { name: "x".repeat(20e6) })],
    ["an error with a huge field", Object.assign(new Error("m"), { body: "x".repeat(20e6) })],
    [
      "an error with many fields",
      Object.assign(
        new Error("m"),
        Array.from({ length: 1e5 }, (_, i) => `v${i}`),
      ),
    ],
    [
      "very many errors",
      new AggregateError(
        Array.from({ length: 20_000 }, () => new Error("m")),
        "all",
      ),
    ],
    ["errors that are no list", Object.assign(new AggregateError([]), { errors: 5 })],
    ["an error caused by a function", new Error("m", { cause: boom })],
    ["an error caused by a Response", new Error("m", { cause: new Response("x") })],
    ["an error caused by a deep list", new Error("m", { cause: deep })],
    ["our error with details nobody can keep", new DurableError("limit", "m", { details: { boom } })],
  ])("%s", (_, thrown) => {
    const text = textOf(thrown);
    expect(text.length).toBeLessThan(limits.valueBytes);
    expect(() => decode(JSON.parse(text) as Json, where)).not.toThrow();
  });

  it("an error keeps its name and message although a part of it cannot be kept", () => {
    const parts = [getter("stack"), getter("cause"), getter("field")];
    const causes = [boom, new Response("x"), deep, Symbol("s"), proxy];
    for (const error of [...parts, ...causes.map((cause) => new Error("m", { cause }))])
      expect(kept(error)).toMatchObject({ name: "Error", message: "m" });
    expect(kept(Object.assign(new RangeError("m"), { f: boom }))).toBeInstanceOf(RangeError);
  });

  it("a chain of causes ends at its limit, and says so", () => {
    let error = new Error("0");
    for (let i = 1; i < 100; i++) error = new Error(String(i), { cause: error });
    let back: unknown = kept(error);
    let length = 0;
    for (; back instanceof Error; back = back.cause) length += 1;
    expect(length).toBe(limits.causeDepth + 1);
    expect(back).toMatch(/left out/);
  });

  it("what hangs on an error is kept in part: small primitives, small fields, a hundred of them", () => {
    const causeOf = (cause: unknown): unknown => (kept(new Error("m", { cause })) as Error).cause;
    expect([causeOf(5), causeOf("why"), causeOf(null), causeOf(undefined)]).toEqual([
      5,
      "why",
      null,
      undefined,
    ]);
    expect(causeOf("x".repeat(5_000))).toBe("x".repeat(1_024));
    expect(causeOf(boom)).toBe("(a function was left out)");
    expect(causeOf({ status: 5, body: { a: 1 }, f: boom })).toEqual({ status: 5 });
    const texts = { fits: "x".repeat(1_024), long: "x".repeat(1_025), details: { a: 1 } };
    expect(Object.keys(kept(Object.assign(new Error("m"), texts)) as Error)).toEqual(["fits"]);
    const ours = Object.assign(new DurableError("limit", "m", { details: { a: { b: 1 } } }), {
      extra: { a: 1 },
    });
    expect(kept(ours)).toMatchObject({ details: { a: { b: 1 } } });
    expect(kept(ours)).not.toHaveProperty("extra");
    const many = new AggregateError(Array.from({ length: 300 }, (_, i) => i));
    expect((kept(many) as AggregateError).errors).toHaveLength(100);
    const fields = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i]));
    expect(Object.keys(kept(Object.assign(new Error("m"), fields)) as Error)).toHaveLength(100);
  });

  it("errors that are shared or go in a circle keep their shape", () => {
    const shared = new TypeError("shared");
    const back = kept(new AggregateError([shared, shared], "m", { cause: shared })) as AggregateError;
    expect(back.errors).toEqual([back.cause, back.cause]);
    expect(back.errors[0]).toBe(back.cause);
    const circle = kept(cyclic) as Error;
    expect((circle.cause as Error).cause).toBe(circle);
  });

  it("what cannot be kept at all is told by its kind, and why", () => {
    const told = (thrown: unknown): string => (kept(thrown) as Error).message;
    expect(told(boom)).toMatch(/^A thrown function could not be kept \(.*a function \(boom\)/);
    expect(told(Symbol("s"))).toMatch(/^A thrown symbol could not be kept \(.*Symbol\(s\)/);
    expect(told(new Response("x"))).toMatch(/^A thrown Response could not be kept \(.*class Response/);
    expect(told(proxy)).toMatch(/^A thrown object could not be kept \(/);
    expect(told("x".repeat(20e6))).toMatch(/^A thrown string could not be kept \(.*too large|bytes/);
  });

  it("plain data that is thrown is kept whole", () => {
    const thrown = { code: 5, inner: { list: [1, new Date(5)], m: new Map([[1, 2n]]) } };
    expect(kept(thrown)).toEqual(thrown);
    expect([kept(-0), kept(undefined), kept("x"), kept(5n)]).toEqual([-0, undefined, "x", 5n]);
  });

  it("the class of a user's error is told by its name, and by the nearest class we know", () => {
    expect(kept(new PaymentDeclined("no"))).toMatchObject({ name: "PaymentDeclined", message: "no" });
    expect(kept(new BadShape("no"))).toMatchObject({ name: "BadShape" });
    expect(kept(new BadShape("no"))).toBeInstanceOf(TypeError);
    expect(kept(new (class extends Error {})("no"))).toMatchObject({ name: "Error" });
    expect(kept(new Named("no"))).toMatchObject({ name: "NamedByItself" });
    expect(kept(new Declined("no"))).toMatchObject({ name: "Declined" });
    expect(kept(new Declined("no"))).toBeInstanceOf(FatalError);
    expect(kept(new Manifold([new BadShape("a")], "m"))).toBeInstanceOf(AggregateError);
    expect((kept(new Manifold([new BadShape("a")], "m")) as Manifold).errors[0]).toBeInstanceOf(TypeError);
    expect(kept(new DOMException("m", "TimeoutError"))).toMatchObject({ name: "TimeoutError", code: 23 });
    expect(kept(Object.assign(new Error("m"), { constructor: 5, name: "TypeError" }))).not.toBeInstanceOf(
      TypeError,
    );
    const stack = "PaymentDeclined: no\n    at pay (pay.ts:1:1)";
    expect(kept(Object.assign(new PaymentDeclined("no"), { stack }))).toMatchObject({ stack });
  });

  it("an error of another realm is an error", () => {
    const foreign = runInNewContext(
      'Object.assign(new TypeError("m"), { code: "E", cause: new Error("c") })',
    ) as Error;
    expect(foreign).not.toBeInstanceOf(Error);
    expect(kept(foreign)).toBeInstanceOf(TypeError);
    expect(kept(foreign)).toMatchObject({ message: "m", code: "E", cause: { message: "c" } });
  });

  it("RetryError keeps its time, as text, number and Date", () => {
    for (const after of ["30s", 5_000, new Date(9)])
      expect(kept(new RetryError("later", { after }))).toMatchObject({ after, name: "RetryError" });
  });

  it("H67 request bodies, headers and configurations stay out; status, code and the like are kept", () => {
    const secret = "sk-canary-4711";
    const carrier = { headers: { authorization: secret }, request: { body: { key: secret } } };
    const error = Object.assign(new Error("429", { cause: { ...carrier, status: 429, nested: [secret] } }), {
      ...carrier,
      statusCode: 429,
      code: "rate_limited",
      isRetryable: true,
      param: null,
      responseHeaders: new Headers({ authorization: secret }),
      requestBodyValues: { messages: [secret] },
      response: new Response(secret),
      toJSON: () => secret,
    });
    const many = new AggregateError([error, carrier], "all");
    for (const thrown of [error, many, new Error("outer", { cause: many })])
      expect(textOf(thrown)).not.toContain(secret);
    const fields = {
      statusCode: 429,
      code: "rate_limited",
      isRetryable: true,
      param: null,
      cause: { status: 429 },
    };
    expect(kept(error)).toMatchObject(fields);
  });
});

const page = new URL("../../../docs/errors.md", import.meta.url);
describe.skipIf(!existsSync(page))("docs/errors.md", () => {
  it("has an entry for every code, and for nothing else", () => {
    const entry = /^(?:#{2,4}\s+|\|\s*)(?:<a [^>]*><\/a>\s*)?\[?`?([a-z]+(?:-[a-z]+)*)`?[^|\n]*(?:\||$)/gm;
    const found = Array.from(readFileSync(page, "utf8").matchAll(entry), ([, code = ""]) => code).filter(
      (c) => c !== "code",
    );
    expect([...new Set(found)].toSorted()).toEqual([...errorCodes].toSorted());
  });
});
