/** What nobody sees, or what changes the order of other text, is drawn by its name. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { visible } from "../page/lib/visible.ts";
import { serveDashboard, type DashboardServer } from "../src/node/index.ts";
import type { Browser } from "playwright-core";
import { openBrowser, picture, skipReason } from "./support/chromium.ts";
import { Visitor } from "./support/visitor.ts";
import { secret } from "./support/journals.ts";

test("controls, marks of direction, private use and what has no width have names; the rest stays", () => {
  expect(visible("pay \u202Eevil\u202C")).toBe("pay ⟨U+202E⟩evil⟨U+202C⟩");
  expect(visible("\uE000\u200B\u{E0041}\u009B\u061C\uFEFF")).toBe(
    "⟨U+E000⟩⟨U+200B⟩⟨U+E0041⟩⟨U+009B⟩⟨U+061C⟩⟨U+FEFF⟩",
  );
  for (const text of ["a\tb\nc", "naïve 日本 😀 👩‍👩‍👧", "שלום", "مرحبا", ""]) expect(visible(text)).toBe(text);
});

describe.skipIf(skipReason !== null)("in the page", () => {
  let browser: Browser;
  let site: DashboardServer;
  const flow = durable("spoof", async (ctx) => {
    await ctx.step("שלום step", () => "fine \u202Eevil reversed");
    await ctx.suspend("approve", { note: "Pay \u202E000,1\u202C to \uE0008 Alice?" });
  });

  beforeAll(async () => {
    browser = await openBrowser();
    const app = createApp({
      storage: new MemoryStorage(),
      workflows: [flow],
      secret,
      bind: false,
      patience: 0,
    });
    await app.run("spoof", undefined, { id: "spoof-1", tags: { who: "a\u202Eb" } });
    site = await serveDashboard({ app, port: 0 });
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  test.runIf(inject("full"))("a note, a value, a tag and a name are drawn as they are", async () => {
    const visit = (path: string): Promise<Visitor> =>
      Visitor.open(browser, `${site.origin}${path}#${new URL(site.url).hash.slice(1)}`);
    const inbox = await visit("/inbox");
    await inbox.says("Pay ⟨U+202E⟩000,1⟨U+202C⟩ to ⟨U+E000⟩8 Alice?");
    const drawn = await inbox.page.evaluate(() => document.querySelector("#app")?.textContent ?? "");
    expect(drawn).not.toMatch(/[\u202A-\u202E\uE000-\uF8FF]/);
    await picture(inbox.page, "hidden-characters");
    await inbox.close();
    const run = await visit(`/runs/spoof-1?step=${encodeURIComponent("שלום step")}`);
    await run.says("fine ⟨U+202E⟩evil reversed");
    await run.says("a⟨U+202E⟩b");
    expect(await run.page.locator('[dir="auto"]', { hasText: "שלום" }).count()).toBeGreaterThan(0);
    await picture(run.page, "hidden-characters-run");
    await run.close();
  });
});
