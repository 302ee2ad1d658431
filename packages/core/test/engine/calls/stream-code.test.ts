import { durable, type Context, type DurableError } from "@durable/core";
import type { StreamOptions } from "@durable/core/types";
import { countingStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { kindsOf, lab, outputOf, pause, tokenOf } from "../../support/behaviour-lab.ts";
import { batchesOf, dieAt, runOf } from "../../support/behaviour-lives.ts";
import { range, readAll, wholeOf } from "../../support/stream-lab.ts";

/** A run that has recorded a stream and waits; then code that is changed is asked to go on. */
async function parkedAfter(body: (ctx: Context) => Promise<unknown>) {
  const on = lab();
  const first = durable("changed", async (ctx) => [await body(ctx), await ctx.suspend("ok")]);
  const token = tokenOf(await runOf(on, first));
  const goOn = async (changed: (ctx: Context) => Promise<unknown>) => {
    const next = durable("changed", async (ctx) => [await changed(ctx), await ctx.suspend("ok")]);
    const before = await batchesOf(on);
    const outcome = await on.world.run(next.with({ ...on }).run(undefined, { id: "r" }));
    return { outcome, same: (await batchesOf(on)).length === before.length, next: next.with({ ...on }) };
  };
  return { on, token, goOn };
}

describe("code that changed", () => {
  test("`was` keeps what a stream recorded under its old name, for workflow and reader", async () => {
    const { on, token, goOn } = await parkedAfter((ctx) => ctx.stream("old", () => ["kept"]));
    const { outcome, next } = await goOn((ctx) => ctx.stream("new", () => ["made anew"], { was: "old" }));
    expect(outcome).toMatchObject({ status: "suspended" });
    const over = await on.world.run(next.resume(token, "yes"));
    expect(outputOf(over.outcome)).toEqual([["kept"], "yes"]);
    expect(await on.world.run(readAll(next.get("r").stream("old")))).toEqual(wholeOf(["kept"]));
  });

  test("`was` keeps the number of an unfinished stream, too: attempts of both names never mix", async () => {
    const on = lab();
    const calls: string[] = [];
    const body = (name: string, options: StreamOptions = {}) =>
      durable("renamed", (ctx) =>
        ctx.stream(
          name,
          async function* ({ attempt, key }) {
            calls.push(`${key} ${attempt}`);
            for (const n of range(3)) {
              yield `${name} ${n}`;
              await pause(on.world, 150);
            }
          },
          options,
        ),
      );
    await dieAt(on, body("old"), 3);
    expect(outputOf(await runOf(on, body("new", { was: "old" })))).toEqual(["new 0", "new 1", "new 2"]);
    expect(calls).toEqual(["old 1", "old 2"]);
    const seen = await on.world.run(
      readAll(
        body("new")
          .with({ ...on })
          .get("r")
          .stream("old"),
      ),
    );
    expect(seen).toEqual([
      ...wholeOf(["old 0", "old 1"]),
      "reset 2",
      ...wholeOf(["new 0", "new 1", "new 2"], 2),
    ]);
  });

  test("H5 another declared input stops the run, and leaves the journal alone", async () => {
    const { goOn } = await parkedAfter((ctx) => ctx.stream("words", () => [1], { input: { prompt: "a" } }));
    const same = await goOn((ctx) => ctx.stream("words", () => [2], { input: { prompt: "a" } }));
    expect(same.outcome).toMatchObject({ status: "suspended" });
    const changed = await goOn((ctx) => ctx.stream("words", () => [2], { input: { prompt: "b" } }));
    expect(changed.outcome).toMatchObject({
      status: "blocked",
      error: { code: "diverged", details: { key: "words" } },
    });
    expect(changed.same).toBe(true);
  });

  test.each([
    [
      "step",
      "stream",
      (ctx: Context) => ctx.step("words", () => [1]),
      (ctx: Context) => ctx.stream("words", () => [1]),
    ],
    [
      "stream",
      "step",
      (ctx: Context) => ctx.stream("words", () => [1]),
      (ctx: Context) => ctx.step("words", () => [1]),
    ],
    [
      "stream",
      "suspend",
      (ctx: Context) => ctx.stream("words", () => [1]),
      async (ctx: Context) => ctx.suspend("words"),
    ],
  ])("H5 a call that was a %s and is now a %s has diverged", async (was, is, before, after) => {
    const { goOn } = await parkedAfter(before);
    const { outcome, same } = await goOn(after);
    expect(outcome).toMatchObject({
      status: "blocked",
      error: {
        code: "diverged",
        message: expect.stringContaining(`is recorded as kind "${was}", but the code asks for kind "${is}"`),
      },
    });
    expect(same).toBe(true);
  });

  test("H5 a stream cut off half-way, or failed once, is no step either", async () => {
    for (const breaks of [false, true]) {
      const on = lab();
      const streamed = durable("kinds", (ctx) =>
        ctx.stream("words", async function* () {
          yield 1;
          await pause(on.world, 150);
          if (breaks) throw new Error("no");
          yield 2;
        }),
      );
      await dieAt(on, streamed, breaks ? 3 : 2);
      const stepped = durable("kinds", (ctx) => ctx.step("words", () => 1));
      expect(await runOf(on, stepped)).toMatchObject({ status: "blocked", error: { code: "diverged" } });
    }
  });
});

test("streams side by side have keys of their own, and may repeat their names", async () => {
  const on = lab();
  const producer = (name: string) =>
    async function* () {
      for (const n of range(4)) {
        yield `${name}${n}`;
        await pause(on.world, 30);
      }
    };
  const flow = durable("several", async (ctx) => {
    const both = await ctx.parallel({
      left: (c) => c.stream("words", producer("l")),
      right: (c) => c.stream("words", producer("r")),
    });
    const twice: unknown[] = [];
    for (const n of range(2)) twice.push(await ctx.stream("words", producer(`t${n}`)));
    const plain = await Promise.all([ctx.stream("a", producer("a")), ctx.stream("b", producer("b"))]);
    return [both.left, both.right, ...twice, ...plain];
  });
  const expected = ["l", "r", "t0", "t1", "a", "b"].map((name) => range(4).map((n) => `${name}${n}`));
  expect(outputOf(await runOf(on, flow))).toEqual(expected);
  const run = flow.with({ ...on }).get("r");
  const keys = ["parallel[left]/words", "parallel[right]/words", "words", "words#2", "a", "b"];
  for (const [i, key] of keys.entries())
    expect(await on.world.run(readAll(run.stream(key))), key).toEqual(wholeOf(expected[i] ?? []));
});

test("ten streams that end together share their appends", async () => {
  const on = lab();
  const storage = countingStorage(on.storage);
  const flow = durable("wide", (ctx) => ctx.map(range(10), (c, n) => c.stream("words", () => [n, n])));
  expect(outputOf(await runOf({ ...on, storage }, flow))).toEqual(range(10).map((n) => [n, n]));
  expect(storage.counts.appends, "start, all chunks and ends, and the end").toBeLessThanOrEqual(4);
});

test("repeated concurrent names match their records on replay, whichever ends first", async () => {
  const on = lab();
  const flow = durable("twins", async (ctx) => {
    const made = [300, 100, 200].map((ms) =>
      ctx.stream("twin", async function* () {
        await pause(on.world, ms);
        yield ms;
      }),
    );
    return [await Promise.all(made), await ctx.step("after", () => 1)];
  });
  const expected = [[[300], [100], [200]], 1];
  await dieAt(on, flow, 5);
  expect(outputOf(await runOf(on, flow))).toEqual(expected);
});

test("onUncertain is for steps: a stream that was cut off begins anew, and nothing is announced", async () => {
  const on = lab();
  const asked: unknown[] = [];
  const onUncertain = (): never => {
    asked.push(1);
    throw new Error("not for streams");
  };
  // @ts-expect-error a stream has no such option
  const wrong: StreamOptions = { onUncertain };
  const options: StreamOptions = {};
  const refused = durable("refused", (ctx) => ctx.stream("words", () => [1], wrong));
  expect(await runOf(lab(), refused)).toMatchObject({
    status: "failed",
    error: { code: "invalid-options", message: expect.stringContaining('no option "onUncertain"') },
  });
  const flow = durable("cut", (ctx) =>
    ctx.stream(
      "words",
      async function* () {
        yield 1;
        await pause(on.world, 150);
        yield 2;
      },
      options,
    ),
  );
  await dieAt(on, flow, 2);
  expect(outputOf(await runOf(on, flow))).toEqual([1, 2]);
  expect(asked).toEqual([]);
  expect((await kindsOf(flow.with({ ...on }).get("r"))).join()).not.toContain("step.started");
});

test("a stream's failure is a step's failure: one code to catch, with the key", async () => {
  const on = lab();
  const flow = durable("caught", (ctx) =>
    ctx
      .stream("words", () => Promise.reject(new Error("no model")), { retry: false })
      .catch(({ code, details }: DurableError) => [code, details["key"]]),
  );
  expect(outputOf(await runOf(on, flow))).toEqual(["step-failed", "words"]);
});
