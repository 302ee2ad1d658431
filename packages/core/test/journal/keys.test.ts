import { digest } from "../../src/values/hash.ts";
import { describe, expect, it } from "vitest";
import {
  areSiblings,
  assertName,
  assertRunId,
  childIdOf,
  idempotencyKeyOf,
  markOf,
  isWithin,
  locatorOf,
  nameOf,
  waitOf,
} from "../../src/journal/keys.ts";
import { limits } from "../../src/values/limits.ts";
import { codeOf, messageOf } from "../support/codec-failure.ts";

const cyclic: unknown[] = [];
cyclic.push(cyclic);
const nonStrings = [undefined, null, 0, 7, true, 5n, Symbol("s"), () => "x", {}, ["a"], new Date(0), cyclic];

describe("assertName", () => {
  it("takes words, spaces, dots, dashes, any script, and exactly 128 characters", () => {
    const names = [
      "plan",
      "write the draft",
      "a.b",
      "a-b_c",
      "план",
      "計画",
      "e\u0301",
      "🧭",
      "x".repeat(128),
    ];
    for (const name of [...names, "__proto__", "constructor", "$", "CON", "..", "a:b"])
      expect(() => assertName(name, "A step")).not.toThrow();
  });

  it("refuses what a key path is made of, control characters, and lengths out of bounds", () => {
    const bad = ["", "a#2", "a/b", "a[b", "a]b", "#", "\u0000", "a\nb", "a\tb", "\u007f", "\u0085"];
    for (const name of [...bad, "x".repeat(129)])
      expect(
        codeOf(() => assertName(name, "A step")),
        `name ${JSON.stringify(name)}`,
      ).toBe("invalid-name");
  });

  it("H65 refuses half a surrogate pair: hashed as UTF-8, two such names would be one", () => {
    for (const name of ["\ud800", "\udfff", "a\ud800b", "\udc00\ud800"])
      expect(codeOf(() => assertName(name, "A step"))).toBe("invalid-name");
    expect(() => assertName("\ud834\udd1e", "A step")).not.toThrow();
  });

  it("refuses what is no text, whatever it is", () => {
    for (const name of nonStrings) expect(codeOf(() => assertName(name, "A step"))).toBe("invalid-name");
  });

  it("says what was named how, in a message of bounded length", () => {
    expect(messageOf(() => assertName("a/b", "A step of run r-1"))).toMatch(
      /^A step of run r-1 has the invalid name "a\/b"\./,
    );
    expect(messageOf(() => assertName("x".repeat(1e6), "A step")).length).toBeLessThan(500);
  });
});

describe("assertRunId", () => {
  it("takes letters, digits, - and _, beginning with a letter or digit, up to 128", () => {
    for (const id of ["r", "7", "r-17", "A_b-C", "CON", "nul", "0".repeat(128), "constructor"])
      expect(() => assertRunId(id)).not.toThrow();
  });

  it.each([
    "",
    " ",
    "a b",
    "../x",
    "..",
    ".",
    "a.",
    "a.b",
    "..\\x",
    "a/b",
    "a\\b",
    "\u0000",
    "a\u0000",
    "a\n",
    "\na",
    "CON.",
    "-a",
    "_a",
    "__proto__",
    "a:b",
    "a%2e",
    "a'b",
    'a"b',
    "a;--",
    "é",
    "e\u0301",
    "ａ",
    "а",
    "\u212a",
    "a\u200b",
    "🧭",
    "0".repeat(129),
    "0".repeat(256),
  ])("H65 refuses %j", (id) => {
    expect(codeOf(() => assertRunId(id))).toBe("invalid-id");
  });

  it("H65 refuses what is no text, whatever it is", () => {
    for (const id of [...nonStrings, Object("r-17"), { toString: () => "r-17" }])
      expect(codeOf(() => assertRunId(id))).toBe("invalid-id");
  });

  it("H65 a huge id gives a short message", () => {
    expect(messageOf(() => assertRunId("../../".repeat(1e6))).length).toBeLessThan(500);
  });
});

