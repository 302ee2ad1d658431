import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { commentsOf, proseOf, textsOf } from "../lib/prose-texts.ts";
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

describe("P4 a habit in a comment", () => {
  const file = "packages/core/src/a.ts";

  it.each([
    ["A chapter ends. What was dropped stays.", "What"],
    ["law.2. What a fork reads is kept.", "What"],
    ["What was dropped long ago is removed.", "What was dropped long ago is"],
    ["What is kept counts.", "What is kept counts"],
    ["What a hook returns is not awaited.", "What a hook returns is"],
    ["What it used was paid for.", "What it used was"],
    ["What a fork has inherited was spawned before.", "What a fork has inherited was"],
    ["What this part reads, the program has not seen.", "What this part reads, the"],
    ["Those of earlier chapters are found by their link.", "Those of"],
    ["Runs are listed. Those that wait come first.", "Those that"],
    ["A prompt that is no list is refused.", "is no list"],
    ["They are no orphans.", "are no orphans."],
    ["A worker looks when a run has stopped.", "looks"],
    ["The run is looked at again.", "looked"],
    ["The last look for due runs failed.", "last look"],
    ["Another process checks after so long.", "so long"],
    ["After so many rounds it yields.", "so many"],
    ["Each is copied in its turn.", "in its turn"],
    ["Others are at it as well.", "are at it"],
    ["The next poll tells.", "next poll tells"],
  ])("%s", (text, found) => {
    expect(at(file, `/** ${text} */`)).toEqual([`1 ${found}`]);
    expect(at(file, `f(); // ${text}`)).toEqual([`1 ${found}`]);
  });

  it.each([
    "What a fork reads.",
    "What a run was started with.",
    "What workers are kept to.",
    "What one invocation may spend.",
    "What is known about an attempt that began and whose end was not recorded.",
    "What a batch that is not plain may have.",
    "The first part. What now?",
    "Options of the app: those of the host, and a version.",
    "There is no driver, as if there were no worker.",
    "It is no longer read, and is no more than a hint.",
    "The id is looked up; any look-up may fail; core can look it up.",
    "A worker looks for due runs. It looks like an answer, and must not look open.",
    "One that was granted so long ago may have ended. There are only so many marks.",
    "The worker is at its limit.",
    "The keys are taken in turn.",
    "`look` is when children are checked, and `What is kept counts` is code.",
  ])("is not in: %s", (text) => {
    expect(at(file, `/** ${text} */`)).toEqual([]);
  });

  it("is found across the lines of a comment, and reported where it begins", () => {
    const source = [
      "/**",
      " * A run. It is",
      " * no driver.",
      " *",
      " * a.1. First. What",
      " *     follows waits.",
      " */",
      "const a = 1;",
      "// The end was dropped. It is",
      "// no part of the log.",
      "const b = `${a /* are at it */}`;",
    ].join("\n");
    expect(at(file, source)).toEqual(["2 is no driver.", "5 What", "9 is no part", "11 are at it"]);
    for (const { text, offset } of commentsOf(source))
      expect(source.slice(offset, offset + text.length).split("\n")).toHaveLength(text.split("\n").length);
  });

  it("is looked for in the sources of packages alone, and not in their texts", () => {
    const comment = "// It is no driver.";
    expect(at("examples/a/src/a.ts", comment)).toEqual([]);
    expect(at("packages/core/test/a.ts", comment)).toEqual([]);
    expect(at(file, 'const a = "It is no driver."; // nobody reads this')).toEqual([]);
    expect(at("docs/a.md", "It is no driver.")).toEqual([]);
  });

  it("does not begin a sentence in the middle of separate comments", () => {
    const source = [
      "f(); // It ends.",
      "",
      "// What a fork reads.",
      "g(); // Done.",
      "h(); // What a run has.",
    ].join("\n");
    expect(at(file, source)).toEqual([]);
    expect(commentsOf(source).map(({ text }) => text.trim())).toEqual([
      "It ends.",
      "What a fork reads.",
      "Done.",
      "What a run has.",
    ]);
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
