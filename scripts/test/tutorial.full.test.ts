/** The commands of docs/start/agent-with-a-person.md, run for real: each must print what the page shows. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readPage } from "../lib/markdown.ts";
import { root } from "../lib/workspace.ts";

const { blocks } = readPage(readFileSync(join(root, "docs", "start", "agent-with-a-person.md"), "utf8"));
const program = blocks.find(({ info }) => info[0] === "ts")?.text ?? "";
const screens = blocks.filter(({ info }) => info[0] === "text").map(({ text }) => text);

// Inside the workspace, so that its packages are found; not under node_modules, where Node strips no types.
mkdirSync(join(root, "dist"), { recursive: true });
const folder = mkdtempSync(join(root, "dist", "tutorial-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command in the folder; with `until`, interrupts it as Ctrl-C does once it has printed that. */
async function printed(args: readonly string[], until: string | null): Promise<string> {
  const child = spawn(process.execPath, ["--conditions=durable-source", ...args], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1", DURABLE_DIR: join(folder, ".durable") },
  });
  let text = "";
  const take = (part: string): void => {
    text += part;
    if (until !== null && text.includes(until)) child.kill("SIGINT");
  };
  child.stdout.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", take);
  await new Promise((done) => child.on("close", done));
  return text;
}

/** Tokens are signed with a secret that every storage makes for itself, and idempotency keys differ from run to run. */
const comparable = (text: string): string =>
  text
    .replaceAll(/\([a-z2-7]{6}\)/g, "(key)")
    .replaceAll(/token: '[a-z2-7]{55}'/g, "token")
    .replaceAll(/[ \n]+$/gm, "")
    .trim();

it("prints what the page shows, command by command", async () => {
  writeFileSync(join(folder, "agent.mts"), program);
  // As npm makes it: the page must not need a type.
  writeFileSync(join(folder, "package.json"), "{}\n");
  expect(screens.length).toBeGreaterThan(5);
  for (const screen of screens) {
    const [, line = ""] = /^\$ node (.*)\n/.exec(screen) ?? [];
    const args = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare = ""]) => quoted ?? bare);
    const shown = screen.slice(screen.indexOf("\n") + 1);
    const [before = "", interrupted] = shown.split("^C");
    const until = interrupted === undefined ? null : (before.trim().split("\n").at(-1) ?? null);
    expect(comparable(await printed(args, until)), line).toBe(comparable(before));
  }
});
