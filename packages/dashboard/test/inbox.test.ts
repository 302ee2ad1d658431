/** The inbox as a list of things to decide: read from heads, searched, answered by keys, by forms and together. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import type { Inbox, RunWaits } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { axeProblems } from "./support/axe.ts";
import { picture, skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import { opened } from "./support/opened.ts";
import { soon } from "./support/visitor.ts";

const refundAnswer = z.object({
  approved: z.boolean(),
  amount: z.number().max(1_240).meta({ title: "Amount in EUR" }),
  payOutOn: z.iso.date().optional(),
  tell: z.email().optional(),
  items: z
    .array(
      z.object({
        what: z.string().min(1),
        pieces: z.number().int(),
        address: z.object({ city: z.string() }),
      }),
    )
    .optional(),
  remark: z.string().max(280).optional(),
});

const refund = durable("refund", async (ctx, input: { order: number; days?: number }) => {
  const answer = await ctx.suspend("approve", {
    schema: refundAnswer,
    timeout: `${input.days ?? 3} days`,
    note: {
      question: `Refund order ${input.order}?`,
      customer: "harbour-bikes",
      sure: 0.93,
      why: "Sums above 500 EUR need a person. The photo shows a crack at the head tube, and the frame is 14 months old.",
      photos: [{ name: "crack.jpg" }],
    },
  });
  return answer;
});
const ask = durable("ask", async (ctx, question: string) =>
  ctx.suspend("approve", { schema: z.boolean(), note: question }),
);
const both = durable("both", (ctx) =>
  ctx.parallel({
    price: (c) => c.suspend("price", { note: "Which price?" }),
    size: (c) => c.suspend("size", { note: "Which size?" }),
  }),
);

/** A storage that counts the reads of journals. */
class Counted extends MemoryStorage {
  reads = 0;
  override read(...args: Parameters<MemoryStorage["read"]>): ReturnType<MemoryStorage["read"]> {
    this.reads++;
    return super.read(...args);
  }
  override readChapter(
    ...args: Parameters<MemoryStorage["readChapter"]>
  ): ReturnType<MemoryStorage["readChapter"]> {
    this.reads++;
    return super.readChapter(...args);
  }
}

function made(storage = new MemoryStorage()) {
  return createApp({ storage, secret, workflows: [refund, ask, both], bind: false, patience: 0 });
}

test("the list is read from heads alone, by expiry, and a search finds questions, ids and tags", async () => {
  const storage = new Counted();
  const app = made(storage);
  for (const [i, days] of [9, 1, 4].entries())
    await app.run("refund", { order: 100 + i, days }, { id: `r${i}`, tags: { customer: String(40 + i) } });
  await app.run("ask", "Publish the brief?", { id: "brief" });
  await app.run("both", undefined, { id: "two" });
  const site = new Site({ app });
  storage.reads = 0;
  const inbox = await site.get<Inbox>("inbox");
  expect(storage.reads).toBe(0);
  expect(inbox.items.map(({ question, count }) => [question, count])).toEqual([
    ["Refund order 101?", 1],
    ["Refund order 102?", 1],
    ["Refund order 100?", 1],
    ["Publish the brief?", 1],
    [expect.stringMatching(/^Which (?:price|size)\?$/), 2],
  ]);
  expect(inbox.open).toEqual({ count: 6, more: false, late: 0, soon: 1 });
  const found = async (q: string): Promise<string[]> =>
    (await site.get<Inbox>(`inbox?q=${encodeURIComponent(q)}`)).items.map(({ runId }) => runId);
  expect(await found("refund 102")).toEqual(["r2"]);
  expect(await found("customer=41")).toEqual(["r1"]);
  expect(await found("PUBLISH")).toEqual(["brief"]);
  expect(await found("nothing like it")).toEqual([]);
  const { waits } = await site.get<RunWaits>("runs/two/waits");
  expect(waits.map(({ name }) => name).toSorted()).toEqual(["price", "size"]);
});

