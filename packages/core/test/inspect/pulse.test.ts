/** What happened in a time, and what it cost, from heads alone. */

import { createApp, durable, MemoryStorage, type RunHead, type Storage } from "@durable/core";
import { costsOf, failedDuring, failureGroups, pulseOf } from "@durable/core/inspect";
import { duringOf } from "@durable/core/storage";
import { expect, test } from "vitest";

const day = "2026-11-18";
const since = Date.parse(`${day}T00:00:00Z`);
const hour = 3_600_000;
const until = since + 24 * hour;

let numbers = 0;

function head(changes: Partial<RunHead>): RunHead {
  const n = ++numbers;
  const createdAt = changes.createdAt ?? since;
  const ended =
    changes.status !== undefined && changes.status !== "running" && changes.status !== "suspended";
  return {
    locator: `l${n}`.padEnd(18, "a"),
    runId: `run-${n}`,
    workflow: "agent",
    status: "completed",
    wakeAt: ended ? null : 0,
    dueSince: ended ? null : 0,
    createdAt,
    updatedAt: createdAt + 1_000,
    steps: 1,
    label: null,
    parent: null,
    ancestors: [],
    ...changes,
  };
}

async function storageWith(heads: readonly RunHead[]): Promise<Storage> {
  const storage = new MemoryStorage({ now: () => until });
  for (const each of heads)
    await storage.append({ locator: each.locator, position: 0, batch: "[]", head: each });
  return storage;
}

const used = (model: string, cost: number | undefined, on = day) => ({
  day: on,
  label: "answer",
  model,
  inputTokens: 100,
  outputTokens: 10,
  ...(cost !== undefined && { cost }),
});

const appOf = (storage: Storage) =>
  createApp({ storage, workflows: [], secret: "a secret of sixteen", bind: false });

test("a pulse counts what began, what failed of that, how long it took and what it cost, by part and against before", async () => {
  const took = (n: number, ms: number, changes: Partial<RunHead> = {}): RunHead =>
    head({ createdAt: since + n * hour, updatedAt: since + n * hour + ms, ...changes });
  const heads = [
    ...Array.from({ length: 18 }, (_, i) => took(1, (i + 1) * 100, { version: "v1" })),
    took(13, 60_000, { status: "failed", usage: [used("m", 0.5)], version: "v2" }),
    took(13, 90_000, { usage: [used("m", 0.25), used("new", undefined)], version: "v2" }),
    took(20, 0, { status: "running" }),
    head({ createdAt: since - hour }),
    head({ createdAt: since - 30 * hour }),
    head({ createdAt: until }),
  ];
  const app = appOf(await storageWith(heads));
  const pulse = await pulseOf(app, { since, until, parts: 2 });
  expect(pulse?.total).toEqual({
    started: 21,
    ended: 20,
    failed: 1,
    median: 1_000,
    p95: 60_000,
    cost: 0.75,
    unpriced: true,
  });
  expect(pulse?.parts.map(({ started, failed, cost }) => [started, failed, cost])).toEqual([
    [18, 0, 0],
    [3, 1, 0.75],
  ]);
  expect(pulse?.before).toMatchObject({ started: 1, failed: 0 });
  expect(pulse?.versions).toEqual([{ at: since + 13 * hour, workflow: "agent", version: "v2" }]);
  expect(pulse?.more).toBe(false);
  const priced = await pulseOf(app, {
    since,
    until,
    parts: 1,
    prices: { new: { input: 10_000, output: 0 } },
  });
  expect(priced?.total).toMatchObject({ cost: 1.75, unpriced: false });
});

test("failures are grouped by workflow and kind, with their course, cost and runs", async () => {
  const failed = (group: string, at: number, workflow = "agent"): RunHead =>
    head({
      workflow,
      status: "failed",
      createdAt: at - 1,
      updatedAt: at,
      usage: [used("m", 0.25)],
      error: { code: "step-failed", key: "answer", group },
    });
  const heads = [
    failed("429", since + 1),
    failed("429", since + 20 * hour),
    failed("429", since + 21 * hour),
    failed("other", since + 5),
    failed("429", since + 5, "mail"),
    failed("429", since - 5),
    head({ createdAt: since + 7 }),
  ];
  const app = appOf(await storageWith(heads));
  const runs = (await failedDuring(app, { since, until })) ?? [];
  const groups = failureGroups(runs, { since, until, parts: 4 });
  expect(groups.map(({ workflow, group, count }) => [workflow, group, count])).toEqual([
    ["agent", "429", 3],
    ["agent", "other", 1],
    ["mail", "429", 1],
  ]);
  expect(groups[0]).toMatchObject({
    code: "step-failed",
    key: "answer",
    first: since + 1,
    last: since + 21 * hour,
    cost: 0.75,
    parts: [1, 0, 0, 2],
    runs: [heads[2]?.runId, heads[1]?.runId, heads[0]?.runId],
  });
});

