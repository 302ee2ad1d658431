/** What is sent of a run that changes: what is put together from patches is the page as it is now. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { expect, inject, onTestFinished, test } from "vitest";
import type { Row, RunPage, SentRun } from "../src/api.ts";
import { SentPages } from "../src/patch.ts";
import { patched } from "../page/lib/patched.ts";
import { Site } from "./support/ask.ts";
import { secret } from "./support/journals.ts";

const rowOf = (key: string, startedAt: number): Row => {
  const about = { depth: 0, parent: null, endedAt: null, attempts: [], seq: null };
  return { key, name: key, kind: "step", status: "open", startedAt, ...about };
};

test("any change of rows and fields arrives", () => {
  let state = 11;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const sent = new SentPages();
  let page = { runId: "r", rows: [] as Row[], now: 0 } as unknown as RunPage;
  let client: (RunPage & { sent: string }) | null = null;
  for (let n = 0; n < 500; n++) {
    const rows = [...page.rows];
    for (let i = random(4); i > 0; i--)
      rows.splice(random(rows.length + 1), random(3), rowOf(`k${random(20)}`, random(5)));
    const fields = {
      status: random(2) === 0 ? "running" : "failed",
      ...(random(2) === 0 ? { output: random(3) } : {}),
    };
    page = { runId: "r", rows, now: n, ...fields } as unknown as RunPage;
    const known = random(9) === 0 ? null : (client?.sent ?? null);
    const answer: SentRun = JSON.parse(JSON.stringify(sent.answer(page, { about: "r", known }))) as SentRun;
    client = "of" in answer ? patched(answer, client) : answer;
    const { sent: _, ...shown } = client;
    expect(shown).toEqual(page);
  }
});

test("a name holds for its run alone, and what was sent is kept within a bound", () => {
  const sent = new SentPages();
  const page = { runId: "r", rows: [], now: 0, input: "x".repeat(1024 * 1024) } as unknown as RunPage;
  const first = sent.answer(page, { about: "r", known: null });
  expect("of" in sent.answer(page, { about: "other", known: first.sent })).toBe(false);
  expect("of" in sent.answer(page, { about: "r", known: first.sent })).toBe(true);
  for (let n = 0; n < 40; n++) sent.answer(page, { about: "r", known: null });
  expect("of" in sent.answer(page, { about: "r", known: first.sent })).toBe(false);
});

// As many in the long tests as the page was measured with.
const half = inject("full") ? 2_500 : 400;

test(`a run of ${2 * half} steps that grows costs kilobytes a tick`, async () => {
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const flow = durable("long", async (ctx) => {
    const all = Array.from({ length: half }, (_, i) => i);
    await ctx.map(all, (c, i) => c.step("work", () => i), { name: "first" });
    await ctx.map(all, (c, i) => c.step("work", () => i), { name: "second" });
    for (const [i, { promise }] of gates.entries()) await ctx.step(`gate ${i}`, () => promise);
  });
  const app = createApp({ storage: new MemoryStorage(), workflows: [flow], secret, bind: false });
  onTestFinished(() => app.close());
  const site = new Site({ app });
  const run = await app.start("long", null, { id: "long-1" });
  const read = async (known: string): Promise<{ page: SentRun; bytes: number }> => {
    const response = await site.fetch(`/api/runs/long-1?known=${known}`);
    const text = await response.text();
    return { page: JSON.parse(text) as SentRun, bytes: text.length };
  };
  const settled = async (n: number): Promise<void> => {
    const count = async (): Promise<number> =>
      (await run.entries()).filter(({ kind }) => kind === "step.completed").length;
    await expect.poll(count, { timeout: 60_000 }).toBe(2 * half + n);
  };
  await settled(0);
  let { page, bytes } = await read("");
  expect(bytes).toBeGreaterThan(half * 400);
  let client = page as RunPage & { sent: string };
  for (const [i, { resolve }] of gates.entries()) {
    resolve();
    await settled(i + 1);
    ({ page, bytes } = await read(client.sent));
    expect(bytes, `tick ${i}`).toBeLessThan(4_000);
    expect("of" in page).toBe(true);
    if ("of" in page) client = patched(page, client);
    // What is under way may begin between two reads.
    const ended = ({ rows }: RunPage): Row[] => rows.filter(({ endedAt }) => endedAt !== null);
    const whole = (await read("")).page as RunPage & { sent: string };
    expect(ended(client)).toEqual(ended(whole));
    expect(client.entries).toBe(whole.entries);
  }
});
