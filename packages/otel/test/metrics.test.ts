import { readFileSync } from "node:fs";
import {
  createApp,
  createWorker,
  durable,
  DurableError,
  MemoryStorage,
  type StepInfo,
  type Storage,
} from "@durable/core";
import { countingStorage, virtualWorld } from "@durable/testing";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { locatorOf } from "@durable/core/inspect";
import { expect, onTestFinished, test } from "vitest";
import { telemetry } from "../src/index.ts";

const secret = "a secret for tests, of no worth";
const prices = { m: { input: 1, output: 10 } };

function measuring(kept: Storage = new MemoryStorage()) {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  onTestFinished(() => provider.shutdown());
  const otel = telemetry({ meter: provider.getMeter("test"), tracer: false, prices });
  const storage = otel.storage(kept);
  const world = virtualWorld();
  const work = durable("work", async (ctx, ends: boolean) => {
    const call = ({ attempt, meter }: StepInfo): void => {
      meter({ model: "m", inputTokens: 1_000, outputTokens: 100 });
      if (attempt === 1) throw new Error("again");
    };
    await ctx.step("model", call, kept.limits === undefined ? {} : { quota: "llm" });
    if (!ends) await ctx.suspend("ask");
  });
  const changed = durable("work", (ctx) => ctx.sleep(1));
  const quotas = { llm: { requests: 40, tokens: 100_000, per: "1 hour" } } as const;
  const options = { storage, secret, world, hooks: otel.hooks, quotas };
  const app = createApp({ ...options, workflows: [work] });
  const text = async (): Promise<string> => {
    const { resourceMetrics, errors } = await exporter.collect();
    expect(errors).toEqual([]);
    return new PrometheusSerializer().serialize(resourceMetrics);
  };
  /** The sum of a metric over all its attributes. */
  const value = async (name: string): Promise<number> => {
    const lines = (await text())
      .split("\n")
      .filter((line) => line.startsWith(name) && /^[ {,}]/.test(line.slice(name.length)));
    expect(lines.length, name).toBeGreaterThan(0);
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  return { app, work: work.with(options), changed, options, otel, world, text, value };
}

/** Everything that can be counted happens once. */
async function busy() {
  const storage = countingStorage(new MemoryStorage());
  const on = measuring(storage);
  const { work, changed, world, options, app, otel } = on;
  otel.observe(app, { every: "1s" });
  await world.run(work.run(true, { id: "done" }));
  await world.run(work.run(false, { id: "waits" }));
  await world.run(work.run(false, { id: "blocked" }));
  await world.run(createApp({ ...options, workflows: [changed] }).advance("blocked"));
  const asked = await world.run(work.run(false, { id: "answered" }));
  await world.run(work.resume(asked.status === "suspended" ? (asked.waiting[0]?.token ?? "") : "", 1));
  await work.start(true, { id: "late", drive: false });
  await storage.lease(locatorOf("late"), "a driver that died", 0.001);
  // The lease ends by the clock of the machine.
  await new Promise((resolve) => setTimeout(resolve, 5));
  await world.run(app.advance("late"));
  await app.schedule("hourly", work, { every: "1 hour", input: true });
  const worker = createWorker(app, { name: "w-1", concurrency: 7, workflows: [] });
  onTestFinished(() => worker.stop());
  await work.start(true, { id: "due", drive: false });
  await world.advance(5_000);
  return { ...on, storage };
}

test("counts what runs do", async () => {
  const { value, text } = await busy();
  expect(await value("durable_run_ends_total")).toBe(3);
  expect(await value("durable_run_blocks_total")).toBe(1);
  expect(await value("durable_step_retries_total")).toBe(5);
  expect(await value("durable_tokens_total")).toBe(10 * 1_100);
  expect(await value("durable_cost_total")).toBeCloseTo(10 * 0.002, 9);
  expect(await value("durable_runs_waiting")).toBe(1);
  expect(await value("durable_runs_blocked")).toBe(1);
  expect(await value("durable_runs_due")).toBe(1);
  expect(await value("durable_runs_queued")).toBe(1);
  expect(await value("durable_runs_running")).toBe(0);
  expect(await value("durable_drives")).toBe(0);
  expect(await value("durable_replayed_total")).toBe(1);
  expect(await value("durable_appends_total")).toBeGreaterThan(6);
  expect(await value("durable_run_takeovers_total")).toBe(1);
  expect(await value("durable_workers_live")).toBe(1);
  expect(await value("durable_workers_places")).toBe(7);
  expect(await value("durable_workers_active")).toBe(0);
  expect(await value("durable_schedules_lateness")).toBe(0);
  expect(await value('durable_quotas_used{quota="llm",what="requests"')).toBe(10);
  expect(await value('durable_quotas_limit{quota="llm",what="requests"')).toBe(40);
  expect(await value('durable_storage_duration_count{operation="append",outcome="ok"')).toBeGreaterThan(6);
  expect(await text(), "no id of a run is an attribute").not.toMatch(/"(?:done|waits|blocked|answered|due)"/);
});

test("gauges cost one count of the storage, and no more often than asked", async () => {
  const { storage, text, world } = await busy();
  const before = storage.counts.lists;
  await text();
  await text();
  expect(storage.counts.lists - before, "one tally").toBe(1);
  await world.advance(1_000);
  await text();
  expect(storage.counts.lists - before).toBe(2);
});

test("counts are true beyond a page, and a schedule that does not run is late", async () => {
  const { app, work, world, otel, value } = measuring();
  otel.observe(app);
  for (let n = 0; n < 1_003; n++) await work.start(true, { id: `r${n}`, drive: false });
  await app.schedule("pulse", work, { every: "1 minute", input: true });
  await world.advance(600_000);
  expect(await value("durable_runs_due")).toBe(1_003);
  expect(await value("durable_runs_lag")).toBeGreaterThanOrEqual(600);
  expect(await value("durable_schedules_lateness")).toBe(540);
});

test("a call to a storage that fails is measured with the code of its error", async () => {
  const { work, value, world } = measuring();
  await world.run(work.run(true, { id: "one" }));
  const failing = measuring(
    Object.assign(new MemoryStorage(), {
      list: () => Promise.reject(new DurableError("storage-busy", "No reply.")),
    }),
  );
  await expect(failing.app.list()).rejects.toThrow("No reply");
  expect(await failing.value('durable_storage_duration_count{operation="list",outcome="storage-busy"')).toBe(
    1,
  );
  expect(await value('durable_storage_duration_count{operation="append",outcome="ok"')).toBe(4);
});

test("a storage that cannot be read is a warning, and no metric", async () => {
  const failing = { tally: () => Promise.reject(new Error("the disk is gone")) };
  const on = measuring(Object.assign(new MemoryStorage(), failing));
  const stop = on.otel.observe(on.app);
  expect(await on.text()).not.toContain("durable_runs_due");
  await on.text();
  expect(on.world.warnings).toEqual(["the gauges of @durable/otel cannot be read: the disk is gone"]);
  stop();
});

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

test("the dashboard asks for the metrics that are exported, and for all of them", async () => {
  const { text } = await busy();
  const exported = await text();
  const file = new URL("../grafana/durable.json", import.meta.url);
  const { panels } = JSON.parse(readFileSync(file, "utf8")) as { readonly panels: readonly Panel[] };
  const asked = new Set(
    panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => expr.match(/\bdurable_\w+/g) ?? [])),
  );
  const missing = [...asked].filter((name) => !new RegExp(`^${name}[ {]`, "m").test(exported));
  expect(missing).toEqual([]);
  const families = [...exported.matchAll(/^# TYPE (durable_\w+)/gm)].map(([, name]) => name ?? "");
  const unused = families.filter((name) => ![...asked].some((one) => one.startsWith(name)));
  expect(unused).toEqual([]);
  expect(panels.every(({ title }) => title !== "")).toBe(true);
});
