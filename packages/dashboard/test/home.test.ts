/** Home: figures of the time, what needs somebody, and bulk actions, from heads alone. */

import { type App, createApp, durable, Journal, MemoryStorage } from "@durable/core";
import { afterEach, describe, expect, inject, test, vi } from "vitest";
import type { Attention, Counts, Inbox, PulseReply, RunList } from "../src/api.ts";
import { csvOf } from "../page/lib/csv.ts";
import { forEach } from "../page/lib/many.ts";
import { Site } from "./support/ask.ts";
import { axeProblems } from "./support/axe.ts";
import { picture, skipReason } from "./support/chromium.ts";
import { prices, secret } from "./support/journals.ts";
import { opened } from "./support/opened.ts";
import { soon } from "./support/visitor.ts";
import { trouble, yesterday } from "./support/yesterday.ts";

afterEach(() => trouble.add("429").add("no car"));

const cost = (20_000 * 3 + 2_000 * 15) / 1e6;

/** A storage that counts the reads of journals: a read beyond the end is one of a head. */
class Counted extends MemoryStorage {
  reads = 0;
  override read(locator: string, from = 0): ReturnType<MemoryStorage["read"]> {
    if (from === 0) this.reads++;
    return super.read(locator, from);
  }
  override readChapter(
    ...args: Parameters<MemoryStorage["readChapter"]>
  ): ReturnType<MemoryStorage["readChapter"]> {
    this.reads++;
    return super.readChapter(...args);
  }
}

test("figures, failures by kind, late approvals, and work that nobody takes; no journal is read", async () => {
  const storage = new Counted();
  const site = new Site({ app: await yesterday(storage) });
  storage.reads = 0;
  const { pulse } = await site.get<PulseReply>("pulse?range=24h");
  expect(pulse?.total).toMatchObject({ started: 54, ended: 49, failed: 43, unpriced: false });
  expect(pulse?.total.cost).toBeCloseTo(49 * cost, 6);
  expect(pulse?.parts).toHaveLength(48);
  const attention = await site.get<Attention>("attention");
  expect(attention.failures?.map(({ message, count, key }) => [message, count, key])).toEqual([
    ["Error: 429 Too Many Requests: limit of model-x", 40, "answer"],
    ["Error: No car left in Lisbon", 3, "answer"],
  ]);
  expect(attention.failures?.[0]?.cost).toBeCloseTo(40 * cost, 6);
  expect(attention.failures?.[0]?.runs).toBeUndefined();
  expect(attention.waits).toMatchObject({ count: 4, late: 2, soon: 2 });
  expect(attention.waits.next?.question).toMatch(/^Refund order/);
  const names = attention.due?.map(({ workflow, due, hasWorker }) => [workflow, due, hasWorker]);
  expect(names).toContainEqual(["newsletter", 1, false]);
  const { id = "" } = attention.failures?.[1] ?? {};
  const one = await site.get<Attention>(`attention?group=${encodeURIComponent(id)}`);
  expect(one.failures?.map(({ runs }) => runs?.length)).toEqual([3]);
  expect((await site.get<PulseReply>("pulse?range=1h")).pulse?.total.started).toBe(0);
  expect((await site.fetch("/api/pulse?range=1y")).status).toBe(400);
  await site.get("runs");
  expect(storage.reads).toBe(0);
});

/** A run that asks a person while it works, one that is parked by its question, one that sleeps, and two open journals. */
async function questions(): Promise<App> {
  const busy = durable("busy", (ctx) =>
    ctx.parallel({
      ask: (c) => c.suspend("pay", { note: { question: "Pay 40?" } }),
      work: (c) =>
        c.step("work", ({ signal }) => new Promise((_, no) => signal.addEventListener("abort", no))),
    }),
  );
  const parked = durable("parked", (ctx) => ctx.suspend("send", { note: { question: "Send it?" } }));
  const asleep = durable("asleep", (ctx) => ctx.sleep("1 day"));
  const app = createApp({
    storage: new MemoryStorage(),
    secret,
    workflows: [busy, parked, asleep],
    bind: false,
    patience: 0,
  });
  await app.run("parked", undefined, { id: "parked" });
  await app.run("asleep", undefined, { id: "asleep" });
  void app.run("busy", undefined, { id: "busy" }).catch(() => null);
  await vi.waitFor(async () => expect((await app.list({ waiting: true })).runs).toHaveLength(2), soon);
  for (const id of ["chat-1", "chat-2"]) await (await Journal.open(id, { app })).record("say", () => "hello");
  return app;
}

