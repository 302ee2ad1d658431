/** A user's workflow under random schedules and faults. */

import { durable } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { explore } from "../src/index.ts";

const refund = durable("refund", async (ctx, order: { id: string; cents: number }) => {
  const found = await ctx.step("load order", async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { ...order, at: new Date(0) };
  });
  const checks = await ctx.parallel({
    credit: (c) => c.step("credit", () => 1),
    past: (c) => c.step("past refunds", () => [1, 2]),
  });
  const { ok } = await ctx.suspend<{ ok: boolean }>("approve", { note: found });
  await ctx.sleep("30 days");
  await ctx.step("pay", () => "paid");
  return { ok, checks, at: found.at };
});

// The sample begins where histories are short, and have faults.
const [from, seeds] = inject("full") ? [1, 12] : [10, 2];

describe("explore", () => {
  test("runs a workflow under many seeds: real work, thirty days, and outputs with their types", async () => {
    let outputs = 0;
    const total = await explore(refund, {
      input: { id: "order-7", cents: 8_000 },
      resume: { approve: { ok: true } },
      from,
      seeds,
      expect: (output) => {
        expect(output).toEqual({ ok: true, checks: { credit: 1, past: [1, 2] }, at: new Date(0) });
        outputs += 1;
      },
    });
    expect(total.seeds).toBe(seeds);
    expect(String(total)).toMatch(
      /^Workflow "refund" kept every promise under \d+ seeds\.\n\d+ runs: \d+ completed, /,
    );
    expect(outputs).toBeGreaterThan(seeds);
    expect(total.faults).toBeGreaterThan(seeds / 2);
    expect(total.met.get("taken over by another process")).toBeGreaterThan(seeds / 4);
  });

  test("keeps the limits and defaults of a workflow", async () => {
    const ask = durable(
      "ask",
      (ctx) =>
        ctx.step(
          "model",
          ({ attempt }) => {
            if (attempt > 1) return "answer";
            throw new Error("Busy.");
          },
          { quota: "service" },
        ),
      { concurrency: { max: 2 }, tags: { kind: "question" }, retry: { attempts: 2, delay: 5 } },
    );
    const total = await explore(ask, {
      from,
      seeds,
      quotas: { service: { requests: 5, per: "1s", concurrent: 1 } },
      expect: (output) => expect(output).toBe("answer"),
    });
    expect(total.met.get("entry run.completed")).toBeGreaterThan(seeds);
    expect(total.met.get("entry attempt.failed")).toBeGreaterThan(seeds);
  });

  test("runs children, streams, maps and effects of a workflow, and watches the work of its children", async () => {
    const parcel = durable("parcel", async (ctx, city: string) => {
      const label = await ctx.stream("label", async function* () {
        yield* city;
      });
      const { ok } = await ctx.suspend<{ ok: boolean }>("hand over");
      return { to: label.join(""), ok };
    });
    const order = durable("order", async (ctx, cities: string[]) => {
      const paid = await ctx.step("pay", () => ({ at: new Date(0) }), {
        onUncertain: () => ({ status: "completed", value: { at: new Date(0) } }),
      });
      const sent = await ctx.map(cities, (c, city) => c.child(parcel, city), { key: (city) => city });
      return {
        paid,
        sent,
        large: await ctx.step("list", () => Array.from({ length: 900 }, (_, i) => i * i)),
      };
    });
    const total = await explore(order, {
      input: ["Rome", "Oslo"],
      resume: { "hand over": { ok: true } },
      from,
      seeds,
      expect: ({ paid, sent, large }) => {
        expect(paid).toEqual({ at: new Date(0) });
        expect(sent).toEqual([
          { to: "Rome", ok: true },
          { to: "Oslo", ok: true },
        ]);
        expect(large).toHaveLength(900);
      },
    });
    expect(total.met.get("entry child.completed")).toBeGreaterThan(2 * seeds);
    expect(total.met.get("entry stream.chunks")).toBeGreaterThan(2 * seeds);
    expect(total.met.get("a blob")).toBeGreaterThan(seeds);
    // At least one for each child: their work is observed like that of their parent.
    expect(total.bodies).toBeGreaterThan(seeds * 4);
  });

  test("finds randomness in the body of a workflow, and shows the shortest history", async () => {
    const flow = durable("chance", async (ctx) => {
      if (Math.random() < 0.5) await ctx.step("sometimes", () => 1);
      await ctx.step("always", () => 2);
      return ctx.suspend("go");
    });
    const failure = explore(flow, { resume: { go: 1 }, seeds: 60 });
    await expect(failure).rejects.toThrow(/Workflow "chance" breaks a promise under seed \d+/);
    await expect(failure).rejects.toThrow(/I(?:1|2|8) \(/);
    await expect(failure).rejects.toThrow(/The shortest history found:\n.*run\.started/s);
  });

  test("finds an unexpected output, and shows it", async () => {
    const asks = durable("asks", (ctx) => ctx.suspend<{ ok: boolean }>("approve"));
    const failure = explore(asks, {
      resume: { approve: { ok: false } },
      seeds: 3,
      expect: ({ ok }) => expect(ok).toBe(true),
    });
    await expect(failure).rejects.toThrow(/I5 .*which `expect` rejects/s);
  });

  test("says what to do when an answer is missing", async () => {
    const failure = explore(refund, { input: { id: "order-7", cents: 8_000 }, seeds: 3 });
    await expect(failure).rejects.toThrow(/waits for "approve".*Add \{ resume: \{ "approve": \.\.\. \} \}/s);
  });

  test("stops when its time is over, and says how far it came", async () => {
    const flow = durable("one", (ctx) => ctx.step("a", () => 1));
    const { seeds: tried, skipped, runs, ends } = await explore(flow, { seeds: 40, within: 0 });
    expect({ tried, skipped }).toEqual({ tried: 1, skipped: 39 });
    expect(ends.completed + ends.failed + ends.cancelled).toBeGreaterThan(0);
    expect(ends.failed).toBe(0);
    expect(runs).toBeGreaterThan(0);
    await expect(explore(flow, { within: "soon" as never })).rejects.toThrow(/within is "soon"/);
  });

  test("counts the runs that failed", async () => {
    const flow = durable("fails", async (ctx) => {
      await ctx.step("a", () => 1);
      throw new Error("always");
    });
    const { ends } = await explore(flow, { seeds: 2 });
    expect(ends.failed).toBeGreaterThan(0);
    expect(ends.completed).toBe(0);
  });

  test("sleeps cost little: nothing polls until they end", async () => {
    const sleeps = (n: number) =>
      durable("sleeps", async (ctx) => {
        for (let i = 0; i < n; i++) await ctx.sleep("30 days");
        return ctx.step("a", () => 1);
      });
    const [none, two] = [await explore(sleeps(0), { seeds: 8 }), await explore(sleeps(2), { seeds: 8 })];
    expect(two.events / none.events).toBeLessThan(8);
  });

  test("one seed is repeated by from and seeds", async () => {
    const options = {
      input: { id: "order-7", cents: 1 },
      resume: { approve: { ok: true } },
      from: inject("full") ? 9 : 10,
      seeds: 1,
    };
    const [one, two] = [await explore(refund, options), await explore(refund, options)];
    expect(two.met).toEqual(one.met);
    expect(two.events).toBe(one.events);
  });
});
