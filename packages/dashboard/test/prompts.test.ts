/** What was asked of a model: over the routes, in exported files, and in a real browser. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, durable, MemoryStorage, type Context, type StepInfo } from "@durable/core";
import type { KeepsPrompt, PromptRecord } from "@durable/core/storage";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { RunPage, StepDetail } from "../src/api.ts";
import { exportRun } from "../src/index.ts";
import { type DashboardServer, serveDashboard } from "../src/node/index.ts";
import { Site } from "./support/ask.ts";
import { axeProblems } from "./support/axe.ts";
import { openBrowser, skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import { Visitor } from "./support/visitor.ts";

const attack = `<img src=x onerror="window.__hit=1"><script>window.__hit=1</script>`;
const about = {
  about: "a",
  with: {
    model: `tide-1 ${attack}`,
    provider: "tides",
    tools: ["look", attack],
    settings: { [attack]: attack },
  },
};

const user = (text: string): object => ({ role: "user", content: [{ type: "text", text }] });

const talk = durable("talk", async (ctx) => {
  const ask = (name: string, record: PromptRecord): Promise<unknown> => asked(ctx, name, record);
  await ask("first", {
    add: [{ role: "system", content: "Be brief." }, user("mail ada@example.org"), user("old words")],
    hashes: ["h1", "h2", "h3"],
    ...about,
  });
  await ask("second", { keep: 2, after: "h2", add: [user(`new ${attack}`)], hashes: ["h4"], about: "a" });
  await ask("lost", { keep: 3, after: "none", add: [user("three")], hashes: ["h5"], about: "b" });
  await ctx.step("plain", () => 1);
});

function asked(ctx: Context, name: string, record: PromptRecord): Promise<unknown> {
  const keep = (info: StepInfo): void => (info as StepInfo & KeepsPrompt).keepPrompt(() => record);
  return ctx.step(name, (info) => {
    keep(info);
    return { content: [{ type: "text", text: `answer of ${name}` }], finishReason: "stop" };
  });
}

const storage = new MemoryStorage();
const app = createApp({ storage, secret, workflows: [talk], record: { prompts: true } });
const site = new Site({ app });

beforeAll(async () => {
  await app.run(talk, undefined, { id: "talk-1" });
});

test("a row says that there is a prompt, and the step has it", async () => {
  const { rows } = await site.get<RunPage>("runs/talk-1");
  expect(rows.map(({ key, prompt }) => [key, prompt])).toEqual([
    ["first", true],
    ["second", true],
    ["lost", true],
    ["plain", undefined],
  ]);
  const step = (key: string): Promise<StepDetail> => site.get<StepDetail>(`runs/talk-1/step?key=${key}`);
  expect((await step("second")).prompt).toMatchObject({
    tools: ["look", attack],
    missing: 0,
    messages: [{ role: "system" }, {}, user(`new ${attack}`)],
    change: { key: "first", kept: 2, removed: [user("old words")], settings: [] },
  });
  expect((await step("lost")).prompt).toMatchObject({
    model: null,
    missing: 3,
    messages: [{}],
    change: null,
  });
  expect(await step("plain")).not.toHaveProperty("prompt");
});

test("an exported file has it redacted", async () => {
  const html = await exportRun(app, "talk-1");
  expect(html).toContain("Be brief.");
  expect(html).not.toContain("ada@example.org");
  expect(await exportRun(app, "talk-1", { redact: false })).toContain("ada@example.org");
  expect(await exportRun(app, "talk-1", { hide: ["prompt"] })).not.toContain("Be brief.");
});

describe.skipIf(skipReason !== null)("in a real browser", () => {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-prompts-"));
  let browser: Browser;
  let server: DashboardServer;

  beforeAll(async () => {
    [browser, server] = await Promise.all([openBrowser(), serveDashboard({ app, port: 0 })]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function look(one: Visitor): Promise<void> {
    const panel = one.page.getByRole("tabpanel", { name: "prompt" });
    await panel.getByText("1 message added, 1 removed, 2 kept").waitFor();
    const group = (mark: string) =>
      panel.getByRole("group", { name: `Messages ${mark} since the turn before` });
    expect(await group("added").textContent()).toContain(`new ${attack}`);
    expect(await group("removed").textContent()).toContain("old words");
    expect(await panel.textContent()).not.toContain("Be brief.");
    await panel.getByRole("button", { name: "show all 3 messages" }).click();
    await panel.getByText("Be brief.").waitFor();
    // The attack is text.
    expect(await panel.locator("img, script").count()).toBe(0);
    expect(await one.page.evaluate("window.__hit")).toBeUndefined();
    expect(one.outside).toEqual([]);
  }

  test.runIf(inject("full"))(
    "the prompt of a call shows what is new, and all of it; markup in it stays text",
    async () => {
      const one = await Visitor.open(browser, server.url, { bypassCSP: true });
      await one.page.getByText("talk").first().waitFor();
      await one.go("/runs/talk-1?step=second");
      await one.page.getByRole("tab", { name: "Prompt" }).click();
      await look(one);
      expect(await axeProblems(one.page)).toEqual([]);
      await one.go("/runs/talk-1?step=lost&panel=prompt");
      await one.page.getByText("3 earlier messages cannot be shown").waitFor();
      await one.go("/runs/talk-1?step=first&panel=prompt");
      await one.page.getByText("Be brief.").waitFor();
      await one.go("/runs/talk-1?step=plain");
      await one.page.getByRole("tab", { name: "Output" }).waitFor();
      expect(await one.page.getByRole("tab", { name: "Prompt" }).count()).toBe(0);
      await one.close();
    },
  );

  test("and in an exported file", async () => {
    const path = join(folder, "talk.html");
    writeFileSync(path, await exportRun(app, "talk-1"));
    const one = await Visitor.open(browser, `file://${path}?step=second&panel=prompt`, { bypassCSP: true });
    await one.page.locator("main .card").first().waitFor();
    if (!(await one.page.getByRole("tab", { name: "Prompt" }).isVisible()))
      await one.page.getByText("second").first().click();
    await one.page.getByRole("tab", { name: "Prompt" }).click();
    await look(one);
    expect(one.errors).toEqual([]);
    await one.close();
  });
});
