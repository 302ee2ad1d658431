/** What a person reads on the page of a run: answers as text, values as they are, times with their zone, forks that hang on calls. */

import { createApp, durable, MemoryStorage, type App, type Context } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import { opened } from "./support/opened.ts";
import { soon } from "./support/visitor.ts";

/** As @durable/ai-sdk records the parts of a streamed answer. */
const parts = [
  [3, { type: "stream-start", warnings: [] }],
  [5, "text-delta", "t", ["The tide", " turns"]],
  [9, "text-delta", "t", [" at noon."]],
];

const flow = durable("flow", async (ctx: Context) => {
  await ctx.step("value", () => ({ customer: "42", count: 42, list: ["a"] }));
  await ctx.stream("answer", async function* () {
    yield* parts;
  });
  const { web } = await ctx.parallel({
    web: (c) => c.step("look", () => "a page"),
    arxiv: (c) => c.step("look", () => "a paper"),
  });
  await ctx.step("draft", () => `with ${web}`);
  await ctx.suspend("approve", { timeout: "3 days" });
});

async function forked(): Promise<App> {
  const app = createApp({
    storage: new MemoryStorage(),
    secret,
    workflows: [flow],
    bind: false,
    patience: 0,
  });
  await app.run("flow", undefined, { id: "r1" });
  const below = async (parent: string, id: string, from: string): Promise<void> => {
    const run = await app.get(parent).fork({ from, id });
    await run.result().catch(() => {});
  };
  await below("r1", "f1", "draft");
  await below("f1", "f2", "parallel[web]/look");
  await below("f2", "f3", "draft");
  await app
    .get("f2")
    .fork({ edit: { draft: "another" }, id: "f4" })
    .then((run) => run.result().catch(() => {}));
  return app;
}

describe.skipIf(skipReason !== null)("the page of a run", () => {
  const site = opened(forked);

  test("a streamed answer is a chat, with a tab of streams", async () => {
    const one = await site.current.visit("/runs/r1?step=answer");
    await one.page.getByRole("tab", { name: "Chat", exact: true }).click();
    await one.says("The tide turns at noon.");
    // Forks of its forks are not its own.
    const tabs = one.page.getByRole("tablist", { name: "Views of the run" });
    await expect.poll(() => tabs.innerText(), soon).toMatch(/Streams 1\s+Forks 1/);
    await one.close();
  });

  test.runIf(inject("full"))(
    "texts have quotes, groups have their end, and what is read is said",
    async () => {
      const one = await site.current.visit("/runs/r1?step=value");
      await expect
        .poll(async () => (await one.page.locator(".panel").last().innerText()).replaceAll(/\s+/g, " "), soon)
        .toMatch(/\{.*customer: "42".*count: 42.*\}/);
      const held = Promise.withResolvers<void>();
      await one.page.route(/\/step\?key=draft/, async (route) => {
        await held.promise;
        await route.continue();
      });
      await one.row("draft").click();
      await one.page
        .locator(".panel")
        .getByText(/Reading/)
        .waitFor();
      held.resolve();
      await one.says("with a page");
      await one.close();
    },
  );

  test.runIf(inject("full"))("times of a step and of an entry have their zone, numbers too", async () => {
    const one = await site.current.visit("/runs/r1?step=draft");
    const zone = (await one.page.locator("button.zone").innerText()).trim();
    await one.says("with a page");
    await expect
      .poll(() => one.page.locator(".panel").last().innerText(), soon)
      .toMatch(new RegExp(String.raw`began \d\d:\d\d ${zone.replaceAll("+", "\\+")}`));
    const entries = await site.current.app.get("r1").entries();
    const at = entries.findIndex(({ kind }) => kind === "suspend.opened");
    await one.go(`/runs/r1?tab=journal&entry=${at}`);
    await one.page.getByRole("heading", { name: "suspend.opened" }).waitFor();
    const entry = async (): Promise<string> =>
      (await one.page.getByRole("region", { name: "The entry" }).innerText()).replaceAll(/\s+/g, " ");
    await expect.poll(entry, soon).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d/);
    // What the journal has as a number has its date beside it.
    await expect.poll(entry, soon).toMatch(/expiresAt: ?1[6-9]\d{11} ?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/);
    await one.close();
  });

  test.runIf(inject("full"))("the timeline has lines at its ticks", async () => {
    const one = await site.current.visit("/runs/r1");
    await one.row("draft").waitFor();
    const lines = one.page.locator("i.tick");
    await expect.poll(() => lines.count(), soon).toBeGreaterThan(2);
    expect(await one.page.locator(".axis .scale").innerText()).toMatch(/0 s/);
    const [height, row] = await Promise.all([
      lines.nth(1).evaluate((line) => line.getBoundingClientRect().height),
      one.row("draft").evaluate((each) => each.getBoundingClientRect().height),
    ]);
    expect(height).toBeGreaterThan(row);
    await one.close();
  });

  test("each branch of nested forks begins at a call of its parent; branches have their names, edits a mark", async () => {
    const one = await site.current.visit("/runs/r1?tab=forks");
    const tree = one.page.getByRole("group", { name: "Tree of forks, 5 runs" });
    await tree.waitFor();
    const drawn = await tree.evaluate((group) => {
      const nodes = [...group.querySelectorAll("circle")].map(
        (node) => `${node.getAttribute("cx")} ${node.getAttribute("cy")}`,
      );
      const begins = [...group.querySelectorAll("path")].flatMap(
        (path) => /^M([\d.]+ [\d.]+)C/.exec(path.getAttribute("d") ?? "")?.[1] ?? [],
      );
      return {
        begins,
        loose: begins.filter((begin) => !nodes.includes(begin)),
        pale: group.querySelectorAll("circle.h").length,
      };
    });
    expect(drawn.begins).toHaveLength(4);
    expect(drawn.loose).toEqual([]);
    expect(drawn.pale).toBeGreaterThan(4);
    const names = await tree.locator("text.s").allTextContents();
    expect(names.slice(0, 4)).toEqual(["value", "answer", "web/look", "arxiv/look"]);
    expect(names.some((name) => name.startsWith("✎ draft"))).toBe(true);
    await one.close();
  });

  test.runIf(inject("full"))("every screen has one first heading, also one that failed", async () => {
    const one = await site.current.visit("/");
    await one.page.getByRole("link", { name: "flow r1" }).waitFor();
    for (const path of [
      "/",
      "/inbox",
      "/cost",
      "/operate",
      "/operate?tab=limits",
      "/runs/r1",
      "/diff/r1/f1",
      "/runs/nobody",
      "/nothing",
    ]) {
      await one.go(path);
      await expect.poll(() => one.page.locator("h1").count(), { ...soon, message: path }).toBe(1);
    }
    one.errors.splice(0, one.errors.length, ...one.errors.filter((text) => !/status of 404/.test(text)));
    await one.close();
  });
});
