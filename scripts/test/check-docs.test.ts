import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { checkBlocks } from "../lib/docs-blocks.ts";
import { checkInstalls } from "../lib/docs-installs.ts";
import { checkPages, readPages } from "../lib/docs-pages.ts";
import { floors } from "../lib/floors.ts";
import { root } from "../lib/workspace.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(parent: string): string {
  mkdirSync(parent, { recursive: true });
  const made = mkdtempSync(join(parent, "docs-test-"));
  folders.push(made);
  return made;
}

function tree(files: Record<string, string>): string {
  const base = folder(tmpdir());
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
  return base;
}

/** Pages in which every rule holds; each test breaks one. */
const sound: Record<string, string> = {
  "package.json": JSON.stringify({ name: "all", scripts: { test: "", size: "" } }),
  "packages/core/package.json": JSON.stringify({ name: "@durable/core", scripts: { demo: "" } }),
  "packages/core/src/values/errors.ts": 'export const errorCodes = [\n  "conflict",\n] as const;\n',
  "packages/core/src/say.ts": 'export const say = (id: string) => `Run ${id} has moved on; try "again".`;\n',
  "README.md": [
    "# Read me",
    "[up](docs/a.md#the-second-part) and [down](#read-me), [core](packages/core), [web](https://example.org/x)",
    "`npm run size`, `npm test`, `npm run demo -w @durable/core`, `npm run demo -w example-<name>`",
    "`[not a link](nowhere.md)`",
    "```sh",
    "[not a link](nowhere.md)",
    "```",
  ].join("\n"),
  "docs/a.md": "# A\n## The `second` part\n[back](../README.md)\n",
  "docs/errors.md": [
    "| [`conflict`](#conflict) | x |\n\n### conflict\n",
    '```text\nRun r-17 has moved on; try "again".\n```',
  ].join("\n"),
};

function check(changes: Record<string, string> = {}): string[] {
  const base = tree({ ...sound, ...changes });
  return checkPages(base, readPages(base)).map(({ file, line, message }) => `${file}:${line} ${message}`);
}

/** The problems of some blocks, each alone on a page of this name. */
async function checkCode(blocks: Record<string, readonly [info: string, code: string]>): Promise<string[]> {
  const files = Object.entries(blocks).map(([name, [info, code]]) => {
    return [`docs/${name}.md`, `# A page\n\n\`\`\`${info}\n${code}\n\`\`\`\n`] as const;
  });
  const { problems } = await checkBlocks(
    readPages(tree(Object.fromEntries(files))),
    folder(join(root, "dist")),
  );
  return problems.map(({ file, line, message }) => `${file}:${line} ${message}`);
}

