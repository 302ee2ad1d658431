/**
 * The everyday tasks on the page, each with its clicks: a task that needs more than it is allowed here fails. Keys that are pressed
 * and fields that are filled are not clicks.
 */

import { readFileSync } from "node:fs";
import { createApp, durable, MemoryStorage } from "@durable/core";
import { traceOf } from "@durable/core/inspect";
import type { Locator } from "playwright-core";
import { afterEach, describe, expect, inject, test } from "vitest";
import { axeProblems } from "./support/axe.ts";
import { picture, skipReason } from "./support/chromium.ts";
import { prices, secret } from "./support/journals.ts";
import { opened } from "./support/opened.ts";
import { soon, type Visitor } from "./support/visitor.ts";
import { trouble, yesterday } from "./support/yesterday.ts";

afterEach(() => trouble.add("429").add("no car"));

/** Clicks like a person, and counts them. */
class Hand {
  clicks = 0;
  readonly one: Visitor;

  constructor(one: Visitor) {
    this.one = one;
  }

  async click(what: Locator | string): Promise<void> {
    await (typeof what === "string" ? this.one.button(what) : what).click();
    this.clicks += 1;
  }

  link(name: string | RegExp): Promise<void> {
    return this.click(this.one.page.getByRole("link", { name, exact: typeof name === "string" }).first());
  }

  async search(text: string): Promise<void> {
    await this.one.page.keyboard.press("/");
    await this.one.page.keyboard.press("Control+a");
    await this.one.page.keyboard.type(text);
    await this.one.page.keyboard.press("Enter");
  }
}

/** Waits until the page says it: a screen is read in parts. */
async function reads({ one }: Hand, text: string | RegExp): Promise<void> {
  await expect.poll(() => one.page.locator("main").innerText(), soon).toMatch(text);
}

