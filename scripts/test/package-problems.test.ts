import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { unpack } from "../lib/consumer.ts";
import { pack } from "../lib/pack.ts";
import { packageProblems } from "../lib/package-problems.ts";
import { deadLinks, publishedReadme } from "../lib/package-readme.ts";
import { publishedPackages, type Manifest, root } from "../lib/workspace.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function tree(files: Record<string, string>): string {
  const base = mkdtempSync(join(tmpdir(), "durable-problems-"));
  folders.push(base);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
  return base;
}

const address = "https://github.com/durable-workflow/durable";
const manifest: Manifest = {
  name: "@durable/sample",
  version: "1.2.3",
  description: "A sample.",
  keywords: ["sample"],
  homepage: `${address}#readme`,
  bugs: { url: `${address}/issues` },
  license: "MIT",
  repository: { type: "git", url: `git+${address}.git`, directory: "packages/sample" },
  exports: { ".": { "durable-source": "./src/index.ts", default: "./dist/index.js" } },
  engines: { node: ">=22.13" },
};

/** The problems of an unpacked tarball that is sound but for these changes; `null` removes. */
function problems(changes: Record<string, string | null> = {}, fields: object = {}): string[] {
  const files = {
    "package.json": JSON.stringify({ ...manifest, ...fields }),
    "README.md": `[docs](${address}/blob/main/docs/README.md), [licence](LICENSE), [below](#below)\n## Below\n`,
    LICENSE: "MIT",
    ...changes,
  };
  const kept = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== null);
  return packageProblems(tree(Object.fromEntries(kept)), "packages/sample");
}

describe("what a tarball must bring", () => {
  it("has no complaint about a sound one", () => {
    expect(problems()).toEqual([]);
  });

  it.each(["description", "keywords", "homepage", "bugs", "license", "repository", "engines"])(
    "names the missing field %s (P1)",
    (field) => {
      expect(problems({}, { [field]: undefined })).toEqual([`package.json has no "${field}"`]);
    },
  );

  it("takes an empty list of keywords for a missing one (P1)", () => {
    expect(problems({}, { keywords: [] })).toEqual(['package.json has no "keywords"']);
  });

  it("names a repository folder that is another package's (P1)", () => {
    const repository = { ...manifest.repository, directory: "packages/other" };
    expect(problems({}, { repository })).toEqual([
      "repository.directory is packages/other, not packages/sample",
    ]);
  });

  it("names a missing licence and a missing README (P2)", () => {
    expect(problems({ LICENSE: null, "README.md": null })).toEqual([
      "the tarball has no LICENSE",
      "the tarball has no README.md",
    ]);
  });

  it("names a relative link that leaves the tarball, with its line (P3)", () => {
    expect(problems({ "README.md": "# A\n[guide](../../docs/guide.md#start)\n" })).toEqual([
      "README.md:2 links to ../../docs/guide.md#start, which is not in the tarball",
    ]);
  });
});

describe("links of a README", () => {
  it("are dead when they name no file of the tarball, in every form of Markdown", () => {
    const readme = [
      "[a](./LICENSE) [b](docs/b.md) `[code](nowhere.md)`",
      "```md",
      "[code](nowhere.md)",
      "```",
      '[c]: ../c.md "Title"',
      "[d](mailto:someone@example.org) [e](//example.org/e) [f](#f)",
    ].join("\n");
    expect(deadLinks(readme, new Set(["LICENSE"]))).toEqual([
      "README.md:1 links to docs/b.md, which is not in the tarball",
      "README.md:5 links to ../c.md, which is not in the tarball",
    ]);
  });

  it("lead to the repository once published: files as blob, folders as tree, anchors kept, code left alone", () => {
    const base = tree({ "docs/a.md": "# A" });
    const readme = [
      "[a](../../docs/a.md#top 'A'), [b](<../../docs/a.md#top>), `[c](../../docs/a.md)`",
      "[d](../../docs), [e](#e), [f](https://example.org/f), [g](src/g.ts)",
      "```md",
      "[h](../../docs/a.md)",
      "```",
      "[../../docs/a.md]: ../../docs/a.md",
    ].join("\n");
    expect(publishedReadme(readme, manifest, base).split("\n")).toEqual([
      `[a](${address}/blob/main/docs/a.md#top 'A'), [b](<${address}/blob/main/docs/a.md#top>), \`[c](../../docs/a.md)\``,
      `[d](${address}/tree/main/docs), [e](#e), [f](https://example.org/f), [g](${address}/blob/main/packages/sample/src/g.ts)`,
      "```md",
      "[h](../../docs/a.md)",
      "```",
      `[../../docs/a.md]: ${address}/blob/main/docs/a.md`,
    ]);
  });

  it("cannot be published by a package that does not say where it lives", () => {
    const { repository: _, ...homeless } = manifest;
    expect(() => publishedReadme("[a](../a.md)", homeless)).toThrow("@durable/sample needs a repository");
  });
});

describe("a packed package", () => {
  it("has its licence, no way to its sources, and a README whose links hold", () => {
    const base = tree({
      "sample/dist/index.js": "export const one = 1;\n",
      "sample/README.md": "[docs](../../docs/README.md)\n",
    });
    const entry = { dir: join(base, "sample"), manifest };
    unpack(entry, pack(entry, base), base);
    const unpacked = join(base, "node_modules", "@durable", "sample");
    expect(packageProblems(unpacked, "packages/sample")).toEqual([]);
    expect(readFileSync(join(unpacked, "LICENSE"), "utf8")).toBe(readFileSync(join(root, "LICENSE"), "utf8"));
    expect(readFileSync(join(unpacked, "README.md"), "utf8")).toBe(
      `[docs](${address}/blob/main/docs/README.md)\n`,
    );
    expect(readFileSync(join(unpacked, "package.json"), "utf8")).not.toContain("durable-source");
  });

  it("has its licence also when it is packed in its folder", () => {
    const licence = readFileSync(join(root, "LICENSE"), "utf8");
    for (const { dir, manifest } of publishedPackages())
      expect(readFileSync(join(dir, "LICENSE"), "utf8"), manifest.name).toBe(licence);
  });

  it("is published by actions that are pinned to a commit", () => {
    const folder = join(root, ".github", "workflows");
    const uses = readdirSync(folder).flatMap((file) =>
      readFileSync(join(folder, file), "utf8").match(/uses: .*/g),
    );
    expect(uses.length).toBeGreaterThan(4);
    for (const line of uses) expect(line).toMatch(/^uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it("is described in the same way in all of ours", () => {
    for (const { manifest } of publishedPackages()) {
      expect(manifest.repository?.url, manifest.name).toBe(`git+${address}.git`);
      expect(manifest.bugs?.url, manifest.name).toBe(`${address}/issues`);
      expect(manifest.homepage, manifest.name).toBe(
        `${address}/tree/main/${manifest.repository?.directory}#readme`,
      );
    }
  });
});
