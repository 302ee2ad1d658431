import { durable, FatalError, type OnUncertain } from "@durable/core";
import { countingStorage, crashEverywhere, recorder } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { failureOf, kindsOf, lab, outputOf, pause } from "../../support/behaviour-lab.ts";
import { batchesOf, dieAt, replayOf, runOf } from "../../support/behaviour-lives.ts";
import { afterDeath, appends, dieCharged, shop, till } from "./support/uncertain-till.ts";

const modes: [string, OnUncertain][] = [
  ["retry", "retry"],
  ["suspend", "suspend"],
  ["a function", () => ({ status: "retry" })],
];

describe("a step with onUncertain, when nothing crashes", () => {
  test.each(modes)(
    "%s: the start is durable before the work begins, then two appends and no question",
    async (_, mode) => {
      const on = lab();
      const counting = countingStorage(on.storage);
      const seen: string[][] = [];
      const flow = durable("shop", async (ctx) => {
        const asked = ctx.step(
          "charge",
          async () => {
            seen.push(await kindsOf(flow.with({ ...on }).get("r")));
            return "receipt";
          },
          { onUncertain: mode },
        );
        return asked;
      });
      const outcome = await on.world.run(flow.with({ ...on, storage: counting }).run(undefined, { id: "r" }));
      expect(outputOf(outcome)).toBe("receipt");
      expect(seen).toEqual([["run.started", "step.started charge"]]);
      expect(await kindsOf(flow.with({ ...on }).get("r"))).toEqual([
        "run.started",
        "step.started charge",
        "step.completed charge",
        "run.completed",
      ]);
      expect(counting.counts.appends).toBe(4);
      expect(on.world.warnings).toEqual([]);
      expect(outputOf(await replayOf(on, flow))).toBe("receipt");
      expect(seen).toHaveLength(1);
    },
  );

  test("without it there is no announcement; an invalid mode is refused", async () => {
    const on = lab();
    const { charges, charge } = till();
    const flow = durable("shop", async (ctx) => {
      await ctx.step("charge", charge);
      const bad = "ask" as unknown as OnUncertain;
      return failureOf(new Promise((resolve) => resolve(ctx.step("bad", charge, { onUncertain: bad }))));
    });
    const error = outputOf(await runOf(on, flow));
    expect(error).toMatchObject({ code: "invalid-options" });
    expect(await kindsOf(flow.with({ ...on }).get("r"))).not.toContain("step.started charge");
    expect(charges).toHaveLength(1);
  });

  test("an attempt that fails is not uncertain: it is tried again by the policy, two appends for each attempt", async () => {
    const on = lab();
    const counting = countingStorage(on.storage);
    const attempts: number[] = [];
    const flow = durable("shop", (ctx) =>
      ctx.step(
        "charge",
        ({ attempt }) => {
          attempts.push(attempt);
          if (attempt < 3) throw new Error(`attempt ${attempt}`);
          return attempt;
        },
        { onUncertain: "suspend", retry: { attempts: 3, delay: "5s", jitter: false } },
      ),
    );
    const bound = flow.with({ ...on, storage: counting });
    expect(outputOf(await on.world.run(bound.run(undefined, { id: "r" })))).toBe(3);
    expect(attempts).toEqual([1, 2, 3]);
    expect(await kindsOf(bound.get("r"))).toEqual([
      "run.started",
      "step.started charge",
      "attempt.failed charge",
      "step.started charge",
      "attempt.failed charge",
      "step.started charge",
      "step.completed charge",
      "run.completed",
    ]);
    expect(counting.counts.appends).toBe(8);
  });

  test("neither is one that ran out of time, nor one that failed for good", async () => {
    const on = lab();
    const flow = durable("shop", async (ctx) => {
      const late = await failureOf(
        ctx.step("late", () => pause(on.world, 60_000), {
          onUncertain: "suspend",
          timeout: "1s",
          retry: { attempts: 2, delay: 10, jitter: false },
        }),
      );
      const fatal = await failureOf(
        ctx.step("fatal", () => Promise.reject(new FatalError("no")), { onUncertain: "suspend" }),
      );
      return [late, fatal].map((error) => (error as { cause: { code?: string; message: string } }).cause);
    });
    expect(outputOf(await runOf(on, flow))).toMatchObject([{ code: "step-timeout" }, { message: "no" }]);
    const kinds = await kindsOf(flow.with({ ...on }).get("r"));
    expect(kinds.filter((line) => line.startsWith("suspend"))).toEqual([]);
    expect(kinds.filter((line) => line === "step.started late")).toHaveLength(2);
  });

  test("a crash while it waits for its next attempt asks nothing: the end of the last one is recorded", async () => {
    const on = lab();
    let attempts = 0;
    const flow = durable("shop", (ctx) =>
      ctx.step(
        "charge",
        ({ attempt }) => ((attempts += 1), attempt === 1 ? Promise.reject(new Error("no")) : attempt),
        {
          onUncertain: "suspend",
          retry: { delay: "30s", jitter: false },
        },
      ),
    );
    await dieAt(on, flow, 3);
    expect(outputOf(await runOf(on, flow))).toBe(2);
    expect(attempts).toBe(2);
  });
});

