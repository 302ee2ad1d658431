/** All tabs of a browser hear of changes through one connection: it opens at most six to one server. */

import { createApp, durable, MemoryStorage, type App } from "@durable/core";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { createDashboard, type DashboardOptions } from "../src/index.ts";
import { type DashboardServer, serveDashboard } from "../src/node/index.ts";
import { openBrowser, skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import { soon } from "./support/visitor.ts";

const asks = durable("asks", async (ctx) => ({ said: await ctx.suspend("ask") }));

describe.skipIf(skipReason !== null)("tabs of one browser", () => {
  let browser: Browser;
  let app: App;
  let site: DashboardServer;
  beforeAll(async () => {
    browser = await openBrowser();
    app = createApp({ storage: new MemoryStorage(), workflows: [asks], secret, bind: false });
    site = await serveDashboard({ app, port: 0 });
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    await app?.close();
  });

  /** A browser with its connections for changes, by tab. */
  async function opened(): Promise<{ context: BrowserContext; open: Map<Request, Page> }> {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    context.setDefaultTimeout(soon.timeout);
    const open = new Map<Request, Page>();
    context.on("request", (request) => {
      if (new URL(request.url()).pathname === "/api/events") open.set(request, request.frame().page());
    });
    for (const end of ["requestfinished", "requestfailed"] as const)
      context.on(end as "requestfinished", (request) => void open.delete(request));
    context.on("page", (page) =>
      page.on("close", () => {
        for (const [request, owner] of open) if (owner === page) open.delete(request);
      }),
    );
    return { context, open };
  }

  async function tab(context: BrowserContext, path: string): Promise<Page> {
    const page = await context.newPage();
    await page.goto(`${site.origin}${path}#${new URL(site.url).hash.slice(1)}`);
    await page.getByText("live", { exact: true }).waitFor();
    return page;
  }

  async function started(id: string): Promise<() => Promise<void>> {
    const outcome = await app.run(asks, undefined, { id });
    const token = "waiting" in outcome ? (outcome.waiting[0]?.token ?? "") : "";
    return async () => void (await app.resume(token, "yes"));
  }

  const shows = (page: Page, state: string): Promise<void> =>
    page.locator("header, main, .pane").getByText(state, { exact: true }).first().waitFor();

  test.runIf(inject("full"))(
    "eight tabs that are seen share one connection, and each hears of its own run",
    async () => {
      const { context, open } = await opened();
      const answers = await Promise.all(Array.from({ length: 7 }, (_, n) => started(`eight-${n}`)));
      const pages: Page[] = [await tab(context, "/")];
      for (let n = 0; n < 7; n++) pages.push(await tab(context, `/runs/eight-${n}`));
      await expect.poll(() => open.size, soon).toBe(1);
      // Of those that do not read themselves, too.
      for (const n of [0, 6, 3]) {
        await answers[n]?.();
        await shows(pages[n + 1]!, "Completed");
      }
      await shows(pages[2]!, "Waiting");
      await expect.poll(() => open.size, soon).toBe(1);
    },
  );

  test.runIf(inject("full"))(
    "when the tab that reads is closed, hidden or goes elsewhere, another one reads on",
    async () => {
      const { context, open } = await opened();
      const names = ["a", "b", "c", "d"];
      const answers = await Promise.all(names.map((name) => started(`next-${name}`)));
      const pages = new Map<string, Page>();
      for (const name of names) pages.set(name, await tab(context, `/runs/next-${name}`));
      await expect.poll(() => open.size, soon).toBe(1);
      const ways: readonly ((page: Page) => Promise<unknown>)[] = [
        (page) => page.close(),
        (page) =>
          page.evaluate(() => {
            Object.defineProperty(document, "hidden", { value: true });
            document.dispatchEvent(new Event("visibilitychange"));
          }),
        (page) => page.goto("about:blank"),
      ];
      for (const way of ways) {
        const [reader] = open.values();
        const name = names.find((one) => pages.get(one) === reader) ?? "";
        await way(reader as Page);
        pages.delete(name);
        await expect
          .poll(() => open.size === 1 && ![...open.values()].includes(reader as Page), soon)
          .toBe(true);
        const [left] = pages.keys();
        // The last run is that of a tab which is still seen.
        if (pages.size > 1) continue;
        await answers[names.indexOf(left ?? "")]?.();
        await shows(pages.get(left ?? "") as Page, "Completed");
      }
    },
  );

  test("a browser without locks has a connection for each tab, as before", async () => {
    const { context, open } = await opened();
    await context.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, "locks"));
    const answer = await started("alone");
    const pages = [await tab(context, "/"), await tab(context, "/runs/alone")];
    await expect.poll(() => open.size, soon).toBe(2);
    await answer();
    await shows(pages[1]!, "Completed");
  });

  test.runIf(inject("full"))("another browser context shares nothing", async () => {
    const [one, two] = [await opened(), await opened()];
    await tab(one.context, "/");
    await tab(two.context, "/");
    await expect.poll(() => [one.open.size, two.open.size], soon).toEqual([1, 1]);
  });
});

test("one connection is about at most 50 runs, and leaves out those that may not be seen", async () => {
  const app = createApp({ storage: new MemoryStorage(), workflows: [asks], secret, bind: false });
  onTestFinished(() => app.close());
  const authorize: DashboardOptions["authorize"] = (_, action) =>
    !("runId" in action) || String(action.runId).startsWith("m-");
  const handler = createDashboard({ app, authorize });
  const events = (ids: readonly string[]): Promise<Response> => {
    const query = ids.map((id) => `run=${id}`).join("&");
    return handler(new Request(`http://localhost/api/events?${query}`, { headers: { host: "localhost" } }));
  };
  expect((await events(Array.from({ length: 51 }, (_, n) => `m-${n}`))).status).toBe(400);
  expect((await events(["v-1"])).status).toBe(403);
  const reply = await events(["v-1", "m-1"]);
  expect(reply.status).toBe(200);
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("event: run")) text += (await reader.read()).value ?? "";
  expect(text).toContain('"runId":"m-1"');
  expect(text).not.toContain("v-1");
  await reader.cancel();
});
