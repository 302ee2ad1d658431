import { durable, FatalError, RetryError } from "@durable/core";
import { expect, test } from "vitest";
import { lab, outputOf, pause } from "../../support/behaviour-lab.ts";
import { dieAt, runOf } from "../../support/behaviour-lives.ts";

test("steps and streams have the retry and the timeout of their workflow, unless they have their own", async () => {
  const on = lab();
  const ran: Record<string, number> = {};
  const failing = (name: string) => () => {
    ran[name] = (ran[name] ?? 0) + 1;
    throw new Error(name);
  };
  const flow = durable(
    "defaults",
    async (ctx) => {
      await ctx.step("five", failing("five")).catch(() => {});
      await ctx.step("two", failing("two"), { retry: { attempts: 2 } }).catch(() => {});
      await ctx.step("one", failing("one"), { retry: false }).catch(() => {});
      await ctx.stream("feed", failing("feed")).catch(() => {});
      const slow = (): Promise<void> => pause(on.world, 5_000);
      const timed = await ctx.step("slow", slow, { retry: false }).catch((error: Error) => error.message);
      await ctx.step("patient", slow, { timeout: "1h" });
      return timed;
    },
    { retry: { attempts: 5, delay: 1 }, timeout: "1s" },
  );
  const outcome = await on.world.run(flow.with(on).run());
  expect(ran).toEqual({ five: 5, two: 2, one: 1, feed: 5 });
  expect(outputOf(outcome)).toContain("took longer than 1000 ms");
});

test("`retry.if` decides which errors are worth another attempt", async () => {
  const on = lab();
  const ran: string[] = [];
  const failing = (name: string, error: Error) => () => {
    ran.push(name);
    throw error;
  };
  const flow = durable(
    "predicate",
    async (ctx) => {
      await ctx.step("busy", failing("busy", new Error("busy"))).catch(() => {});
      await ctx.step("bad", failing("bad", new TypeError("bad"))).catch(() => {});
      await ctx.step("fatal", failing("fatal", new FatalError("fatal"))).catch(() => {});
      await ctx.step("asked", failing("asked", new RetryError("later", { after: 5 }))).catch(() => {});
      const always = { retry: { attempts: 2, delay: 1, if: () => true } };
      await ctx.step("own", failing("own", new TypeError("own")), always).catch(() => {});
    },
    { retry: { attempts: 3, delay: 1, if: (error) => !(error instanceof TypeError) } },
  );
  expect((await on.world.run(flow.with(on).run())).status).toBe("completed");
  const times = (name: string): number => ran.filter((one) => one === name).length;
  expect(["busy", "bad", "fatal", "asked", "own"].map(times)).toEqual([3, 1, 1, 3, 2]);
});

test("a predicate that throws does not decide", async () => {
  const on = lab();
  let ran = 0;
  const hostile = (): boolean => {
    throw new Error("in the predicate");
  };
  const flow = durable("hostile", (ctx) =>
    ctx.step("s", () => Promise.reject(new Error(`no ${++ran}`)), {
      retry: { attempts: 2, delay: 1, if: hostile },
    }),
  );
  expect((await on.world.run(flow.with(on).run())).status).toBe("failed");
  expect(ran).toBe(2);
});

test("`onUncertain` of the workflow holds for its steps, and a step may say otherwise", async () => {
  const on = lab();
  const ran: string[] = [];
  const flow = durable(
    "effects",
    async (ctx) => {
      await ctx.step("plain", () => ran.push("plain"), { onUncertain: "retry" });
      await ctx.step("charge", () => ran.push("charge"));
      return ran.length;
    },
    { onUncertain: "suspend" },
  );
  // Start, start of plain, plain, start of charge, charge.
  await dieAt(on, flow, 5, { fault: "crash-before" });
  expect(await runOf(on, flow)).toMatchObject({
    status: "suspended",
    waiting: [{ key: "charge/uncertain" }],
  });
  expect(ran).toEqual(["plain", "charge"]);
});

test("`with` changes the defaults", async () => {
  const on = lab();
  let ran = 0;
  const flow = durable("w", (ctx) => ctx.step("s", () => Promise.reject(new Error(`no ${++ran}`))), {
    retry: { attempts: 5, delay: 1 },
  });
  await on.world.run(flow.with({ ...on, retry: false }).run());
  expect(ran).toBe(1);
});

test.each([
  [{ retry: { attempts: 0 } }, /invalid retry/],
  [{ retry: { if: "yes" } }, /a function for `if`/],
  [{ timeout: "later" }, /timeout of workflow "w"/],
  [{ onUncertain: "ask" }, /invalid onUncertain/],
])("%o is refused when the workflow is defined", (options, message) => {
  expect(() => durable("w", () => 1, options as never)).toThrow(message);
});

test("a step that blocks the process for longer than its timeout is reported", async () => {
  const on = lab();
  let skew = 0;
  const world = { ...on.world, now: () => on.world.now() + skew };
  const flow = durable("busy", async (ctx) => {
    await ctx.step("spin", () => void (skew += 5_000), { timeout: "1s" });
    await ctx.step("fine", () => void (skew += 500), { timeout: "1s" });
  });
  const outcome = await on.world.run(flow.with({ ...on, world }).run(undefined, { id: "r" }));
  expect(outcome.status).toBe("completed");
  expect(on.world.warnings).toEqual([
    expect.stringMatching(/step "spin" of run r blocked the process for 5000 ms, longer than its timeout of 1000 ms/),
  ]);
});
