import { createApp, durable, FatalError, type Context, type StepInfo } from "@durable/core";
import { crashEverywhere, recorder, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { kindsOf, lab, pause, type Lab } from "../support/behaviour-lab.ts";
import { dieAt, runOf } from "../support/behaviour-lives.ts";

const faults: readonly Fault[] | undefined = inject("full") ? undefined : ["crash-after"];

describe("crash everywhere", () => {
  test("a failing run with compensations in branches and in a child", { timeout: 300_000 }, async () => {
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
        (info) => (info.attempt < 2 ? Promise.reject(new Error("again")) : book("flaky")(info)),
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
    { timeout: 300_000 },
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

describe("code that awaited something other than ctx before a step that is undone", () => {
  /** Fails after two steps with a wait of its own before each; `undone` has what was undone. */
  function trip(on: Lab, ms: number, undone: string[]) {
    return durable("trip", async (ctx) => {
      for (const name of ["a", "b"]) {
        await pause(on.world, ms);
        await ctx.step(name, () => 1, { compensate: () => void undone.push(name) });
      }
      await pause(on.world, ms);
      throw new FatalError("full");
    });
  }

  test.each([10, 200, 2_000])("after %i ms: the next driver undoes it, too", async (ms) => {
    for (let append = 1; append <= 8; append++) {
      const on = lab();
      const undone: string[] = [];
      const flow = trip(on, ms, undone);
      await dieAt(on, flow, append).catch(() => {});
      expect(await runOf(on, flow), `died at append ${append}`).toMatchObject({ status: "failed" });
      expect([...new Set(undone)]).toEqual(["b", "a"]);
    }
  });

  test("longer than running work is waited for: blocked, and it goes on with more time", async () => {
    const on = lab();
    const undone: string[] = [];
    const flow = trip(on, 4_000, undone);
    await dieAt(on, flow, 6);
    expect(await runOf(on, flow)).toMatchObject({ status: "blocked", error: { code: "diverged" } });
    expect(await runOf(on, flow.with({ ...on, linger: "1m" }))).toMatchObject({ status: "failed" });
    expect(undone).toEqual(["b", "a"]);
  });
});
