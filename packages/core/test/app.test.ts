import { createApp, durable } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, tokenOf } from "./support/behaviour-lab.ts";
import { batchesOf, dieAt, runOf } from "./support/behaviour-lives.ts";

const approval = durable("approval", (ctx) => ctx.suspend<string>("ok"));

describe("a workflow this app does not have", () => {
  test("is refused by name where code is needed, and the journal stays as it was", async () => {
    const on = lab();
    const token = tokenOf(await runOf(on, approval));
    const app = createApp({ workflows: [durable("other", () => 1)], ...on });
    const before = await batchesOf(on);
    const asks: (() => Promise<unknown>)[] = [() => app.resume(token, 1), () => app.advance("r")];
    for (const asked of asks) {
      const error = await failureOf(on.world.run(asked()));
      expect(error).toMatchObject({ code: "unknown-workflow" });
      expect((error as Error).message).toContain('"approval"');
    }
    expect(await batchesOf(on)).toEqual(before);
  });

  test("H55 is left for another app by a sweep, which then finds it", async () => {
    const on = lab();
    const token = tokenOf(await runOf(on, approval));
    const bare = createApp({ workflows: [], ...on });
    expect((await bare.resume(token, "yes", { drive: false })).status).toBe("accepted");
    expect(await on.world.run(bare.sweep())).toMatchObject({ outcomes: [], failed: [], unknown: ["r"] });
    const app = createApp({ workflows: [approval], ...on });
    expect((await on.world.run(app.sweep())).outcomes.map(outputOf)).toEqual(["yes"]);
  });

  test("can still be looked at, listed and cancelled", async () => {
    const on = lab();
    await runOf(on, approval);
    const app = createApp({ workflows: [], ...on });
    expect(await app.get("r").outcome()).toMatchObject({ status: "suspended", waiting: [{ key: "ok" }] });
    expect((await app.list()).runs).toMatchObject([{ runId: "r", workflow: "approval" }]);
    expect(await app.cancel("r")).toMatchObject({ status: "cancelled", recorded: false });
  });
});

describe("a start that leaves the driving to others", () => {
  const bodies: string[] = [];
  const flow = durable("left", (ctx, name: string) => ctx.step("a", () => bodies.push(name)));

  test("writes one batch and takes no lease: the run is due at once, for any worker", async () => {
    const on = lab();
    const app = createApp({ workflows: [flow], ...on });
    const run = await app.start("left", "x", { id: "r", drive: false });
    expect(run.repeated).toBe(false);
    await on.world.advance(60_000);
    expect(bodies).toEqual([]);
    expect(await batchesOf(on)).toHaveLength(1);
    expect(await run.outcome()).toMatchObject({ status: "running" });
    expect((await on.world.run(app.sweep())).outcomes).toMatchObject([{ runId: "r", output: 1 }]);
  });

  test("finds the run of its id, also one that is over, and refuses another input", async () => {
    const on = lab();
    const first = await flow.with(on).start("x", { id: "r", drive: false });
    const again = await flow.with(on).start("x", { id: "r", drive: false });
    expect([first.repeated, again.repeated]).toEqual([false, true]);
    const other = flow.with(on).start("y", { id: "r", drive: false });
    expect(await failureOf(other)).toMatchObject({ code: "input-mismatch" });
    expect(await on.world.run(again.result())).toBe(2);
    const late = await flow.with(on).start("x", { id: "r", drive: false });
    expect(await late.outcome()).toMatchObject({ status: "completed", output: 2 });
    expect(bodies).toEqual(["x", "x"]);
  });
});

test("two workflows of one name are refused when the app is made", () => {
  const twins = [approval, durable("approval", () => 1)];
  const make = () => createApp({ workflows: twins, ...lab() });
  expect(make).toThrow(expect.objectContaining({ code: "invalid-options" }));
  expect(make).toThrow(/two workflows named "approval"/);
});

test("H61 a sweep leaves a dead driver's run alone until its lease has run out, then ends it", async () => {
  const on = lab();
  const bodies = { a: 0, b: 0 };
  const flow = durable("two", async (ctx) => [
    await ctx.step("a", () => ++bodies.a),
    await ctx.step("b", () => ++bodies.b),
  ]);
  await dieAt(on, flow, 2, { quiet: 29_000 });
  const app = createApp({ workflows: [flow], ...on });
  expect((await on.world.run(app.sweep())).outcomes).toEqual([]);
  await on.world.advance(2_000);
  expect((await on.world.run(app.sweep())).outcomes.map(outputOf)).toEqual([[1, 1]]);
  expect(bodies).toEqual({ a: 1, b: 1 });
});

