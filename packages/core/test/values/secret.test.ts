import { inspect } from "node:util";
import { afterEach, describe, expect, it, test, vi } from "vitest";
import { secret } from "@durable/core";
import { decode } from "../../src/values/codec/decode.ts";
import { encode, encodeThrown } from "../../src/values/codec/encode.ts";
import { fingerprint } from "../../src/values/codec/fingerprint.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import { DurableError, describeError, show } from "../../src/values/errors.ts";
import { limits } from "../../src/values/limits.ts";
import { SecretValue } from "../../src/values/secret.ts";
import { forgetSecrets, scrub } from "../../src/values/scrub.ts";
import { systemWorld } from "../../src/ports/world.ts";
import { codeOf, failureOf, messageOf } from "../support/codec-failure.ts";

const where = "output of a test";
const canary = "sk-canary/4711+žluť \"x\"\\\n'y'&z";
const label = "[secret API_KEY]";

/** What a journal would hold. */
const textOf = (value: unknown): string => JSON.stringify(encode(value, where));
const kept = (value: unknown): unknown => decode(JSON.parse(textOf(value)) as Json, where);
const keptThrown = (thrown: unknown): unknown =>
  decode(JSON.parse(JSON.stringify(encodeThrown(thrown, where))) as Json, where);

afterEach(forgetSecrets);

describe("H67 a secret shows its name and never its value", () => {
  test("in every way a value becomes a text", () => {
    const key = secret(canary, "API_KEY");
    expect([String(key), `${key}`, "" + key, JSON.stringify({ key })]).toEqual([
      label,
      label,
      label,
      `{"key":"${label}"}`,
    ]);
    expect(inspect({ key })).toBe(`{ key: ${label} }`);
    for (const text of [
      inspect(key, { showHidden: true, depth: 9 }),
      JSON.stringify(Object.entries(key)),
      JSON.stringify(structuredClone(key)),
    ])
      expect(text).not.toContain("4711");
    expect([key.name, key.reveal()]).toEqual(["API_KEY", canary]);
  });

  it.each<[string, unknown, unknown]>([
    ["a short value", "1234567", "KEY"],
    ["an empty value", "", "KEY"],
    ["an environment variable that is not set", undefined, "KEY"],
    ["a number", 12_345_678, "KEY"],
    ["a name with a bracket", canary, "a]"],
    ["an empty name", canary, ""],
    ["a long name", canary, "x".repeat(65)],
    ["a name that is none", canary, 5],
    ["a value as its own name", "hunter2hunter2", "hunter2hunter2"],
    ["a name that holds its value", "hunter2hunter2", "my-hunter2hunter2"],
  ])("%s is refused, and not shown", (_, value, name) => {
    const error = failureOf(() => secret(value as string, name as string)) as DurableError;
    expect(error.code).toBe("invalid-options");
    expect(error.message).not.toMatch(/1234567|12345678|4711|hunter2/);
    expect(scrub(`${String(value)} 4711`)).toBe(`${String(value)} 4711`);
  });

  test("why a short one is refused is told, and a missing variable too", () => {
    expect(messageOf(() => secret("1234567", "KEY"))).toMatch(/"KEY".*8 characters.*by chance/);
    expect(messageOf(() => secret(undefined as never, "KEY"))).toMatch(/"KEY" is undefined.*variable/);
  });

  test("a name that holds another secret is refused", () => {
    secret("hunter2hunter2", "KEY");
    expect(codeOf(() => secret(canary, "for-hunter2hunter2"))).toBe("invalid-options");
  });
});

