import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { decode } from "../../src/values/codec/decode.ts";
import { encodeThrown } from "../../src/values/codec/encode.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import { DurableError, FatalError, RetryError } from "../../src/values/errors.ts";
import { limits } from "../../src/values/limits.ts";

const where = "error of a test";
const textOf = (thrown: unknown): string => JSON.stringify(encodeThrown(thrown, where));
const kept = (thrown: unknown): unknown => decode(JSON.parse(textOf(thrown)) as Json, where);
const told = (thrown: unknown): string => (kept(thrown) as Error).message;
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
    expect(told(boom)).toMatch(/^A thrown function could not be recorded \(.*a function \(boom\)/);
    expect(told(Symbol("s"))).toMatch(/^A thrown symbol could not be recorded \(.*Symbol\(s\)/);
    expect(told(new Response("x"))).toMatch(/^A thrown object could not be recorded \(.*class Response/);
    expect(told(proxy)).toMatch(/^A thrown object could not be recorded \(/);
    expect(told("x".repeat(20e6))).toMatch(/^A thrown string could not be recorded \(.*too large|bytes/);
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
    for (const after of ["30s", 5_000, new Date(9)] as const)
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