test("a sweep advances each due run once, at most as many as its limit, and lists those that failed", async () => {
  const on = lab();
  const flow = durable("answered", async (ctx, id) => [id, await ctx.suspend("ok")]).with({ ...on });
  const app = createApp({ workflows: [flow], bind: false, ...on });
  const ids = Array.from({ length: 7 }, (_, i) => `run-${i}`);
  for (const id of ids)
    await app.resume(tokenOf(await on.world.run(flow.run(id, { id }))), "yes", { drive: false });
  const first = await on.world.run(app.sweep({ limit: 3, concurrency: 2 }));
  expect(first.outcomes.map(({ runId }) => runId).toSorted()).toEqual(ids.slice(0, 3));
  const rest = await on.world.run(app.sweep());
  expect(rest.outcomes.map(outputOf)).toHaveLength(4);
  expect((await on.world.run(app.sweep())).outcomes).toEqual([]);
});

test("H5 a blocked run is not swept again and again, is tried at once by id, and once a minute by sweeps", async () => {
  const on = lab();
  let lives = 0;
  const right = durable("flow", async (ctx) => [await ctx.step("a", () => 1), await ctx.suspend("ok")]);
  const wrong = durable("flow", async (ctx) => {
    lives += 1;
    await ctx.sleep("1s", { name: "a" });
  });
  const token = tokenOf(await runOf(on, right));
  const app = createApp({ workflows: [wrong], ...on });
  await app.resume(token, "yes", { drive: false });
  const before = await batchesOf(on);
  for (let i = 0; i < 10; i++) {
    const { outcomes } = await on.world.run(app.sweep());
    const blocked = { status: "blocked", error: { code: "diverged" } };
    expect(outcomes).toMatchObject(i === 0 ? [blocked] : []);
  }
  expect(lives).toBe(1);
  expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "blocked" });
  expect(lives).toBe(2);
  await on.world.advance(61_000);
  await on.world.run(app.sweep());
  expect(lives).toBe(3);
  expect(await batchesOf(on)).toEqual(before);
  expect(outputOf(await runOf(on, right))).toEqual([1, "yes"]);
});

describe("delete", () => {
  const flow = durable("reviewed", async (ctx) => [await ctx.step("plan", () => 1), await ctx.suspend("ok")]);

  test("hides a run from lists, sweeps and its own handle at once, and frees its id", async () => {
    const on = lab();
    const app = createApp({ workflows: [flow], ...on });
    const token = tokenOf(await runOf(on, flow));
    await app.resume(token, "yes", { drive: false });
    await app.delete("r");
    expect((await app.list()).runs).toEqual([]);
    expect(await on.world.run(app.sweep())).toMatchObject({ outcomes: [], failed: [], unknown: [] });
    expect(await failureOf(app.get("r").outcome())).toMatchObject({ code: "not-found" });
    expect(await failureOf(app.delete("r"))).toMatchObject({ code: "not-found" });
    expect(await runOf(on, flow)).toMatchObject({ status: "suspended", recorded: false });
  });

  test("H44 a fork of a deleted run goes on to its end", async () => {
    const on = lab();
    const app = createApp({ workflows: [flow], ...on });
    await runOf(on, flow);
    const fork = await app.get("r").fork({ after: "plan", id: "f" });
    await failureOf(on.world.run(fork.result()));
    await app.delete("r");
    expect((await app.list()).runs.map(({ runId }) => runId)).toEqual(["f"]);
    const token = tokenOf(await app.get("f").outcome());
    expect(outputOf((await on.world.run(app.resume(token, "yes"))).outcome)).toEqual([1, "yes"]);
  });

  async function deletedWithFork() {
    const on = lab();
    const app = createApp({ workflows: [flow], ...on });
    const token = tokenOf(await runOf(on, flow));
    const fork = await app.get("r").fork({ after: "plan", id: "f" });
    await failureOf(on.world.run(fork.result()));
    await app.delete("r");
    return { ...on, app, token };
  }

  test("H44 the handle of a deleted run finds nothing, also while a fork still reads its journal", async () => {
    const { app } = await deletedWithFork();
    expect(await failureOf(app.get("r").outcome())).toMatchObject({ code: "not-found" });
  });

  test("H44 a deleted run takes no answer, also while a fork still reads its journal", async () => {
    const { app, world, token } = await deletedWithFork();
    expect(await world.run(app.resume(token, "late"))).toEqual({ status: "unknown", repeated: false });
    expect(await world.run(app.resume(token, "late", { drive: false }))).toEqual({
      status: "unknown",
      repeated: false,
    });
  });

  test("a run that is deleted while it is driven stops, starts no further work, and is not made anew", async () => {
    const on = lab();
    let bodies = 0;
    const busy = durable("busy", async (ctx) => {
      await ctx.step("a", () => createApp({ workflows: [], ...on }).delete("r"));
      return ctx.step("b", () => ++bodies);
    });
    expect(await runOf(on, busy)).toMatchObject({ status: "blocked", error: { code: "journal-regressed" } });
    expect((await on.storage.list()).runs).toEqual([]);
    expect(bodies).toBe(0);
  });
});
