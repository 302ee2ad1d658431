/** The question that is open in the inbox stays the one that its reader asked for, whatever else happens to the list. */

import { type App, createApp, durable, MemoryStorage } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import type { Inbox } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import { opened } from "./support/opened.ts";
import { soon, type Visitor } from "./support/visitor.ts";

const ask = durable("ask", async (ctx, { question, days }: { question: string; days?: number }) =>
  ctx.suspend("approve", {
    schema: z.object({ approved: z.boolean(), remark: z.string().optional() }),
    note: question,
    ...(days !== undefined && { timeout: `${days} days` }),
  }),
);
const both = durable("both", (ctx) =>
  ctx.parallel({
    price: (c) => c.suspend("price", { note: "Which price?" }),
    size: (c) => c.suspend("size", { note: "Which size?" }),
  }),
);
const count = 130;

async function asked(): Promise<App> {
  const app = createApp({
    storage: new MemoryStorage(),
    secret,
    workflows: [ask, both],
    bind: false,
    patience: 0,
  });
  for (let n = 1; n <= count; n++)
    await app.run("ask", { question: `Letter ${n}?`, days: n + 1 }, { id: `q${n}` });
  return app;
}

/** Answers as a colleague does, from elsewhere. */
async function colleague(
  app: App,
  runId: string,
  key = "approve",
  value: unknown = { approved: true },
): Promise<void> {
  const outcome = await app.get(runId).outcome();
  const wait = "waiting" in outcome ? outcome.waiting.find((each) => each.key.endsWith(key)) : undefined;
  expect(await app.resume(wait?.token ?? "", value)).toMatchObject({ status: "accepted" });
}

test("all that is loaded is read again with one request, and a search has more than one page", async () => {
  const site = new Site({ app: await asked() });
  const all = await site.get<Inbox>("inbox?limit=300");
  expect([all.items.length, all.next]).toEqual([count, null]);
  const first = await site.get<Inbox>("inbox?q=letter&limit=100");
  expect([first.items.length, typeof first.next]).toEqual([100, "string"]);
  const rest = await site.get<Inbox>(`inbox?q=letter&limit=100&cursor=${first.next}`);
  expect([rest.items.length, rest.next]).toEqual([30, null]);
  expect(new Set([...first.items, ...rest.items].map(({ runId }) => runId)).size).toBe(count);
});

describe.skipIf(skipReason !== null)("in a browser", () => {
  const site = opened(asked);
  const heading = (one: Visitor, name: string) => one.page.getByRole("heading", { name, exact: true });
  const lines = (one: Visitor): Promise<number> => one.page.locator(".inbox-list li").count();

  test("a link opens its question, also one that is not among the first; one that was answered says so", async () => {
    const { app, visit } = site.current;
    const one = await visit("/inbox?run=q130&key=approve");
    await heading(one, "Letter 130?").waitFor();
    await one.page.getByRole("radio", { name: "Approve" }).click();
    await one.page.getByLabel("Remark").fill("only with a stamp");
    // Another question that is more urgent than all of them.
    await app.run("ask", { question: "Urgent?", days: 1 }, { id: "urgent" });
    await one.page.getByRole("link", { name: /^Urgent\?/ }).waitFor();
    await colleague(app, "q130");
    await one.page.getByText("answered meanwhile").waitFor();
    expect(await heading(one, "Letter 130?").count()).toBe(1);
    expect(await one.page.getByLabel("Remark").inputValue()).toBe("only with a stamp");
    expect(await one.button("Answer").count()).toBe(0);
    await one.button("Go on with the next").click();
    await heading(one, "Urgent?").waitFor();
    await one.go("/inbox?run=q130&key=approve");
    await one.page.getByText("no longer waits for an answer").waitFor();
    await one.go("/inbox?run=q-unknown");
    await one.page.getByText("There is no run q-unknown").waitFor();
    await one.close();
  });

  test.runIf(inject("full"))(
    "without a link, the first question stays open when a more urgent one comes",
    async () => {
      const { app, visit } = site.current;
      const one = await visit("/inbox?q=letter");
      await heading(one, "Letter 1?").waitFor();
      await one.page.getByLabel("Remark").fill("mine");
      await app.run("ask", { question: "Letter of the king?", days: 1 }, { id: "king" });
      await one.page.getByRole("link", { name: /^Letter of the king/ }).waitFor();
      expect(await heading(one, "Letter 1?").count()).toBe(1);
      expect(await one.page.getByLabel("Remark").inputValue()).toBe("mine");
      // What was typed is there again after a look at another question.
      await one.page.getByRole("link", { name: /^Letter 2\?/ }).click();
      await heading(one, "Letter 2?").waitFor();
      expect(await one.page.getByLabel("Remark").inputValue()).toBe("");
      await one.page.getByRole("link", { name: /^Letter 1\?/ }).click();
      await heading(one, "Letter 1?").waitFor();
      expect(await one.page.getByLabel("Remark").inputValue()).toBe("mine");
      await one.close();
    },
  );

  test.runIf(inject("full"))("what show more has loaded stays when something changes", async () => {
    const { app, visit } = site.current;
    const one = await visit("/inbox");
    await expect.poll(() => lines(one), soon).toBe(100);
    await one.button("show more").click();
    await expect.poll(() => one.button("show more").count(), soon).toBe(0);
    const before = await lines(one);
    expect(before).toBeGreaterThan(100);
    await app.run("ask", { question: "One more?", days: 1 }, { id: "one-more" });
    await one.page.getByRole("link", { name: /^One more\?/ }).waitFor();
    expect(await lines(one)).toBe(before + 1);
    await one.close();
  });

  test.runIf(inject("full"))(
    "of two questions of a run, the open one stays when a colleague answers it",
    async () => {
      const { app, visit } = site.current;
      await app.run("both", undefined, { id: "two" });
      const one = await visit("/inbox?run=two");
      await one.button("price").click();
      await heading(one, "Which price?").waitFor();
      await one.page.getByLabel("Answer as JSON").fill("40");
      await colleague(app, "two", "price", 39);
      await one.page.getByText("answered meanwhile").waitFor();
      expect(await heading(one, "Which price?").count()).toBe(1);
      expect(await one.page.getByLabel("Answer as JSON").inputValue()).toBe("40");
      await one.button("size").click();
      await heading(one, "Which size?").waitFor();
      expect(await one.page.getByLabel("Answer as JSON").inputValue()).toBe("");
      await one.page.getByLabel("Answer as JSON").fill('"large"');
      await one.button("Answer").click();
      await one.says("Your answer was received.");
      expect(await app.get("two").result()).toEqual({ price: 39, size: "large" });
      await expect.poll(() => heading(one, "Which size?").count(), soon).toBe(0);
      await one.close();
    },
  );
});
