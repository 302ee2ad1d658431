import { createApp, durable, limits, type Context, type DurableError, type Duration } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, secret, tokenOf } from "../support/behaviour-lab.ts";
import { batchesOf, replayOf, runOf } from "../support/behaviour-lives.ts";

test("H50 a note that cannot be kept is an error the workflow can catch", async () => {
  const { world, storage } = lab();
  const flow = durable("noted", async (ctx) => {
    try {
      return await ctx.suspend("ok", { note: { draw: () => 1 } });
    } catch (error) {
      return (error as { code: string }).code;
    }
  }).with({ storage, world, secret });
  expect(outputOf(await world.run(flow.run(undefined, { id: "r" })))).toBe("not-serializable");
});

test("H50 a fallback that cannot be kept is found when the wait is made, not at its deadline", async () => {
  const { world, storage } = lab();
  const flow = durable("fallen", async (ctx) => {
    try {
      return await ctx.suspend("ok", { timeout: "2h", fallback: () => 1 });
    } catch (error) {
      return (error as { code: string }).code;
    }
  }).with({ storage, world, secret });
  expect(outputOf(await world.run(flow.run(undefined, { id: "r" })))).toBe("not-serializable");
});

test("a run whose note cannot be kept is not tried again by every sweep", async () => {
  const { world, storage } = lab();
  const flow = durable("noted", (ctx) => ctx.suspend("ok", { note: () => 1 })).with({
    storage,
    world,
    secret,
  });
  const app = createApp({ workflows: [flow], bind: false, storage, world, secret });
  await world.run(flow.run(undefined, { id: "r" })).catch(() => {});
  const { outcomes, failed } = await world.run(app.sweep());
  expect([...outcomes, ...failed]).toEqual([]);
});

test("H71 a note over its limit is a typed error", async () => {
  const { world, storage } = lab();
  const flow = durable("noted", (ctx) => ctx.suspend("ok", { note: "x".repeat(100_000) }));
  const outcome = await world.run(flow.with({ storage, world, secret }).run(undefined, { id: "r" }));
  expect(outcome).toMatchObject({ status: "failed", error: { code: "too-large" } });
});

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
};
const over: [string, string, () => unknown][] = [
  ["too large", "too-large", () => "x".repeat(limits.valueBytes + 1)],
  ["too deep", "too-deep", () => nested(limits.valueDepth + 10)],
  ["far too deep", "too-deep", () => nested(100_000)],
];
const codeOf = (error: unknown) => (error as DurableError).code;

describe.each(over)("H71 a value that is %s", (_, code, make) => {
  test("as an input is refused before there is a run", async () => {
    const on = lab();
    const flow = durable("input", (__, input: unknown) => input).with({ ...on });
    expect(await failureOf(on.world.run(flow.run(make(), { id: "r" })))).toMatchObject({ code });
    expect(await batchesOf(on)).toEqual([]);
  });

  test("as a step's output is caught, tried once, and the run goes on", async () => {
    const on = lab();
    let bodies = 0;
    const flow = durable("output", async (ctx) => {
      const big = ctx.step("big", () => {
        bodies += 1;
        return make();
      });
      const caught = await big.catch((error: unknown) => codeOf((error as Error).cause));
      return [caught, await ctx.step("small", () => 1)];
    });
    expect(outputOf(await runOf(on, flow))).toEqual([code, 1]);
    expect(outputOf(await replayOf(on, flow))).toEqual([code, 1]);
    expect(bodies).toBe(1);
  });

  test.each(["resume", "record"] as const)(
    "as an answer by %s is refused, and the wait stays open",
    async (way) => {
      const on = lab();
      const flow = durable("answer", (ctx) => ctx.suspend("ok"));
      const app = createApp({ workflows: [flow], ...on });
      const token = tokenOf(await runOf(on, flow));
      const before = await batchesOf(on);
      expect(
        await failureOf(on.world.run(app.resume(token, make(), { drive: way === "resume" }))),
      ).toMatchObject({ code });
      expect(await batchesOf(on)).toEqual(before);
      const result = await on.world.run(app.resume(token, "small"));
      expect(outputOf(result.outcome)).toBe("small");
    },
  );

  test("as the run's output fails the run, typed, and it is over", async () => {
    const on = lab();
    const flow = durable("end", () => make());
    expect(await runOf(on, flow)).toMatchObject({ status: "failed", error: { code } });
    expect((await on.world.run(createApp({ workflows: [flow], ...on }).sweep())).outcomes).toEqual([]);
  });
});