describe.skipIf(skipReason !== null)("in a browser", () => {
  const site = opened(async () => {
    const app = made();
    await app.run("refund", { order: 88_213, days: 1 }, { id: "refund-5107", tags: { customer: "42" } });
    await app.run("refund", { order: 88_190 }, { id: "refund-5108", tags: { customer: "19" } });
    for (let n = 1; n <= 4; n++) await app.run("ask", `Send letter ${n}?`, { id: `letter-${n}` });
    await app.run("both", undefined, { id: "two" });
    return app;
  });

  test("keys are heard as soon as what they are for is there", async () => {
    const one = await site.current.visit("/inbox?run=letter-1");
    await one.page.getByRole("heading", { name: "Send letter 1?" }).waitFor();
    await one.page.evaluate(() => {
      const watcher = new MutationObserver(() => {
        if (document.querySelector(".decision-head h2")?.textContent !== "Refund order 88213?") return;
        watcher.disconnect();
        window.dispatchEvent(new KeyboardEvent("keydown", { key: "a" }));
      });
      watcher.observe(document.body, { childList: true, subtree: true, characterData: true });
    });
    await one.page.getByRole("link", { name: /^Refund order 88213/ }).click();
    await expect.poll(() => one.page.getByRole("radio", { name: "Approve" }).isChecked(), soon).toBe(true);
    await one.close();
  });

  test.runIf(inject("full"))(
    "a form has words for names, dates, addresses, rows and nested fields, and keys for yes and no",
    async () => {
      const { app, visit } = site.current;
      const one = await visit("/inbox");
      await one.says("8 decisions, 1 expires within a day");
      await one.page.getByRole("heading", { name: "Refund order 88213?" }).waitFor();
      await one.says("harbour-bikes");
      await one.says("The photo shows a crack");
      await picture(one.page, "inbox-form");
      await one.page.keyboard.press("a");
      await expect.poll(() => one.page.getByRole("radio", { name: "Approve" }).isChecked(), soon).toBe(true);
      await one.page.getByLabel("Amount in EUR").fill("1225.10");
      await one.page.getByLabel("Pay out on").fill("2026-11-18");
      await one.page.getByLabel("Tell").fill("billing@harbour");
      await one.button("Add to items").click();
      await one.page.getByLabel("What").fill("Frame");
      await one.page.getByLabel("Pieces").fill("1");
      await one.page.getByLabel("City").fill("Kiel");
      await one.button("Add to items").click();
      await one.page.getByLabel("What").nth(1).fill("to be removed");
      await one.button("Remove 2 of items").click();
      await one.page.getByLabel("City").press("Control+Enter");
      await one.says("an address, such as name@company.example");
      expect(await one.page.getByLabel("Tell").getAttribute("aria-invalid")).toBe("true");
      await picture(one.page, "inbox-problem");
      await one.page.getByLabel("Tell").fill("billing@harbour.example");
      await one.page.getByLabel("Tell").press("Control+Enter");
      await one.says("Your answer was received.");
      expect(await app.get("refund-5107").result()).toEqual({
        approved: true,
        amount: 1_225.1,
        payOutOn: "2026-11-18",
        tell: "billing@harbour.example",
        items: [{ what: "Frame", pieces: 1, address: { city: "Kiel" } }],
      });
      // What is next is there already.
      await one.page.getByRole("heading", { name: "Refund order 88190?" }).waitFor();
      await one.close();
    },
  );

  test.runIf(inject("full"))(
    "a decision has a link, keys move and select, a search narrows, and several get one answer",
    async () => {
      const { app, visit } = site.current;
      const one = await visit("/inbox?run=letter-1&key=approve");
      await one.page.getByRole("heading", { name: "Send letter 1?" }).waitFor();
      await one.button("copy link").click();
      await one.says("Copied the link to this decision.");
      const link = await one.page.evaluate(() => navigator.clipboard.readText());
      expect(new URL(link).search).toBe("?run=letter-1&key=approve");
      await one.page.keyboard.press("n");
      await expect.poll(() => one.page.getByRole("radio", { name: "No" }).isChecked(), soon).toBe(true);
      await one.page.getByRole("radio", { name: "No" }).press("Control+Enter");
      await one.says("Your answer was received.");
      expect(await app.get("letter-1").result()).toBe(false);
      await one.page.getByLabel("Search the questions").fill("letter");
      await expect.poll(() => one.page.locator(".inbox-list li").count(), soon).toBe(3);
      await one.page.getByRole("heading", { name: "Send letter 2?" }).click();
      await one.page.keyboard.press("x");
      await one.page.keyboard.press("j");
      await one.page.getByRole("heading", { name: "Send letter 3?" }).waitFor();
      await one.page.keyboard.press("x");
      await one.button("Answer together").click();
      const dialog = one.page.getByRole("dialog", { name: "One answer for 2 runs" });
      await dialog.getByText("with the same form").waitFor();
      await dialog.getByText("Yes").click();
      await picture(one.page, "inbox-together");
      await dialog.getByRole("button", { name: "Answer all 2" }).click();
      await one.says("Answered 2 runs.");
      expect(await app.get("letter-2").result()).toBe(true);
      expect(await app.get("letter-3").result()).toBe(true);
      expect((await app.get("letter-4").outcome()).status).toBe("suspended");
      await one.close();
    },
  );

  test.runIf(inject("full"))(
    "a run that asks twice shows both questions; the screen is clean for screen readers at every width",
    async () => {
      const { visit } = site.current;
      for (const [theme, width] of [
        ["light", 1_440],
        ["dark", 390],
      ] as const) {
        const one = await visit("/inbox?run=two", { theme, width });
        await one.button("size").click();
        await one.page.getByRole("heading", { name: "Which size?" }).waitFor();
        expect(await one.fits()).toBe(true);
        expect(await axeProblems(one.page)).toEqual([]);
        await picture(one.page, `inbox-${theme}-${width}`);
        await one.close();
      }
    },
  );
});
