/** What lists, figures and tables say of what they cover: exactly a kind of failure, sorted runs, versions, budgets, last runs. */

import { createApp, createWorker, durable, MemoryStorage } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { readFileSync } from "node:fs";
import type { Attention, CostReply, Operations, PulseReply, RunList } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { axeProblems } from "./support/axe.ts";
import { picture, skipReason } from "./support/chromium.ts";
import { prices, secret } from "./support/journals.ts";
import { opened } from "./support/opened.ts";
import { soon, type Visitor } from "./support/visitor.ts";
import { yesterday } from "./support/yesterday.ts";

test("the runs of a kind of failure are those that its number counts, and no others of the same step", async () => {
  const site = new Site({ app: await yesterday() });
  const { failures } = await site.get<Attention>("attention");
  for (const { id, count } of failures ?? []) {
    const found: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = new URLSearchParams({
        failure: id,
        range: "24h",
        limit: "25",
        cursor,
      }).toString();
      const page: RunList = await site.get<RunList>(`runs?${query}`);
      found.push(...page.runs.map(({ error }) => error?.message ?? ""));
      cursor = page.next;
    }
    expect([found.length, new Set(found).size]).toEqual([count, 1]);
  }
  const none = `runs?failure=${encodeURIComponent(failures?.[0]?.id ?? "")}&range=1h`;
  expect((await site.get<RunList>(none)).runs).toEqual([]);
  const other = `runs?failure=${encodeURIComponent(failures?.[1]?.id ?? "")}&ids=support-1,support-41`;
  expect((await site.get<RunList>(other)).runs.map(({ runId }) => runId)).toEqual(["support-41"]);
});

test("a sorted list says how many runs it has sorted, where there are more", async () => {
  const storage = new MemoryStorage();
  const site = new Site({ app: await yesterday(storage) });
  expect((await site.get<RunList>("runs?sort=steps")).sorted).toBeUndefined();
  const [one] = await storage.during({ by: "created", after: 0, before: Infinity, limit: 1 });
  const asked: number[] = [];
  Object.defineProperty(storage, "during", {
    value: async ({ limit = 0 }) => {
      asked.push(limit);
      return Array.from({ length: limit }, () => one);
    },
  });
  expect(await site.get<RunList>("runs?sort=steps&limit=1")).toMatchObject({ sorted: 20_000, next: "1" });
  expect(asked).toEqual([20_001]);
});

const flow = (version: string) =>
  durable(
    "brief",
    (ctx) =>
      ctx.step("write", (info) => info.meter({ model: "model-x", inputTokens: 20_000, outputTokens: 2_000 })),
    { version, budget: { most: 0.1 } },
  );

async function versions() {
  const storage = new MemoryStorage();
  const quotas = { "model-x": { requests: 100, per: "1 hour" } } as const;
  const open = (version: string) =>
    createApp({ storage, secret, prices, quotas, workflows: [flow(version)], bind: false });
  await open("1").run("brief", undefined, { id: "b1" });
  const app = open("2");
  await app.run("brief", undefined, { id: "b2" });
  await app.schedule("often", flow("2"), { every: "1 second" });
  const worker = createWorker(app, { interval: 50 });
  const last = async () => (await app.schedules.list()).schedules[0]?.lastRunId ?? "";
  await expect.poll(last, soon).not.toBe("");
  await worker.stop();
  return { app, id: await last() };
}

test("a new version, a budget against the dearest run, and the last run of a schedule", async () => {
  const { app, id } = await versions();
  const site = new Site({ app, prices });
  const { pulse } = await site.get<PulseReply>("pulse?range=1h");
  expect(pulse?.versions).toEqual([{ at: expect.any(Number), workflow: "brief", version: "2" }]);
  const { limits } = await site.get<CostReply>("cost?days=1");
  expect(limits).toEqual([
    { name: "brief", what: "budget", used: expect.closeTo(0.09, 6), most: 0.1 },
    { name: "model-x", what: "requests", used: 0, most: 100 },
  ]);
  expect((await site.get<Operations>("operations")).schedules).toMatchObject([
    { name: "often", lastRunId: id, lastAt: expect.any(Number) },
  ]);
});

