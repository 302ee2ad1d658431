/** Correct workflows: `crashEverywhere` finds nothing. */

import { createApp, durable, FatalError, fork, type Context } from "@durable/core";
import { crashEverywhere, recorder, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { expectClean } from "./support/crash-reports.ts";

/** Every fault, or those of a sample. The first flow below has every fault also there. */
const some = (...faults: Fault[]): { faults?: Fault[] } => (inject("full") ? {} : { faults });

describe("clean flows pass", () => {
  test("steps, with a crash at each of their records", async () => {
    const flow = durable("two", async (ctx, n: number) => {
      const doubled = await ctx.step("double", () => n * 2);
      return ctx.step("add", () => doubled + 1);
    });
    const report = await crashEverywhere(flow, { input: 20 });
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({ status: "completed", output: 41 });
    expect(report.boundaries.map(({ operation, what }) => `${operation} ${what}`)).toEqual([
      "append run.started",
      "append step.completed double",
      "append step.completed add",
      "append run.completed",
    ]);
    // A body is lost only by a crash before its record.
    expect(report.totals.again).toBe(2);
    expect(report.repeated.map(({ key, cases }) => `${key} ${cases}`)).toEqual(["double 1", "add 1"]);
  });

  test("parallel and race, with branches that wait", async () => {
    const flow = durable("groups", async (ctx) => {
      const both = await ctx.parallel({
        credit: async (c) => `${await c.step("pull", () => 720)} ${await c.suspend<string>("review")}`,
        appraisal: async (c) =>
          `${await c.step("visit", () => "house")} ${await c.suspend<string>("review")}`,
      });
      const parts = [1, 2, 3].map((n) => (c: Context) => c.step("part", () => n));
      const list = await ctx.parallel(parts, { concurrency: 2 });
      const first = await ctx.race({
        late: (c) => c.sleep("2 days"),
        asked: (c) => c.suspend("never", { timeout: "1 day", fallback: "no answer" }),
      });
      return { both, list, first };
    });
    const report = await crashEverywhere(flow, {
      resume: { review: ["yes", "no"] },
      ...some("crash-before"),
    });
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({
      output: {
        both: { credit: "720 yes", appraisal: "house no" },
        first: { name: "asked", value: "no answer" },
      },
    });
  });

  test("retries, and failures that are caught", async () => {
    const flow = durable("flaky", async (ctx) => {
      const attempts = await ctx.step(
        "flaky",
        ({ attempt }) => {
          if (attempt < 3) throw new Error("not yet");
          return attempt;
        },
        { retry: { attempts: 3, delay: "10m" } },
      );
      const caught = await ctx
        .step("fatal", () => Promise.reject(new FatalError("no")))
        .catch((error: Error) => error.message);
      return { attempts, caught };
    });
    const report = await crashEverywhere(flow, some("crash-after"));
    expectClean(report);
    expect(report.calm.ran).toEqual({ flaky: 3, fatal: 1 });
  });

  test("an input schema, answers by function, clock and randomness of the context", async () => {
    const flow = durable(
      "schema",
      async (ctx, { n }) => {
        const answer = await ctx.suspend("amount", { schema: z.object({ amount: z.number() }), note: { n } });
        return [answer.amount, ctx.random() < 1, ctx.uuid().length, new Date(ctx.now()).getUTCFullYear()];
      },
      { input: z.object({ n: z.number().default(3) }) },
    );
    const report = await crashEverywhere(flow, {
      input: {},
      resume: { amount: (point) => ({ amount: (point.note as { n: number }).n * 2 }) },
      ...some("lose-request"),
    });
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({ output: [6, true, 36, 2026] });
  });

  test("a fork, made inside a step on the faulty storage", async () => {
    const drafts = durable("drafts", async (ctx, topic: string) => {
      const plan = await ctx.step("plan", () => `plan of ${topic}`);
      return ctx.step("write", () => `${plan}, written`);
    });
    const report = await crashEverywhere(
      ({ storage, world }) => {
        const bound = drafts.with({ storage, world });
        return durable("speculate", async (ctx) => {
          const first = await ctx.step("first", async ({ idempotencyKey }) => {
            const id = `d-${idempotencyKey}`;
            await bound.run("tides", { id });
            return id;
          });
          return ctx.step("second", async ({ idempotencyKey }) => {
            const run = await fork(bound.get(first), {
              edit: { plan: "another plan" },
              id: `f-${idempotencyKey}`,
            });
            return run.result();
          });
        });
      },
      { bodyWithin: 100, ...some("crash-then-apply") },
    );
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({ output: "another plan, written" });
    expect(report.boundaries.map(({ what }) => what).join()).toMatch(/run\.forked \(run f-/);
  });

  test("a run that is meant to fail, and one that is meant to be cancelled", async () => {
    const failing = durable("failing", async (ctx) => {
      await ctx.step("a", () => 1);
      throw new FatalError("no way");
    });
    const failed = await crashEverywhere(failing, { ends: "failed", ...some("crash-before", "lose-reply") });
    expectClean(failed);
    expect(failed.calm.outcome.status).toBe("failed");

    const cancelled = await crashEverywhere(
      ({ storage, world }) => {
        const app = createApp({
          storage,
          world,
          secret: "another secret, of no worth at all",
          workflows: [],
        });
        return durable("quitter", async (ctx) => {
          await ctx.step("a", () => 1);
          await ctx.step("quit", async () => void (await app.cancel(ctx.runId)));
        });
      },
      { ends: "cancelled", ...some("crash-after", "lose-request") },
    );
    expectClean(cancelled);
  });

  test("effects under the key of their step, and deliberate repetitions", async () => {
    const mail = recorder();
    const flow = durable("mailing", async (ctx) => {
      for (let i = 0; i < 2; i++)
        await ctx.step("send", ({ idempotencyKey }) =>
          mail.record("send", { key: idempotencyKey, payload: "hi" }),
        );
    });
    const report = await crashEverywhere(flow, { effects: mail, compare: false });
    expectClean(report);
    expect(report.effects).toEqual([]);
    expect(report.repeated.every(({ keyed }) => keyed)).toBe(true);
  });

  test("steps that return something new each time, if outputs are not compared or found the same", async () => {
    const flow = durable("nonce", (ctx) => ctx.step("draw", () => ({ n: 1, id: crypto.randomUUID() })));
    expectClean(await crashEverywhere(flow, { compare: false }));
    expectClean(await crashEverywhere(flow, { same: (calm, other) => calm.n === other.n }));
    await expect(crashEverywhere(flow)).rejects.toThrow("Output differs from the calm run");
  });
});

describe("time", () => {
  test("thirty days of sleep and seven of waiting take no real time", async () => {
    const flow = durable("patient", async (ctx) => {
      const before = await ctx.step("before", () => Date.now());
      await ctx.sleep("30 days");
      const answer = await ctx.suspend("answer", { timeout: "7 days", fallback: "no answer" });
      const after = await ctx.step("after", () => new Date().getTime());
      return { days: Math.floor((after - before) / 86_400_000), answer };
    });
    const report = await crashEverywhere(flow, some("lose-reply"));
    expectClean(report);
    // Steps see virtual time, too.
    expect(report.calm.outcome).toMatchObject({ output: { days: 37, answer: "no answer" } });
    expect(report.totals.virtualMs).toBe(37 * 86_400_000);
    // No polling while nothing happens: months take as much I/O as a minute.
    expect(report.boundaries.length).toBeLessThan(20);
  });

  test("virtual time waits for real work, up to a limit", async () => {
    let real = 0;
    const flow = durable("timed", async (ctx) => {
      const quick = await ctx.step(
        "real",
        () => new Promise<number>((resolve) => setTimeout(() => resolve(++real), 20)),
        { timeout: "1s" },
      );
      const hung = await ctx
        .step("hangs", ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)), {
          timeout: "30s",
          retry: false,
        })
        .catch((error: Error) => (error.cause as Error).message);
      return [quick > 0, hung];
    });
    const report = await crashEverywhere(flow, { bodyWithin: 60, faults: ["crash-before", "lose-reply"] });
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({
      output: [true, expect.stringMatching(/took longer than 30000 ms/)],
    });
    expect(report.repeated.map(({ key }) => key)).toEqual(["real", "hangs"]);
  });
});