describe("pages", () => {
  it("accept a sound tree", () => {
    expect(check()).toEqual([]);
  });

  it("D1: a link to a file that is not there", () => {
    expect(check({ "docs/a.md": "\n[x](b.md)\n## The `second` part" })).toEqual([
      "docs/a.md:2 b.md: there is no docs/b.md",
    ]);
    expect(check({ "CONTRIBUTING.md": "[x](../outside.md)" })).toEqual([
      "CONTRIBUTING.md:1 ../outside.md: there is no ../outside.md",
    ]);
  });

  it("D2: an anchor that is no heading, here or elsewhere", () => {
    expect(check({ "docs/b.md": "# B\n[x](#c)\n[y](a.md#third)" })).toEqual([
      "docs/b.md:2 #c: docs/b.md has no such heading",
      "docs/b.md:3 a.md#third: docs/a.md has no such heading",
    ]);
  });

  it("D3: a script that does not exist, also inside a fence", () => {
    expect(check({ "CONTRIBUTING.md": "```sh\nnpm run sise   # why\n```" })).toEqual([
      'CONTRIBUTING.md:2 there is no script "sise" in the root package.json',
    ]);
    expect(check({ "CONTRIBUTING.md": "`npm run size -w @durable/core`" })).toEqual([
      'CONTRIBUTING.md:1 there is no script "size" in @durable/core',
    ]);
  });

  it("D4: an error code without a row or a section, and one too many", () => {
    expect(check({ "docs/errors.md": "| [`conflict`](#other) | x |\n\n### other\n" })).toEqual([
      "docs/errors.md:1 conflict has no section",
      "docs/errors.md:1 other has a section, and is unknown or there twice",
    ]);
  });

  it("D4: a message that the code does not have", () => {
    const page = "| [`conflict`](#conflict) | x |\n### conflict\n```text\nRun r-17 has moved.\n```";
    expect(check({ "docs/errors.md": page })).toEqual([
      expect.stringMatching(/^docs\/errors.md:4 the code has no such message/),
    ]);
  });

  it("D10: a page of more than 1,500 words, code and marks not counted", () => {
    const full = `# A ${"word ".repeat(1_497)}\n\n| - |\n\`\`\`sh\n${"code ".repeat(2_000)}\n\`\`\`\n- two words`;
    expect(check({ "docs/guides/b.md": full })).toEqual([]);
    expect(check({ "docs/guides/b.md": `${full} more` })).toEqual([
      "docs/guides/b.md:1 the page has 1501 words, and the limit is 1500: split it",
    ]);
  });

  it("D10: pages that are searched, not read, may have any length", () => {
    const long = "word ".repeat(1_501);
    const free = ["docs/internals/b.md", "docs/decisions/0001-b.md", "docs/reference/b.md"];
    expect(check(Object.fromEntries(free.map((file) => [file, long])))).toEqual([]);
    expect(check({ "docs/errors.md": `${sound["docs/errors.md"]}\n${long}` })).toEqual([]);
  });

  /** The map of core as it should be. */
  const map = (): string => {
    const lines = floors.flatMap((rooms, index) =>
      rooms.map((room) => `${String(index + 1).padStart(2)}  ${room}${room.endsWith(".ts") ? "" : "/"}  x`),
    );
    return `## The map of core\n\n\`\`\`text\n${lines.join("\n")}\n\`\`\`\n`;
  };

  describe("D14: the path for one evening", () => {
    const row = (n: number, file: string): string =>
      `| ${n} | [\`${file}\`](packages/core/src/${file}) | x |\n`;
    /** Two files of the table, and one that another section names. */
    const path = (says: string, lines: readonly [number, number]): string[] =>
      check({
        "ARCHITECTURE.md": [
          `# A\n\n## Read it in one evening\n\n${says}\n\n|  | File |\n|---|---|\n`,
          `${row(1, "one.ts")}${row(2, "two.ts")}\n## The laws\n\n${row(3, "say.ts")}\n${map()}`,
        ].join(""),
        "packages/core/src/one.ts": "\n".repeat(lines[0]),
        "packages/core/src/two.ts": "\n".repeat(lines[1]),
      });

    it("accepts its files, and its lines rounded to the hundred", () => {
      expect(path("Read 2 files of\n`core`, about 1,200 lines, first.", [1_000, 249])).toEqual([]);
    });

    it("notices a wrong number of files or lines", () => {
      const right = "ARCHITECTURE.md:1 the path for one evening has 2 files and about 1,200 lines";
      expect(path("Read 3 files, about 1,200 lines.", [1_000, 249])).toEqual([
        `${right}, and the page says 3 and 1,200`,
      ]);
      expect(path("Read 2 files, about 1,300 lines.", [1_000, 249])).toEqual([
        `${right}, and the page says 2 and 1,300`,
      ]);
    });

    it("notices a path that has become too long, and one without numbers", () => {
      expect(path("Read 2 files, about 2,600 lines.", [2_000, 600])).toEqual([]);
      expect(path("Read 2 files, about 2,600 lines.", [2_000, 601])).toEqual([
        "ARCHITECTURE.md:1 the path for one evening has 2601 lines, and the limit is 2600: leave a file out",
      ]);
      expect(path("Read these.", [1, 1])).toEqual([expect.stringContaining("must say")]);
      expect(check({ "ARCHITECTURE.md": `# A\n\n${map()}` })).toEqual([expect.stringContaining("must say")]);
    });
  });

  describe("D15: the map of core, and the files that the page names", () => {
    const page = (text: string): string[] =>
      check({
        "ARCHITECTURE.md": `# A\n\n## Read it in one evening\n\nRead 0 files, about 0 lines.\n\n${text}`,
      }).map((problem) => problem.replace("ARCHITECTURE.md:1 ", ""));

    it("accepts the rooms of the floor plan, and names that leave out folders", () => {
      expect(page(`${map()}\n\`say.ts\`, \`values/errors.ts\`, \`ctx.step\``)).toEqual([]);
    });

    it("notices a room that is missing, one that is not there, and one on another floor", () => {
      expect(page(map().replace(/^ 2  worker.*\n/m, ""))).toEqual([
        'the map of core lacks "2 worker/", which is in scripts/lib/floors.ts',
      ]);
      expect(page(map().replace(" 3  app.ts", " 3  app.ts  x\n 3  fleet.ts"))).toEqual([
        'the map of core has "3 fleet.ts", which is not in scripts/lib/floors.ts',
      ]);
      expect(page(map().replace(" 3  app.ts", " 4  app.ts"))).toHaveLength(2);
    });

    it("notices a file that has gone", () => {
      expect(page(`${map()}\nThen \`journal/say.ts\`.`)).toEqual([
        "journal/say.ts: there is no such source file",
      ]);
    });
  });
});