describe.skipIf(skipReason !== null)("everyday tasks", () => {
  const site = opened(() => yesterday(), {
    prices,
    traceUrl: "https://traces.example.com/trace/{traceId}",
  });

  /** Opens the page, does the task, and says how many clicks it took. */
  async function task(path: string, work: (hand: Hand) => Promise<void>): Promise<number> {
    const one = await site.current.visit(path);
    await one.settled();
    const hand = new Hand(one);
    await work(hand);
    await one.close();
    return hand.clicks;
  }

  test.runIf(inject("full"))(
    "a search is completed from the data, by keys alone and with the pointer",
    async () => {
      const one = await site.current.visit("/");
      await one.says("54 runs");
      const box = one.page.getByRole("combobox", { name: "Search runs" });
      const offered = one.page.getByRole("listbox", { name: "How the search may go on" });
      await one.page.keyboard.press("/");
      await offered.getByRole("option", { name: "workflow:" }).waitFor();
      await one.page.keyboard.type("41");
      // Nobody has to know that customers are a tag.
      await offered.getByRole("option", { name: "tag:customer=41" }).waitFor();
      expect(await axeProblems(one.page)).toEqual([]);
      await picture(one.page, "search-suggestions");
      await one.page.keyboard.press("ArrowDown");
      await expect.poll(() => box.getAttribute("aria-activedescendant"), soon).toBe("search-0");
      await one.page.keyboard.press("Enter");
      await expect.poll(() => box.inputValue(), soon).toBe("tag:customer=41 ");
      await one.page.keyboard.type("sta");
      await offered.getByRole("option", { name: "status:" }).click();
      await offered.getByRole("option", { name: "status:failed" }).click();
      await expect.poll(() => box.inputValue(), soon).toBe("tag:customer=41 status:failed ");
      await one.page.keyboard.press("Enter");
      await expect.poll(() => one.lines(), soon).toEqual(["Failed support-agent support-41"]);
      await expect.poll(() => offered.count(), soon).toBe(0);
      await one.close();
    },
  );

  test.runIf(inject("full"))(
    "1 and 2: the failed run of customer 42 of yesterday, and why it failed: no click, one to open it",
    async () => {
      const clicks = await task("/", async (hand) => {
        await hand.search("status:failed tag:customer=42 since:2d");
        await expect.poll(() => hand.one.lines(), soon).toEqual(["Failed support-agent support-42"]);
        await reads(hand, "No car left in Lisbon");
        await hand.link("support-agent support-42");
        await hand.one.status("Failed");
        await reads(hand, /in answer[^]*No car left in Lisbon[^]*Input[^]*customer: 42/);
      });
      expect(clicks).toBe(1);
    },
  );

  test.runIf(inject("full"))("3: retry in place: one click, and the failure and its cost stay", async () => {
    trouble.delete("no car");
    const clicks = await task("/runs/support-41", async (hand) => {
      await hand.click("Retry");
      await hand.one.status("Completed");
      await reads(hand, /Spent\s+\$0\.1800/);
    });
    expect(clicks).toBe(1);
  });

  test("4: approve by a form: two clicks", async () => {
    const clicks = await task("/inbox?run=refund-2&key=approve", async (hand) => {
      await hand.one.says("Refund order 88192?");
      await hand.click(hand.one.page.getByRole("radio", { name: "Approve" }));
      await hand.one.page.getByLabel("Remark").fill("it was late");
      await hand.click("Answer");
      await hand.one.says("Your answer was received.");
    });
    expect(clicks).toBe(2);
    expect(await site.current.app.get("refund-2").result()).toBe("paid");
  });

  test.runIf(inject("full"))("5: fork with an edited value, and compare: four clicks", async () => {
    const clicks = await task("/runs/support-44", async (hand) => {
      const { page } = hand.one;
      await hand.click(hand.one.row("classify"));
      await hand.click("Edit output and re-run");
      await page.getByLabel("Output as JSON").fill('"complaint"');
      await expect.poll(() => hand.one.button("Create the fork").isEnabled(), soon).toBe(true);
      await hand.click("Create the fork");
      await hand.one.says("Compare with its parent");
      await hand.one.status("Completed");
      await hand.link("Compare with its parent");
      await page.locator("ins", { hasText: "complaint" }).first().waitFor();
    });
    expect(clicks).toBe(4);
  });

  test.runIf(inject("full"))("6: the dearest run, model and step of these days: one click", async () => {
    const clicks = await task("/", async (hand) => {
      await hand.link("Cost");
      await reads(hand, /By model[^]*model-x/);
      await reads(hand, "support-agent / answer");
      await reads(hand, /Dearest[^]*support-/i);
    });
    expect(clicks).toBe(1);
  });

  test.runIf(inject("full"))("7: what the fleet does, and what is stuck: no click", async () => {
    const clicks = await task("/", async (hand) => {
      await reads(
        hand,
        /due, and no driver takes it\s+newsletter, the longest for \d+ h.*No worker has this workflow/,
      );
    });
    expect(clicks).toBe(0);
  });

  test.runIf(inject("full"))(
    "8: pause a workflow that does nothing, with a reason: three clicks",
    async () => {
      const clicks = await task("/operate", async (hand) => {
        await hand.click(hand.one.page.getByRole("tab", { name: "Workers" }));
        await hand.click("Pause newsletter");
        await hand.one.page.getByLabel("Reason").fill("a wrong link");
        await hand.click("Pause the workflow");
        await hand.one.says("Paused: a wrong link");
      });
      expect(clicks).toBe(3);
      expect(await site.current.app.paused()).toMatchObject([
        { workflow: "newsletter", reason: "a wrong link" },
      ]);
      await site.current.app.unpause("newsletter");
    },
  );

  test.runIf(inject("full"))("10: share a run as a file: two clicks", async () => {
    const clicks = await task("/runs/support-40", async (hand) => {
      await hand.click(hand.one.page.getByText("Share", { exact: true }));
      const [saved] = await Promise.all([
        hand.one.page.waitForEvent("download"),
        hand.click("HTML file, redacted"),
      ]);
      expect(readFileSync((await saved.path()) ?? "", "utf8")).toContain("No car left in Lisbon");
    });
    expect(clicks).toBe(2);
  });

  test.runIf(inject("full"))("11: runs by words of their errors: no click", async () => {
    const clicks = await task("/", async (hand) => {
      await hand.search("Lisbon");
      await expect.poll(async () => (await hand.one.lines()).length, soon).toBeGreaterThanOrEqual(1);
      await expect
        .poll(
          async () =>
            (await hand.one.lines()).every((line) => /^Failed support-agent support-4[0-2]$/.test(line)),
          soon,
        )
        .toBe(true);
    });
    expect(clicks).toBe(0);
  });

  test.runIf(inject("full"))(
    "12: from a trace id to its run and back: no click with Ctrl-K, and a link of the run to its trace",
    async () => {
      const trace = traceOf(await site.current.app.get("support-7").entries());
      expect(trace).toMatch(/^[0-9a-f]{32}$/);
      const clicks = await task("/", async (hand) => {
        const { page } = hand.one;
        await hand.search(trace);
        await expect.poll(() => hand.one.lines(), soon).toEqual(["Failed support-agent support-7"]);
        await page.keyboard.press("Control+k");
        await page.getByRole("combobox", { name: "Words of a run" }).waitFor();
        await page.keyboard.type(trace);
        await page.getByRole("option", { name: /support-7/ }).waitFor();
        await page.keyboard.press("Enter");
        await expect.poll(() => hand.one.place, soon).toBe("/runs/support-7");
        const link = page.getByRole("link", { name: `trace ${trace.slice(0, 8)}` });
        expect(await link.getAttribute("href")).toBe(`https://traces.example.com/trace/${trace}`);
        await picture(page, "task-trace");
      });
      expect(clicks).toBe(0);
    },
  );

  test.runIf(inject("full"))("13: the 40 runs that failed alike are retried: two clicks", async () => {
    trouble.delete("429");
    const clicks = await task("/", async (hand) => {
      await hand.click("Retry 40");
      await hand.click("Retry 40 runs");
      await hand.one.says("Retried 40 runs.");
    });
    expect(clicks).toBe(2);
  });
});

describe.skipIf(skipReason !== null)("a stream", () => {
  const more = Promise.withResolvers<void>();
  const story = durable("story", async (ctx) => {
    await ctx.stream("tell", async function* () {
      yield { type: "text-delta", id: "1", delta: "Once upon a time " };
      await more.promise;
      yield { type: "text-delta", id: "1", delta: "the sea rose twice a day." };
    });
  });
  const site = opened(async () => {
    const app = createApp({ storage: new MemoryStorage(), secret, workflows: [story], bind: false });
    await app.start("story", undefined, { id: "story-1" });
    return app;
  });

  test.runIf(inject("full"))("9: watch the words of a run as they come: two clicks", async () => {
    const one = await site.current.visit("/");
    const hand = new Hand(one);
    await hand.link("story story-1");
    await hand.click(one.row("tell"));
    await one.says("Once upon a time");
    expect(await one.page.locator("main").innerText()).not.toContain("the sea rose");
    more.resolve();
    await one.says("the sea rose twice a day.");
    await one.status("Completed");
    expect(hand.clicks).toBe(2);
    await one.close();
  });
});
