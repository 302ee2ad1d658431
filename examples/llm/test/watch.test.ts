import { durable, MemoryStorage, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { watched, type Settlement, type Watcher } from "../src/index.ts";

/** Runs a body, parks, and replays it; gives what was heard each time, and the keys in the journal. */
async function twice(
  body: (ctx: Context) => unknown,
): Promise<{ first: Heard; second: Heard; keys: string[] }> {
  const heards: Heard[] = [];
  const flow = durable(
    "watched",
    async (plain) => {
      const heard: Heard = { began: [], ended: [], settled: [] };
      heards.push(heard);
      const ctx = watched(plain, [noting(heard)]);
      await body(ctx);
      await ctx.suspend("again");
    },
    // Cold, so that an answer replays: what comes from the journal is what is listened for.
    { storage: new MemoryStorage(), secret: "a secret for tests, of no worth at all", warm: 0 },
  );
  const parked = await flow.run(undefined, { id: "one" });
  if (parked.status !== "suspended") throw new Error(JSON.stringify(parked));
  await flow.resume(parked.waiting[0]?.token ?? "", true);
  const entries = await flow.get("one").entries();
  const keys = entries.flatMap((entry) => (entry.kind === "step.completed" ? entry.key : []));
  const [first, second] = heards as [Heard, Heard];
  return { first, second, keys };
}

interface Heard {
  readonly began: string[];
  readonly ended: string[];
  readonly settled: Settlement[];
}

function noting(heard: Heard): Watcher {
  return {
    began: ({ key, attempt }) => heard.began.push(`${key} ${attempt}`),
    ended: ({ key, error }) => heard.ended.push(error === null ? key : `${key} failed`),
    settled: (step) => heard.settled.push(step),
  };
}

describe("what is heard", () => {
  test("keys are those of the journal, in branches and repeats", async () => {
    const step = (ctx: Context, name: string) => ctx.step(name, () => name);
    const { first, second, keys } = await twice(async (ctx) => {
      await step(ctx, "think");
      await Promise.all([step(ctx, "think"), step(ctx, "act"), step(ctx, "act")]);
      await ctx.sleep(1, { name: "act" });
      await step(ctx, "act");
      await ctx.parallel({
        a: (c) => step(c, "pull"),
        b: async (c) => [await step(c, "pull"), await step(c, "pull")],
      });
      await ctx.parallel([(c) => step(c, "x"), (c) => c.race({ only: (d) => step(d, "y") })]);
      await ctx.parallel({ a: (c) => step(c, "z") }, { name: "act" });
      await ctx.map(["p", "q"], (c, item) => step(c, item));
      await ctx.map(["p", "q"], (c, item) => step(c, item), { name: "act", key: (item) => `of ${item}` });
    });
    expect(keys).toContain("parallel[b]/pull#2");
    expect(keys).toContain("parallel#2[1]/race[only]/y");
    expect(keys).toContain("act#5[a]/z");
    expect(keys).toEqual(expect.arrayContaining(["map[1]/q", "act#6[of p]/p"]));
    expect(first.settled.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    expect(first.settled.every(({ ran }) => ran)).toBe(true);
    expect(second.began).toEqual([]);
    expect(second.settled.map(({ key }) => key)).toEqual(first.settled.map(({ key }) => key));
    expect(second.settled.some(({ ran }) => ran)).toBe(false);
  });

  test("attempts and failures, and results are left as they are", async () => {
    const seen: unknown[] = [];
    const { first, second } = await twice(async (ctx) => {
      const value = await ctx.step(
        "flaky",
        ({ attempt }) => (attempt < 3 ? Promise.reject(new Error("no")) : 7),
        {
          retry: { delay: 1 },
        },
      );
      const failed = await ctx
        .step("hopeless", () => Promise.reject(new Error("never")), { retry: false })
        .catch((error: unknown) => (error as { code: string }).code);
      seen.push([value, failed, ctx.runId, ctx.signal.aborted]);
    });
    expect(seen).toEqual([
      [7, "step-failed", "one", false],
      [7, "step-failed", "one", false],
    ]);
    expect(first.began).toEqual(["flaky 1", "flaky 2", "flaky 3", "hopeless 1"]);
    expect(first.ended).toEqual(["flaky failed", "flaky failed", "flaky", "hopeless failed"]);
    expect(second.settled).toMatchObject([
      { key: "flaky", ran: false, outcome: { ok: true, value: 7 } },
      { key: "hopeless", ran: false, outcome: { ok: false } },
    ]);
  });
});
