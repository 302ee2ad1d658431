/** Clean-ups that `durable cancel` begins are driven to their end, or left to a worker: never both. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createApp, type Workflow } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { job, order, patient } from "./fixtures/refunds.ts";
import { Project } from "./support/lab.ts";
import { bin, finish, says, start } from "./support/process.ts";

const code = fileURLToPath(new URL("fixtures/refunds.ts", import.meta.url));
const all = ["cancel", "--workflow", "job", "--status", "suspended", "--yes", "--app", code];

/** A folder with parked runs. */
async function parked(...runs: readonly (readonly [Workflow<unknown, unknown>, string])[]): Promise<Project> {
  const project = new Project();
  onTestFinished(() => project.remove());
  const storage = new SqliteStorage(journalOf(project));
  const app = createApp({ storage, workflows: [job, order, patient], bind: false });
  for (const [flow, id] of runs) await app.start(flow, undefined, { id, drive: false });
  await app.sweep();
  await storage.close();
  return project;
}

function jobs(count: number): [Workflow<unknown, unknown>, string][] {
  return Array.from({ length: count }, (_, i) => [job, `j${i}`]);
}

function journalOf({ folder }: Project): string {
  return join(folder, ".durable", "journal.db");
}

/** The lines of all refunds: the process, `begins` or `ends`, and the idempotency key. */
function refunds({ folder }: Project): string[][] {
  const path = join(folder, "refunds.log");
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => line.split(" "));
}

async function statuses(project: Project): Promise<Record<string, string>> {
  const { runs } = (await project.json(["ls", "--limit", "100"])) as {
    runs: { runId: string; status: string }[];
  };
  return Object.fromEntries(runs.map(({ runId, status }) => [runId, status]));
}

function durable(project: Project, args: readonly string[]): ReturnType<typeof start> {
  return start(bin, args, { cwd: project.folder });
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    if (tries > 600) throw new Error("It did not happen within 30 s.");
    await sleep(50);
  }
}

test("with the code, the command drives the clean-up to its end", async () => {
  const project = await parked([job, "j1"]);
  const said = await finish(durable(project, ["cancel", "j1", "--app", code]));
  expect(said).toMatchObject({ code: 0, err: "" });
  expect(said.out).toContain("cancelled");
  expect(refunds(project).map(([, what]) => what)).toEqual(["begins", "ends"]);
  expect(await statuses(project)).toEqual({ j1: "cancelled" });
});

test("without the code, it only records the cancellation", async () => {
  const project = await parked([job, "j1"]);
  const said = await finish(durable(project, ["cancel", "j1"]));
  expect(said.out).toContain("j1 ◐ cancelling: a worker cleans up");
  expect(refunds(project)).toEqual([]);
  // Typed again with the code, the clean-up is done here.
  const again = await finish(durable(project, ["cancel", "j1", "--app", code]));
  expect(again).toMatchObject({ code: 0, err: "" });
  expect(await statuses(project)).toEqual({ j1: "cancelled" });
});

test("children clean up to their end, and a parent that goes on is not cut", async () => {
  const project = await parked([order, "o1"], [patient, "p1"]);
  const { runs } = (await project.json(["ls", "--parent", "p1"])) as { runs: { runId: string }[] };
  const child = runs[0]?.runId ?? "";
  expect(await finish(durable(project, ["cancel", "o1", "--app", code]))).toMatchObject({ code: 0, err: "" });
  expect(await finish(durable(project, ["cancel", child, "--app", code]))).toMatchObject({
    code: 0,
    err: "",
  });
  const ended = Object.values(await statuses(project));
  expect(ended.toSorted()).toEqual(["cancelled", "cancelled", "cancelled", "suspended"]);
  const lines = refunds(project);
  expect(lines.filter(([, what]) => what === "begins")).toHaveLength(4);
  expect(lines.filter(([, what]) => what === "ends")).toHaveLength(4);
});

test("the tool of an agent waits for the clean-up, too", async () => {
  const project = await parked([job, "j1"]);
  const server = durable(project, ["mcp", "--allow", "cancel", "--app", code]);
  const ended = finish(server);
  const params = { name: "cancel_run", arguments: { run: "j1" } };
  server.stdin?.end(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`);
  expect((await ended).out).toContain('\\"status\\":\\"cancelled\\"');
  expect(refunds(project).map(([, what]) => what)).toEqual(["begins", "ends"]);
});

test("Ctrl-C hands the runs over: no refund is cut, and a worker does the rest", async () => {
  const project = await parked(...jobs(40));
  const command = durable(project, all);
  const ended = finish(command);
  await until(() => refunds(project).length > 0);
  command.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 130 });
  const lines = refunds(project);
  const count = (what: string): number => lines.filter((line) => line[1] === what).length;
  expect(count("begins")).toBe(count("ends"));
  expect(count("begins")).toBeLessThan(40);
  expect(Object.values(await statuses(project))).toContain("suspended");
});

test("killed once beside a worker and typed again: only refunds that the kill cut begin again", async () => {
  const project = await parked(...jobs(20));
  const worker = start(code, [], { cwd: project.folder });
  const stopped = finish(worker);
  onTestFinished(async () => {
    worker.kill("SIGKILL");
    await stopped;
  });
  await says(worker, "works");
  const first = durable(project, all);
  const killed = finish(first);
  const isFirst = ([pid]: readonly string[]): boolean => pid === String(first.pid);
  await until(() => refunds(project).some(isFirst));
  first.kill("SIGKILL");
  await killed;
  const again = await finish(durable(project, all));
  expect(again.err).not.toContain("stopped");
  expect(again.code).toBe(0);
  await until(async () => Object.values(await statuses(project)).every((status) => status === "cancelled"));
  const lines = refunds(project);
  const begun = Map.groupBy(
    lines.filter(([, what]) => what === "begins"),
    ([, , key]) => key,
  );
  expect(begun.size).toBe(20);
  const twice = [...begun.values()].filter(({ length }) => length > 1);
  // What the killed process had begun and not recorded begins once more, with the same key, and nothing else does.
  expect(twice.length).toBeGreaterThan(0);
  for (const times of twice) expect(times.map(isFirst)).toEqual([true, false]);
  const whole = lines.filter((line) => line[1] === "ends" && !isFirst(line));
  expect(whole.length).toBeGreaterThanOrEqual(20 - lines.filter(isFirst).length);
  expect(new Set(whole.map(([, , key]) => key)).size).toBe(whole.length);
});