test("every open question counts, also of a run that works; open journals do not run", async () => {
  const app = await questions();
  const site = new Site({ app });
  const counts = await site.get<Counts>("counts");
  const { open } = await site.get<Inbox>("inbox");
  expect([counts.waiting.count, counts.running.count, counts.suspended.count, open.count]).toEqual([
    2, 1, 2, 2,
  ]);
  const ids = async (query: string): Promise<string[]> =>
    (await site.get<RunList>(`runs?${query}`)).runs.map(({ runId }) => runId).toSorted();
  expect(await ids("waiting=yes")).toEqual(["busy", "parked"]);
  expect(await ids("status=running")).toEqual(["busy"]);
  expect(await ids("status=open")).toEqual(["chat-1", "chat-2"]);
  const { waits } = await site.get<Attention>("attention");
  expect(waits).toMatchObject({ count: 2, late: 0, soon: 0, other: { question: "Send it?" } });
  await app.close();
});

test("a storage without `during` has no figures, and the rest of the page", async () => {
  const storage = new MemoryStorage();
  const app = await yesterday(storage);
  Object.defineProperty(storage, "during", { value: undefined });
  const site = new Site({ app });
  expect((await site.get<PulseReply>("pulse")).pulse).toBeNull();
  expect(await site.get<Attention>("attention")).toMatchObject({ failures: null, waits: { late: 2 } });
  expect((await site.fetch("/api/runs?sort=cost")).status).toBe(400);
});

test("one action for many goes on after a refusal, and says why; a table has no formulas", async () => {
  const seen: number[] = [];
  const { done, refused } = await forEach(
    [1, 2, 3, 4, 5, 6, 7, 8],
    (n) => (n % 4 === 0 ? Promise.reject(new Error(`Run r${n} has ended.`)) : Promise.resolve()),
    (n) => seen.push(n),
  );
  expect([done, [...refused]]).toEqual([6, [["The run has ended.", 2]]]);
  expect(seen).toHaveLength(8);
  expect(
    csvOf([
      ["a", 1.5],
      ['=1+"2"', "b,c"],
    ]),
  ).toBe('a,1.5\r\n"\'=1+""2""","b,c"\r\n');
});

