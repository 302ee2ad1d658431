/** Which package manager `durable init` uses. `npm run try:first` does it with the real ones. */

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Project } from "./support/lab.ts";

let project: Project;
beforeEach(() => {
  project = new Project();
});
afterEach(() => project.remove());

function write(file: string, text: string): void {
  const path = join(project.folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** What `init` says to type, without installing. */
async function next(folder: string, agent?: string): Promise<string> {
  const env = agent === undefined ? {} : { npm_config_user_agent: agent };
  const { code, err } = await project.cli(["init", folder, "--no-install"], { env });
  expect(code, err).toBe(0);
  return err;
}

const typed = {
  npm: ["npm install && node workflows/story.mts", "npx durable show demo"],
  pnpm: ["pnpm install && node workflows/story.mts", "pnpm exec durable show demo"],
  yarn: ["yarn install && node workflows/story.mts", "yarn durable show demo"],
  bun: ["bun install && bun workflows/story.mts", "bunx durable show demo"],
} as const;

describe("init uses the package manager of the project", () => {
  test.each([
    ["package-lock.json", "npm"],
    ["pnpm-lock.yaml", "pnpm"],
    ["yarn.lock", "yarn"],
    ["bun.lock", "bun"],
    ["bun.lockb", "bun"],
  ] as const)("%s says %s", async (file, name) => {
    write(file, "");
    const said = await next(".", "npm/11.0.0 node/v26.10.0 linux arm64");
    for (const line of typed[name]) expect(said).toContain(line);
  });

  test.each([
    ["yarn@4.9.1", undefined, "yarn"],
    ["pnpm@10.0.0+sha512.abc", "npm/11.0.0 node/v26.10.0", "pnpm"],
    ["other@1", "bun/1.3.0 npm/? node/v24.3.0", "bun"],
    [undefined, "pnpm/10.0.0 npm/? node/v26.10.0 linux arm64", "pnpm"],
    [undefined, "deno/2.5.0", "npm"],
    [undefined, undefined, "npm"],
  ] as const)("packageManager %s, started by %s: %s", async (packageManager, agent, name) => {
    write("package.json", JSON.stringify({ packageManager }));
    expect(await next(".", agent)).toContain(typed[name][0]);
  });

  test("devEngines counts, and of several lock files the one of the manager that started it", async () => {
    write("a/package.json", JSON.stringify({ devEngines: { packageManager: { name: "pnpm" } } }));
    expect(await next("a")).toContain(typed.pnpm[0]);
    write("b/package-lock.json", "{}");
    write("b/yarn.lock", "");
    expect(await next("b", "npm/11.0.0")).toContain(typed.npm[0]);
    expect(await next("b")).toContain(typed.yarn[0]);
  });

  test("a workspace and a git repository count, a lock file above them does not", async () => {
    write("yarn.lock", "");
    expect(await next("alone")).toContain(typed.npm[0]);
    write("mono/package.json", JSON.stringify({ workspaces: ["packages/*"] }));
    write("mono/bun.lock", "");
    expect(await next("mono/packages/a")).toContain(typed.bun[0]);
    write("repository/.git/HEAD", "");
    write("repository/pnpm-lock.yaml", "");
    expect(await next("repository/tools/a")).toContain(typed.pnpm[0]);
    write("repository/tools/b/package-lock.json", "{}");
    expect(await next("repository/tools/b")).toContain(typed.npm[0]);
  });

  test("a folder of a Yarn project that is no workspace gets a lock file of its own", async () => {
    write("repository/.git/HEAD", "");
    write("repository/yarn.lock", "");
    expect(await next("repository/tools/a")).toContain(typed.yarn[0]);
    expect(readFileSync(join(project.folder, "repository/tools/a/yarn.lock"), "utf8")).toBe("");
    write("repository/package.json", JSON.stringify({ workspaces: ["tools/*"] }));
    await next("repository/tools/b");
    expect(existsSync(join(project.folder, "repository/tools/b/yarn.lock"))).toBe(false);
  });

  test("the dev script is one for its runtime, and a template has its commands", async () => {
    write("a/bun.lock", "");
    await next("a");
    expect(JSON.parse(readFileSync(join(project.folder, "a", "package.json"), "utf8"))).toMatchObject({
      scripts: { dev: "bun --env-file=.env.development workflows/story.mts" },
    });
    write("pnpm/pnpm-workspace.yaml", "");
    const { err } = await project.cli(["init", "pnpm/chat", "--template", "chat", "--no-install"]);
    expect(err).toContain("pnpm install && pnpm run dev");
  });

  // Windows finds programs by their ending.
  test.skipIf(process.platform === "win32")(
    "it starts it, also in CI, and says if it is not there",
    async () => {
      const bin = join(project.folder, "bin");
      mkdirSync(bin);
      writeFileSync(
        join(bin, "pnpm"),
        `#!${process.execPath}\nconsole.error("pnpm got", process.argv.slice(2).join(" "));\n`,
      );
      chmodSync(join(bin, "pnpm"), 0o755);
      write("a/pnpm-lock.yaml", "");
      const env = { PATH: [bin, process.env["PATH"]].join(delimiter), CI: "1" };
      const there = await project.cli(["init", "a"], { env });
      expect(there, there.err).toMatchObject({ code: 0 });
      expect(there.err).toContain("pnpm install");
      expect(there.err).toContain("cd a && node workflows/story.mts");
      write("b/yarn.lock", "");
      const missing = await project.cli(["init", "b"], { env: { PATH: bin } });
      expect(missing.code).toBe(1);
      expect(missing.err).toContain("Could not start yarn, which this project uses");
      expect(missing.err).toContain("Install it, and run yarn install by hand.");
    },
  );
});
