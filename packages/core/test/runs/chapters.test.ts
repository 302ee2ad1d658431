import { createApp, durable, type Outcome } from "@durable/core";
import { countingStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, sqliteLab, tokenOf } from "../support/behaviour-lab.ts";

interface State {
  readonly left: number;
  readonly sum: number;
}

/** Adds up, one chapter for each number. */
const sum = durable("sum", async (ctx, { left, sum: soFar }: State) => {
  const next = await ctx.step("add", () => soFar + left);
  return left === 1 ? next : ctx.continueAs({ left: left - 1, sum: next });
});

describe("ctx.continueAs", () => {
  test("begins the next chapter under the same id, with its input as state", async () => {
    const on = lab();
    const flow = sum.with(on);
    const outcome = await on.world.run(flow.run({ left: 4, sum: 0 }, { id: "r" }));
    expect(outcome).toEqual({
      runId: "r",
      recorded: false,
      state: "completed",
      status: "completed",
      output: 10,
    });
    const { runs } = await on.storage.list();
    expect(runs).toMatchObject([{ runId: "r", status: "completed", steps: 4, parent: null, wakeAt: null }]);
  });

  test("run.result() follows from chapter to chapter, in the process that drives and in another", async () => {
    const on = lab();
    const run = await on.world.run(sum.with(on).start({ left: 4, sum: 0 }, { id: "r" }));
    const other = sum.with(on).get("r");
    expect(await on.world.run(Promise.all([run.result(), other.result({ wait: true })]))).toEqual([10, 10]);
  });

  test("a result that waits in one chapter gets the output of the last", async () => {
    const on = lab();
    const asks = durable("asks", async (ctx, n: number): Promise<string> => {
      const answer = await ctx.suspend<string>("next");
      return answer === "end" ? `ended in ${n}` : ctx.continueAs(n + 1);
    });
    const flow = asks.with(on);
    let outcome = await on.world.run(flow.run(1, { id: "r" }));
    const result = flow.get("r").result({ wait: true });
    for (const answer of ["go", "go", "end"])
      outcome = (await on.world.run(flow.resume(tokenOf(outcome), answer))).outcome!;
    expect(await on.world.run(result)).toBe("ended in 3");
  });

  test("the id still fits the first input, and no other", async () => {
    const on = lab();
    const flow = sum.with(on);
    await on.world.run(flow.run({ left: 3, sum: 0 }, { id: "r" }));
    const again = await on.world.run(flow.run({ left: 3, sum: 0 }, { id: "r" }));
    expect(again).toMatchObject({ recorded: true, output: 6 });
    const run = await on.world.run(flow.start({ left: 3, sum: 0 }, { id: "r" }));
    expect(run.repeated).toBe(true);
    // Neither another input nor that of a later chapter.
    for (const input of [
      { left: 9, sum: 0 },
      { left: 2, sum: 3 },
    ])
      await expect(on.world.run(flow.run(input, { id: "r" }))).rejects.toMatchObject({
        code: "input-mismatch",
      });
  });

  test("entries() shows the current chapter, with its input", async () => {
    const on = lab();
    const flow = durable("map", async (ctx, state: Map<string, number>): Promise<string> => {
      const count = (state.get("count") ?? 0) + 1;
      await ctx.step(`step ${count}`, () => count);
      return count === 3 ? "done" : ctx.continueAs(new Map([["count", count]]));
    }).with(on);
    await on.world.run(flow.run(new Map(), { id: "r" }));
    const entries = await flow.get("r").entries();
    expect(entries.map((entry) => ("key" in entry ? `${entry.kind} ${entry.key}` : entry.kind))).toEqual([
      "run.continued",
      "step.completed step 3",
      "run.completed",
    ]);
    expect(entries[0]).toMatchObject({ input: new Map([["count", 2]]), chapter: 3 });
    const seqs = entries.map(({ seq }) => seq);
    expect(seqs, "positions go on").toEqual([5, 6, 7]);
  });

  test("keys, draws, idempotency keys and the clock of a chapter are its own", async () => {
    const on = lab();
    const seen: { uuid: string; random: number; idempotency: string; key: string; now: number }[] = [];
    const flow = durable("draws", async (ctx, n: number): Promise<number> => {
      await ctx.step("wait", () => pause(on.world, 1_000));
      await ctx.step("note", ({ key, idempotencyKey: idempotency }) => {
        seen.push({ key, idempotency, uuid: "", random: 0, now: 0 });
      });
      Object.assign(seen.at(-1)!, { uuid: ctx.uuid(), random: ctx.random(), now: ctx.now() });
      return n === 3 ? n : ctx.continueAs(n + 1);
    }).with(on);
    await on.world.run(flow.run(1));
    expect(seen.map(({ key }) => key)).toEqual(["note", "note", "note"]);
    for (const field of ["uuid", "random", "idempotency"] as const)
      expect(new Set(seen.map((one) => one[field])).size, field).toBe(3);
    const [first, second, third] = seen.map(({ now }) => now);
    expect([second! - first!, third! - second!]).toEqual([1_000, 1_000]);
  });

  test("the version of a chapter is that of the code that began it", async () => {
    const on = lab();
    const versions: unknown[] = [];
    const body = durable("v", async (ctx, n: number): Promise<string> => {
      versions.push(ctx.version);
      await ctx.suspend("next");
      return n === 2 ? "done" : ctx.continueAs(n + 1);
    });
    const first = await on.world.run(body.with({ ...on, version: "1" }).run(1, { id: "r" }));
    const second = await on.world.run(body.with({ ...on, version: "2" }).resume(tokenOf(first), 1));
    await on.world.run(body.with({ ...on, version: "3" }).resume(tokenOf(second.outcome!), 1));
    expect(versions).toEqual(["1", "1", "2", "2"]);
  });
});

