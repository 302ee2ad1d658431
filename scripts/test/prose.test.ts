import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { proseOf, textsOf } from "../lib/prose-texts.ts";
import { checkProse, habitsIn, type Allowed } from "../lib/prose.ts";

const at = (file: string, source: string): string[] =>
  habitsIn(file, source).map(({ line, message }) => `${line} ${message.split('"')[1]}`);

describe("P1 a habit in user-facing text", () => {
  it.each([
    ["Whoever drives it, waits.", "Whoever"],
    ["Then nobody answers.", "nobody"],
    ["Ask somebody else.", "somebody"],
    ["It has a key id that is none.", "is none"],
    ["Both are none of these.", "are none"],
    ["The caller is told so.", "told"],
    ["The two are told apart by name.", "told apart"],
    ["It needs a leave to write.", "a leave"],
    ["The token is the leave.", "the leave"],
    ["It stands there in clear.", "in clear"],
    ["Short sleeps are sat out.", "sat out"],
    ["The journal has not 3 batches any more.", "has not 3 batches any more"],
    ["We haven't met it any more.", "haven't met it any more"],
  ])("%s", (text, found) => {
    expect(at("docs/a.md", text)).toEqual([`1 ${found}`]);
    expect(at("packages/core/src/a.ts", `throw new Error(${JSON.stringify(text)});`)).toEqual([`1 ${found}`]);
  });

  it.each([
    "It returns null if there is none.",
    "A blob that no run names is deleted.",
    "He leaves; they leave a gap.",
    "It is clear that it works.",
    "The run has not ended. It does not need more, and any more would be too many.",
    "It is bold, and sold out.",
  ])("is not in: %s", (text) => {
    expect(at("docs/a.md", text)).toEqual([]);
  });

  it("is found across a line break, and reported where it begins", () => {
    expect(at("docs/a.md", "# Title\n\nA key that is\nnone is refused.\n")).toEqual(["3 is none"]);
  });

  it("says what to write instead", () => {
    expect(habitsIn("docs/a.md", "It stands in clear.")).toEqual([
      { file: "docs/a.md", line: 1, message: '"in clear": say unencrypted' },
    ]);
  });
});

describe("P1 Markdown outside code", () => {
  it("leaves out blocks, code spans, addresses of links and comments, and keeps the lines", () => {
    const page = [
      "```text",
      "Nobody reads this.",
      "```",
      "~~~~",
      "whoever",
      "~~~",
      "somebody",
      "~~~~",
      "See [0017](the-oracle-trusts-nobody.md), `told` and ``is none ` told``.",
      "<!-- whoever",
      "comes --> Nobody stays.",
      "```ts",
      "a block without an end: nobody",
    ].join("\n");
    expect(at("docs/a.md", page)).toEqual(["11 Nobody"]);
    expect(proseOf(page)).toHaveLength(page.length);
  });

  it("reads the text of a link", () => {
    expect(at("README.md", "[nobody](a.md)")).toEqual(["1 nobody"]);
  });
});

describe("P1 texts of a source", () => {
  it("are strings and templates with a space, at their places", () => {
    const source = [
      'import { told } from "./child-told.ts";',
      "/** Whoever reads a comment. */",
      "const nobody = 1; // nobody at all",
      'const a = "is \\"told\\" so";',
      "const b = 'and nobody else';",
      "const c = `first",
      "  whoever ${nobody} comes`;",
    ].join("\n");
    expect(at("packages/core/src/a.ts", source)).toEqual(["4 told", "5 nobody", "7 whoever"]);
    expect(textsOf(source).map(({ text, offset }) => source.slice(offset, offset + text.length))).toEqual([
      'is \\"told\\" so',
      "and nobody else",
      "first\n  whoever ${nobody} comes",
    ]);
  });

  it("of a template are whole: an expression is one word, and its own texts are read too", () => {
    const source =
      "f(`it has not ${n === 1 ? `a ${x} told you` : '{ nobody }'} batches any more`, \"sat out here\")";
    expect(at("a.ts", source)).toEqual(["1 has not ... batches any more", "1 told", "1 nobody", "1 sat out"]);
  });

  it("begin after a line break that is written as an escape", () => {
    expect(at("a.ts", String.raw`const a = "Yes.\nnobody came";`)).toEqual(["1 nobody"]);
  });

  it("are not confused by regular expressions, divisions and braces", () => {
    const source = [
      'const a = /["`]/.test(b) ? c / d : e; // "nobody comes"',
      "const f = () => { return /'/; };",
      "const g = { h: `${{ i: 1 }.i} is told` };",
      'const j = (k) / 2; const l = "somebody asks" + `/`;',
    ].join("\n");
    expect(at("a.ts", source)).toEqual(["3 told", "4 somebody"]);
  });
});

describe("a workspace", () => {
  function check(files: Record<string, string>, allowed: readonly Allowed[] = []): string[] {
    const base = mkdtempSync(join(tmpdir(), "durable-prose-"));
    onTestFinished(() => rmSync(base, { recursive: true }));
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(base, file)), { recursive: true });
      writeFileSync(join(base, file), text);
    }
    const { read, problems } = checkProse(base, allowed);
    return [String(read), ...problems.map(({ file, line, message }) => `${file}:${line} ${message}`)];
  }

  const bad = "Nobody came.\n";
  const code = 'throw new Error("nobody came");\n';
  const advice = "name the part: driver, caller, worker, storage";

  it("is read where users read: sources of packages and examples, and pages", () => {
    const read = {
      "ARCHITECTURE.md": bad,
      "docs/guides/write/a.md": bad,
      "examples/a/README.md": bad,
      "examples/a/src/b/c.ts": code,
      "packages/core/README.md": bad,
      "packages/core/src/a.ts": code,
    };
    const others = { "packages/core/test/a.test.ts": code, "scripts/a.ts": code, "notes.md": bad };
    expect(check({ ...read, ...others })).toEqual([
      "6",
      ...Object.entries(read).map(
        ([file, text]) => `${file}:1 "${text === bad ? "Nobody" : "nobody"}": ${advice}`,
      ),
    ]);
  });

  it("P2: a use on the list is allowed, on its line and in its file alone", () => {
    const files = {
      "README.md": `"Nobody came", it says.\n${bad}`,
      "docs/a.md": '"Nobody came", it says.\n',
    };
    const allowed = [{ file: "README.md", text: '"Nobody came"', reason: "a quotation" }];
    expect(check(files, allowed)).toEqual([
      "2",
      `README.md:2 "Nobody": ${advice}`,
      `docs/a.md:1 "Nobody": ${advice}`,
    ]);
  });

  it("P3: an entry that allows nothing is a problem", () => {
    const allowed = [{ file: "README.md", text: "nobody", reason: "a quotation" }];
    expect(check({ "README.md": "All came.\n" }, allowed)).toEqual([
      "1",
      'README.md:1 the allowed "nobody" is not there',
    ]);
  });
});
