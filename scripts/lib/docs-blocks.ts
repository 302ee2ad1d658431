/**
 * The code of the documentation is code: it is checked and run.
 *
 * D5. Every `ts` block type-checks with the options of the workspace. `ts part` is a fragment: it may
 *     also use the names declared below.
 * D6. Every `ts run` block ends with exit 0, in an empty folder, with journals of its own.
 *
 * Blocks are written with as many empty lines before them as the page has, so that lines agree.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pages, Problem } from "./docs-pages.ts";
import { root } from "./workspace.ts";

/** What fragments may take for granted. */
const preamble = `
import type * as core from "@durable/core";
declare global {
  const ctx: core.Context;
  const flow: core.Workflow<{ topic: string }, string>;
  const app: core.App;
  const run: core.Run<string, { topic: string }>;
  const storage: core.Storage;
  const token: string;
  function model(prompt: string): Promise<string>;
}
`;

const kinds = ["whole", "part"] as const;
const longestRunMs = 60_000;
const atOnce = 4;

export type Written = { readonly page: string; readonly line: number; readonly tags: readonly string[] };

/** Checks and runs every block; `folder` lies inside the workspace and is made anew. */
export async function checkBlocks(
  pages: Pages,
  folder: string,
): Promise<{ problems: Problem[]; ran: number }> {
  const written = write(pages, folder);
  const wrong = kinds.flatMap((kind) => typeErrors(folder, kind, written));
  const runnable = [...written].filter(([, { tags }]) => tags.includes("run"));
  const queue = runnable.values();
  const failed: Problem[] = [];
  const one = async (): Promise<void> => {
    for (const [name, { page, line }] of queue) {
      const told = await runBlock(folder, name);
      if (told !== null) failed.push({ file: page, line, message: told });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return { problems: [...wrong, ...failed], ran: runnable.length };
}

/** Writes the blocks, and returns which file came from where. */
function write(pages: Pages, folder: string): Map<string, Written> {
  rmSync(folder, { recursive: true, force: true });
  const written = new Map<string, Written>();
  for (const kind of kinds) {
    mkdirSync(join(folder, kind), { recursive: true });
    const config = { extends: join(root, "tsconfig.json"), include: ["*.ts"], exclude: [] };
    writeFileSync(join(folder, kind, "tsconfig.json"), JSON.stringify(config));
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  writeFileSync(join(folder, "part", "preamble.d.ts"), preamble);
  for (const [page, { blocks }] of pages) {
    // Parts of their own sources, which their tests compare.
    if (page.startsWith("examples/")) continue;
    for (const { info, text, line } of blocks) {
      const [language, ...tags] = info;
      if (language !== "ts") continue;
      const name = `${tags.includes("part") ? "part" : "whole"}/${page.replaceAll(/[^\w]/g, "-")}-${line}.ts`;
      writeFileSync(join(folder, name), `${"\n".repeat(line - 1)}${text}\n`);
      written.set(name, { page, line, tags });
    }
  }
  return written;
}

function typeErrors(folder: string, kind: string, written: ReadonlyMap<string, Written>): Problem[] {
  if (![...written.keys()].some((name) => name.startsWith(kind))) return [];
  const { stdout, status } = spawnSync(
    join(root, "node_modules", ".bin", "tsc"),
    ["-p", ".", "--pretty", "false"],
    {
      cwd: join(folder, kind),
      encoding: "utf8",
    },
  );
  const found = [...stdout.matchAll(/^(?:.*\/)?([\w-]+\.ts)\((\d+),\d+\): error (.*)$/gm)].flatMap(
    ([, name, line, message = ""]): Problem[] => {
      const from = written.get(`${kind}/${name}`);
      return from === undefined ? [] : [{ file: from.page, line: Number(line), message }];
    },
  );
  if (status === 0 || found.length > 0) return found;
  return [{ file: kind, line: 1, message: `tsc failed: ${stdout.trim().slice(0, 500)}` }];
}

/** Runs one block; what it said on failure, or null. */
function runBlock(folder: string, name: string): Promise<string | null> {
  const cwd = join(folder, `${name}.run`);
  mkdirSync(cwd, { recursive: true });
  const child = spawn(process.execPath, ["--conditions=durable-source", join(folder, name)], {
    cwd,
    env: { ...process.env, DURABLE_DIR: join(cwd, "journals") },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: longestRunMs,
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  return new Promise((resolve) => {
    child.on("error", (error) => resolve(`did not start: ${error.message}`));
    child.on("close", (code, signal) =>
      resolve(code === 0 ? null : `the block ended with ${signal ?? `exit ${code}`}: ${firstError(said)}`),
    );
  });
}

function firstError(said: string): string {
  const lines = said.split("\n").filter((text) => text.trim() !== "");
  return (lines.find((text) => /^\w*Error\b/.test(text)) ?? lines[0] ?? "it said nothing")
    .trim()
    .slice(0, 300);
}
