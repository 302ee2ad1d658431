import {
  createApp,
  durable,
  FatalError,
  RetryError,
  type RetryOptions,
  type StepOptions,
} from "@durable/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Duration } from "../../../src/values/duration.ts";
import { nextAttemptAt, retryPolicy } from "../../../src/engine/calls/retry.ts";
import { kindsOf, lab, outputOf, pause, type Lab } from "../../support/behaviour-lab.ts";
import { dieAt, replayOf, runOf } from "../../support/behaviour-lives.ts";

test("a RetryError whose `after` cannot be read falls back to the policy's own delay", () => {
  const policy = retryPolicy({ delay: "1s", jitter: false }, "A step");
  const error = new RetryError("later", { after: "soon" as Duration });
  expect(nextAttemptAt(policy, { error, attempt: 1 }, { now: 0, random: 0 })).toBe(1_000);
});

test("a RetryError with an invalid Date falls back to the policy's own delay", () => {
  const policy = retryPolicy({ delay: "1s", jitter: false }, "A step");
  const error = new RetryError("later", { after: new Date(Number.NaN) });
  expect(nextAttemptAt(policy, { error, attempt: 1 }, { now: 0, random: 0 })).toBe(1_000);
});

/** A step that throws the given errors, attempt by attempt, and notes when each began. */
function flaky(on: Lab, errors: readonly unknown[], options: StepOptions = {}) {
  const began: number[] = [];
  const start = on.world.now();
  let ended = 0;
  const flow = durable("flaky", async (ctx) => {
    try {
      return await ctx.step(
        "call",
        ({ attempt }) => {
          began.push(on.world.now() - start);
          const error = errors[ended++];
          if (error !== undefined) throw error as Error;
          return `attempt ${attempt}`;
        },
        options,
      );
    } catch (error) {
      const { code, details, cause } = error as { code: string; details: unknown; cause: Error };
      return { code, details, cause: cause.message };
    }
  });
  return { began, flow };
}

const steady: RetryOptions = { delay: "1s", factor: 2, jitter: false };
const no = (message = "no") => new Error(message);

describe("attempts of a step", () => {
  test("each failed one is an entry with its number, its error and the time of the next", async () => {
    const on = lab();
    const start = on.world.now();
    const { began, flow } = flaky(on, [no("one"), no("two")], { retry: steady });
    expect(outputOf(await runOf(on, flow))).toBe("attempt 3");
    expect(began).toEqual([0, 1_000, 3_000]);
    expect(
      await flow
        .with({ ...on })
        .get("r")
        .entries(),
    ).toMatchObject([
      { kind: "run.started" },
      { kind: "attempt.failed", attempt: 1, error: { message: "one" }, retryAt: start + 1_000 },
      { kind: "attempt.failed", attempt: 2, error: { message: "two" }, retryAt: start + 3_000 },
      { kind: "step.completed", attempt: 3, startedAt: start + 3_000 },
      { kind: "run.completed" },
    ]);
    expect(outputOf(await replayOf(on, flow))).toBe("attempt 3");
    expect(began).toHaveLength(3);
  });

  test("by default there are three, with full jitter under one and two seconds", async () => {
    const delays: number[][] = [[], []];
    for (let seed = 1; seed <= 30; seed++) {
      const on = lab(seed);
      const { began, flow } = flaky(on, [no(), no(), no("last"), no()]);
      const outcome = outputOf(await runOf(on, flow));
      expect(outcome).toEqual({ code: "step-failed", details: { key: "call", attempts: 3 }, cause: "last" });
      expect(began).toHaveLength(3);
      delays[0]!.push(began[1]!);
      delays[1]!.push(began[2]! - began[1]!);
    }
    for (const [i, bound] of [1_000, 2_000].entries()) {
      expect(Math.max(...delays[i]!)).toBeLessThanOrEqual(bound);
      expect(Math.max(...delays[i]!)).toBeGreaterThan(bound * 0.7);
      expect(Math.min(...delays[i]!)).toBeLessThan(bound * 0.3);
    }
  });

  test("with retry: false, or after a FatalError, there is one", async () => {
    for (const [error, options] of [
      [no(), { retry: false }],
      [new FatalError("no"), {}],
    ] as const) {
      const on = lab();
      const { began, flow } = flaky(on, [error, error], options);
      expect(outputOf(await runOf(on, flow))).toMatchObject({ details: { attempts: 1 }, cause: "no" });
      expect(began).toEqual([0]);
    }
  });

  test.each<[string, unknown, number]>([
    ["RetryError({ after })", new RetryError("later", { after: "40s" }), 40_000],
    ["a retry-after header", Object.assign(no(), { responseHeaders: { "Retry-After": "7" } }), 7_000],
    [
      "a retry-after-ms header",
      Object.assign(no(), { headers: new Headers({ "retry-after-ms": "1500" }) }),
      1_500,
    ],
  ])("%s says when the next one is", async (_, error, delay) => {
    const on = lab();
    const { began, flow } = flaky(on, [error], { retry: { ...steady, maxDelay: "5s" } });
    expect(outputOf(await runOf(on, flow))).toBe("attempt 2");
    expect(began).toEqual([0, delay]);
  });

  test("a long delay parks the run, which wakes at the time of the next attempt", async () => {
    const on = lab();
    const start = on.world.now();
    const { began, flow } = flaky(on, [no()], { retry: { delay: "1h", maxDelay: "1h", jitter: false } });
    const app = createApp({ workflows: [flow], ...on });
    expect(await runOf(on, flow)).toMatchObject({
      status: "suspended",
      waiting: [],
      wakeAt: start + 3_600_000,
    });
    await on.world.advance(3_599_000);
    expect((await on.world.run(app.sweep())).outcomes).toEqual([]);
    await on.world.advance(1_000);
    expect((await on.world.run(app.sweep())).outcomes.map(outputOf)).toEqual(["attempt 2"]);
    expect(began).toEqual([0, 3_600_000]);
  });

  test("a crash during the delay neither shortens it nor begins to count anew", async () => {
    const on = lab();
    const { began, flow } = flaky(on, [no(), no(), no()], {
      retry: { attempts: 3, delay: "5m", factor: 1, maxDelay: "5m", jitter: false },
    });
    await dieAt(on, flow, 2, { quiet: 60_000 });
    const patient = flow.with({ ...on, patience: "1h" });
    const outcome = await on.world.run(patient.run(undefined, { id: "r" }));
    expect(outputOf(outcome)).toMatchObject({ details: { attempts: 3 } });
    expect(began).toEqual([0, 300_000, 600_000]);
  });

  test("H59 twenty lost workers are no attempt of a step that may fail three times", async () => {
    const on = lab();
    const { began, flow } = flaky(on, []);
    // With an id that exists, the first append of a process is its try to start the run.
    for (let i = 0; i < 20; i++) await dieAt(on, flow, 2, { fault: "crash-before" });
    expect(began).toHaveLength(20);
    expect(outputOf(await runOf(on, flow))).toBe("attempt 1");
    expect(await kindsOf(flow.with({ ...on }).get("r"))).not.toContain("attempt.failed call");
  });
});

