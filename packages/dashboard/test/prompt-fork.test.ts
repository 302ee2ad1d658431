/** "Fork with this prompt" in the panel of a model call: the plan and its price first, then the fork. */

import { createApp, durable, MemoryStorage, type App } from "@durable/core";
import { scriptedModel, type ModelTurn } from "../../testing/src/index.ts";
import { generateText } from "ai";
import { describe, expect, inject, test } from "vitest";
import { durableModel } from "../../ai-sdk/src/index.ts";
import { axeProblems } from "./support/axe.ts";
import { picture, skipReason } from "./support/chromium.ts";
import { prices, secret } from "./support/journals.ts";
import { opened } from "./support/opened.ts";
import { soon } from "./support/visitor.ts";

const system = "You answer customers of a bicycle shop. Be brief and kind.";

describe.skipIf(skipReason !== null)("a fork with another prompt", () => {
  const asked: string[] = [];

  async function shop(): Promise<App> {
    const model = scriptedModel((_, { prompt }): ModelTurn => {
      const first = prompt.find(({ role }) => role === "system");
      asked.push(typeof first?.content === "string" ? first.content : "none");
      return `answer ${asked.length}`;
    });
    const support = durable("support-agent", async (ctx, question: string) => {
      const on = durableModel(ctx, model, { match: "position" });
      const { text: kind } = await generateText({ model: on, prompt: `Sort this: ${question}` });
      const { text: draft } = await generateText({ model: on, system, prompt: `${kind}: ${question}` });
      return (await generateText({ model: on, system, prompt: `Shorter: ${draft}` })).text;
    });
    const app = createApp({
      storage: new MemoryStorage(),
      secret,
      prices,
      workflows: [support],
      record: { prompts: true },
      bind: false,
    });
    await app.run("support-agent", "Where is order 88213?", { id: "support-1" });
    return app;
  }

  const site = opened(shop, { prices });

  test.runIf(inject("full")).each([
    ["light", 1_440],
    ["dark", 390],
  ] as const)(
    "says what is paid again, makes the fork, and shows what it asked: %s at %i",
    async (theme, width) => {
      asked.length = 0;
      const other = `You answer in one sentence, ${theme}.`;
      const one = await site.current.visit("/runs/support-1?step=generate%232&panel=prompt", {
        theme,
        width,
        height: 1_000,
      });
      const field = one.page.getByRole("textbox", { name: "Fork with this prompt" });
      await expect.poll(() => field.inputValue(), soon).toBe(system);
      const fork = one.page.getByRole("button", { name: "Fork", exact: true }).last();
      expect(await fork.isDisabled()).toBe(true);
      await one.says("Change the prompt to see what would run again");
      await field.fill(other);
      await one.says(/1 call.*from the journal/);
      const plan = await one.page.locator(".plan").innerText();
      expect(plan).toMatch(/1 call\s+from the journal.*\$0\.\d+ saved/);
      expect(plan).toMatch(/2 calls\s+run again.*\$0\.\d+ at stake/);
      expect(asked).toEqual([]);
      expect(await one.fits()).toBe(true);
      expect(await axeProblems(one.page)).toEqual([]);
      await fork.scrollIntoViewIfNeeded();
      await picture(one.page, `prompt-fork-${theme}-${width}`);
      await fork.click();
      await one.says("Other system prompt");
      await one.status("Completed");
      // The call before it kept its answer, and so did its prompt.
      expect(asked).toEqual([other, other]);
      const panel = one.page.getByRole("region", { name: "The run" });
      for (const text of [system, other]) await expect.poll(() => panel.innerText(), soon).toContain(text);
      expect(await axeProblems(one.page)).toEqual([]);
      await picture(one.page, `prompt-forked-${theme}-${width}`);
      await one.close();
    },
  );

  test("a call without a system prompt can get one", async () => {
    asked.length = 0;
    const one = await site.current.visit("/runs/support-1?step=generate&panel=prompt");
    const field = one.page.getByRole("textbox", { name: "Fork with this prompt" });
    await one.says("where the code gives none");
    await field.fill("Sort with one word.");
    const fork = one.page.getByRole("button", { name: "Fork", exact: true }).last();
    await expect.poll(() => fork.isEnabled(), soon).toBe(true);
    await fork.click();
    await one.says("Other system prompt");
    await one.status("Completed");
    expect(asked).toEqual(["Sort with one word.", system, system]);
    await one.close();
  });
});
