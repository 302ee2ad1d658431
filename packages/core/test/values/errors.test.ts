import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { decode } from "../../src/values/codec/decode.ts";
import { encode, encodeThrown } from "../../src/values/codec/encode.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import {
  describeError,
  DurableError,
  errorCodes,
  FatalError,
  RetryError,
  show,
} from "../../src/values/errors.ts";

const where = "error of a test";
const textOf = (thrown: unknown): string => JSON.stringify(encodeThrown(thrown, where));
const kept = (thrown: unknown): unknown => decode(JSON.parse(textOf(thrown)) as Json, where);

describe("DurableError", () => {
  it("keeps its message in JSON", () => {
    const error = new DurableError("no-secret", "Pass one.", { details: { at: 1 } });
    const shown = { name: "DurableError", code: "no-secret", message: "Pass one.", details: { at: 1 } };
    expect(JSON.parse(JSON.stringify({ error }))).toEqual({ error: shown });
  });

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
    const copy = await import("../../src/values/errors.ts");
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
    const copy = await import("../../src/values/errors.ts");
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

const page = new URL("../../../../docs/errors.md", import.meta.url);
describe.skipIf(!existsSync(page))("docs/errors.md", () => {
  it("has a row and a section for every code, and for nothing else", () => {
    const text = readFileSync(page, "utf8");
    const rows = Array.from(
      text.matchAll(/^\| \[`([^`]+)`\]\(#([^)]+)\) \|/gm),
      ([, code = "", anchor = ""]) => {
        expect(anchor).toBe(code);
        return code;
      },
    );
    const sections = Array.from(text.matchAll(/^### (.+)$/gm), ([, code = ""]) => code);
    expect(rows.toSorted()).toEqual([...errorCodes].toSorted());
    expect(sections.toSorted()).toEqual([...errorCodes].toSorted());
  });
});