describe("hashed names", () => {
  it("H65 locators are 18 base32 characters, and differ for ids that file systems confuse", () => {
    const ids = ["run", "RUN", "Run", "r-1", "r_1", "CON", "con", "a".repeat(128), "a".repeat(127)];
    const locators = ids.map(locatorOf);
    for (const locator of locators) expect(locator).toMatch(/^[a-z2-7]{18}$/);
    expect(new Set(locators).size).toBe(ids.length);
  });

  it("waits differ by key and by nonce; the first two characters tell the nonce", () => {
    const waits = ["n0", "n1", "n2"].flatMap((nonce) => [
      waitOf("approve", nonce),
      waitOf("approve#2", nonce),
    ]);
    for (const wait of waits) expect(wait).toMatch(/^[a-z2-7]{10}$/);
    expect(new Set(waits).size).toBe(6);
    expect(waits.map((wait) => wait.startsWith(markOf("n1")))).toEqual([
      false,
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  it("what a run derives stays as it was: tokens and keys in the wild stay good", () => {
    expect(waitOf("approve", "n1")).toBe(`${digest(4, "nonce", "n1")}${digest(6, "wait", "n1", "approve")}`);
    expect(idempotencyKeyOf("r-1", "pay", "n1")).toBe(digest(32, "step", "r-1", "n1", "pay"));
    expect(childIdOf("r-1", "pay", "n1")).toBe(digest(26, "child", "r-1", "n1", "pay"));
  });

  it.each([idempotencyKeyOf, childIdOf])(
    "idempotency keys and child ids differ by run, key and nonce",
    (idOf) => {
      const asked = [
        ["r-1", "pay", "n0"],
        ["r-2", "pay", "n0"],
        ["r-1", "pay#2", "n0"],
        ["r-1p", "ay", "n0"],
        ["r-1", "pay", "n1"],
        ["r-1", "pay", "n2"],
        ["r-1", "n1", "pay"],
      ] as const;
      const ids = asked.map(([runId, key, nonce]) => idOf(runId, key, nonce));
      expect(new Set(ids).size).toBe(asked.length);
      expect(idOf("r-1", "pay", "n1")).toBe(ids[4]);
    },
  );
});

describe("areSiblings", () => {
  it.each<[string, string, boolean]>([
    ["parallel[a]/x", "parallel[b]/x", true],
    ["parallel[a]/x", "parallel[b]/y/z[1]/k", true],
    ["parallel[a]", "parallel[b]", true],
    ["parallel[0]/x", "parallel[1]/x", true],
    ["parallel#2[a]/x", "parallel#2[b]/x", true],
    ["parallel[a]/map[0]/x", "parallel[a]/map[1]/x", true],
    ["parallel[a]/map[0]/x", "parallel[b]/map[0]/x", true],
    ["parallel[a]/x", "parallel[a]/y", false],
    ["parallel[a]/x", "parallel[a]/x", false],
    ["parallel[a]/x", "parallel#2[b]/x", false],
    ["parallel[a]/x", "race[b]/x", false],
    ["parallel[a]/x", "plan", false],
    ["plan", "parallel[a]/x", false],
    ["plan", "draft", false],
    ["plan", "plan", false],
    ["plan", "plan#2", false],
    ["parallel", "parallel[a]/x", false],
    ["parallel[a]", "parallel[a]/x", false],
    ["parallel[a]/x", "parallel[a]", false],
    ["parallel[a]/map[0]/x", "parallel[a]/y", false],
  ])("%s and %s: %s", (a, b, siblings) => {
    expect(areSiblings(a, b)).toBe(siblings);
    expect(areSiblings(b, a)).toBe(siblings);
  });
});

describe("isWithin", () => {
  it.each<[string, string, boolean]>([
    ["plan", "plan", true],
    ["parallel[a]/x", "parallel[a]", true],
    ["parallel[a]/x", "parallel", true],
    ["parallel[a]", "parallel", true],
    ["parallel[a]/map[0]/x", "parallel[a]/map", true],
    ["parallel[a]/map[0]/x", "parallel[a]/map[0]", true],
    ["plan#2", "plan", false],
    ["planning", "plan", false],
    ["plan", "planning", false],
    ["parallel#2[a]/x", "parallel", false],
    ["parallel[ab]/x", "parallel[a]", false],
    ["parallel[a]/xy", "parallel[a]/x", false],
    ["parallel[a]", "parallel[a]/x", false],
    ["x", "parallel[a]/x", false],
  ])("%s in %s: %s", (key, path, within) => {
    expect(isWithin(key, path)).toBe(within);
  });
});

describe("nameOf", () => {
  it.each([
    ["plan", "plan"],
    ["draft#2", "draft"],
    ["draft#17", "draft"],
    ["parallel[a]/draft#2", "draft"],
    ["parallel#2[a]/map[0]/write it", "write it"],
    ["parallel#2", "parallel"],
    ["a/b/c", "c"],
  ])("%s: %s", (key, name) => {
    expect(nameOf(key)).toBe(name);
  });
});

it("limits say what the tests above rely on", () => {
  expect(limits.nameLength).toBe(128);
});
