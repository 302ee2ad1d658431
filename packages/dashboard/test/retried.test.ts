/** A run that was retried: what the retry struck stays, over the routes and in a real browser. */

import { createApp, durable, FatalError, MemoryStorage, type App } from "@durable/core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { EntryPage, RunPage, StepDetail } from "../src/api.ts";
import { exportRun } from "../src/index.ts";
import { type DashboardServer, serveDashboard } from "../src/node/index.ts";
import { Site } from "./support/ask.ts";
import { openBrowser, picture, skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import { soon, Visitor } from "./support/visitor.ts";

const prices = { m: { input: 1, output: 1 } };

const ask = durable("ask", async (ctx) => {
  ctx.onCancel(() => {});
  await ctx.step("plan", () => "a plan");
  await ctx.step(
    "answer",
    async (info) => {
      info.meter({ model: "m", inputTokens: 1_000_000, outputTokens: 0 });
      await new Promise((resolve) => setTimeout(resolve, 30));
      throw new FatalError("429 too many requests");
    },
    { retry: false },
  );
});
const trip = durable("trip", async (ctx) => {
  await ctx.step("book", () => "seat", { compensate: () => {} });
  await ctx.step("pay", () => Promise.reject(new FatalError("declined")), { retry: false });
});
const naps = durable("naps", (ctx) => ctx.sleep("2 days"));
const waits = durable("waits", (ctx) => {
  ctx.onCancel(() => {});
  return ctx.suspend("ok", { timeout: "3 days" });
});
const workflows = [ask, trip, naps, waits];

let app: App;
let site: Site;

beforeAll(async () => {
  app = createApp({ storage: new MemoryStorage(), secret, workflows });
  site = new Site({ app, prices });
  for (const { name } of workflows) {
    const run = await app.start(name, undefined, { id: name });
    while ((await run.outcome()).status === "running") await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await app.get("ask").retry();
  await app
    .get("ask")
    .result()
    .catch(() => {});
});

test("the page of the run has the struck row, the retry and the whole cost; the journal has all entries", async () => {
  const run = await site.get<RunPage>("runs/ask");
  expect(run.totals).toMatchObject({ settled: 3, failedAttempts: 2, spent: { cost: 2 } });
  const struck = run.rows.find((row) => row.struck !== undefined);
  expect(run.retries).toMatchObject([
    { problem: expect.stringContaining("429") as string, row: struck?.key },
  ]);
  expect(struck).toMatchObject({ name: "answer", status: "failed" });
  const detail = await site.get<StepDetail>(`runs/ask/step?key=${encodeURIComponent(struck?.key ?? "")}`);
  expect(detail).toMatchObject({ spend: { cost: 1 } });
  const { entries, total } = await site.get<EntryPage>("runs/ask/journal");
  expect(total).toBe(run.entries);
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
  const retry = entries.find(({ kind }) => kind === "run.retried")?.seq;
  const gone = entries.filter((entry) => entry.struck !== undefined);
  expect(gone.map(({ kind, struck: by }) => [kind, by])).toEqual([
    ["step.failed", retry],
    ["run.failed", retry],
  ]);
  expect(await exportRun(app, "ask", { prices })).toContain("before the retry of");
});

test("the page knows where a retry would be refused", async () => {
  expect(await site.get<RunPage>("runs/ask")).toMatchObject({ status: "failed", retriable: true });
  expect(await site.get<RunPage>("runs/trip")).toMatchObject({ status: "failed", retriable: false });
  expect((await site.post("runs/trip/retry")).status).toBe(409);
});

describe.skipIf(skipReason !== null)("in a browser", () => {
  let browser: Browser;
  let server: DashboardServer;
  const visit = (path: string, theme: "light" | "dark" = "light"): Promise<Visitor> =>
    Visitor.open(browser, `${server.origin}${path}#${new URL(server.url).hash.slice(1)}`, { theme });

  beforeAll(async () => {
    browser = await openBrowser();
    server = await serveDashboard({ app, prices, port: 0, title: "retried" });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test("a retry has a line, its struck rows are pale, and the journal shows what was struck", async () => {
    const one = await visit("/runs/ask");
    await one.says(/Retried/);
    await one.says(/after .*429 too many requests/);
    await one.says("try 1");
    await picture(one.page, "retried");
    await one.button("show").click();
    await one.page.getByText(/^before the retry of \d{4}/).waitFor();
    expect(await one.button("Fork from here").count()).toBe(0);
    await picture(one.page, "retried-step");
    await one.go("/runs/ask?tab=journal");
    await one.page.locator(".entry.struck").first().waitFor();
    await expect.poll(() => one.page.locator(".entry.struck").count(), soon).toBe(2);
    await picture(one.page, "retried-journal");
    await one.close();
    const dark = await visit("/runs/ask", "dark");
    await dark.says(/Retried/);
    await picture(dark.page, "retried-dark");
    await dark.close();
  });

  test.runIf(inject("full"))(
    "Retry is offered where it is accepted; a head says until when; a clean-up that waits has no time",
    async () => {
      const one = await visit("/runs/ask");
      await one.button("Retry").waitFor();
      await one.go("/runs/trip");
      await one.status("Failed");
      const retry = one.page.getByRole("button", { name: /^Retry ?: / });
      expect(await retry.getAttribute("aria-disabled")).toBe("true");
      expect(await retry.getAttribute("title")).toMatch(/compensation/);
      await picture(one.page, "compensated");
      await one.go("/runs/naps");
      await one.page.getByRole("heading", { name: /Sleeping until .*, wakes in 1 d 23 h/ }).waitFor();
      await picture(one.page, "sleeping");
      await one.go("/runs/waits");
      await one.page.getByRole("heading", { name: /expires in 2 d 23 h/ }).waitFor();
      const cleanUp = one.page.getByRole("option", { name: /onCancel/ });
      expect(await cleanUp.textContent()).not.toContain("…");
      await picture(one.page, "waiting");
      await one.close();
    },
  );
});
