import { bundleEntries } from "../lib/bundle.ts";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPage } from "../lib/markdown.ts";
import { pack } from "../lib/pack.ts";
import { listPackages, root } from "../lib/workspace.ts";

const bin = join(root, "node_modules", ".bin");
let folder: string;
let home: string;

function tool(command: string, args: readonly string[], cwd: string): string {
  const env = { ...process.env, PATH: [bin, process.env["PATH"]].join(delimiter) };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Error([`${command} ${args.join(" ")}`, stdout, stderr].join("\n"));
  return stdout;
}

/** The tarball of core as it is now: built beside the workspace, so that nothing is left in it. */
async function tarball(): Promise<string> {
  const core = listPackages().find(({ manifest }) => manifest.name === "@durable/core");
  if (core === undefined) throw new Error("There is no @durable/core");
  const dir = join(folder, "core");
  mkdirSync(dir);
  tool("tsc", ["-p", join(core.dir, "tsconfig.build.json"), "--outDir", join(dir, "dist")], root);
  await bundleEntries(core, join(dir, "dist"));
  cpSync(join(core.dir, "README.md"), join(dir, "README.md"));
  return pack({ dir, manifest: core.manifest }, folder);
}

/** The first program of the README, as it stands there. */
function story(): string {
  const { blocks } = readPage(readFileSync(join(root, "README.md"), "utf8"));
  const block = blocks.find(({ text }) => text.startsWith("// story.ts"));
  if (block === undefined) throw new Error("The README has no story.ts");
  return `${block.text}\n`;
}

interface Played {
  readonly said: string;
  readonly complained: string;
  readonly signal: string | null;
  readonly code: number | null;
}

/** `node story.ts`, interrupted as soon as it has said `until`. */
function play(until: string | null = null): Promise<Played> {
  const { DURABLE_DIR: _, NODE_OPTIONS: __, ...env } = process.env;
  const child = spawn(process.execPath, ["story.ts"], { cwd: home, env });
  let [said, complained] = ["", ""];
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complained += text));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (until !== null && said.includes(until)) child.kill("SIGINT");
  });
  return new Promise((resolve) => {
    child.on("close", (code, signal) => resolve({ said, complained, signal, code }));
  });
}

const prompts = (said: string): string[] =>
  said.split("\n").flatMap((line) => /^model: (.*)$/.exec(line)?.[1] ?? []);
/** What stands after the lines of the model. */
const ending = (said: string): string =>
  said
    .split("\n")
    .filter((line) => !line.startsWith("model:"))
    .join("\n");

describe("the first program of the README, in an empty folder with the package installed from its tarball", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "durable-readme-"));
    const packed = await tarball();
    home = join(folder, "home");
    mkdirSync(home);
    tool("npm", ["install", packed, "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"], home);
    writeFileSync(join(home, "story.ts"), story());
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("carries on after Ctrl-C: at the first line, in the middle, and to the same end", async () => {
    const first = await play("model: plan tides\n");
    expect(first).toMatchObject({ signal: "SIGINT", code: null });
    expect(prompts(first.said)).toEqual(["plan tides"]);

    const second = await play("model: sun\n");
    expect(second).toMatchObject({ signal: "SIGINT" });
    expect(prompts(second.said), "the plan was cut off, and is made again").toEqual([
      "plan tides",
      "moon",
      "sun",
    ]);

    const third = await play();
    expect(third).toMatchObject({ code: 0, signal: null });
    expect(prompts(third.said), "the plan is recorded").toEqual(["moon", "sun", "PLAN TIDES: MOON, SUN"]);
    expect(ending(third.said)).toMatch(/status: 'completed'/);
    expect(ending(third.said)).toMatch(/output: 'PLAN TIDES: MOON, SUN'/);

    const fourth = await play();
    expect(prompts(fourth.said)).toEqual([]);
    expect(ending(fourth.said)).toBe(ending(third.said).replace("recorded: false", "recorded: true"));

    rmSync(join(home, ".durable"), { recursive: true });
    const calm = await play();
    expect(prompts(calm.said)).toEqual(["plan tides", "moon", "sun", "PLAN TIDES: MOON, SUN"]);
    expect(ending(calm.said), "as if it had never been interrupted").toBe(ending(third.said));
  }, 300_000);

  it("leaves nothing in the workspace", () => {
    const left = ["*.tgz", "packages/**/*.tgz", "story.ts"].map((pattern) => `:(glob)${pattern}`);
    expect(tool("git", ["status", "--short", "--ignored", "--", ...left], root)).toBe("");
  }, 300_000);

  it("compiles against the published types, all of them checked", () => {
    const compilerOptions = {
      target: "es2024",
      lib: ["es2024", "dom"],
      module: "nodenext",
      strict: true,
      noEmit: true,
      types: [],
    };
    tool("npm", ["pkg", "set", "type=module"], home);
    writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["story.ts"] }));
    expect(tool("tsc", ["-p", "."], home)).toBe("");
  }, 300_000);

  it("complains of nothing in a folder whose package.json says that it holds modules", async () => {
    expect(await play()).toMatchObject({ code: 0, complained: "" });
  });
});
