import { describe, expect, inject, it } from "vitest";
import { assertName } from "../../src/journal/keys.ts";
import { branchName } from "../../src/values/run-tags.ts";
import { limits } from "../../src/values/limits.ts";
import { Chance } from "../support/codec-values.ts";

const { nameLength } = limits;

/** The text of a name, read back; null for that of a text that was too long. */
function textOf(name: string): string | null {
  if (name === "%") return "";
  if (name.includes("%~")) return null;
  return name.replaceAll(/%u([0-9A-F]{4})|%([0-9A-F]{2})/g, (_, long: string, short: string) =>
    String.fromCharCode(Number.parseInt(long ?? short, 16)),
  );
}

function nameFor(text: string): string {
  const name = branchName(text);
  assertName(name, `The branch of ${JSON.stringify(text.slice(0, 200))}`);
  return name;
}

describe("branchName", () => {
  it.each([
    "plan",
    "write the draft",
    "a.b",
    "план",
    "計画",
    "e\u0301",
    "🧭",
    "~",
    "a~b",
    `${"x".repeat(100)}~${"a".repeat(27)}`,
    "__proto__",
    "..",
    " ",
    "x".repeat(nameLength),
    "🧭".repeat(nameLength / 2),
  ])("a valid name stays as it is: %j", (text) => {
    expect(nameFor(text)).toBe(text);
  });

  it.each<[string, string]>([
    ["", "%"],
    ["%", "%25"],
    ["100%", "100%25"],
    ["%25", "%2525"],
    ["%~", "%25~"],
    ["a/b", "a%2Fb"],
    ["#1", "%231"],
    ["list[0]", "list%5B0%5D"],
    ["https://a.test/?q=1#top", "https:%2F%2Fa.test%2F?q=1%23top"],
    ["\u0000\n\u007f\u009f", "%00%0A%7F%9F"],
    ["\ud800", "%uD800"],
    ["a\udc00\ud800b", "a%uDC00%uD800b"],
    ["🧭\ud83e", "🧭%uD83E"],
  ])("%j becomes %j", (text, name) => {
    expect(nameFor(text)).toBe(name);
    expect(textOf(name)).toBe(text);
  });

  it("a text that is too long keeps its beginning, and has a digest of all of it", () => {
    const long = `${"word ".repeat(2_000)}end`;
    const name = nameFor(long);
    expect(name).toMatch(/^(word ){9}wor%~[a-z2-7]{26}$/);
    expect(nameFor(`${long}!`)).not.toBe(name);
    expect(nameFor(`${long}!`).slice(0, 48)).toBe(name.slice(0, 48));
    expect(nameFor("x".repeat(nameLength + 1))).not.toBe(nameFor("x".repeat(nameLength + 2)));
  });

  it("the long name of a text is not the name of another one, itself included", () => {
    const seen = new Set<string>();
    let text = "x".repeat(10_000);
    for (let i = 0; i < 20; i++) {
      text = nameFor(text);
      seen.add(text);
    }
    expect(seen.size).toBe(20);
  });

  it("nothing is cut in half: an escape, a pair of surrogates, at every position", () => {
    for (let before = 0; before <= nameLength + 5; before++) {
      for (const odd of ["/", "\ud800", "🧭", "%"]) {
        const name = nameFor("x".repeat(before) + odd.repeat(60));
        expect(name.length).toBeLessThanOrEqual(nameLength);
        const start = name.split("%~")[0] ?? "";
        expect(textOf(start)).toBe(("x".repeat(before) + odd.repeat(60)).slice(0, textOf(start)?.length));
      }
    }
  });

  it("halves of surrogate pairs in long texts are distinguished, although UTF-8 has none", () => {
    const names = ["\ud800", "\ud801", "\udc00", "\ufffd"].map((odd) => nameFor("x".repeat(300) + odd));
    expect(new Set(names).size).toBe(4);
  });

  it("any two texts have two names, and short ones can be read back", () => {
    const parts = [
      "a",
      "A",
      "%",
      "%2",
      "%25",
      "2",
      "5",
      "F",
      "u",
      "%u",
      "D800",
      "~",
      "%~",
      "#",
      "/",
      "[",
      "]",
    ];
    const odd = ["\u0000", "\u007f", "\u0085", "\ud83e", "\udded", "🧭", "é", "\ufffd", " ", "x".repeat(60)];
    const chance = new Chance(1);
    const texts = new Map<string, string>();
    for (let i = 0; i < (inject("full") ? 300_000 : 30_000); i++) {
      const text = Array.from({ length: chance.below(9) }, () => chance.pick([...parts, ...odd])).join("");
      const name = nameFor(text);
      if (texts.has(name)) expect(texts.get(name)).toBe(text);
      texts.set(name, text);
      const back = textOf(name);
      if (back === null) expect(name).toMatch(/%~[a-z2-7]{26}$/);
      else expect(back).toBe(text);
    }
    expect(texts.size).toBeGreaterThan(10_000);
  });
});
