/** What the page of a run says: sentences, rows, sums of children, and the same in a real browser. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { traceOf } from "@durable/core/inspect";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { ChildSums, RunPage, Tree } from "../src/api.ts";
import { type DashboardServer, serveDashboard } from "../src/node/index.ts";
import { happeningsOf, sentenceOf } from "../page/lib/story.ts";
import { shownRows } from "../page/lib/rows.ts";
import { Site } from "./support/ask.ts";
import { axeProblems } from "./support/axe.ts";
import { openBrowser, picture, skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import { createRunPages, type RunPages, runPrices } from "./support/run-pages.ts";
import { soon, Visitor } from "./support/visitor.ts";

let pages: RunPages;
let site: Site;
const traceUrl = "https://traces.example.com/{traceId}";
const read = (runId: string): Promise<RunPage> => site.get<RunPage>(`runs/${runId}`);
const said = (run: RunPage): string =>
  sentenceOf(run, run.now)
    .map(({ text }) => text)
    .join("");
const rowsOf = (run: RunPage) => shownRows(run, { tries: "both", closed: new Set(), children: new Map() });

beforeAll(async () => {
  // A second of the runs is long enough for what is under way to be known.
  pages = await createRunPages(new MemoryStorage(), 20);
  site = new Site({ app: pages.app, prices: runPrices, traceUrl });
});
afterAll(() => pages.close());

describe("the sentence of a run", () => {
  test("says what it does, what it waits for and until when, and where it failed", async () => {
    await expect.poll(async () => said(await read("support-8812")), soon).toMatch(/^answer, attempt 2, for /);
    expect(said(await read("refund-5107"))).toMatch(/^for approve, expires in \d+ min/);
    expect(said(await read("reminder-1"))).toMatch(/^until .*, wakes in 1 d 23 h$/);
    expect(said(await read("trip-2290"))).toBe("in car, after 3 attempts; ↶ all undone");
    expect(said(await read("numbers-1"))).toMatch(/^in \d/);
  });

  test("what just happened stands beside it, the latest first", async () => {
    const trip = happeningsOf(await read("trip-2290"), 20);
    expect(trip[0]).toMatchObject({ name: "run", is: "bad" });
    expect(trip.map(({ name }) => name).filter((name) => name.startsWith("undo"))).toEqual([
      "undo hold",
      "undo flight",
      "undo hotel",
    ]);
    const support = happeningsOf(await read("support-8812"), 4);
    expect(support.map(({ name }) => name)).toContain("retry");
    expect(support.some(({ text }) => text.includes("429 Too Many Requests"))).toBe(true);
  });
});

describe("the rows of a run", () => {
  test("what was taken back is a group of its own, at the end", async () => {
    const rows = rowsOf(await read("trip-2290"));
    expect(
      rows.map(({ name, undoes, depth }) => `${"  ".repeat(depth)}${undoes ? "↶ " : ""}${name}`),
    ).toEqual([
      "quote",
      "hold",
      "flight",
      "hotel",
      "car",
      "↶ Undo, last first",
      "  ↶ hotel",
      "  ↶ flight",
      "  ↶ hold",
    ]);
    expect(rows.filter(({ undone }) => undone).map(({ name }) => name)).toEqual(["hold", "flight", "hotel"]);
  });

  test("tries can be shown alone, and a child that is open has its rows below it", async () => {
    const run = await read("support-8812");
    const of = (tries: "old" | "new") => shownRows(run, { tries, closed: new Set(), children: new Map() });
    expect(of("old").map(({ name, tried }) => [name, tried])).toEqual([["answer", 1]]);
    expect(of("new").some(({ tried }) => tried !== undefined)).toBe(false);
    const child = run.rows.find((row) => row.child !== undefined)?.child ?? "";
    const open = shownRows(run, {
      tries: "new",
      closed: new Set(),
      children: new Map([[child, await read(child)]]),
    });
    const at = open.findIndex((row) => row.child === child);
    expect(
      open
        .slice(at, at + 5)
        .map(({ name, branch, run: of, depth }) => [branch ?? "", name, of === child, depth]),
    ).toEqual([
      ["", "policy-brief", false, 0],
      ["", "plan", true, 1],
      ["", "parallel", true, 1],
      ["web", "search", true, 2],
      ["law", "search", true, 2],
    ]);
  });
});

test("children have the sums of all below them, forks are none, and refused runs are left out", async () => {
  const leaf = durable("leaf", (ctx) =>
    ctx.step("ask", (info) => info.meter({ model: "m", inputTokens: 10, outputTokens: 0 })),
  );
  const middle = durable("middle", async (ctx) => {
    await ctx.step("ask", (info) => info.meter({ model: "m", inputTokens: 1, outputTokens: 0 }));
    for (let n = 0; n < 3; n++) await ctx.child(leaf, undefined, { name: `leaf ${n}` });
  });
  const top = durable("top", (ctx) => ctx.child(middle, undefined));
  const app = createApp({
    storage: new MemoryStorage(),
    workflows: [leaf, middle, top],
    secret,
    bind: false,
    prices: { m: { input: 1e6, output: 0 } },
  });
  await app.run("top", undefined, { id: "top-1" });
  const forked = await app.get("top-1").fork({ from: "middle", id: "top-2" });
  await forked.result();
  const sums = Object.values(await new Site({ app }).get<ChildSums>("runs/top-1/children"));
  expect(sums).toEqual([{ runs: 4, tokens: 31, cost: 31, more: false }]);
  await app.close();
});

test("a fork shows the input of the run that has it, and how many forks there are", async () => {
  const third = await read("refund-5107-third");
  expect([third.input, third.inputOf]).toEqual([88_213, "refund-5107"]);
  const support = await read("support-8812");
  // Its child is below it, and no fork.
  expect(support.below.map(({ isFork }) => isFork)).toEqual([false]);
  const tree = await site.get<Tree>("runs/refund-5107/tree");
  expect(tree.nodes.map(({ steps }) => steps.map(({ mark }) => mark).join(""))).toEqual([
    "rrw",
    "hrw",
    "hrw",
  ]);
});

test("a run has the id of its trace, and a link only by a template that is one", async () => {
  const run = await read("refund-5107");
  expect(run.trace).toBe(traceOf(await pages.app.get("refund-5107").entries()));
  expect(run.traceUrl).toBe(`https://traces.example.com/${run.trace}`);
  for (const bad of ["javascript:alert(1)//{traceId}", "https://traces.example.com/"])
    expect(() => new Site({ app: pages.app, traceUrl: bad })).toThrow(/traceUrl/);
});

describe.skipIf(skipReason !== null)("in a browser", () => {
  let browser: Browser;
  let server: DashboardServer;
  const visit = (path: string, look: Parameters<typeof Visitor.open>[2] = {}): Promise<Visitor> =>
    Visitor.open(browser, `${server.origin}${path}#${new URL(server.url).hash.slice(1)}`, look);

  beforeAll(async () => {
    browser = await openBrowser();
    server = await serveDashboard({ app: pages.app, prices: runPrices, port: 0, traceUrl });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test.runIf(inject("full"))(
    "a run that works: its sentence, its tries, a child that opens, the panel of a model call",
    async () => {
      const one = await visit("/runs/support-8812?step=answer", { width: 1440, height: 1000 });
      await one.page.getByRole("heading", { name: /^Running answer, attempt 2, for/ }).waitFor();
      await one.says(/after .*429 Too Many Requests/);
      const timeline = one.page.getByRole("listbox", { name: "Timeline" });
      expect(await timeline.locator(".bar.now").count()).toBe(1);
      expect(await timeline.locator(".row.struck .t.c").textContent()).toMatch(/^\$0\.07/);
      await one.page.getByText("Since", { exact: true }).click();
      await expect.poll(() => timeline.locator(".row.struck").count(), soon).toBe(0);
      await one.page.getByText("Both", { exact: true }).click();
      const child = timeline.getByRole("option", { name: /child policy-brief/ });
      await expect.poll(() => child.locator(".c").textContent(), soon).toBe("Σ $0.0414");
      await child.locator(".arrow").click();
      await timeline.getByRole("option", { name: /step web \/ search/ }).click();
      await expect.poll(() => one.place, soon).toContain("in=");
      await one.page.getByRole("heading", { name: "parallel[web]/search" }).waitFor();
      await one.go("/runs/support-8812?step=ask");
      for (const tab of ["Prompt", "Answer", "Tools 1", "Usage", "Raw"]) {
        await one.page.getByRole("tab", { name: tab, exact: true }).click();
        await one.page.getByRole("tabpanel").waitFor();
        if (inject("full") || tab === "Prompt") expect(await axeProblems(one.page), tab).toEqual([]);
      }
      await one.page.getByRole("tab", { name: "Usage", exact: true }).click();
      await one.page.getByRole("rowheader", { name: "Input, cached" }).waitFor();
      await picture(one.page, "run-works");
      expect(await one.page.getByRole("link", { name: /^trace / }).getAttribute("href")).toMatch(
        /^https:\/\/traces/,
      );
      await one.close();
    },
  );

  test("a difference to the turn before is marked word by word", async () => {
    const one = await visit("/runs/support-8812?step=answer&panel=prompt");
    await one.page.locator("ins", { hasText: "three" }).first().waitFor();
    expect(await one.page.locator("del").first().textContent()).toBe("five");
    await one.close();
  });

  test("actions keep their place, and say why they are not possible", async () => {
    const names = async (one: Visitor): Promise<string[]> =>
      (await one.page.locator(".actions button.btn").allTextContents()).map(
        (text) => text.split(":")[0] ?? "",
      );
    const one = await visit("/runs/trip-2290");
    await one.status("Failed");
    const failed = await names(one);
    await one.page.getByRole("button", { name: /^Retry/ }).click({ force: true });
    await one.page
      .getByRole("status")
      .getByText(/compensation/)
      .or(one.page.locator(".notices", { hasText: /compensation/ }))
      .first()
      .waitFor();
    await one.says("No car left in Lisbon for 14 to 18 Dec");
    await one.go("/runs/refund-5107");
    await one.status("Waiting");
    expect(await names(one)).toEqual(failed);
    await one.close();
  });

  test("a wait that takes yes or no is answered in its banner", async () => {
    const one = await visit("/runs/refund-5107-third");
    await one.says("Refund 1,240 EUR for order 88213?");
    await one.button("No").click();
    await one.status("Completed");
    expect(await pages.app.get("refund-5107-third").result()).toBe(false);
    await one.close();
  });

  test.runIf(inject("full"))("a drag zooms in, 0 shows all again, and the address keeps it", async () => {
    const one = await visit("/runs/trip-2290");
    const axis = one.page.locator(".axis .scale");
    // It waits until the axis keeps its place.
    await axis.hover();
    await one.page.mouse.down();
    const box = (await axis.boundingBox())!;
    await one.page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2);
    await one.page.mouse.up();
    await expect.poll(() => one.place, soon).toMatch(/zoom=\d+-\d+/);
    await one.button("show all").waitFor();
    await one.page.keyboard.press("0");
    await expect.poll(() => one.place, soon).not.toContain("zoom");
    await one.page.keyboard.press("+");
    await expect.poll(() => one.place, soon).toMatch(/zoom=\d+-\d+/);
    await one.close();
  });

  test.runIf(inject("full"))("a large value is read in parts, and searched", async () => {
    const one = await visit("/runs/numbers-1?step=make");
    await one.page.getByRole("button", { name: /rows: 20000 items/ }).click();
    await one.page.getByRole("button", { name: "read on, 19,900 more items" }).click();
    await one.page.getByRole("button", { name: "read on, 19,800 more items" }).waitFor();
    await one.page.getByLabel("Search inside the value").fill("row 19999");
    await one.button("Search").click();
    await one.button("/rows/19999/name").click();
    await one.page
      .getByRole("group", { name: "The part at /rows/19999/name" })
      .getByText("row 19999")
      .waitFor();
    const [saved] = await Promise.all([one.page.waitForEvent("download"), one.button("Download").click()]);
    expect(saved.suggestedFilename()).toBe("numbers-1-make-value.json");
    await one.close();
  });

  test.runIf(inject("full"))(
    "every state fits wide and narrow, light and dark, and readers understand it",
    async () => {
      const all = [
        "support-8812?step=answer",
        "refund-5107",
        "trip-2290?step=car",
        "reminder-1",
        "refund-5107?tab=forks",
        "numbers-1?step=make",
      ];
      const states = inject("full") ? all : all.slice(0, 2);
      for (const [theme, width] of [
        ["light", 1440],
        ["dark", 390],
      ] as const) {
        const one = await visit("/", { theme, width, height: width === 390 ? 844 : 1_000 });
        await one.settled();
        for (const state of states) {
          await one.go(`/runs/${state}`);
          await one.settled();
          expect(await one.fits(), `${state} at ${width}`).toBe(true);
          expect(await axeProblems(one.page), `${state} ${theme}`).toEqual([]);
          await picture(one.page, `run-${state.replaceAll(/\W+/g, "-")}-${theme}-${width}`);
        }
        await one.close();
      }
    },
  );
});
