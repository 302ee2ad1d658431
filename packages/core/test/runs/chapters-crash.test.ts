import { createApp, durable, type Storage } from "@durable/core";
import { crashEverywhere, faultyStorage, recorder, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { hooked, lab, outputOf, pause } from "../support/behaviour-lab.ts";
import { silent } from "../support/behaviour-lives.ts";

const faults: readonly Fault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-reply",
  "lose-request",
  "conflict",
];

/** Three chapters of two steps. Every step that ran is noted. */
const story = (ran: string[]) =>
  durable("story", async (ctx, n: number): Promise<string[]> => {
    const note = (name: string) => () => {
      ran.push(`${n} ${name}`);
      return name;
    };
    const steps = [await ctx.step("a", note("a")), await ctx.step("b", note("b"))];
    return n === 3 ? steps : ctx.continueAs(n + 1);
  });

describe("a crash around the border of chapters", () => {
  // Start, a, b, border, a, b, border, a, b, end.
  const appends = Array.from({ length: 10 }, (_, n) => n + 1);

  test.each(faults)("%s at every append: nothing is lost, and nothing is recorded twice", async (fault) => {
    for (const append of appends) {
      const on = lab(append);
      const ran: string[] = [];
      const flow = story(ran);
      const storage = faultyStorage(on.storage, {
        world: on.world,
        plan: (operation, index) => (operation === "append" && index === append ? fault : null),
      });
      const living = flow.with({ ...on, storage }).run(1, { id: "r" });
      await on.world.run(Promise.race([living, storage.died]));
      await on.world.advance(60_000);
      const outcome = await on.world.run(flow.with(on).run(1, { id: "r" }));
      const where = `${fault} at append ${append}`;
      expect(outputOf(outcome), where).toEqual(["a", "b"]);
      const expected = ["1 a", "1 b", "2 a", "2 b", "3 a", "3 b"];
      expect([...new Set(ran)], where).toEqual(expected);
      // The step whose record was lost with its process runs once more, and no other.
      expect(ran.length, where).toBeLessThanOrEqual(expected.length + 1);
      expect((await on.storage.list()).runs, where).toMatchObject([{ steps: 6, status: "completed" }]);
    }
  });

  test("two drivers that both come to the border: one goes on, the other stops", async () => {
    const on = lab();
    const ran: string[] = [];
    const flow = durable("story", async (ctx, n: number): Promise<string> => {
      await ctx.step("work", async () => {
        ran.push(`${n}`);
        await pause(on.world, 1_000);
      });
      return n === 3 ? "done" : ctx.continueAs(n + 1);
    });
    // Leases that nobody keeps: every process takes every run.
    const deaf: Storage = {
      ...silent(on),
      lease: async (locator) => ({ starts: 1, length: (await on.storage.read(locator)).length }),
    };
    const one = flow.with({ ...on, storage: deaf }).run(1, { id: "r" });
    await on.world.advance(100);
    const two = flow.with({ ...on, storage: deaf }).run(1, { id: "r" });
    const outcomes = await on.world.run(Promise.all([one, two]));
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["completed", "running"]);
    expect(ran.filter((n) => n === "2").length + ran.filter((n) => n === "3").length).toBe(2);
  });
});

describe("crashEverywhere", () => {
  test("a run of chapters with effects, waits, sleeps and a child", { timeout: 300_000 }, async () => {
    const effects = recorder();
    const child = durable("child", async (ctx, n: number): Promise<string> =>
      n < 12 ? (await ctx.step("s", () => 1), ctx.continueAs(n + 1)) : `child ${n}`,
    );
    const flow = durable("saga", async (ctx, state: { n: number; log: string[] }): Promise<string[]> => {
      const { n } = state;
      const [paid] = await ctx.parallel([
        (c) =>
          c.step("pay", ({ idempotencyKey }) => {
            effects.record("pay", { key: idempotencyKey });
            return `paid ${n}`;
          }),
        (c) => c.sleep("1h"),
      ]);
      const answer = n === 2 ? await ctx.suspend<string>("ok") : await ctx.child(child, 10 + n);
      const log = [...state.log, paid, answer];
      return n === 3 ? log : ctx.continueAs({ n: n + 1, log });
    });
    const report = await crashEverywhere(flow, {
      input: { n: 1, log: [] },
      resume: { ok: "yes" },
      effects,
      faults: inject("full") ? ["crash-before", "crash-after", "lose-reply"] : ["crash-after"],
    });
    expect(report.ok).toBe(true);
    expect(outputOf(report.calm.outcome)).toEqual([
      "paid 1",
      "child 12",
      "paid 2",
      "yes",
      "paid 3",
      "child 13",
    ]);
  });
});

test("a run that is cancelled between chapters ends, and begins nothing", async () => {
  for (let append = 1; append <= 9; append++) {
    const on = lab(append);
    const ran: string[] = [];
    const flow = story(ran);
    const app = createApp({ ...on, workflows: [flow] });
    let count = 0;
    const storage = hooked(on.storage, async (operation, moment) => {
      if (operation === "append" && moment === "after" && ++count === append) await app.cancel("r");
    });
    const outcome = await on.world.run(flow.with({ ...on, storage }).run(1, { id: "r" }));
    expect(outcome.status, `after append ${append}`).toBe("cancelled");
    expect((await on.storage.list()).runs).toMatchObject([{ status: "cancelled" }]);
    const before = ran.length;
    await on.world.advance(60_000);
    expect(ran.length).toBe(before);
  }
});
