import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { families, type Lock, type LockEntry, lockProblems, platforms } from "../lib/lock.ts";

const real = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")) as Lock;

test("the lock file of the workspace is complete", () => {
  expect(lockProblems(real)).toEqual([]);
  expect(families(real).map(({ owner }) => owner)).toEqual(
    expect.arrayContaining([
      "(workspace)",
      "node_modules/rollup",
      "node_modules/workerd",
      "node_modules/typescript",
    ]),
  );
});

describe("a lock with one binary removed", () => {
  for (const { owner, bindings } of families(real)) {
    for (const { name } of platforms) {
      test(`${owner} without ${name}`, () => {
        const paths = bindings.get(name) ?? [];
        expect(paths.length).toBeGreaterThan(0);
        const packages = Object.fromEntries(
          Object.entries(real.packages).filter(([path]) => !paths.includes(path)),
        );
        const problems = lockProblems({ packages });
        expect(problems).toEqual(expect.arrayContaining([expect.stringContaining(owner)]));
        expect(problems.join("\n")).toContain(`no binary for ${name}`);
      });
    }
  }
});

test("a download address or a missing hash is a problem", () => {
  const packages = {
    "node_modules/a": { version: "1.0.0", integrity: "sha512-x", resolved: "https://example.com/a.tgz" },
    "node_modules/b": { version: "1.0.0" },
    "packages/c": { version: "1.0.0" },
    "node_modules/c": { link: true, resolved: "packages/c" },
  };
  expect(lockProblems({ packages })).toEqual([
    "node_modules/a names the address it was downloaded from.",
    "node_modules/b has no integrity hash.",
  ]);
});

test("a package for one system alone is no family, and musl does not serve glibc", () => {
  const bin = (os: string, cpu: string, libc?: string): LockEntry => ({
    integrity: "sha512-x",
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
  });
  const alone = {
    "node_modules/watch": { integrity: "sha512-x", optionalDependencies: { fsevents: "1" } },
    "node_modules/fsevents": bin("darwin", "arm64"),
  };
  expect(lockProblems({ packages: alone })).toEqual([]);

  const musl = {
    "node_modules/tool": { integrity: "sha512-x", optionalDependencies: { "tool-a": "1", "tool-b": "1" } },
    "node_modules/tool-a": bin("linux", "x64", "musl"),
    "node_modules/tool/node_modules/tool-b": bin("darwin", "x64"),
  };
  const problems = lockProblems({ packages: musl });
  expect(problems).toContain("node_modules/tool has no binary for linux-x64.");
  expect(problems).not.toContain("node_modules/tool has no binary for darwin-x64.");
});