describe("H67 a journal keeps a secret by its name", () => {
  test("and it is revealed where it is known", () => {
    const key = secret(canary, "API_KEY");
    expect(encode({ key }, where)).toEqual({ key: { $: "secret", v: "API_KEY" } });
    const back = kept({ key, again: [key] }) as { key: SecretValue; again: SecretValue[] };
    expect(back.key).toBeInstanceOf(SecretValue);
    expect(back.again[0]).toBe(back.key);
    expect([back.key.name, back.key.reveal(), String(back.key)]).toEqual(["API_KEY", canary, label]);
  });

  test("references behind it still count right", () => {
    const shared = { x: 1 };
    const back = kept([secret(canary, "API_KEY"), shared, shared]) as unknown[];
    expect(back[1]).toEqual({ x: 1 });
    expect(back[2]).toBe(back[1]);
  });

  test("where it is not known, only revealing fails, with the way out; it may be told later", () => {
    const text = textOf(secret(canary, "API_KEY"));
    forgetSecrets();
    const back = decode(JSON.parse(text) as Json, where) as SecretValue;
    const error = failureOf(() => back.reveal()) as DurableError;
    expect([error.code, error.details]).toEqual(["no-key", { secret: "API_KEY" }]);
    expect(error.message).toContain('"API_KEY"');
    expect(error.message).toContain('secret(value, "API_KEY") before the run');
    secret(canary, "API_KEY");
    expect(back.reveal()).toBe(canary);
  });

  test("a new value under the same name is what records reveal; the old one is still scrubbed", () => {
    const old = secret("old-value-1", "API_KEY");
    const back = kept(old) as SecretValue;
    secret("new-value-2", "API_KEY");
    expect([old.reveal(), back.reveal()]).toEqual(["old-value-1", "new-value-2"]);
    expect(scrub("old-value-1 new-value-2")).toBe(`${label} ${label}`);
  });

  test("one without a name is found; of several none is, rather than the wrong one", () => {
    const only = secret("first-value");
    const back = kept(only) as SecretValue;
    expect([only.name, back.reveal(), String(secret("first-value"))]).toEqual([
      "secret",
      "first-value",
      "[secret secret]",
    ]);
    const other = secret("second-value");
    secret("first-value");
    expect([codeOf(() => back.reveal()), messageOf(() => back.reveal())]).toEqual([
      "no-key",
      expect.stringContaining('secret(value, "NAME")'),
    ]);
    expect([only.reveal(), other.reveal()]).toEqual(["first-value", "second-value"]);
    expect(scrub("first-value second-value")).toBe("[secret secret] [secret secret]");
  });

  it.each<[string, string]>([
    ["no name", '{"$":"secret"}'],
    ["a name that is a number", '{"$":"secret","v":5}'],
    ["a name nobody could give", '{"$":"secret","v":"a b"}'],
    ["an empty name", '{"$":"secret","v":""}'],
  ])("H51 a record with %s is `corrupt`", (_, text) => {
    expect(codeOf(() => decode(JSON.parse(text) as Json, where))).toBe("corrupt");
  });

  test("names of Object.prototype name no secret", () => {
    for (const name of ["constructor", "__proto__"])
      expect(codeOf(() => (decode({ $: "secret", v: name }, where) as SecretValue).reveal())).toBe("no-key");
  });

  test("fingerprints tell secrets by name: a rotated one is the same input", () => {
    const first = secret("old-value-1", "API_KEY");
    const before = [fingerprint({ key: first }, where), fingerprint({ key: "Bearer old-value-1" }, where)];
    const next = secret("new-value-2", "API_KEY");
    const after = [fingerprint({ key: next }, where), fingerprint({ key: "Bearer new-value-2" }, where)];
    expect(after).toEqual(before);
    expect(fingerprint({ key: secret("new-value-2", "OTHER") }, where)).not.toBe(before[0]);
  });
});

const utf8 = Buffer.from(canary);
const spellings: [string, string][] = [
  ["as it is", canary],
  ["inside a longer text", `Bearer ${canary}; and more`],
  ["twice", canary + canary],
  ["in JSON", JSON.stringify({ authorization: canary })],
  ["in an address", `https://api.test/?key=${encodeURIComponent(canary)}&x=1`],
  ["in an address that was parsed", new URL(`https://api.test/?key=${encodeURIComponent(canary)}`).href],
  ["in the parameters of an address", String(new URLSearchParams({ a: "1", key: canary, z: "2" }))],
  ["in base64", utf8.toString("base64")],
  ["in base64url", utf8.toString("base64url")],
  ["in base64 after one byte", Buffer.from(`:${canary}:`).toString("base64")],
  ["in base64 after two bytes", Buffer.from(`u:${canary}`).toString("base64")],
  ["in base64 after many bytes", Buffer.from(`user@example.test:${canary}...`).toString("base64")],
  ["in base64url after two bytes", Buffer.from(`u:${canary}!`).toString("base64url")],
];

