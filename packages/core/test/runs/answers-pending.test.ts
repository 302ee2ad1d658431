import { createApp, durable, type App, type StandardSchema } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { limits } from "../../src/values/limits.ts";
import { kindsOf, lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { dieAt, replayOf, runOf, type Flow } from "../support/behaviour-lives.ts";

/** A check of a number that takes `ms`, of a library without JSON Schema. */
function numbers(on: Lab, ms = 0): StandardSchema<number> {
  const validate = async (value: unknown) => {
    if (ms > 0) await pause(on.world, ms);
    return typeof value === "number" ? { value } : { issues: [{ message: "it is no number" }] };
  };
  return { "~standard": { version: 1, vendor: "test", validate } };
}

/** Run `r`, parked at "n". */
async function parked(on: Lab, flow: Flow, warm = 0): Promise<{ app: App; token: string }> {
  const app = createApp({ ...on, workflows: [flow], warm });
  await app.start(flow.name, undefined, { id: "r" });
  await on.world.advance(1_000);
  return { app, token: tokenOf(await app.get("r").outcome(), "n") };
}

const counting = (on: Lab, ms = 0): Flow =>
  durable("counting", (ctx) => ctx.suspend("n", { schema: numbers(on, ms) }));

const verdicts = async (app: App): Promise<string[]> =>
  (await kindsOf(app.get("r"))).filter((line) => line.startsWith("suspend.") && !/opened/.test(line));

const statusOf = async (reply: Promise<{ readonly status: string }>): Promise<string> => (await reply).status;

describe.each([
  { how: "cold", warm: 0 },
  { how: "warm", warm: 10 },
])("answers while an invalid one waits for its check, $how", ({ warm }) => {
  test.each([0, 5_000])("are kept, and the first that fits wins (check: %i ms)", async (ms) => {
    const on = lab();
    const flow = counting(on, ms);
    const { app, token } = await parked(on, flow, warm);
    for (const value of ["bad", "worse", 1, 2])
      expect(await statusOf(app.resume(token, value, { drive: false }))).toBe("accepted");
    expect(outputOf(await on.world.run(app.advance("r")))).toBe(1);
    const [bad, worse] = ["suspend.rejected n", "suspend.rejected n"];
    expect((await verdicts(app)).slice(4)).toEqual([bad, worse, "suspend.resolved n"]);
    expect(outputOf(await replayOf(on, flow))).toBe(1);
    expect(await statusOf(app.resume(token, 3, { drive: false }))).toBe("duplicate");
  });

  test("resume checks them first: its own answer wins if none of them fits", async () => {
    const on = lab();
    const { app, token } = await parked(on, counting(on), warm);
    await app.resume(token, "bad", { drive: false });
    expect(await on.world.run(app.resume(token, 5))).toMatchObject({
      status: "accepted",
      outcome: { status: "completed", output: 5 },
    });
    const recorded = ["suspend.answered", "suspend.answered"];
    expect(await verdicts(app)).toEqual([...recorded, "suspend.rejected n", "suspend.resolved n"]);
  });

  test("resume checks them first: its own answer is a duplicate if one of them fits", async () => {
    const on = lab();
    const { app, token } = await parked(on, counting(on), warm);
    await app.resume(token, "bad", { drive: false });
    await app.resume(token, 4, { drive: false });
    expect(await on.world.run(app.resume(token, 5))).toMatchObject({
      status: "duplicate",
      outcome: { status: "completed", output: 4 },
    });
  });

  test("H34 an invalid answer by resume is not recorded, and those before it are refused", async () => {
    const on = lab();
    const { app, token } = await parked(on, counting(on), warm);
    await app.resume(token, "bad", { drive: false });
    const reply = await on.world.run(app.resume(token, "worse"));
    expect(reply).toMatchObject({ status: "invalid", issues: "it is no number" });
    expect(await verdicts(app)).toEqual(["suspend.answered", "suspend.rejected n"]);
    expect(await statusOf(on.world.run(app.resume(token, 5)))).toBe("accepted");
  });
});

describe("an answer that needs no check", () => {
  test("to a wait without a schema: the second one is a duplicate", async () => {
    const on = lab();
    const { app, token } = await parked(
      on,
      durable("free", (ctx) => ctx.suspend("n")),
    );
    expect(await statusOf(app.resume(token, 1, { drive: false }))).toBe("accepted");
    expect(await statusOf(app.resume(token, 2, { drive: false }))).toBe("duplicate");
    expect(outputOf(await on.world.run(app.advance("r")))).toBe(1);
  });

  test("a failure: what comes after it is a duplicate, and what came before it is checked first", async () => {
    for (const first of ["bad", 3]) {
      const on = lab();
      const { app, token } = await parked(on, counting(on));
      await app.resume(token, first, { drive: false });
      expect(await statusOf(app.resume(token, undefined, { error: new Error("no"), drive: false }))).toBe(
        "accepted",
      );
      expect(await statusOf(app.resume(token, 4, { drive: false }))).toBe("duplicate");
      const outcome = await on.world.run(app.advance("r"));
      expect(outcome.status).toBe(first === 3 ? "completed" : "failed");
    }
  });
});

test("the same id is recognised while its answer waits, and after it has won", async () => {
  const on = lab();
  const { app, token } = await parked(on, counting(on));
  await app.resume(token, "bad", { id: "a", drive: false });
  for (let time = 0; time < 2; time++) {
    expect(await statusOf(app.resume(token, "bad", { id: "a", drive: false }))).toBe("accepted");
    expect(await statusOf(app.resume(token, 5, { id: "b", drive: false }))).toBe("accepted");
  }
  expect(outputOf(await on.world.run(app.advance("r")))).toBe(5);
  expect((await verdicts(app)).filter((line) => line.startsWith("suspend.answered"))).toHaveLength(2);
  expect(await statusOf(app.resume(token, 5, { id: "b", drive: false }))).toBe("accepted");
  expect(await statusOf(app.resume(token, "bad", { id: "a", drive: false }))).toBe("duplicate");
});

test("the same value is recorded once while it waits for its check", async () => {
  const on = lab();
  const { app, token } = await parked(on, counting(on));
  const values = ["bad", "bad", 1, "bad", 1, { a: 1 }, { a: 1 }];
  const statuses: string[] = [];
  for (const value of values) statuses.push(await statusOf(app.resume(token, value, { drive: false })));
  const [kept, same] = ["accepted", "duplicate"];
  expect(statuses).toEqual([kept, same, kept, same, same, kept, same]);
  expect(outputOf(await on.world.run(app.advance("r")))).toBe(1);
});

test("resume says what is wrong with a value that waits for its check already", async () => {
  const on = lab();
  const { app, token } = await parked(on, counting(on));
  await app.resume(token, "bad", { drive: false });
  expect(await on.world.run(app.resume(token, "bad"))).toMatchObject({
    status: "invalid",
    issues: "it is no number",
  });
});

test("their number is limited, and resume still checks and answers", async () => {
  const on = lab();
  const { app, token } = await parked(on, counting(on));
  for (let i = 0; i < limits.pendingAnswers; i++) await app.resume(token, `bad ${i}`, { drive: false });
  await expect(app.resume(token, 1, { drive: false })).rejects.toMatchObject({
    code: "limit",
    message: expect.stringMatching(/"n" of run r has 100 answers .* use resume/) as string,
  });
  expect(await on.world.run(app.resume(token, 5))).toMatchObject({
    status: "accepted",
    outcome: { output: 5 },
  });
});

describe("answers before a timeout that has passed", () => {
  const inAnHour = (on: Lab): Flow =>
    durable("hour", (ctx) =>
      ctx.suspend("n", { schema: numbers(on, 5_000), timeout: "1h", fallback: "late" }),
    );

  test.each([
    { given: ["bad", 7], output: 7 },
    { given: ["bad", "worse"], output: "late" },
  ])("$given: $output", async ({ given, output }) => {
    const on = lab();
    const flow = inAnHour(on);
    const { app, token } = await parked(on, flow);
    for (const value of given) await app.resume(token, value, { drive: false });
    await on.world.advance(2 * 3_600_000);
    expect(await statusOf(app.resume(token, 8, { drive: false }))).toBe("expired");
    expect(outputOf(await on.world.run(app.advance("r")))).toBe(output);
    expect(outputOf(await replayOf(on, flow))).toBe(output);
  });
});

test("verdicts on answers to several waits keep the order of the answers", async () => {
  const on = lab();
  const order: number[] = [];
  const flow: Flow = durable("two", (ctx) =>
    ctx.parallel({
      a: async (c) => order.push(await c.suspend("n", { schema: numbers(on) })),
      b: async (c) => order.push(await c.suspend("n", { schema: numbers(on) })),
    }),
  );
  const app = createApp({ ...on, workflows: [flow] });
  const outcome = await runOf(on, flow);
  const [a, b] = ["parallel[a]/n", "parallel[b]/n"].map((key) => tokenOf(outcome, key)) as [string, string];
  await app.resume(a, "bad", { drive: false });
  await app.resume(a, 1, { drive: false });
  await app.resume(b, 2, { drive: false });
  await on.world.run(app.advance("r"));
  expect(order).toEqual([1, 2]);
});

test("an answer that comes while the verdict on another one is written changes nothing", async () => {
  const on = lab();
  const slow = faultyStorage(on.storage, { world: on.world, latency: () => 50 });
  const flow = counting(on, 100);
  const { app, token } = await parked(on, flow);
  const fast = createApp({ ...on, workflows: [] });
  const driver = createApp({ ...on, storage: slow, workflows: [flow] });
  await app.resume(token, 1, { drive: false });
  const advancing = driver.advance("r");
  const sending = (async () => {
    for (let i = 2; i < 12; i++) {
      await pause(on.world, 40);
      expect(await statusOf(fast.resume(token, i, { drive: false }))).toBe("accepted");
    }
  })();
  const [outcome] = await on.world.run(Promise.all([advancing, sending]));
  expect(outputOf(outcome)).toBe(1);
  expect(await statusOf(fast.resume(token, 12, { drive: false }))).toBe("duplicate");
  expect((await verdicts(app)).filter((line) => line.startsWith("suspend.resolved"))).toHaveLength(1);
});

test("a question about an uncertain step takes the first answer that fits", async () => {
  const on = lab();
  const flow: Flow = durable("pay", (ctx) =>
    ctx.step("charge", () => pause(on.world, 60_000), { onUncertain: "suspend" }),
  );
  await dieAt(on, flow, 3, { fault: "crash-before" });
  const token = tokenOf(await runOf(on, flow), "charge/uncertain");
  const app = createApp({ ...on, workflows: [flow] });
  expect(await statusOf(app.resume(token, "paid", { drive: false }))).toBe("accepted");
  expect(await statusOf(app.resume(token, { status: "completed", value: "c-1" }, { drive: false }))).toBe(
    "accepted",
  );
  expect(outputOf(await on.world.run(app.advance("r")))).toBe("c-1");
});

test.each(["crash-before", "crash-after"] as const)(
  "the first that fits wins, whoever checks it (%s each append)",
  async (fault) => {
    for (let append = 1; append <= 3; append++) {
      const on = lab();
      const flow = counting(on);
      const { app, token } = await parked(on, flow);
      for (const value of ["bad", "worse", 1, 2]) await app.resume(token, value, { drive: false });
      await dieAt(on, flow, append, { fault }).catch(() => {});
      expect(outputOf(await on.world.run(app.advance("r"))), `append ${append}`).toBe(1);
      expect(await statusOf(app.resume(token, 3, { drive: false }))).toBe("duplicate");
    }
  },
);