describe("a drive reads the current chapter alone", () => {
  const long = durable("long", async (ctx, n: number): Promise<string> => {
    await ctx.step("text", () => "x".repeat(3_000));
    await ctx.step("more", () => "y".repeat(3_000));
    if (n < 20) return ctx.continueAs(n + 1);
    return ctx.suspend<string>("ok");
  });

  test("an answer, an advance, an outcome and the entries fetch no more after 20 chapters than after 1", async () => {
    const fetched: number[][] = [];
    for (const first of [20, 1]) {
      const on = lab();
      const parked = await on.world.run(long.with(on).run(first, { id: "r" }));
      const sizes: number[] = [];
      const measure = async (
        work: (app: ReturnType<typeof createApp>) => Promise<unknown>,
      ): Promise<void> => {
        const storage = countingStorage(on.storage);
        await on.world.run(work(createApp({ ...on, storage, workflows: [long] })));
        sizes.push(storage.counts.fetched);
      };
      await measure((app) => app.get("r").outcome());
      await measure((app) => app.get("r").entries());
      await measure((app) => app.advance("r"));
      await measure((app) => app.resume(tokenOf(parked), "yes", { drive: false }));
      await measure((app) => app.advance("r"));
      fetched.push(sizes);
    }
    const [short, after] = fetched as [number[], number[]];
    for (const [i, size] of after.entries()) {
      expect(short[i], `measure ${i}`).toBeGreaterThan(6_000);
      expect(size, `measure ${i}`).toBeLessThan((short[i] ?? 0) * 1.1);
    }
  });

  test("chapters in a row are driven without a read", async () => {
    const on = lab();
    const storage = countingStorage(on.storage);
    await on.world.run(sum.with({ ...on, storage }).run({ left: 10, sum: 0 }));
    expect(storage.counts.reads).toBe(0);
    // A start, a step per chapter, a border between two of them, an end.
    expect(storage.counts.appends).toBe(1 + 10 + 9 + 1);
  });

  test("50 chapters in a row, each with a sleep that is held in memory, in one drive", async () => {
    const on = lab();
    const flow = durable("ticks", async (ctx, n: number): Promise<number> => {
      await ctx.sleep("10s");
      return n === 50 ? n : ctx.continueAs(n + 1);
    }).with({ ...on, patience: "1m" });
    const start = on.world.now();
    const outcome = await on.world.run(flow.run(1, { id: "r" }));
    expect(outputOf(outcome)).toBe(50);
    expect(on.world.now() - start).toBeGreaterThanOrEqual(500_000);
    expect(on.world.warnings).toEqual([]);
  });

  test("50 chapters in a row, each parked, by sweeps", async () => {
    const on = lab();
    const flow = durable("ticks", async (ctx, n: number): Promise<number> => {
      await ctx.sleep("10s");
      return n === 50 ? n : ctx.continueAs(n + 1);
    });
    const app = createApp({ ...on, patience: 0, workflows: [flow] });
    await app.start("ticks", 1, { id: "r", drive: false });
    for (let i = 0; i < 60; i++) {
      await on.world.run(app.sweep());
      await on.world.advance(10_000);
    }
    expect(outputOf(await app.get("r").outcome())).toBe(50);
  });
});

test("a SQLite file keeps chapters as memory does", async () => {
  const on = sqliteLab();
  const flow = durable("asks", async (ctx, log: string[]): Promise<string[]> => {
    const next = [...log, await ctx.suspend<string>("say"), await ctx.step("s", () => "x".repeat(5_000))];
    return next.length === 6 ? next : ctx.continueAs(next);
  });
  let outcome: Outcome<string[]> = await on.world.run(flow.with(on).run([], { id: "r" }));
  for (const word of ["a", "b", "c"])
    outcome = (await on.world.run(flow.with({ ...on }).resume(tokenOf(outcome), word))).outcome!;
  expect((outputOf(outcome) as string[]).map((text) => text.length)).toEqual([1, 5_000, 1, 5_000, 1, 5_000]);
  expect((await on.storage.list()).runs).toMatchObject([{ runId: "r", status: "completed", steps: 3 }]);
});

test("the outcome of a run between chapters is never an end", async () => {
  const on = lab();
  const flow = durable("waits", async (ctx, n: number): Promise<number> => {
    await ctx.suspend("next");
    return ctx.continueAs(n + 1);
  }).with(on);
  let outcome = await on.world.run(flow.run(1, { id: "r" }));
  for (let i = 0; i < 5; i++) {
    expect(outcome).toMatchObject({ status: "suspended", waiting: [{ key: "next" }] });
    outcome = (await on.world.run(flow.resume(tokenOf(outcome), i))).outcome!;
  }
  expect(await flow.get("r").outcome()).toMatchObject({ status: "suspended" });
});
