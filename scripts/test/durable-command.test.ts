/** `npx durable` in this checkout: from the sources, without a build, on what the demo wrote. */

import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll, expect, inject, test } from "vitest";
import { linkDurable } from "../link-durable.mjs";
import { root } from "../lib/workspace.ts";

const run = promisify(execFile);
const folder = realpathSync(mkdtempSync(join(tmpdir(), "durable-command-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A checkout with the sources of this one, in which the demo wrote nothing yet. */
function checkout(): string {
  const place = join(folder, "checkout");
  mkdirSync(join(place, "scripts"), { recursive: true });
  mkdirSync(join(place, "examples", "agent-loop"), { recursive: true });
  for (const file of ["durable.mjs", "link-durable.mjs", "node-version.mjs"])
    cpSync(join(root, "scripts", file), join(place, "scripts", file));
  symlinkSync(join(root, "packages"), join(place, "packages"), "junction");
  return place;
}

test("after an install, npx durable reads in the folder of the workspace what the demo wrote", async () => {
  const place = checkout();
  const { linkDurable: link } = (await import(join(place, "scripts", "link-durable.mjs"))) as {
    linkDurable: typeof linkDurable;
  };
  link(join(place, "node_modules"));
  const { DURABLE_DIR: _, DURABLE_URL: __, ...env }: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: "1" };
  const cli = (...args: string[]) => {
    const command = join(place, "node_modules", ".bin", "durable");
    return run(process.execPath, [command, ...args], { cwd: place, env });
  };
  expect((await cli("ls")).stdout).toContain("No runs yet");
  const journals = join("examples", "agent-loop", ".durable");
  await writeRun(join(place, journals));
  const { stdout, stderr } = await cli("ls");
  expect(stdout).toMatch(/agent-loop +agent-loop/);
  expect(stderr).toContain(`The journal of npm run demo: ${journals}`);
  const { runs } = JSON.parse((await cli("ls", "--json")).stdout) as { runs: object[] };
  expect(runs).toMatchObject([{ runId: "agent-loop", status: "completed" }]);
  // Exit codes reach the caller.
  await expect(cli("show", "nope")).rejects.toMatchObject({ code: 3 });
  const elsewhere = await cli("ls", "--store", join(journals, "none.db")).catch((error: unknown) => error);
  expect(elsewhere).toMatchObject({ code: 3 });
});

/** The demo itself in `npm run test:full`, here a run of its name. */
async function writeRun(journals: string): Promise<void> {
  if (inject("full")) {
    const demo = join(root, "examples", "agent-loop", "src", "main.ts");
    const env = { ...process.env, DURABLE_DIR: journals, DEMO_PACE: "0" };
    await run(process.execPath, ["--conditions=durable-source", demo], { env });
    return;
  }
  mkdirSync(journals, { recursive: true, mode: 0o700 });
  const storage = new SqliteStorage(join(journals, "journal.db"));
  await durable("agent-loop", () => Promise.resolve(1), { storage }).run(undefined, { id: "agent-loop" });
  await storage.close();
}

test("on Windows it is a command file, and what a build left is replaced", () => {
  const modules = join(folder, "windows");
  linkDurable(modules, "linux");
  linkDurable(modules, "win32");
  expect(existsSync(join(modules, ".bin", "durable"))).toBe(false);
  expect(readFileSync(join(modules, ".bin", "durable.cmd"), "utf8")).toMatch(/durable\.mjs" %\*/);
});