describe("H71 a name or a number over its limit is an error that code can catch, and the run goes on", () => {
  const cases: [string, string, (ctx: Context) => unknown][] = [
    ["a long step name", "invalid-name", (ctx) => ctx.step("x".repeat(limits.nameLength + 1), () => 1)],
    ["an empty step name", "invalid-name", (ctx) => ctx.step("", () => 1)],
    ["a step name with a slash", "invalid-name", (ctx) => ctx.step("a/b", () => 1)],
    ["a name of a wait with a bracket", "invalid-name", (ctx) => ctx.suspend("a[b]")],
    ["a name of a sleep with a hash", "invalid-name", (ctx) => ctx.sleep(1, { name: "a#2" })],
    ["a branch name with a bracket", "invalid-name", (ctx) => ctx.parallel({ "a]": () => 1 })],
    ["a branch name in a race", "invalid-name", (ctx) => ctx.race({ "": () => 1 })],
    [
      "too many branches",
      "limit",
      (ctx) => ctx.parallel(Array.from({ length: limits.branches + 1 }, () => () => 1)),
    ],
    [
      "too many attempts",
      "invalid-options",
      (ctx) => ctx.step("x", () => 1, { retry: { attempts: limits.attempts + 1 } }),
    ],
    ["an invalid length", "invalid-options", (ctx) => ctx.sleep("soon" as Duration)],
    ["an invalid time limit", "invalid-options", (ctx) => ctx.step("x", () => 1, { timeout: -1 })],
    [
      "a declared input that cannot be kept",
      "not-serializable",
      (ctx) => ctx.step("x", () => 1, { input: () => 1 }),
    ],
    [
      "a key that grew too long",
      "limit",
      (ctx) => {
        const deeper = (c: Context): unknown => c.parallel({ ["x".repeat(100)]: deeper });
        return deeper(ctx);
      },
    ],
  ];

  test.each(cases)("%s", async (_, code, ask) => {
    const on = lab();
    const flow = durable("limits", async (ctx) => {
      let caught: unknown = "nothing was thrown";
      try {
        await ask(ctx);
      } catch (error) {
        caught = codeOf(error);
      }
      return [caught, await ctx.step("after", () => 1)];
    });
    expect(outputOf(await runOf(on, flow))).toEqual([code, 1]);
    expect(outputOf(await replayOf(on, flow))).toEqual([code, 1]);
  });

  test("a workflow's name is checked when it is made", () => {
    for (const name of ["", "a/b", "x".repeat(129), 5])
      expect(() => durable(name as string, () => 1)).toThrow(
        expect.objectContaining({ code: "invalid-name" }),
      );
    expect(() => durable("name", "body" as never)).toThrow(
      expect.objectContaining({ code: "invalid-options" }),
    );
  });
});

test("a run does not park before all its waits are durable, when they are too large for one batch", async () => {
  const on = lab();
  const flow = durable("many", (ctx) =>
    Promise.all(Array.from({ length: 400 }, (_, i) => ctx.suspend(`w${i}`, { note: "x".repeat(60_000) }))),
  );
  const outcome = await runOf(on, flow);
  expect(outcome.status === "suspended" && outcome.waiting.length).toBe(400);
  const batches = await batchesOf(on);
  expect(batches.length).toBeGreaterThan(2);
  for (const batch of batches) expect(batch.length).toBeLessThan(limits.batchBytes + 100_000);
});
