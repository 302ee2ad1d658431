import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cutChangelog, lockWithVersion, nextVersion, withVersion } from "../lib/release.ts";
import { listPackages, root } from "../lib/workspace.ts";

const read = (file: string): string => readFileSync(join(root, file), "utf8");

describe("the next version", () => {
  it.each([
    ["0.1.9", "patch", "0.1.10"],
    ["0.1.9", "minor", "0.2.0"],
    ["1.9.9", "major", "2.0.0"],
    ["0.9.9", "1.0.0", "1.0.0"],
    ["1.2.3", "1.3.0", "1.3.0"],
  ])("after %s by %s is %s", (current, wanted, next) => {
    expect(nextVersion(current, wanted)).toBe(next);
  });

  it.each(["0.1.0", "0.0.9", "0.0.10"])("is never %s after 0.1.0", (wanted) => {
    expect(() => nextVersion("0.1.0", wanted)).toThrow("does not come after 0.1.0");
  });

  it.each(["mayor", "1.2", "v1.2.3", "1.2.3-beta.1", ""])("is not made of %j", (wanted) => {
    expect(() => nextVersion("0.1.0", wanted)).toThrow("is not a version");
  });
});

describe("a manifest with a version", () => {
  const ours = new Set(["@durable/core", "@durable/http"]);

  it("names it for itself and for our packages, and leaves others and * alone", () => {
    const manifest = {
      name: "@durable/http",
      version: "0.1.0",
      dependencies: { "@durable/core": "0.1.0", zod: "^4.0.0" },
      devDependencies: { "@durable/core": "*" },
      peerDependencies: { "@durable/core": "^0.1.0" },
      engines: { node: ">=22.13" },
    };
    expect(withVersion(manifest, "0.2.0", ours)).toEqual({
      ...manifest,
      version: "0.2.0",
      dependencies: { "@durable/core": "0.2.0", zod: "^4.0.0" },
      peerDependencies: { "@durable/core": "^0.2.0" },
    });
    expect(Object.keys(withVersion(manifest, "0.2.0", ours))).toEqual(Object.keys(manifest));
  });

  it("changes in a lock file the workspaces alone", () => {
    const lock = {
      version: "0.1.0",
      lockfileVersion: 3,
      packages: {
        "": { version: "0.1.0" },
        "node_modules/@durable/core": { resolved: "packages/core", link: true },
        "node_modules/zod": { version: "0.1.0" },
        "packages/http/node_modules/zod": { version: "0.1.0" },
        "packages/http": { version: "0.1.0", peerDependencies: { "@durable/core": "0.1.0" } },
      },
    };
    expect(lockWithVersion(lock, "0.2.0", ours)).toEqual({
      version: "0.2.0",
      lockfileVersion: 3,
      packages: {
        ...lock.packages,
        "": { version: "0.2.0" },
        "packages/http": { version: "0.2.0", peerDependencies: { "@durable/core": "0.2.0" } },
      },
    });
  });

  it("is one for all packages of this repository (decision 5)", () => {
    const packages = listPackages();
    const names = new Set(packages.map(({ manifest }) => manifest.name));
    const version = packages[0]?.manifest.version ?? "";
    for (const { manifest } of packages) expect(withVersion(manifest, version, names)).toEqual(manifest);
    const lock = JSON.parse(read("package-lock.json")) as Parameters<typeof lockWithVersion>[0];
    expect(lockWithVersion(lock, version, names)).toEqual(lock);
  });
});

describe("the changelog", () => {
  const before = [
    "# Changelog",
    "",
    "## [Unreleased]",
    "",
    "### Fixed",
    "",
    "- Prices such as $& and $1 are kept.",
    "",
    "## [0.1.0] - 2026-11-15",
    "",
    "The first.",
    "",
    "[Unreleased]: https://example.org/r/compare/v0.1.0...HEAD",
    "[0.1.0]: https://example.org/r/releases/tag/v0.1.0",
    "",
  ].join("\n");

  it("gets a section for the version, an empty Unreleased, and links to compare", () => {
    const { changelog, notes } = cutChangelog(before, "0.2.0", "2027-01-31");
    expect(notes).toBe("### Fixed\n\n- Prices such as $& and $1 are kept.");
    expect(changelog).toBe(
      [
        "# Changelog",
        "",
        "## [Unreleased]",
        "",
        "## [0.2.0] - 2027-01-31",
        "",
        notes,
        "",
        "## [0.1.0] - 2026-11-15",
        "",
        "The first.",
        "",
        "[Unreleased]: https://example.org/r/compare/v0.2.0...HEAD",
        "[0.2.0]: https://example.org/r/compare/v0.1.0...v0.2.0",
        "[0.1.0]: https://example.org/r/releases/tag/v0.1.0",
        "",
      ].join("\n"),
    );
  });

  it("is not cut where there is nothing to tell, nor twice", () => {
    const { changelog } = cutChangelog(before, "0.2.0", "2027-01-31");
    expect(() => cutChangelog(changelog, "0.3.0", "2027-02-28")).toThrow("nothing under [Unreleased]");
    expect(() => cutChangelog("# Changelog\n", "0.2.0", "2027-01-31")).toThrow(
      "needs a section [Unreleased]",
    );
  });

  it("of this repository can be cut, and has a section for the version of the packages", () => {
    const written = read("CHANGELOG.md").replace("## [Unreleased]\n", "## [Unreleased]\n\n- A note.\n");
    const { changelog } = cutChangelog(written, "99.0.0", "2099-01-01");
    expect(changelog).toContain("## [Unreleased]\n\n## [99.0.0] - 2099-01-01\n\n- A note.\n");
    expect(changelog).toContain(`## [${listPackages()[0]?.manifest.version}]`);
  });
});
