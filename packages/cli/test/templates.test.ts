/** `durable init --template` and `--from`. scripts/try-templates.ts installs, builds and drives them. */

import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { templateNames } from "../src/templates.ts";
import { Project } from "./support/lab.ts";

interface Manifest {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

describe("templates", () => {
  test.each(templateNames())("%s is a project of its own, with versions to install", async (name) => {
    const project = new Project();
    const said = await project.cli(["init", "My App", "--template", name, "--no-install"]);
    expect(said, said.err).toMatchObject({ code: 0 });
    const folder = join(project.folder, "My App");
    const { name: called, dependencies, devDependencies } = manifestIn(folder);
    expect(called).toBe("my-app");
    const all = { ...dependencies, ...devDependencies };
    expect(all["@durable/core"]).toMatch(/^\^\d/);
    expect(Object.values(all)).not.toContain("*");
    for (const file of ["README.md", ".gitignore", "tsconfig.json"])
      expect(existsSync(join(folder, file)), file).toBe(true);
    expect(globSync("**/_*", { cwd: folder })).toEqual([]);
    const again = await project.cli(["init", "My App", "--template", name, "--no-install"]);
    expect(again.code).not.toBe(0);
    expect(again.err).toContain("Nothing was changed");
    project.remove();
  });

  test("an unknown template, and a folder without packages, change nothing", async () => {
    const project = new Project();
    const unknown = await project.cli(["init", "a", "--template", "cats"]);
    expect(unknown.err).toContain('There is no template "cats". There are: chat, edge, next-chat, worker.');
    const missing = await project.cli(["init", "b", "--from", "nowhere"]);
    expect(missing.err).toContain("There is no durable-core-<version>.tgz");
    expect([existsSync(join(project.folder, "a")), globSync("b/*", { cwd: project.folder })]).toEqual([
      false,
      [],
    ]);
    project.remove();
  });

  test("--from takes the packages from a folder", async () => {
    const project = new Project();
    mkdirSync(join(project.folder, "files"));
    for (const name of ["core", "cli"])
      writeFileSync(join(project.folder, "files", `durable-${name}-0.1.0.tgz`), "");
    await project.cli(["init", "c", "--from", "files", "--no-install"]);
    const { dependencies, devDependencies } = manifestIn(join(project.folder, "c"));
    expect(dependencies["@durable/core"]).toBe(
      `file:${join(project.folder, "files", "durable-core-0.1.0.tgz")}`,
    );
    expect(devDependencies["@durable/cli"]).toMatch(/^file:.*durable-cli-0\.1\.0\.tgz$/);
    project.remove();
  });
});
