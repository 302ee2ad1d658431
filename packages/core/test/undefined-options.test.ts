/** An option that is given as `undefined` behaves as if it was left out. */

import { createApp, createWorker, durable, Journal, MemoryStorage, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf } from "./support/behaviour-lab.ts";

const flow = durable("flow", async (ctx, input: string) => {
  const first = await ctx.step("first", () => `${input} 1`, {
    retry: undefined,
    timeout: undefined,
    input: undefined,
    was: undefined,
    onUncertain: undefined,
  });
  return ctx.step("second", () => `${first} 2`);
});
const noHost = {
  storage: undefined,
  secret: undefined,
  encryption: undefined,
  patience: undefined,
  lease: undefined,
  waitUntil: undefined,
  warm: undefined,
  world: undefined,
};

describe("an explicit undefined is as if left out", () => {
  test("flow.with keeps what was set before", async () => {
    const on = lab();
    const bound = durable("kept", (ctx) => ctx.suspend("ok"), { ...on, version: "7" });
    const again = bound.with({ ...noHost, version: undefined });
    const outcome = await on.world.run(again.run(undefined, { id: "r" }));
    expect(tokenOf(outcome)).not.toBe("");
    expect((await on.storage.list()).runs.map(({ runId }) => runId)).toEqual(["r"]);
    expect(await on.world.run(again.get("r").entries())).toMatchObject([{ version: "7" }, {}, {}]);
  });

  test("fork keeps the input of its parent", async () => {
    const on = lab();
    const bound = flow.with({ ...on });
    await on.world.run(bound.run("in", { id: "r" }));
    const given = {
      from: "first",
      after: undefined,
      edit: undefined,
      input: undefined,
      label: undefined,
      id: undefined,
    };
    const fork = await on.world.run(bound.fork("r", given));
    expect(await on.world.run(fork.result({ wait: undefined }))).toBe("in 1 2");
    const plan = await on.world.run(bound.get("r").plan({ ...given, prices: undefined }));
    expect(plan).toEqual(await on.world.run(bound.get("r").plan({ from: "first" })));
    const other = await on.world.run(bound.fork("r", { from: "first", input: "other" }));
    expect(await on.world.run(other.result())).toBe("other 1 2");
  });

  test("start, run, list, advance, sweep, worker and reading", async () => {
    const on = lab();
    const app = createApp({ ...noHost, ...on, encryption: undefined, workflows: [flow] });
    const run = await on.world.run(app.start("flow", "in", { id: undefined, drive: undefined }));
    expect(await on.world.run(run.result())).toBe("in 1 2");
    const idle = await app.start("flow", "in", { id: "idle", drive: false });
    const none = {
      workflow: undefined,
      status: undefined,
      dueBefore: undefined,
      limit: undefined,
      cursor: undefined,
    };
    expect((await app.list(none)).runs).toHaveLength(2);
    expect(
      (await on.world.run(app.sweep({ limit: undefined, concurrency: undefined }))).outcomes,
    ).toHaveLength(1);
    const advanced = app.advance("idle", { patience: undefined, signal: undefined, maxStarts: undefined });
    expect(outputOf(await on.world.run(advanced))).toBe("in 1 2");
    expect(await idle.result()).toBe("in 1 2");
    await app.start("flow", "late", { id: "late", drive: false });
    const worker = createWorker(app, {
      concurrency: undefined,
      interval: undefined,
      maxStarts: undefined,
      drain: undefined,
      onStop: undefined,
    });
    await on.world.run(pause(on.world, 5_000));
    await on.world.run(worker.stop());
    expect(await app.get("late").result()).toBe("late 1 2");
  });

  test("groups, streams and waits", async () => {
    const on = lab();
    const group = { name: undefined, was: undefined };
    const inner = durable("inner", async (ctx) => [
      await ctx.parallel([(c: Context) => c.step("a", () => 1)], {
        ...group,
        concurrency: undefined,
        mode: undefined,
      }),
      await ctx.map([1, 2], (c, n) => c.step("b", () => n), {
        ...group,
        key: undefined,
        concurrency: undefined,
      }),
      await ctx.stream("s", () => ["x"], {
        retry: undefined,
        timeout: undefined,
        input: undefined,
        was: undefined,
      }),
      await ctx.suspend("ok", { timeout: undefined, note: undefined }),
    ]);
    const bound = inner.with({ ...on });
    const token = tokenOf(await on.world.run(bound.run(undefined, { id: "r" })));
    const result = await on.world.run(bound.resume(token, true, { id: undefined }));
    expect(result.outcome).toMatchObject({ output: [[1], [1, 2], ["x"], true] });
  });

  test("records of a journal, and storages", async () => {
    const journal = await Journal.open("j", { ...lab(), encryption: undefined });
    const record = (): Promise<number> =>
      journal.record("k", () => 1, { input: undefined, signal: undefined });
    expect([await record(), await journal.record("k", () => 2)]).toEqual([1, 1]);
    expect((await new MemoryStorage({ now: undefined }).list({})).runs).toEqual([]);
  });
});

test("the fallback of a wait is the exception: an explicit undefined is its value after the timeout", async () => {
  const on = lab();
  const waits = durable("waits", async (ctx) => {
    const given = await ctx.suspend("given", { timeout: "1h", fallback: undefined });
    const missing = await ctx
      .suspend("missing", { timeout: "1h" })
      .catch((error: { code: string }) => error.code);
    return [given, missing];
  }).with({ ...on });
  await on.world.run(waits.run(undefined, { id: "r" }));
  const app = createApp({ ...on, workflows: [waits], bind: false });
  await on.world.run(pause(on.world, 3_600_000));
  await on.world.run(app.sweep());
  await on.world.run(pause(on.world, 3_600_000));
  const { outcomes } = await on.world.run(app.sweep());
  expect(outputOf(outcomes[0])).toEqual([undefined, "suspend-expired"]);
});