describe.skipIf(skipReason !== null)("in a browser", () => {
  const site = opened(() => yesterday(), { prices });

  test.runIf(inject("full"))(
    "the text of the page alone says why the failures happened, what they cost and which approvals are late",
    async () => {
      const one = await site.current.visit("/");
      // Why, how often, where and for how much. The figures, what needs somebody and the list come one by one.
      const said = [
        /×40\s+Error: 429 Too Many Requests: limit of model-x\s+support-agent, in answer, since .*, last .* ago, \$3\.60 spent/,
        /×3\s+Error: No car left in Lisbon\s+support-agent, in answer, .*\$0\.2700 spent/,
        /Failed\s+88 %\s+43 of 49 ended/,
        /Cost\s+\$4\.41/,
        /2\s+approvals are late/,
        /due, and no driver takes it\s+newsletter, the longest for 1\d h.* No worker has this workflow\./,
      ];
      for (const text of said)
        await expect.poll(() => one.page.locator("main").innerText(), soon).toMatch(text);
      await one.page.getByRole("link", { name: "Answer: approvals are late" }).click();
      await one.says("4 decisions, 2 late, 2 expire within a day");
      const inbox = await one.page.getByRole("region", { name: "Late" }).innerText();
      expect(inbox).toMatch(/Refund order 8819[01]\?\s+late by 1[78] h/);
      await one.close();
    },
  );

  test.runIf(inject("full"))(
    "an item that was acknowledged is gone for this reader, and can be shown again",
    async () => {
      const one = await site.current.visit("/");
      await one.button("Acknowledge: Error: No car left in Lisbon").click();
      await expect
        .poll(() => one.page.getByText("No car left", { exact: false }).locator("visible=true").count(), soon)
        .toBeLessThan(5);
      await one.button("Show 1 acknowledged").waitFor();
      await one.page.reload();
      await one.button("Show 1 acknowledged").click();
      await one.button("Acknowledge: Error: No car left in Lisbon").waitFor();
      await one.close();
    },
  );

  test.runIf(inject("full"))("sorts, looks back in time, and selects by keys", async () => {
    const one = await site.current.visit("/");
    await one.says("54 runs");
    await one.button("Cost").click();
    await expect.poll(() => one.place, soon).toBe("/?sort=cost");
    await expect.poll(async () => (await one.lines())[0] ?? "", soon).toMatch(/support-agent/);
    await one.page.getByLabel("Time range").selectOption("1h");
    await one.says("No run fits these filters.");
    await one.page.getByLabel("Time range").selectOption("24h");
    // Runs that cost the same are in any order, and the page draws those in view.
    const tag = one.page.getByRole("link", { name: /^customer=\d+$/ }).first();
    const [, customer = ""] = ((await tag.textContent()) ?? "").split("=");
    await one.page.getByRole("link", { name: `customer=${customer}`, exact: true }).click();
    const ended = Number(customer) < 43 ? "Failed" : "Completed";
    await expect.poll(() => one.lines(), soon).toEqual([`${ended} support-agent support-${customer}`]);
    await one.page.keyboard.press("j");
    await one.page.keyboard.press("x");
    await one.says("1 selected");
    const [saved] = await Promise.all([one.page.waitForEvent("download"), one.button("Export").click()]);
    expect(saved.suggestedFilename()).toBe("runs.csv");
    await one.page.keyboard.press("Escape");
    await expect.poll(() => one.page.getByRole("toolbar").count(), soon).toBe(0);
    await one.close();
  });

  test.runIf(inject("full")).each([
    ["light", 1_440],
    ["dark", 1_440],
    ["light", 390],
    ["dark", 390],
  ] as const)("is clean for screen readers and fits: %s at %i", async (theme, width) => {
    const one = await site.current.visit("/", { theme, width, height: 1_000 });
    await one.says("429 Too Many Requests");
    await one.page
      .getByRole("checkbox", { name: /^Select support/ })
      .first()
      .check();
    await one.says("1 selected");
    expect(await one.fits()).toBe(true);
    expect(await one.cut(".att p, .c1 .id, .c1 .tag")).toEqual([]);
    expect(await axeProblems(one.page)).toEqual([]);
    await picture(one.page, `home-${theme}-${width}`);
    await one.close();
  });

  test.runIf(inject("full"))("40 failures are retried after a question, each on its own", async () => {
    trouble.delete("429");
    const one = await site.current.visit("/");
    await one.button("Retry 40").click();
    const dialog = one.page.getByRole("dialog", { name: "Retry 40 runs?" });
    await dialog.getByRole("button", { name: "Retry 40 runs" }).click();
    await one.says("Retried 40 runs.");
    await expect
      .poll(async () => (await site.current.app.list({ status: "completed", limit: 100 })).runs.length, soon)
      .toBe(46);
    await one.close();
  });

  test.runIf(inject("full"))(
    "all that fit are selected, also those that are not loaded, and cancelled with a reason",
    async () => {
      const one = await site.current.visit("/?workflow=refund");
      await one.says("Refund order");
      await one.page.getByRole("checkbox", { name: "Select refund-0" }).check();
      await one.button("select all that fit").click();
      await one.says("4 selected");
      await one.page.getByRole("toolbar").getByRole("button", { name: "Cancel" }).click();
      await one.page.getByLabel("Reason").fill("no longer needed");
      await one.button("Cancel 4 runs").click();
      await one.says("Cancelled 4 runs.");
      expect((await site.current.app.list({ workflow: "refund", status: "cancelled" })).runs).toHaveLength(4);
      await one.close();
    },
  );
});

describe.skipIf(skipReason !== null)("in a browser, with questions that never expire", () => {
  const site = opened(() => questions());

  test("the head and the chips count every open question", async () => {
    const one = await site.current.visit("/");
    await one.says("One thing needs you");
    await expect
      .poll(() => one.page.locator("main").innerText(), soon)
      .toMatch(/2\s+approvals wait\s+first: /);
    const chips = one.page.getByRole("group", { name: "Filter by status" });
    await expect.poll(() => chips.innerText(), soon).toMatch(/Waiting 2\s+Suspended 2\s+Running 1/);
    await chips.getByRole("button", { name: "Waiting" }).click();
    await expect.poll(() => one.place, soon).toBe("/?waiting=yes");
    await expect
      .poll(async () => (await one.lines()).toSorted(), soon)
      .toEqual(["Running busy busy", "Waiting parked parked"]);
    await chips.getByRole("button", { name: "Running" }).click();
    await expect.poll(() => one.lines(), soon).toEqual(["Running busy busy"]);
    expect(one.place).toBe("/?status=running");
    await one.close();
  });
});
