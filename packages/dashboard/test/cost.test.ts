/** What was spent, from heads alone; and pauses of idle workflows. */

import { MemoryStorage } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import type { CostReply, RunList } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { axeProblems } from "./support/axe.ts";
import { picture, skipReason } from "./support/chromium.ts";
import { prices } from "./support/journals.ts";
import { opened } from "./support/opened.ts";
import { soon } from "./support/visitor.ts";
import { yesterday } from "./support/yesterday.ts";

const cost = (20_000 * 3 + 2_000 * 15) / 1e6;

test("costs by workflow, model, step and tag, with rows that open their lists; no journal is read", async () => {
  const storage = new MemoryStorage();
  const site = new Site({ app: await yesterday(storage) });
  const reply = await site.get<CostReply>("cost?days=2");
  expect(reply.costs?.total.cost).toBeCloseTo(49 * cost, 6);
  expect(reply.costs?.failed.runs).toBe(43);
  expect(reply.costs?.workflows.map(({ key, runs }) => [key, runs])).toEqual([["support-agent", 49]]);
  expect(reply.costs?.labels.map(({ key }) => key)).toEqual(["support-agent / answer"]);
  expect(reply.costs?.tags.find(({ key }) => key === "customer=7")?.cost).toBeCloseTo(cost, 9);
  expect(reply.dearest[0]).toMatchObject({ workflow: "support-agent", tokens: 22_000 });
  expect(reply.costs?.days).toHaveLength(2);
  const { runs } = await site.get<RunList>("runs?model=model-x&step=answer&limit=100");
  expect(runs).toHaveLength(49);
  expect((await site.get<RunList>("runs?model=other")).runs).toEqual([]);
  Object.defineProperty(storage, "during", { value: undefined });
  expect((await site.get<CostReply>("cost?days=3")).costs).toBeNull();
});

describe.skipIf(skipReason !== null)("in a browser", () => {
  const site = opened(() => yesterday(), { prices });

  test.runIf(inject("full")).each([
    ["light", 1_440],
    ["dark", 390],
  ] as const)(
    "the dearest run, model, step and customer are on one screen: %s at %i",
    async (theme, width) => {
      const one = await site.current.visit("/cost", { theme, width, height: 1_000 });
      await one.says("Spent in 14 days");
      const text = await one.page.locator("main").innerText();
      expect(text).toMatch(/Spent in 14 days\s+\$4\.41/);
      expect(text).toMatch(/Paid for failures\s+\$3\.87/);
      expect(text).toMatch(/model-x/);
      expect(await one.fits()).toBe(true);
      expect(await axeProblems(one.page)).toEqual([]);
      await picture(one.page, `cost-${theme}-${width}`);
      if (width > 1_000) {
        const [saved] = await Promise.all([
          one.page.waitForEvent("download"),
          one.button("Export CSV").click(),
        ]);
        expect(saved.suggestedFilename()).toBe("cost-14-days.csv");
        await one.page.getByRole("link", { name: "support-agent / answer" }).click();
        await expect.poll(async () => (await one.lines()).length, soon).toBeGreaterThan(5);
        expect(one.place).toContain("step=answer");
      }
      await one.close();
    },
  );

  test.runIf(inject("full"))("Ctrl-K finds runs and actions by words, by keys alone", async () => {
    const one = await site.current.visit("/");
    await one.says("54 runs");
    await one.page.keyboard.press("Control+k");
    await one.page.getByRole("option", { name: /Inbox/ }).waitFor();
    await one.page.keyboard.type("support-7");
    await one.page.getByRole("option", { name: "support-agent support-7 Failed" }).waitFor();
    expect(await axeProblems(one.page)).toEqual([]);
    await picture(one.page, "palette");
    await one.page.keyboard.press("Enter");
    await expect.poll(() => one.place, soon).toBe("/runs/support-7");
    await one.page.keyboard.press("Control+k");
    await one.page.getByRole("combobox", { name: "Words of a run" }).waitFor();
    await one.page.keyboard.type("pause");
    await one.page.keyboard.press("Enter");
    await expect.poll(() => one.place, soon).toBe("/operate?tab=workers");
    await one.close();
  });

  test.runIf(inject("full"))("Ctrl-K takes what was typed, not what the screen still shows", async () => {
    const one = await site.current.visit("/");
    await one.says("54 runs");
    const enterAtOnce = async (words: string): Promise<void> => {
      await one.page.keyboard.press("Control+k");
      await one.page.getByRole("combobox", { name: "Words of a run" }).waitFor();
      await one.page.evaluate((value) => {
        const input = document.querySelector<HTMLInputElement>(".palette input");
        if (input === null) throw new Error("no palette");
        input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
        input.form?.requestSubmit();
      }, words);
    };
    await enterAtOnce("pause");
    await expect.poll(() => one.place, soon).toBe("/operate?tab=workers");
    await enterAtOnce("support-7");
    await expect.poll(() => one.place, soon).toBe("/runs/support-7");
    await enterAtOnce("no such words");
    await one.says("No run or action has these words.");
    await one.close();
  });

  test.runIf(inject("full"))(
    "a palette that Escape closed opens again with the next key, and stays open",
    async () => {
      const one = await site.current.visit("/runs/support-7");
      await one.status("Failed");
      const box = one.page.getByRole("combobox", { name: "Words of a run" });
      await one.page.keyboard.press("Control+k");
      await box.fill("words of before");
      // As Escape does, and the next key before the next frame, with which the browser tells that a dialog was closed.
      await one.page.evaluate(async () => {
        document.querySelector("dialog")?.requestClose();
        await Promise.resolve();
        window.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true }));
      });
      await expect.poll(() => box.inputValue(), soon).toBe("");
      await one.page.evaluate(
        () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
      );
      // In the page itself, the "u" of it leads back to the runs.
      await one.page.keyboard.type("pause");
      await one.page.keyboard.press("Enter");
      await expect.poll(() => one.place, soon).toBe("/operate?tab=workers");
      await one.close();
    },
  );

  test.runIf(inject("full"))("a dialog that is closed gives the focus back to its button", async () => {
    const one = await site.current.visit("/operate?tab=workers");
    const pause = one.button("Pause support-agent");
    const isFocused = (): Promise<boolean> => pause.evaluate((element) => element === document.activeElement);
    for (const close of [
      () => one.page.keyboard.press("Escape"),
      () => one.page.getByRole("dialog").getByRole("button", { name: "Close" }).click(),
    ]) {
      await pause.click();
      await one.page.getByLabel("Reason").waitFor();
      await close();
      await expect.poll(() => one.page.getByRole("dialog").count(), soon).toBe(0);
      await expect.poll(isFocused, soon).toBe(true);
    }
    await one.close();
  });

  test("a workflow without work is paused, with a reason", async () => {
    const { app, visit } = site.current;
    const one = await visit("/operate?tab=workers");
    await one.button("Pause support-agent").click();
    await one.page.getByLabel("Reason").fill("the provider is down");
    await one.button("Pause the workflow").click();
    await one.says("Paused: the provider is down");
    expect(await app.paused()).toMatchObject([{ workflow: "support-agent", reason: "the provider is down" }]);
    await picture(one.page, "operate-workers");
    await one.button("Unpause support-agent").click();
    await one.button("Pause support-agent").waitFor();
    await one.close();
  });
});
