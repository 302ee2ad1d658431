import { bundleEntries } from "../lib/bundle.ts";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  const block = blocks.find(({ text }) => text.startsWith("// story.mts"));
  if (block === undefined) throw new Error("The README has no story.mts");
  return `${block.text}\n`;
}

interface Played {
  readonly said: string;
  readonly complained: string;
  readonly signal: string | null;
  readonly code: number | null;
}

/** `node story.mts`, interrupted as soon as it has said `until`. */
function play(until: string | null = null): Promise<Played> {
  const { DURABLE_DIR: _, NODE_OPTIONS: __, ...env } = process.env;
  const child = spawn(process.execPath, ["story.mts"], { cwd: home, env });
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

/** A program that uses each verb for the first time after its standard input has ended. */
const verbs = `
import { createApp, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { once } from "node:events";

let works = false;
const flow = durable("verbs", async (ctx, kind: string) => {
  if (kind === "fails") return ctx.step("work", () => { if (!works) throw new Error("not yet"); return 1; }, { retry: { attempts: 1 } });
  if (kind === "undone") await ctx.step("book", () => 1, { compensate: () => {} });
  return kind === "ends" ? ctx.step("one", () => 1) : ctx.suspend("go");
});
const app = createApp({ workflows: [flow], storage: new SqliteStorage("verbs.db") });
const end = async (run) => {
  for (;;) {
    const { status } = await run.outcome();
    if (status !== "running") return status;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
for (const kind of ["waits", "undone", "fails", "ends"]) await end(await app.start("verbs", kind, { id: kind }));
const [waits, undone, fails, ends] = ["waits", "undone", "fails", "ends"].map((id) => app.get(id));
const stop = await waits.outcome();
console.log("ready");
process.stdin.resume();
await once(process.stdin, "end");
console.log("list", (await app.list()).runs.length);
const { status } = await app.resume(stop.waiting[0].token, "yes");
console.log(\`resume \${status}, \${await end(waits)}\`);
console.log("send", (await undone.send("topic", 1)).status);
await undone.cancel();
console.log("cancel", await end(undone));
works = true;
await fails.retry();
console.log("retry", await end(fails));
const branch = await ends.fork({ from: "one", id: "branch" });
console.log("fork", await end(branch));
await app.delete("branch");
console.log("purge", (await app.purge({ olderThan: 0 })).runs);
`;

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
    writeFileSync(join(home, "story.mts"), story());
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
    const left = ["*.tgz", "packages/**/*.tgz", "story.mts"].map((pattern) => `:(glob)${pattern}`);
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
    writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["story.mts"] }));
    expect(tool("tsc", ["-p", "."], home)).toBe("");
  }, 300_000);

  it("complains of nothing in a folder whose package.json says that it holds modules", async () => {
    expect(await play()).toMatchObject({ code: 0, complained: "" });
  });

  it("keeps its verbs in a process whose installed package is removed from the disk", async () => {
    writeFileSync(join(home, "verbs.ts"), verbs);
    const child = spawn(process.execPath, ["verbs.ts"], { cwd: home, stdio: ["pipe", "pipe", "inherit"] });
    const installed = join(home, "node_modules", "@durable");
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said !== "ready\n") return;
      rmSync(installed, { recursive: true });
      child.stdin.end("go");
    });
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
    expect(existsSync(installed)).toBe(false);
    expect(said.split("\n").slice(1, -1)).toEqual([
      "list 4",
      "resume accepted, completed",
      "send accepted",
      "cancel cancelled",
      "retry completed",
      "fork completed",
      "purge 3",
    ]);
  }, 60_000);
});