describe("install lines", () => {
  const imports = [
    'import { readFile } from "node:fs/promises";',
    'import { durable } from "@durable/core";',
    'import { z } from "zod";',
    'const { join } = await import("./mine.ts");',
  ].join("\n");
  const problemsOf = (install: string, info = "ts run"): string[] => {
    const page = `# A page\n\n${install}\n\n\`\`\`${info}\n${imports}\n\`\`\`\n`;
    return checkInstalls(readPages(tree({ "docs/a.md": page }))).map(({ message }) => message);
  };

  it("D16: a package that a program imports is in an install line of the page", () => {
    expect(problemsOf("    npm i @durable/core@0.1 zod   # both")).toEqual([]);
    expect(problemsOf("    npm i @durable/core\n\nAnd `npm i -D zod`.")).toEqual([]);
    expect(problemsOf("```sh\nnpm install @durable/core # zod\n```")).toEqual([
      "the program imports zod, which no install line of the page has",
    ]);
  });

  it("a page without one, and fragments, are left alone", () => {
    expect(problemsOf("It needs `npm i pg`. In the repository, `npm install`.")).toEqual([]);
    expect(problemsOf("    npm install       # all of it")).toEqual([]);
    expect(problemsOf("    npm i @durable/core", "ts part")).toEqual([]);
  });

  it("are complete in this repository", () => {
    expect(checkInstalls(readPages(root))).toEqual([]);
  });
});

describe("blocks", () => {
  // Compiled together: the compiler takes long to start.
  let problems: string[] = [];
  beforeAll(async () => {
    problems = await checkCode({
      "sound-whole": [
        "ts",
        'import { durable } from "@durable/core";\nexport const flow = durable("a", () => 1);',
      ],
      "sound-part": ["ts part", 'await ctx.step("a", () => 1);'],
      "sound-other": ["js", "this is not checked"],
      "typed-wrong": ["ts", "\nconst n: number = 'one';\nconsole.log(n);"],
      "typed-whole": ["ts", 'await ctx.step("a", () => 1);'],
      "run-fails": ["ts run", 'throw new Error("no luck");'],
      "run-not": ["ts", 'throw new Error("not run");'],
    });
  });
  const of = (name: string): string[] =>
    problems.filter((problem) => problem.startsWith(`docs/${name}-`)).toSorted();

  it("accept code that compiles, fragments that lean on the preamble, and other languages", () => {
    expect(of("sound")).toEqual([]);
    expect(problems).toHaveLength(3);
  });

  it("D5: a type error, at its own line; a whole block may not lean on the preamble", () => {
    expect(of("typed")).toEqual([
      expect.stringMatching(/^docs\/typed-whole.md:4 TS2304: .*ctx/),
      expect.stringMatching(/^docs\/typed-wrong.md:5 TS2322: /),
    ]);
  });

  it("D6: a block that fails when it is run", () => {
    expect(of("run")).toEqual(["docs/run-fails.md:4 the block ended with exit 1: Error: no luck"]);
  });
});

describe("this repository", () => {
  it("keeps links, scripts and error codes of its pages", () => {
    // Messages are reworded more often than pages: docs:check alone compares them.
    const problems = checkPages(root, readPages(root)).filter(
      ({ message }) => !message.startsWith("the code has no such message"),
    );
    expect(problems).toEqual([]);
  });

  it("carries on after Ctrl-C, as the first example of the README says", async () => {
    const blocks = readPages(root).get("README.md")?.blocks ?? [];
    const story = blocks.find(({ text }) => text.startsWith("// story.mts"));
    const cwd = folder(join(root, "dist"));
    writeFileSync(join(cwd, "story.mts"), story?.text ?? "");
    const first = await play(cwd, "model: moon");
    expect(first).toContain("model: plan");
    const second = await play(cwd, null);
    expect(second).not.toContain("model: plan");
    expect(second).toContain("completed");
    // One more process, in `npm run test:full`.
    if (inject("full")) expect(await play(cwd, null)).not.toContain("model:");
  });
});

/** What story.mts prints, interrupted as soon as it has said `until`. */
function play(cwd: string, until: string | null): Promise<string> {
  const env = { ...process.env, DURABLE_DIR: join(cwd, "journals") };
  const child = spawn(process.execPath, ["--conditions=durable-source", "story.mts"], { cwd, env });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (until !== null && said.includes(until)) child.kill("SIGINT");
  });
  return new Promise((resolve) => child.on("close", () => resolve(said)));
}