describe("a time limit", () => {
  test("ends an attempt, tells its signal why, and drops what comes later", async () => {
    const on = lab();
    const reasons: unknown[] = [];
    const flow = durable("slow", (ctx) =>
      ctx.step(
        "call",
        async ({ attempt, signal }) => {
          signal.addEventListener("abort", () => reasons.push([attempt, signal.reason]));
          await pause(on.world, attempt === 1 ? 5_000 : 500);
          return `attempt ${attempt}`;
        },
        { timeout: "1s", retry: steady },
      ),
    );
    expect(outputOf(await runOf(on, flow))).toBe("attempt 2");
    await on.world.advance(60_000);
    expect(reasons[0]).toMatchObject([1, { code: "step-timeout" }]);
    expect(
      await flow
        .with({ ...on })
        .get("r")
        .entries(),
    ).toMatchObject([
      { kind: "run.started" },
      { kind: "attempt.failed", attempt: 1, error: { code: "step-timeout" } },
      { kind: "step.completed", attempt: 2 },
      { kind: "run.completed" },
    ]);
  });

  test("and its signal say nothing to work that ended well, also when the run has ended", async () => {
    const on = lab();
    let aborts = 0;
    const flow = durable("quick", (ctx) =>
      ctx.step("call", ({ signal }) => signal.addEventListener("abort", () => (aborts += 1)), {
        timeout: "1s",
      }),
    );
    expect(await runOf(on, flow)).toMatchObject({ status: "completed" });
    await on.world.advance(60_000);
    expect(aborts).toBe(0);
  });

  test("that no attempt keeps is the cause of the step's failure, also where work never ends", async () => {
    const on = lab();
    const flow = durable("deaf", (ctx) =>
      ctx.step("call", () => new Promise(() => {}), { timeout: "1s", retry: { ...steady, attempts: 2 } }),
    );
    expect(await runOf(on, flow)).toMatchObject({
      status: "failed",
      error: { code: "step-failed", details: { attempts: 2 }, cause: { code: "step-timeout" } },
    });
  });
});

describe("a step's schema", () => {
  test("that an output does not fit is a failed attempt; what it makes of a good one is kept", async () => {
    const on = lab();
    let bodies = 0;
    let applied = 0;
    const schema = z.string().transform((text) => {
      applied += 1;
      return text.length;
    });
    const flow = durable("shaped", (ctx) =>
      ctx.step("call", () => (++bodies < 3 ? (bodies as never) : "four"), { schema, retry: steady }),
    );
    expect(outputOf(await runOf(on, flow))).toBe(4);
    expect(outputOf(await replayOf(on, flow))).toBe(4);
    expect({ bodies, applied }).toEqual({ bodies: 3, applied: 1 });
    expect(
      (
        await flow
          .with({ ...on })
          .get("r")
          .entries()
      )[1],
    ).toMatchObject({
      kind: "attempt.failed",
      error: { code: "invalid-output" },
    });
  });

  test("that no attempt fits says so, with the issue", async () => {
    const on = lab();
    const flow = durable("shaped", (ctx) => ctx.step("call", () => "text", { schema: z.number() }));
    const outcome = await runOf(on, flow);
    expect(outcome).toMatchObject({ status: "failed", error: { cause: { code: "invalid-output" } } });
    expect((outcome as { error: Error }).error.message).toMatch(/after 3 attempts.*expected number/);
  });
});