describe.skipIf(skipReason !== null)("in a browser", () => {
  const site = opened(() => yesterday(), { prices });

  test.runIf(inject("full"))(
    "Show lists one kind of failure; several runs are paused and go on",
    async () => {
      const one = await site.current.visit("/");
      await one.page.getByRole("link", { name: "Show: Error: No car left in Lisbon" }).click();
      await one.says("Only failures of support-agent like this one: Error: No car left in Lisbon");
      await expect
        .poll(async () => (await one.lines()).toSorted(), soon)
        .toEqual([40, 41, 42].map((n) => `Failed support-agent support-${n}`));
      await picture(one.page, "one-failure");
      await one.button("Show all runs").click();
      await one.says("54 runs");
      await one.page.getByRole("button", { name: "All 54" }).waitFor();
      await one.go("/?workflow=refund");
      await one.page.getByRole("checkbox", { name: "Select refund-2" }).check();
      await one.page.getByRole("checkbox", { name: "Select refund-3" }).check();
      await one.page.getByRole("toolbar").getByRole("button", { name: "Pause", exact: true }).click();
      await one.page.getByLabel("Reason").fill("stock-taking");
      await one.button("Pause 2 runs").click();
      await one.says("Paused 2 runs.");
      const { app } = site.current;
      const paused = async (): Promise<string[]> =>
        (await app.list({ status: "paused" })).runs.map(({ runId }) => runId).toSorted();
      expect(await paused()).toEqual(["refund-2", "refund-3"]);
      await one.go("/?workflow=refund");
      await one.page.getByRole("checkbox", { name: "Select refund-2" }).check();
      await one.page.getByRole("checkbox", { name: "Select refund-3" }).check();
      await one.page.getByRole("toolbar").getByRole("button", { name: "Unpause", exact: true }).click();
      await one.button("Unpause 2 runs").click();
      await one.says("Unpaused 2 runs.");
      expect(await paused()).toEqual([]);
      await one.close();
    },
  );

  const typed = async (one: Visitor, words: string): Promise<void> => {
    await one.page.keyboard.press("Control+k");
    await one.page.getByRole("combobox", { name: "Words of a run" }).fill(words);
  };

  test.runIf(inject("full"))("Ctrl-K acts on the open run, and says why it cannot", async () => {
    const one = await site.current.visit("/runs/refund-2");
    await one.status("Waiting");
    await typed(one, "this run");
    await one.page.getByRole("option", { name: /^Cancel this run/ }).waitFor();
    expect(
      await one.page.getByRole("option", { name: /^Retry this run/ }).getAttribute("aria-disabled"),
    ).toBe("true");
    expect(await axeProblems(one.page)).toEqual([]);
    await picture(one.page, "palette-run");
    // It is the last: what is not possible stands below.
    for (let n = 0; n < 12; n++) await one.page.keyboard.press("ArrowDown");
    await one.page.keyboard.press("Enter");
    await one.says("Only a run that failed or is blocked can be retried; this one is waiting.");
    await typed(one, "cancel this");
    await one.page.keyboard.press("Enter");
    await one.page.getByLabel("Reason").fill("by keys");
    await one.button("Cancel the run").click();
    await one.status("Cancelled");
    await one.go("/");
    await one.says("54 runs");
    await typed(one, "this run");
    await one.says("No run or action has these words.");
    await one.close();
  });

  test.runIf(inject("full"))(
    "the file of the costs has each table, and each row opens its list",
    async () => {
      const one = await site.current.visit("/cost");
      await one.says("Spent in 14 days");
      const [saved] = await Promise.all([
        one.page.waitForEvent("download"),
        one.button("Export CSV").click(),
      ]);
      const [head, ...rows] = readFileSync(await saved.path(), "utf8")
        .trimEnd()
        .split("\r\n");
      expect(head).toBe("by,key,runs,inputTokens,cachedInputTokens,outputTokens,saved,cost,complete");
      const of = (by: string): string[] => rows.filter((row) => row.startsWith(`${by},`));
      expect(of("day")).toHaveLength(14);
      for (const by of ["workflow,support-agent", "model,model-x", "step,support-agent / answer"])
        expect(rows.find((row) => row.startsWith(`${by},`))).toMatch(/,49,980000,0,98000,0,4\.4\d*,yes$/);
      expect(of("tag").filter((row) => row.startsWith("tag,customer="))).toHaveLength(49);
      const opened = async (name: string): Promise<string> => {
        await one.go("/cost");
        await one.page.getByRole("link", { name, exact: true }).first().click();
        await expect.poll(async () => (await one.lines()).length, soon).toBeGreaterThan(0);
        return decodeURIComponent(one.place.replaceAll("+", " "));
      };
      expect(await opened("support-agent")).toContain("workflow=support-agent");
      expect(await opened("model-x")).toContain("model=model-x");
      expect(await opened("env=prod")).toContain("tag=env=prod");
      await one.close();
    },
  );
});
