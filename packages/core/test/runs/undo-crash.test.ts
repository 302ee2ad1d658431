import { createApp, durable, FatalError, type Context, type StepInfo } from "@durable/core";
import { crashEverywhere, recorder, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { kindsOf, lab } from "../support/behaviour-lab.ts";
import { dieAt, runOf } from "../support/behaviour-lives.ts";

const faults: readonly Fault[] | undefined = inject("full") ? undefined : ["crash-before", "crash-after"];

describe("crash everywhere", () => {
  test("a failing run with compensations in branches and in a child", { timeout: 120_000 }, async () => {
    const effects = recorder();
    const book =
      (name: string) =>
      ({ idempotencyKey: key }: StepInfo): string => {
        effects.record("book", { key, payload: name });
        return name;
      };
    const refund = ({ idempotencyKey: key, value }: StepInfo & { value: string | undefined }): void => {
      effects.record("refund", { key, payload: value });
    };
    const room = durable("room", async (ctx) => {
      await ctx.step("bed", book("bed"), { compensate: refund });
      throw new FatalError("no bed");
    });
    const flow = durable("trip", async (ctx) => {
      ctx.onCancel(() => {});
      await ctx.step("plan", () => 1);
      await ctx.parallel({
        out: (c: Context) => c.step("flight", book("out"), { compensate: refund }),
        back: (c: Context) => c.step("flight", book("back"), { compensate: refund, onUncertain: "retry" }),
      });
      await ctx.step(
        "flaky",
        ({ attempt }) => (attempt < 2 ? Promise.reject(new Error("again")) : book("flaky")),
        {
          compensate: ({ attempt }) => (attempt < 2 ? Promise.reject(new Error("again")) : 1),
          retry: { attempts: 2, delay: "1s", jitter: false },
        },
      );
      await ctx.child(room, undefined);
    });
    const { cases, calm } = await crashEverywhere(flow, { ends: "failed", effects, faults });
    expect(calm.outcome.status).toBe("failed");
    expect(cases.length).toBeGreaterThan(20);
    expect(calm.ran["parallel[out]/flight/compensate"]).toBe(1);
  });
});

describe("a cancel at every append of a run", () => {
  test(
    "ends completed, or cancelled with every begun step undone once, in reverse",
    { timeout: 120_000 },
    async () => {
      const ends = new Set<string>();
      for (let append = 1; append <= 14; append++) {
        const on = lab();
        const log: string[] = [];
        const flow = durable("trip", async (ctx) => {
          ctx.onCancel((c) => c.step("tell", () => void log.push("tell")));
          for (const name of ["a", "b", "c"])
            await ctx.step(name, () => void log.push(name), {
              compensate: () => void log.push(`undo ${name}`),
            });
          await ctx.step("last", () => 1);
          return "done";
        });
        const died = await dieAt(on, flow, append).then(
          () => true,
          () => false,
        );
        const app = createApp({ ...on, workflows: [] });
        await on.world.run(app.cancel("r"));
        const outcome = await runOf(on, flow);
        ends.add(outcome.status);
        const kinds = await kindsOf(flow.with(on).get("r"));
        const started = kinds
          .filter((line) => line.startsWith("step.started"))
          .map((line) => line.split(" ")[1]);
        const undone = kinds
          .filter((line) => line.endsWith("/compensate"))
          .map((line) => line.replace("step.completed ", "").replace("/compensate", ""));
        if (outcome.status === "cancelled") expect(undone).toEqual(started.toReversed());
        else expect(undone).toEqual([]);
        if (!died) expect(outcome.status).toBe("completed");
        const after = log.slice(log.findIndex((line) => line.startsWith("undo")));
        if (undone.length > 0) expect(after.filter((line) => !/^(undo|tell)/.test(line))).toEqual([]);
      }
      expect(ends).toEqual(new Set(["cancelled", "completed"]));
    },
  );
});
