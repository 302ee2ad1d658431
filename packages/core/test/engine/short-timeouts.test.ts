import { createApp, durable, type Duration } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, pause, sqliteLab, tokenOf } from "../support/behaviour-lab.ts";

/** Waits for an answer, or for a message. */
const flows = {
  suspend: (timeout: Duration) => durable("waits", (ctx) => ctx.suspend("ok", { timeout, fallback: "late" })),
  receive: (timeout: Duration) => durable("waits", (ctx) => ctx.receive("ok", { timeout, fallback: "late" })),
};

describe.each(["suspend", "receive"] as const)("the timeout of ctx.%s", (kind) => {
  test.each([
    ["memory", lab],
    ["SQLite", sqliteLab],
  ])("within patience is held in memory: run() and result() give the fallback, on %s", async (_, place) => {
    const on = place();
    const flow = flows[kind]("30s").with({ ...on, patience: "1m" });
    const start = on.world.now();
    expect(outputOf(await on.world.run(flow.run(undefined, { id: "a" })))).toBe("late");
    const run = await flow.start(undefined, { id: "b" });
    expect(await on.world.run(run.result())).toBe("late");
    expect(on.world.now() - start).toBeGreaterThanOrEqual(60_000);
    const kinds = (await flow.get("a").entries()).map(({ kind: each }) => each);
    expect(kinds).not.toContain("run.suspended");
  });

  test("beyond patience it parks the run", async () => {
    const on = lab();
    const flow = flows[kind]("2m").with({ ...on, patience: "1m" });
    const start = on.world.now();
    expect(await on.world.run(flow.run(undefined, { id: "r" }))).toMatchObject({ status: "suspended" });
    expect(on.world.now() - start).toBeLessThan(60_000);
  });

  test("with patience: 0 it parks the run, however short", async () => {
    const on = lab();
    const flow = flows[kind]("1s").with({ ...on, patience: 0 });
    expect(await on.world.run(flow.run(undefined, { id: "r" }))).toMatchObject({ status: "suspended" });
  });
});

test("an answer that comes within that time wins, from this process or from another one", async () => {
  const on = lab();
  const given: string[] = [];
  const flow = durable("waits", (ctx) => {
    const wait = ctx.suspend("ok", { timeout: "30s", fallback: "late" });
    given.push(wait.token);
    return wait;
  });
  for (const answers of [true, false]) {
    const here = createApp({ ...on, workflows: [flow], patience: "1m" });
    const there = answers ? here : createApp({ ...on, workflows: [flow], patience: "1m" });
    const id = `r-${String(answers)}`;
    const run = await here.start("waits", undefined, { id });
    const result = run.result();
    await on.world.run(pause(on.world, 10_000));
    const token = given.at(-1) ?? "";
    const resumed = await on.world.run(there.resume(token, "yes"));
    expect(resumed).toMatchObject({ status: "accepted" });
    expect(await on.world.run(result)).toBe("yes");
  }
});

test("a message that comes within that time wins", async () => {
  const on = lab();
  const app = createApp({ ...on, workflows: [flows.receive("30s")], patience: "1m" });
  const run = await app.start("waits", undefined, { id: "r" });
  const result = run.result();
  await on.world.run(pause(on.world, 10_000));
  await app.send("r", "ok", "here");
  expect(await on.world.run(result)).toBe("here");
});

test("result() waits for a parked run whose timeout is by now within patience, and no longer", async () => {
  const on = lab();
  const flow = flows.suspend("2m").with({ ...on, patience: "1m" });
  const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
  expect(tokenOf(outcome)).not.toBe("");
  expect(await failureOf(on.world.run(flow.get("r").result()))).toMatchObject({ code: "suspended" });
  await on.world.advance(70_000);
  expect(await on.world.run(flow.get("r").result())).toBe("late");
});

test("a wait without a timeout beside a short one is parked after it", async () => {
  const on = lab();
  const flow = durable("waits", (ctx) =>
    Promise.all([ctx.suspend("long"), ctx.suspend("short", { timeout: "5s", fallback: "late" })]),
  ).with({ ...on, patience: "1m" });
  const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
  expect(outcome).toMatchObject({ status: "suspended", waiting: [{ key: "long" }], wakeAt: null });
});