/** Every spelling of the canary that must not be found; base64 by the part that its neighbours cannot change. */
function leaks(text: string): string[] {
  const plain = [canary, JSON.stringify(canary).slice(1, -1), encodeURIComponent(canary), "4711"];
  const coded = ["", ":", "::"].flatMap((before) => {
    const code = Buffer.from(before + canary)
      .toString("base64")
      .slice(4, -8);
    return [code, code.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...plain, ...coded].filter((form) => text.includes(form));
}

describe("H67 a secret is scrubbed", () => {
  it.each(spellings)("spelled %s", (_, text) => {
    expect(leaks(text)).not.toEqual([]);
    expect(leaks(textOf(text))).not.toEqual([]);
    secret(canary, "API_KEY");
    expect(leaks(scrub(text))).toEqual([]);
    expect(leaks(textOf(text))).toEqual([]);
    expect(scrub(text)).toContain(label);
  });

  it.each<[string, () => unknown]>([
    ["a text", () => canary],
    ["a field", () => ({ a: [{ b: canary }] })],
    ["a key", () => ({ [canary]: 1, nested: { [`x${canary}`]: 2 } })],
    ["a key of a bare object", () => Object.assign(Object.create(null) as object, { [canary]: 1 })],
    ["a sparse list", () => Object.assign(new Array(3), { 1: canary })],
    ["a Map", () => new Map([[canary, canary]])],
    ["a Set", () => new Set([canary])],
    ["an address", () => new URL(`https://api.test/?key=${encodeURIComponent(canary)}`)],
    ["a regular expression", () => new RegExp("sk-canary.4711|" + canary.replaceAll(/[\\+]/g, "."))],
    ["bytes", () => utf8],
    ["bytes inside others", () => new TextEncoder().encode(`user:${canary}:end`)],
    ["an ArrayBuffer", () => new TextEncoder().encode(canary).buffer],
    ["an error", () => new Error(canary, { cause: new TypeError(canary, { cause: canary }) })],
    ["the name of an error", () => Object.assign(new Error("m"), { name: canary })],
    ["fields of an error", () => Object.assign(new Error("m"), { [canary]: 1, hint: canary })],
    ["the stack of an error", () => Object.assign(new Error("m"), { stack: `Error\n at ${canary}` })],
    ["many errors", () => new AggregateError([new Error(canary), canary], canary)],
    ["a DOMException", () => new DOMException(canary, canary)],
    ["our own error", () => new DurableError("limit", canary, { details: { text: [canary] } })],
    ["an error caused by an object", () => new Error("m", { cause: { [canary]: canary } })],
  ])("from %s, returned and thrown, and it can still be read", (_, make) => {
    secret(canary, "API_KEY");
    secret("sk-canary.4711", "PATTERN");
    for (const text of [textOf(make()), JSON.stringify(encodeThrown(make(), where))]) {
      expect(leaks(text)).toEqual([]);
      expect(() => decode(JSON.parse(text) as Json, where)).not.toThrow();
    }
  });

  test("what is around it stays", () => {
    secret(canary, "API_KEY");
    expect(kept({ a: `Bearer ${canary}!`, b: [1, "x"] })).toEqual({ a: `Bearer ${label}!`, b: [1, "x"] });
    expect(kept({ [`x-${canary}`]: 1, y: 2 })).toEqual({ [`x-${label}`]: 1, y: 2 });
    expect((kept(new Uint8Array(Buffer.from(`user:${canary}:end`))) as Uint8Array).length).toBe(
      Buffer.from(`user:${canary}:end`).length,
    );
    expect(Buffer.from(kept(Buffer.from(`user:${canary}:end`)) as Uint8Array).toString()).toMatch(
      /^user:.*:end$/s,
    );
  });

  test("an address whose host was a secret, and an expression that would not compile, are still read", () => {
    secret("subdomain1", "z-a");
    expect(String(kept(new URL("https://subdomain1.example.test/path")))).toBe("secret:");
    expect(String(kept(new URL("https://example.test/subdomain1")))).toBe(
      "https://example.test/[secret%20z-a]",
    );
    for (const flags of ["", "u", "v"])
      expect((kept(new RegExp("^subdomain1$", flags)) as RegExp).source).toBe("\\[secret\\]");
  });

  test("keys that become equal, or change their place, do not disturb references", () => {
    secret("12345678", "A");
    secret("abcdefgh", "A");
    const shared = { x: 1 };
    const value = {
      12345678: { one: 1 },
      99999999: { two: 2 },
      abcdefgh: { three: 3 },
      shared,
      again: shared,
    };
    const back = kept(value) as Record<string, unknown>;
    expect(back["again"]).toBe(back["shared"]);
    expect(back["shared"]).toEqual({ x: 1 });
    expect(back["[secret A]"]).toEqual({ three: 3 });
  });

  test("one that holds another is scrubbed whole, in whichever order they were told", () => {
    for (const order of [
      ["hunter22", "long-hunter22-long"],
      ["long-hunter22-long", "hunter22"],
    ]) {
      for (const value of order) secret(value, value.startsWith("long") ? "LONG" : "SHORT");
      expect(scrub("a long-hunter22-long b hunter22 c")).toBe("a [secret LONG] b [secret SHORT] c");
      forgetSecrets();
    }
  });

  test("before a text is cut, so that no half of it is left", () => {
    secret(canary, "API_KEY");
    for (const length of [limits.stackLength, 1_024, 200]) {
      const text = "x".repeat(length - 10) + canary;
      const stack = Object.assign(new Error("m"), { stack: text });
      const all = [
        JSON.stringify(encodeThrown(new Error(text, { cause: text }), where)),
        JSON.stringify(encodeThrown(stack, where)),
        textOf(stack),
        show(text),
        describeError(text),
      ];
      for (const one of all) expect(one).not.toContain("sk-canary");
    }
  });

  test("from what a getter throws, and from the path of what cannot be kept", () => {
    secret(canary, "API_KEY");
    const getter = {
      get x(): never {
        throw new Error(canary);
      },
    };
    for (const value of [getter, { [canary]: () => 1 }, { f: Symbol(canary) }, deep(canary)]) {
      const error = failureOf(() => encode(value, where)) as DurableError;
      expect(leaks(error.message + JSON.stringify(error.details))).toEqual([]);
      expect(leaks(JSON.stringify(encodeThrown(value, where)))).toEqual([]);
    }
  });

  test("from messages and from warnings", () => {
    secret(canary, "API_KEY");
    const circle: Record<string, unknown> = { canary };
    circle["circle"] = circle;
    for (const value of [canary, new Error(canary), { canary }, [canary], Symbol(canary), circle])
      expect(leaks(describeError(value) + show(value))).toEqual([]);
    secret("1234567890", "PIN");
    expect([show(1_234_567_890), describeError(1_234_567_890)]).toEqual(["[secret PIN]", "[secret PIN]"]);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    systemWorld.warn(`cannot read ${canary}`);
    expect(warn.mock.calls).toEqual([[`durable: cannot read ${label}`]]);
    warn.mockRestore();
  });

  test("from what was thrown and is thrown to the workflow", () => {
    secret(canary, "API_KEY");
    const back = keptThrown(Object.assign(new Error(`401 for ${canary}`), { url: canary })) as Error;
    expect(back).toMatchObject({ message: `401 for ${label}`, url: label });
    expect(leaks(inspect(back, { showHidden: true }))).toEqual([]);
  });

  test("halves of surrogate pairs in a secret", () => {
    secret("abcdefg\ud800", "ODD");
    expect(scrub("x abcdefg\ud800")).toBe("x [secret ODD]");
  });

  test("what is not covered: other encodings, numbers, and a secret in pieces", () => {
    secret("12345678abc", "A");
    secret("12345678", "B");
    expect(kept([12_345_678, 12_345_678n, ["1234", "5678"]])).toEqual([
      12_345_678,
      12_345_678n,
      ["1234", "5678"],
    ]);
    const hex = Buffer.from("12345678abc").toString("hex");
    expect(kept(hex)).toBe(hex);
  });
});

describe("the list of secrets", () => {
  test("does not grow with equal ones, and a text without any is given back as it is", () => {
    for (let i = 0; i < 10_000; i++) secret("equal-value", i % 2 === 0 ? "A" : "B");
    secret("equal-value");
    const started = process.threadCpuUsage();
    for (let i = 0; i < 10_000; i++) scrub("a text of some length without any secret in it");
    expect(process.threadCpuUsage(started).user).toBeLessThan(1_000_000);
    forgetSecrets();
    expect(scrub("equal-value")).toBe("equal-value");
  });

  test("H71 a text that scrubbing makes too large is `too-large`", () => {
    secret("aaaaaaaa", "x".repeat(64));
    const error = failureOf(() => encode("a".repeat(8_000), where, 10_000)) as DurableError;
    expect([error.code, error.details["limit"]]).toEqual(["too-large", 10_000]);
  });
});

function deep(key: string): unknown {
  let value: unknown = 1;
  for (let i = 0; i < 300; i++) value = { [key]: value };
  return value;
}