describe("a driver that dies after the announcement", () => {
  test.each(["charged", "not charged"])("retry: the work runs again, by rule (it had %s)", async (how) => {
    const on = lab();
    const till1 = till();
    const flow = shop(till1, "retry");
    if (how === "charged") await dieCharged(on, flow);
    else await dieAt(on, flow, appends.announced);
    expect(outputOf(await runOf(on, flow))).toEqual([`receipt ${how === "charged" ? 2 : 1}`, "mailed"]);
    expect(till1.charges).toHaveLength(how === "charged" ? 2 : 1);
    expect(new Set(till1.charges).size).toBe(1);
    const kinds = await kindsOf(flow.with({ ...on }).get("r"));
    expect(kinds.filter((line) => line === "step.started charge")).toHaveLength(2);
    expect(kinds.filter((line) => line.startsWith("attempt"))).toEqual([]);
  });

  test("suspend: the run waits with the facts, and nothing is repeated", async () => {
    const on = lab();
    const taken = till();
    const flow = shop(taken, "suspend");
    const begun = on.world.now();
    const outcome = await afterDeath(on, flow);
    expect(outcome).toMatchObject({
      status: "suspended",
      waiting: [
        {
          key: "charge/uncertain",
          name: "uncertain",
          note: {
            step: "charge",
            attempt: 1,
            startedAt: begun,
            idempotencyKey: taken.charges[0],
            question: expect.stringContaining('{ status: "retry" }') as string,
          },
          schema: {
            type: "object",
            properties: { status: { enum: ["completed", "retry", "failed"] } },
            required: ["status"],
          },
          expiresAt: null,
        },
      ],
      wakeAt: null,
    });
    // However often and from wherever it is advanced.
    await on.world.advance(86_400_000);
    const before = await batchesOf(on);
    expect(await runOf(on, flow)).toEqual(outcome);
    expect(await batchesOf(on)).toEqual(before);
    expect(taken.charges).toHaveLength(1);
    expect(on.world.warnings).toEqual([]);
  });

  test("the time in the note is when the attempt began, and the attempt is that of the policy", async () => {
    const on = lab();
    const flow = durable("shop", (ctx) =>
      ctx.step("charge", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("no")) : attempt), {
        onUncertain: "suspend",
        retry: { delay: "30s", jitter: false },
      }),
    );
    const begun = on.world.now();
    await dieCharged(on, flow, 5);
    const outcome = await runOf(on, flow);
    expect(outcome).toMatchObject({ waiting: [{ note: { attempt: 2, startedAt: begun + 30_000 } }] });
  });

  test("no secret is configured: the run is blocked and says so; with one, it asks", async () => {
    const { secret: _, ...on } = lab();
    const taken = till();
    const flow = shop(taken, "suspend");
    await dieCharged({ ...on, secret: "another secret for tests" }, flow);
    const blocked = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    expect(blocked).toMatchObject({ status: "blocked", error: { code: "no-secret" } });
    await on.world.advance(120_000);
    const asked = await runOf({ ...on, secret: "a secret for tests, of no worth" }, flow);
    expect(asked).toMatchObject({ status: "suspended", waiting: [{ key: "charge/uncertain" }] });
    expect(taken.charges).toHaveLength(1);
  });
});

describe("H10 a crash at every I/O", () => {
  /** Answers the question by looking at the recorded charges. */
  const charges = recorder();
  const looks = ({ idempotencyKey }: { idempotencyKey: string }) =>
    charges.effects.some(({ key }) => key === idempotencyKey)
      ? ({ status: "completed", value: "receipt" } as const)
      : ({ status: "retry" } as const);
  const charge = ({ idempotencyKey }: { idempotencyKey: string }) => {
    charges.record("charge", { key: idempotencyKey });
    return "receipt";
  };
  const asked: [string, OnUncertain][] = [
    ["a person", "suspend"],
    ["a function", looks],
  ];

  test.each(asked)(
    "with %s who looks: the effect happens once, and the output is that of the calm run",
    async (_, mode) => {
      const flow = durable("shop", async (ctx) => {
        const first = await ctx.step("charge", charge, { onUncertain: mode });
        const beside = await ctx.parallel({
          a: (c) => c.step("charge", charge, { onUncertain: mode }),
          b: async (c) => {
            await c.step("look", () => 1);
            return c.step("charge", charge, { onUncertain: mode });
          },
        });
        return [first, beside, await ctx.step("mail", () => "mailed")];
      });
      const seen: number[] = [];
      const report = await crashEverywhere(flow, {
        resume: { uncertain: ({ note }) => looks(note as { idempotencyKey: string }) },
        effects: charges,
        reset: () => {
          seen.push(charges.effects.length);
          charges.reset();
        },
      });
      seen.push(charges.effects.length);
      expect(report.cases.length).toBeGreaterThan(35);
      // The first reset comes before anything ran; every history after it charged three times, once for each step.
      expect(new Set(seen.slice(1))).toEqual(new Set([3]));
    },
  );
});
