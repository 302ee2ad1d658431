import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { checkBoundaries, maxLines } from "../lib/boundaries.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const imports = {
  "#default-storage": {
    "durable-source": { node: "./src/adapters/sqlite/default.ts", default: "./src/adapters/none.ts" },
    default: "./dist/adapters/none.js",
  },
};

/** A workspace in which every rule holds; each test breaks one. */
const sound: Record<string, string> = {
  "packages/core/package.json": JSON.stringify({ name: "@durable/core", imports }),
  "packages/core/src/index.ts": 'export { open } from "./runs/host.ts";\n',
  "packages/core/src/runs/host.ts": 'export const open = () => import("#default-storage");\n',
  "packages/core/src/adapters/none.ts": "export const defaultStorage = null;\n",
  "packages/core/src/adapters/sqlite/default.ts":
    'import { DatabaseSync } from "node:sqlite";\nexport { DatabaseSync };\n',
  "packages/s3/package.json": JSON.stringify({
    name: "@durable/s3",
    dependencies: { "@durable/core": "0.1.0", "@scope/client": "1" },
  }),
  "packages/s3/src/index.ts": [
    'import { createHash } from "node:crypto";',
    'import { client } from "@scope/client/sub";',
    'import { open } from "@durable/core";',
    'import type { Storage } from "@durable/core/sqlite";',
    "",
  ].join("\n"),
};

function check(changes: Record<string, string> = {}): string[] {
  const base = mkdtempSync(join(tmpdir(), "boundaries-"));
  folders.push(base);
  for (const [path, text] of Object.entries({ ...sound, ...changes })) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
  return checkBoundaries(base).map(({ file, line, message }) => `${file}:${line} ${message}`);
}

