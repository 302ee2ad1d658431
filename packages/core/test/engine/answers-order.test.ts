import { createApp, durable, type App, type Context, type StandardSchema } from "@durable/core";
import { describe, expect, test } from "vitest";
import { kindsOf, lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { dieAt, replayOf, type Flow } from "../support/behaviour-lives.ts";

const hour = 3_600_000;

/** A schema whose check takes `ms`; it refuses "bad". */
function checked(on: Lab, ms: number): StandardSchema<string> {
  const validate = async (value: unknown) => {
    if (ms > 0) await pause(on.world, ms);
    return value === "bad" ? { issues: [{ message: "it is bad" }] } : { value: String(value) };
  };
  return { "~standard": { version: 1, vendor: "test", validate } };
}

/** A wait whose answer is checked for so long, or not at all. */
function ask(on: Lab, ctx: Context, ms: number | null): Promise<string> {
  return ms === null ? ctx.suspend<string>("ok") : ctx.suspend("ok", { schema: checked(on, ms) });
}

/** The same with a timeout of an hour. */
function askForAnHour(on: Lab, ctx: Context, ms: number | null): Promise<string> {
  const timeout = { timeout: "1h", fallback: "late" } as const;
  return ms === null
    ? ctx.suspend<string>("ok", timeout)
    : ctx.suspend("ok", { schema: checked(on, ms), ...timeout });
}

/** Checks of the answers a and b, in milliseconds; `null` for none. */
const checks = [
  { a: null, b: null },
  { a: 0, b: 0 },
  { a: 0, b: 5_000 },
  { a: 5_000, b: 0 },
  { a: null, b: 5_000 },
];
const memory = [
  { how: "cold", warm: 0 },
  { how: "warm", warm: 10 },
];
const every = memory.flatMap((kept) => checks.map((check) => ({ ...kept, ...check })));

/** The verdicts and results of a run, in the order of its journal. */
async function settledIn(app: App): Promise<string[]> {
  const settled = /^(suspend\.(resolved|rejected|expired)|sleep\.fired|step\.completed)/;
  return (await kindsOf(app.get("r"))).filter((kind) => settled.test(kind));
}

/** Run `r`, parked in an app that keeps it in memory or not. */
async function parkedIn(on: Lab, flow: Flow, warm: number): Promise<{ app: App; token: Token }> {
  const app = createApp({ ...on, workflows: [flow], warm });
  await app.start(flow.name, undefined, { id: "r" });
  await on.world.advance(1_000);
  const outcome = await app.get("r").outcome();
  return { app, token: (key) => tokenOf(outcome, key) };
}
type Token = (key: string) => string;

/** Two waits beside each other; gives the answers in the order in which the code saw them. */
function twoWaits(on: Lab, { a, b }: { readonly a: number | null; readonly b: number | null }): Flow {
  return durable("two", async (ctx: Context) => {
    const order: string[] = [];
    await ctx.parallel({
      a: async (c) => order.push(await ask(on, c, a)),
      b: async (c) => order.push(await ask(on, c, b)),
    });
    return order;
  });
}

describe.each(every)("two answers before an advance, $how, checked in $a and $b ms", ({ warm, a, b }) => {
  test("are judged and seen in the order in which they came", async () => {
    const on = lab();
    const flow = twoWaits(on, { a, b });
    const { app, token } = await parkedIn(on, flow, warm);
    await app.resume(token("parallel[b]/ok"), "b", { drive: false });
    await app.resume(token("parallel[a]/ok"), "a", { drive: false });
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(["b", "a"]);
    expect(await settledIn(app)).toEqual([
      "suspend.resolved parallel[b]/ok",
      "suspend.resolved parallel[a]/ok",
    ]);
    expect(outputOf(await replayOf(on, flow))).toEqual(["b", "a"]);
  });
});

describe.each(memory)("answers that are refused, $how", ({ warm }) => {
  test("are judged in their order, too, and their wait takes another", async () => {
    const on = lab();
    const { app, token } = await parkedIn(on, twoWaits(on, { a: 0, b: 5_000 }), warm);
    await app.resume(token("parallel[b]/ok"), "bad", { drive: false });
    await app.resume(token("parallel[a]/ok"), "a", { drive: false });
    expect(await on.world.run(app.advance("r"))).toMatchObject({
      status: "suspended",
      waiting: [{ key: "parallel[b]/ok" }],
    });
    await app.resume(token("parallel[b]/ok"), "b", { drive: false });
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(["a", "b"]);
    expect(await settledIn(app)).toEqual([
      "suspend.rejected parallel[b]/ok",
      "suspend.resolved parallel[a]/ok",
      "suspend.resolved parallel[b]/ok",
    ]);
  });
});

const slow = memory.flatMap((kept) => [null, 0, 5_000].map((ms) => ({ ...kept, ms })));

describe.each(slow)("an answer before an overdue timer, $how, checked in $ms ms", ({ warm, ms }) => {
  test("wins a race with a sleep", async () => {
    const on = lab();
    const flow: Flow = durable("race", async (ctx) => {
      const { name } = await ctx.race({
        late: (c) => c.sleep("1h"),
        answer: (c) => ask(on, c, ms),
      });
      return name;
    });
    const { app, token } = await parkedIn(on, flow, warm);
    await on.world.advance(hour / 2);
    await app.resume(token("race[answer]/ok"), "yes", { drive: false });
    await on.world.advance(hour);
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("answer");
    expect((await settledIn(app))[0]).toBe("suspend.resolved race[answer]/ok");
    expect(outputOf(await replayOf(on, flow))).toBe("answer");
  });

  test("wins over its own timeout, and is seen before that of another wait", async () => {
    const on = lab();
    const flow: Flow = durable("timeouts", async (ctx) => {
      const order: string[] = [];
      await ctx.parallel({
        a: async (c) => order.push(`a ${await askForAnHour(on, c, ms)}`),
        b: async (c) => order.push(`b ${await askForAnHour(on, c, ms)}`),
      });
      return order;
    });
    const { app, token } = await parkedIn(on, flow, warm);
    await app.resume(token("parallel[b]/ok"), "yes", { drive: false });
    await on.world.advance(2 * hour);
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(["b yes", "a late"]);
    expect(outputOf(await replayOf(on, flow))).toEqual(["b yes", "a late"]);
  });
});

describe.each(slow.filter(({ ms }) => ms !== null))(
  "an answer that is refused after its timeout, $how, checked in $ms ms",
  ({ warm, ms }) => {
    test("leaves its wait to the timeout", async () => {
      const on = lab();
      const flow: Flow = durable("refused", (ctx) => askForAnHour(on, ctx, ms));
      const { app, token } = await parkedIn(on, flow, warm);
      await app.resume(token("ok"), "bad", { drive: false });
      await on.world.advance(2 * hour);
      expect(outputOf(await on.world.run(app.advance("r")))).toBe("late");
      expect(await settledIn(app)).toEqual(["suspend.rejected ok", "suspend.expired ok"]);
    });
  },
);

describe("a result that comes while an answer is checked", () => {
  /** A step beside a wait whose check takes five seconds; gives the order in which the code saw them. */
  function beside(on: Lab, stepMs: number): Flow {
    return durable("beside", async (ctx) => {
      const order: string[] = [];
      await ctx.parallel({
        step: async (c) => order.push(await c.step("work", () => pause(on.world, stepMs).then(() => "step"))),
        ask: async (c) => order.push(await ask(on, c, 5_000)),
      });
      return order;
    });
  }
  const inOrder = ["suspend.resolved parallel[ask]/ok", "step.completed parallel[step]/work"];

  test("is recorded after the verdict, in a run that is being driven", async () => {
    const on = lab();
    const flow = beside(on, 10_000);
    const app = createApp({ ...on, workflows: [flow] });
    const run = await app.start("beside", undefined, { id: "r" });
    await on.world.advance(8_000);
    // The wait is durable, though the run is not parked.
    const { token } = await tokenWhileRunning(on, flow);
    expect((await app.resume(token, "ask", { drive: false })).status).toBe("accepted");
    expect(await on.world.run(run.result())).toEqual(["ask", "step"]);
    expect(await settledIn(app)).toEqual(inOrder);
    expect(outputOf(await replayOf(on, flow))).toEqual(["ask", "step"]);
  });

  test("is recorded after the verdict, in a process that found the answer", async () => {
    const on = lab();
    const flow = beside(on, 2_000);
    // The process dies once the wait is open.
    await dieAt(on, flow, 2);
    const { token } = await tokenWhileRunning(on, flow);
    const app = createApp({ ...on, workflows: [flow] });
    expect((await app.resume(token, "ask", { drive: false })).status).toBe("accepted");
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(["ask", "step"]);
    expect(await settledIn(app)).toEqual(inOrder);
  });
});

/** The token of the wait of run `r`, which is the same in a run of the same id elsewhere that parks at it. */
async function tokenWhileRunning({ world, secret }: Lab, { name }: Flow): Promise<{ token: string }> {
  const elsewhere = { ...lab(), world, secret };
  const waits = durable(name, (ctx) => ctx.parallel({ ask: (c) => c.suspend("ok"), step: () => 1 }));
  const outcome = await world.run(waits.with(elsewhere).run(undefined, { id: "r" }));
  return { token: tokenOf(outcome, "parallel[ask]/ok") };
}
