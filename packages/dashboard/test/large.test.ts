/**
 * A run of 10,000 steps, and in `npm run test:full` a list of 100,000 runs: what the page makes of them is counted.
 * `SCREENSHOTS=<folder>` also keeps the times, which are not asserted.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, durable, MemoryStorage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type DashboardServer, serveDashboard } from "../src/node/index.ts";
import { openBrowser, picture, skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import { soon, Visitor } from "./support/visitor.ts";

let browser: Browser;
const sites: DashboardServer[] = [];

const watchScript = `
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((e) => Math.round(e.duration))))
    .observe({ type: "longtask", buffered: true });`;

interface Figures {
  readonly firstPaintMs: number;
  readonly longTasksMs: readonly number[];
  readonly nodes: number;
}

async function figuresOf(page: Page): Promise<Figures> {
  return page.evaluate(() => ({
    firstPaintMs: Math.round(performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1),
    longTasksMs: (window as unknown as { longTasks: number[] }).longTasks,
    nodes: document.querySelectorAll("*").length,
  }));
}

function keep(name: string, figures: unknown): void {
  const folder = process.env["SCREENSHOTS"];
  if (folder === undefined || folder === "") return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(figures, null, 2)}\n`);
}

/** Scrolls a list from top to bottom, frame by frame, and counts the most lines that existed at a time. */
function scrollThrough(page: Page, frames: number): Promise<number> {
  return page.evaluate(async (count) => {
    const list = document.querySelector(".virtual")!;
    let most = 0;
    for (let i = 0; i <= count; i++) {
      list.scrollTop = (i / count) * list.scrollHeight;
      await new Promise((resolve) => requestAnimationFrame(resolve));
      most = Math.max(most, list.querySelectorAll(".virtual-lines > *").length);
    }
    return most;
  }, frames);
}

describe.skipIf(skipReason !== null)("large", () => {
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    for (const site of sites) await site.close();
  });

  // A tenth of it here, and fewer frames, each of which is painted.
  const steps = inject("full") ? 10_000 : 1_000;
  const frames = inject("full") ? 60 : 15;

  test.runIf(inject("full"))(`a run of ${steps} steps opens and scrolls with few nodes`, async () => {
    const flow = durable("large", async (ctx) => {
      for (let round = 0; round < steps / 1_000; round++)
        await ctx.map(
          Array.from({ length: 1_000 }, (_, i) => i),
          (c, i) => c.step("work", () => i),
          { name: "batch" },
        );
    });
    const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow] });
    await app.start("large", null, { id: "big" }).then((run) => run.result());
    const site = await serveDashboard({ app, port: 0 });
    sites.push(site);
    const one = await Visitor.open(browser, site.url);
    await one.says("big");
    await one.context.addInitScript(watchScript);
    await one.go("/runs/big");
    await one.status("Completed");
    const opened = await figuresOf(one.page);
    expect(await one.page.locator(".stats").textContent()).toContain(String(steps));
    const most = await scrollThrough(one.page, frames);
    expect(most).toBeLessThan(80);
    await one
      .row("999 / work")
      .or(one.page.getByRole("option", { name: /999 \/ work/ }))
      .first()
      .waitFor();
    const scrolled = await figuresOf(one.page);
    expect(opened.nodes).toBeLessThan(1_500);
    expect(scrolled.nodes).toBeLessThan(1_500);
    await one.page.keyboard.press("2");
    await one.page.getByRole("listbox", { name: "Journal" }).waitFor();
    await scrollThrough(one.page, frames / 3);
    await one.page.getByRole("option", { name: /run\.completed/ }).waitFor();
    keep("large-run", { opened, scrolled, linesAtATime: most });
    await picture(one.page, "large-run");
    await one.close();
  });

  test.runIf(inject("full"))(
    "100,000 runs page and filter, and only what is scrolled to is loaded",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "dashboard-large-"));
      const storage = new SqliteStorage(join(folder, "journal.db"));
      const flow = (name: string) => durable(name, (ctx) => ctx.step("one", () => 1));
      const app = createApp({ storage, secret, workflows: [flow("even"), flow("odd")] });
      const total = 100_000;
      for (let i = 0; i < total; i += 2_000)
        await Promise.all(
          Array.from({ length: 2_000 }, (_, j) =>
            app.start((i + j) % 2 === 0 ? "even" : "odd", i + j, { id: `run-${i + j}`, drive: false }),
          ),
        );
      for (const id of ["run-7", "run-50000"]) await app.advance(id);
      const site = await serveDashboard({ app, port: 0 });
      sites.push(site);
      const one = await Visitor.open(browser, site.url);
      let bytes = 0;
      one.page.on("response", (response) => {
        if (response.url().includes("/api/"))
          void response.body().then(
            (body) => (bytes += body.length),
            () => {},
          );
      });
      await one.says("run-99999");
      expect((await one.lines()).length).toBeLessThan(60);
      await one.button("Completed 2").click();
      await expect.poll(async () => (await one.lines()).length, soon).toBe(2);
      await one.go("/?workflow=odd");
      await one.says("run-99999");
      await one.go("/?text=run-12345");
      await expect
        .poll(() => one.page.getByRole("status").allTextContents(), soon)
        .toContainEqual(expect.stringMatching(/runs?/));
      const found = one.page.getByRole("link", { name: /run-12345$/ }).first();
      const further = one.button("search further back");
      while (
        await found
          .or(further)
          .first()
          .waitFor()
          .then(() => found.isHidden())
      )
        // It goes while it searches.
        await further.click({ timeout: 2_000 }).catch(() => {});
      expect((await one.lines()).some((line) => line.endsWith("run-12345"))).toBe(true);
      expect(bytes).toBeLessThan(3_000_000);
      keep("large-list", {
        bytes,
        ...(await one.page.evaluate(() => ({ nodes: document.querySelectorAll("*").length }))),
      });
      await one.close();
      await storage.close();
      rmSync(folder, { recursive: true, force: true });
    },
  );
});