test("costs count usage on its day, whatever the age of the run, and what forks inherited as saved", async () => {
  const old = since - 40 * 24 * hour;
  const heads = [
    head({ tags: { customer: "42" }, usage: [used("m", 2), used("n", 1)] }),
    head({ workflow: "mail", status: "failed", usage: [used("m", 1), used("m", 9, "2026-11-17")] }),
    // What a fork inherits was used earlier, and is saved when it begins.
    head({
      inherited: [used("m", 4, "2026-10-01")],
      usage: [used("m", 0.5)],
      tags: { customer: "42", team: "a" },
    }),
    // Begun long ago: one ended that day, one is open, one ended before.
    head({ createdAt: old, updatedAt: since + hour, usage: [used("m", 8)] }),
    head({ createdAt: old, updatedAt: since + hour, status: "suspended", usage: [used("m", 16)] }),
    head({ createdAt: old, updatedAt: old, usage: [used("m", 32, "2026-10-09")] }),
    head({ usage: [used("free", undefined)] }),
  ];
  const storage = await storageWith(heads);
  const gone = head({ workflow: "gone", usage: [used("m", 64)] });
  await storage.append({ locator: gone.locator, position: 0, batch: "[]", head: gone });
  await storage.delete(gone.locator);
  const costs = await costsOf(appOf(storage), { since, until });
  expect(costs?.days).toEqual([{ day, cost: 92.5, saved: 4, models: { m: 91.5, n: 1 } }]);
  expect(costs?.total).toMatchObject({ cost: 92.5, saved: 4, runs: 6, unpriced: true });
  expect(costs?.failed).toEqual({ cost: 1, runs: 1 });
  const rows = (name: "workflows" | "models" | "labels" | "tags"): unknown[] =>
    costs?.[name].map(({ key, runs, cost, saved }) => [key, runs, cost, saved]) ?? [];
  expect(rows("workflows")).toEqual([
    ["gone", 0, 64, 0],
    ["agent", 5, 27.5, 4],
    ["mail", 1, 1, 0],
  ]);
  expect(rows("models")).toEqual([
    ["m", 5, 91.5, 4],
    ["n", 1, 1, 0],
    ["free", 1, 0, 0],
  ]);
  expect(rows("tags")).toEqual([
    ["purged", 0, 64, 0],
    ["", 4, 25, 0],
    ["customer=42", 2, 3.5, 4],
    ["team=a", 1, 0.5, 4],
  ]);
  expect(costs?.dearest[0]).toMatchObject({ runId: heads[4]?.runId, cost: 16 });
  expect(costs).toMatchObject({ more: false, keepsPurged: true });
});

test("costs have what an older run used before it was blocked", async () => {
  const old = since - 40 * 24 * hour;
  const run = head({ createdAt: old, updatedAt: since + hour, status: "running", usage: [used("m", 8)] });
  const storage = await storageWith([run]);
  await storage.note?.(run.locator, { code: "diverged", message: "", since: since + hour, length: 1 });
  expect((await costsOf(appOf(storage), { since, until }))?.total).toMatchObject({ cost: 8, runs: 1 });
});

test("a storage that finds no runs of a time says so", async () => {
  const storage = await storageWith([]);
  Object.defineProperty(storage, "during", { value: undefined });
  const app = appOf(storage);
  expect(await pulseOf(app, { since, until, parts: 1 })).toBeNull();
  expect(await failedDuring(app, { since, until })).toBeNull();
  expect(await costsOf(app, { since, until })).toBeNull();
});

test("a run of a real app has what sums need", async () => {
  const storage = new MemoryStorage();
  const work = durable("work", (ctx) =>
    ctx.step("ask", (info) => info.meter({ model: "m", inputTokens: 5, outputTokens: 1, cost: 0.5 })),
  );
  const app = createApp({ storage, workflows: [work], secret: "a secret of sixteen", bind: false });
  await app.run("work", undefined, { id: "w1" });
  const [run] = (await storage.during?.({ by: "created", after: 0, before: Infinity, limit: 5 })) ?? [];
  expect(run).toMatchObject({ runId: "w1", status: "completed", usage: [{ label: "ask", cost: 0.5 }] });
  expect(run).toEqual(duringOf((await storage.list()).runs[0] as RunHead));
});
