/** Worker processes on one SQLite file that are killed while they start the runs of a schedule. */

import { join } from "node:path";
import { durable, tickOf } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, inject, onTestFinished, test } from "vitest";
import { tempFolder } from "../support/sqlite-temp.ts";
import { workerApp } from "../support/worker-flows.ts";
import { WorkerProcess } from "../support/worker-process.ts";

test("processes that are killed start every tick once", { timeout: 300_000 }, async () => {
  const temp = tempFolder();
  const storage = new SqliteStorage(temp.path);
  onTestFinished(async () => {
    await storage.close();
    temp.remove();
  });
  const doing = (worker: string) => ({ worker, effects: join(temp.folder, "effects") });
  const app = workerApp(storage, doing("test"));
  // Only its name counts: the processes have the code.
  const job = durable("job", () => null);
  const { nextAt } = await app.schedule("pulse", job, {
    every: "1 second",
    missed: "all",
    overlap: "allow",
  });
  const runsOf = async () => (await app.list({ limit: 1_000 })).runs;
  const until = async (enough: () => Promise<boolean>): Promise<void> => {
    while (!(await enough())) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  let started = 0;
  const start = (): WorkerProcess =>
    new WorkerProcess(temp.path, doing(`w${++started}`), { idleInterval: 500 });
  const full = inject("full");
  const fleet = Array.from({ length: full ? 3 : 2 }, start);
  for (let kill = 0; kill < (full ? 12 : 2); kill++) {
    const { length } = await runsOf();
    await until(async () => (await runsOf()).length > length);
    await fleet.shift()?.kill();
    fleet.push(start());
  }
  await app.schedules.pause("pulse");
  await until(async () => {
    const { text = "" } = (await storage.schedules.get("pulse")) ?? {};
    const isSettled = (JSON.parse(text) as { pending: unknown }).pending === null;
    return isSettled && (await runsOf()).every(({ status }) => status === "completed");
  });

  const ticks = (await runsOf()).map(({ runId }) => tickOf(runId)?.at ?? 0).toSorted((a, b) => a - b);
  const { lastAt } = await app.schedules.get("pulse");
  const seconds = ((lastAt ?? 0) - (nextAt ?? 0)) / 1_000 + 1;
  expect(ticks).toEqual(Array.from({ length: seconds }, (_, n) => (nextAt ?? 0) + n * 1_000));
});