describe("boundaries", () => {
  it("accept a sound workspace", () => {
    expect(check()).toEqual([]);
  });

  it.each(["zod", "@durable/s3", "@durable/core", "#other"])("B1: core must not import %s", (name) => {
    const problems = check({
      "packages/core/src/values/a.ts": `\nimport {\n  a,\n  b,\n} from "${name}";\n`,
    });
    expect(problems).toEqual([
      expect.stringMatching(`^packages/core/src/values/a.ts:2 "${name}": core imports nothing`),
    ]);
  });

  it("B1: core must not import a computed name", () => {
    const problems = check({
      "packages/core/src/values/a.ts": "export const load = (x: string) => import(x);\n",
    });
    expect(problems).toEqual([
      expect.stringMatching(/^packages\/core\/src\/values\/a.ts:1 import\(\) of a computed name/),
    ]);
  });

  it.each([
    'import fs from "node:fs";',
    'import type fs from "node:fs";',
    'import "node:fs";',
    "import 'node:fs';",
    'const a = 1; import fs from "node:fs";',
    'export { readFile } from "node:fs";',
    'const fs = await import("node:fs");',
    'let fs: typeof import("node:fs");',
  ])("B2: portable core must not say %s", (line) => {
    const problems = check({ "packages/core/src/values/a.ts": `${line}\n` });
    expect(problems).toEqual([
      expect.stringMatching(/^packages\/core\/src\/values\/a.ts:1 "node:fs" in portable core/),
    ]);
  });

  it("B3: adapters must not import each other", () => {
    const problems = check({ "packages/s3/src/a.ts": 'import { x } from "@durable/postgres";\n' });
    expect(problems).toEqual([expect.stringMatching(/^packages\/s3\/src\/a.ts:1 .*never each other/)]);
  });

  it("B3: the simulator imports the test kit, and not the other way round", () => {
    const manifest = (name: string, other: string): string =>
      JSON.stringify({ name, dependencies: { "@durable/core": "0.1.0", [other]: "0.1.0" } });
    const problems = check({
      "packages/simulator/package.json": manifest("@durable/simulator", "@durable/testing"),
      "packages/simulator/src/a.ts": 'import { x } from "@durable/testing/parts";\n',
      "packages/testing/package.json": manifest("@durable/testing", "@durable/simulator"),
      "packages/testing/src/a.ts": 'import { x } from "@durable/simulator";\n',
    });
    expect(problems).toEqual([expect.stringMatching(/^packages\/testing\/src\/a.ts:1 .*never each other/)]);
  });

  it("B3: the dashboard may import the HTTP package, and not the other way round", () => {
    const problems = check({
      "packages/dashboard/package.json": JSON.stringify({
        name: "@durable/dashboard",
        dependencies: { "@durable/http": "0.1.0" },
      }),
      "packages/dashboard/src/a.ts": 'import { x } from "@durable/http/kit";\n',
      "packages/http/package.json": JSON.stringify({ name: "@durable/http" }),
      "packages/http/src/a.ts": 'import { x } from "@durable/dashboard";\n',
    });
    expect(problems).toEqual([expect.stringMatching(/^packages\/http\/src\/a.ts:1 .*never each other/)]);
  });

  it("B3: an adapter must declare what it imports", () => {
    const problems = check({ "packages/s3/src/a.ts": 'import { x } from "@scope/other/sub";\n' });
    expect(problems).toEqual([
      expect.stringMatching(/^packages\/s3\/src\/a.ts:1 .*add @scope\/other to dependencies/),
    ]);
  });

  it("B4: a relative import must not leave its package", () => {
    const problems = check({ "packages/s3/src/a.ts": 'import { x } from "../../core/src/index.ts";\n' });
    expect(problems).toEqual([expect.stringMatching(/^packages\/s3\/src\/a.ts:1 .*leaves the package/)]);
  });

  it("B5: files of one folder may know each other's types", () => {
    const problems = check({
      "packages/s3/src/a.ts": 'import { b } from "./b.ts";\n',
      "packages/s3/src/b.ts": 'import type { A } from "./a.ts";\n',
    });
    expect(problems).toEqual([]);
  });

  it("B5: no cycles, types of other folders included", () => {
    const problems = check({
      "packages/s3/src/a.ts": '\nimport { b } from "./deep/b.ts";\n',
      "packages/s3/src/deep/b.ts": 'export type { C } from "../c.ts";\n',
      "packages/s3/src/c.ts": 'import { A } from "./a.ts";\n',
    });
    const path = ["a", "deep/b", "c", "a"].map((name) => `packages/s3/src/${name}.ts`).join(" -> ");
    expect(problems).toEqual([
      `packages/s3/src/a.ts:2 import cycle ${path}: move what both need to a third file`,
    ]);
  });

  it("B5: no file imports itself", () => {
    const problems = check({ "packages/s3/src/a.ts": 'import { a } from "./a.ts";\n' });
    expect(problems).toEqual([expect.stringMatching(/import cycle/)]);
  });

  it("B5: the default storage must not lead back to who asks for it", () => {
    const problems = check({
      "packages/core/src/adapters/sqlite/default.ts": 'import { open } from "../../runs/host.ts";\n',
    });
    expect(problems).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/import cycle .*sqlite\/default.ts -> .*host.ts -> .*sqlite\/default.ts/),
      ]),
    );
  });

  it("B6: files stay within the limit, in which comments and blank lines do not count", () => {
    const exactly = "/** Why. */\nexport {};\n\n// More.\n".repeat(maxLines);
    expect(check({ "packages/s3/src/a.ts": exactly })).toEqual([]);
    expect(check({ "packages/s3/src/a.ts": `${exactly}export {};\n` })).toEqual([
      "packages/s3/src/a.ts:1 301 lines of code, 300 is the limit: split it by concern",
    ]);
  });

  it.each([
    ["values/a.ts", "../ports/b.ts", "from values up to ports"],
    ["ports/a.ts", "../journal/b.ts", "from ports up to journal"],
    ["journal/a.ts", "../engine/b.ts", "from journal up to engine"],
    ["engine/calls/a.ts", "../../runs/b.ts", "from engine up to runs"],
    ["runs/a.ts", "../run.ts", "from runs up to run.ts"],
    ["adapters/memory.ts", "../journal/b.ts", "from adapters up to journal"],
    ["inspect/a.ts", "../standalone/b.ts", "from inspect up to standalone"],
  ])("B7: no arrow up: %s must not import %s", (file, specifier, message) => {
    const problems = check({ [`packages/core/src/${file}`]: `import { x } from "${specifier}";\n` });
    expect(problems).toEqual([expect.stringContaining(`packages/core/src/${file}:1 an arrow ${message}`)]);
  });

  it("B7: every file of core is in a room, and the default storage has one door", () => {
    expect(check({ "packages/core/src/loose.ts": "export {};\n" })).toEqual([
      expect.stringMatching(/^packages\/core\/src\/loose.ts:1 src\/loose.ts is in no room/),
    ]);
    const around = check({ "packages/core/src/engine/a.ts": 'import("#default-storage");\n' });
    expect(around).toEqual([expect.stringMatching(/engine\/a.ts:1 .*is for src\/runs\/host.ts alone/)]);
  });

  it("B8: an adapter of core must not import another adapter", () => {
    const problems = check({
      "packages/core/src/adapters/remote/a.ts": 'import { x } from "../memory.ts";\n',
      "packages/core/src/adapters/remote/b.ts": 'import { x } from "./a.ts";\n',
    });
    expect(problems).toEqual([
      expect.stringMatching(/adapters\/remote\/a.ts:1 an adapter imports the adapter memory/),
    ]);
  });

  it("do not take examples in comments for imports", () => {
    const comments = [
      "/**",
      " * Loads lazily:",
      ' * import { z } from "zod";',
      ' * await import("zod");',
      " */",
      '// import { z } from "zod";',
      'const a = 1; // not import("zod")',
      'const b = { import: (x: string) => x }; b.import("zod");',
    ].join("\n");
    expect(check({ "packages/core/src/values/a.ts": comments })).toEqual([]);
  });
});
