import { createApp, durable } from "@durable/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { failureOf, hooked, lab, outputOf, pause, secret, tokenOf } from "./support/behaviour-lab.ts";
import { batchesOf, dieAt, runOf, silent } from "./support/behaviour-lives.ts";
import { unhandled } from "./support/behaviour-unhandled.ts";

const approval = durable("approval", (ctx) => ctx.suspend<string>("ok"));

test("result() rejects with the waits of a suspended run", async () => {
  const { world, storage } = lab();
  const run = await approval.with({ storage, world, secret }).start(undefined, { id: "r" });
  await expect(world.run(run.result())).rejects.toMatchObject({
    code: "suspended",
    details: { waiting: [{ key: "ok", name: "ok" }] },
  });
});

test("result({ wait: true }) sees an end that came between the drive's stop and its own look", async () => {
  const { world, storage } = lab();
  const plain = approval.with({ storage, world, secret });
  const run = await world.run(approval.with({ storage, world, secret }).start(undefined, { id: "r" }));
  await world.advance(1_000);
  await world.run(plain.resume(tokenOf(await plain.get("r").outcome()), "yes"));
  const late = pause(world, 600_000).then(() => "still waiting");
  expect(await world.run(Promise.race([run.result({ wait: true }), late]))).toBe("yes");
});

describe("run ids", () => {
  const echo = durable("echo", async (ctx, input: unknown) => {
    await ctx.step("work", () => 1);
    return input;
  });

  test("of a run that is over give its recorded outcome, and say so", async () => {
    const on = lab();
    const flow = echo.with({ ...on });
    expect(await on.world.run(flow.run({ n: 1, at: new Date(5) }, { id: "r" }))).toMatchObject({
      recorded: false,
    });
    const before = await batchesOf(on);
    const again = await on.world.run(flow.run({ at: new Date(5), n: 1 }, { id: "r" }));
    expect(again).toEqual({
      runId: "r",
      recorded: true,
      state: "completed",
      status: "completed",
      output: { n: 1, at: new Date(5) },
    });
    expect(await batchesOf(on)).toEqual(before);
  });

  test.each([{ n: 2 }, undefined, { n: 1, extra: null }])(
    "with another input are refused: %j",
    async (other) => {
      const on = lab();
      const flow = echo.with({ ...on });
      await on.world.run(flow.run({ n: 1 }, { id: "r" }));
      const before = await batchesOf(on);
      const error = await failureOf(on.world.run(flow.run(other, { id: "r" })));
      expect(error).toMatchObject({ code: "input-mismatch" });
      expect((error as Error).message).toContain('flow.fork("r"');
      expect(await batchesOf(on)).toEqual(before);
    },
  );

  test("of another workflow are refused", async () => {
    const on = lab();
    await on.world.run(echo.with({ ...on }).run(1, { id: "r" }));
    const other = durable("other", (_, n: unknown) => n).with({ ...on });
    expect(await failureOf(on.world.run(other.run(1, { id: "r" })))).toMatchObject({
      code: "workflow-mismatch",
    });
  });

  test.each(["", " ", "a b", "../x", "-a", "_a", "a/b", "a.b", "x".repeat(129), "é", "a\n", null, 5, {}])(
    "that are invalid are refused by every operation: %j",
    async (id) => {
      const on = lab();
      const flow = echo.with({ ...on });
      const app = createApp({ workflows: [echo], ...on });
      const bad = id as string;
      // A run without an id is given one; every other door needs one.
      const doors: (() => Promise<unknown>)[] = [
        () => app.get(bad).outcome(),
        () => app.advance(bad),
        () => app.cancel(bad),
        () => app.delete(bad),
      ];
      if (id !== null)
        doors.push(
          () => flow.run(1, { id: bad }),
          async () => (await flow.start(1, { id: bad })).outcome(),
        );
      for (const door of doors)
        expect(await failureOf(on.world.run(door()))).toMatchObject({ code: "invalid-id" });
      expect((await on.storage.list()).runs).toEqual([]);
    },
  );

  test("are made where none is given, and are good ids", async () => {
    const on = lab();
    const flow = echo.with({ ...on });
    const [one, two] = [await on.world.run(flow.run(1)), await on.world.run(flow.run(1))];
    expect(one.runId).not.toBe(two.runId);
    expect(await flow.get(one.runId).outcome()).toMatchObject({ status: "completed", output: 1 });
  });

  test("that no run has are not found, by every method of a handle", async () => {
    const on = lab();
    const run = echo.with({ ...on }).get("missing");
    for (const ask of [() => run.outcome(), () => run.result(), () => run.entries(), () => run.cancel()])
      expect(await failureOf(on.world.run(ask()))).toMatchObject({ code: "not-found" });
  });
});

test("an input that does not fit its schema is refused before there is a run; defaults are recorded", async () => {
  const on = lab();
  const flow = durable("typed", (_, input) => input, { input: z.object({ n: z.number().default(7) }) }).with({
    ...on,
  });
  const error = await failureOf(on.world.run(flow.run({ n: "x" } as never, { id: "r" })));
  expect(error).toMatchObject({ code: "invalid-input" });
  expect((error as Error).message).toMatch(/n: .*expected number/);
  expect(await batchesOf(on)).toEqual([]);
  expect(outputOf(await on.world.run(flow.run({}, { id: "r" })))).toEqual({ n: 7 });
  expect((await flow.get("r").entries())[0]).toMatchObject({ kind: "run.started", input: { n: 7 } });
});

describe("result()", () => {
  const two = durable("two", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("b", () => 2)]);

  test("drives a run whose driver died, once its lease is over", async () => {
    const on = lab();
    await dieAt(on, two, 2, { quiet: 0 });
    const before = on.world.now();
    expect(
      await on.world.run(
        two
          .with({ ...on })
          .get("r")
          .result(),
      ),
    ).toEqual([1, 2]);
    expect(on.world.now() - before).toBeLessThanOrEqual(31_000);
  });

  test("drives a parked sleep when it is due, also without `wait`", async () => {
    const on = lab();
    const flow = durable("nap", async (ctx) => {
      await ctx.sleep("3 days");
      return ctx.now();
    });
    const began = on.world.now();
    const run = await flow.with({ ...on }).start(undefined, { id: "r" });
    expect(await on.world.run(run.result())).toBe(began + 3 * 86_400_000);
  });

  test("throws the run's own error, and a cancelled one's code", async () => {
    const on = lab();
    const bad = durable("bad", () => Promise.reject(new TypeError("no"))).with({ ...on });
    const run = await bad.start(undefined, { id: "r" });
    expect(await failureOf(on.world.run(run.result()))).toMatchObject({
      code: "run-failed",
      cause: { name: "TypeError" },
    });
    expect(await failureOf(on.world.run(bad.get("r").result()))).toMatchObject({ code: "run-failed" });
  });

  test.each(["told by the storage", "by polling"])(
    "with wait sees an end that another driver writes, %s",
    async (how) => {
      const on = lab();
      const flow = durable("approval", async (ctx) => {
        const answer = await ctx.suspend("ok");
        await ctx.step("slow", () => pause(on.world, 90_000));
        return answer;
      });
      const token = tokenOf(await runOf(on, flow));
      const storage = how === "by polling" ? silent(on) : on.storage;
      const waiting = flow
        .with({ ...on, storage })
        .get("r")
        .result({ wait: true });
      const answering = pause(on.world, 600_000).then(() => flow.with({ ...on }).resume(token, "yes"));
      const [output] = await on.world.run(Promise.all([waiting, answering]));
      expect(output).toBe("yes");
    },
  );

  test("with wait continues after a deadline without an answer", async () => {
    const on = lab();
    const flow = durable("deadline", (ctx) => ctx.suspend("ok", { timeout: "2h", fallback: "nobody" }));
    const run = await flow.with({ ...on }).start(undefined, { id: "r" });
    expect(await on.world.run(run.result({ wait: true }))).toBe("nobody");
  });
});

test("entries() are decoded: inputs, outputs, errors, notes and answers", async () => {
  const on = lab();
  const flow = durable("decoded", async (ctx, _input: unknown) => {
    await ctx.step("made", () => new Map([["at", new Date(1)]]));
    await ctx.step("bad", () => Promise.reject(new RangeError("no")), { retry: false }).catch(() => {});
    return ctx.suspend("ok", { note: { due: new Date(2) } });
  }).with({ ...on });
  const token = tokenOf(await on.world.run(flow.run({ tags: new Set(["a"]) }, { id: "r" })));
  await on.world.run(flow.resume(token, 10n));
  const entries = await flow.get("r").entries();
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, i) => i + 1));
  expect(entries).toMatchObject([
    { kind: "run.started", input: { tags: new Set(["a"]) }, workflow: "decoded" },
    { kind: "step.completed", key: "made", value: new Map([["at", new Date(1)]]), attempt: 1 },
    { kind: "step.failed", key: "bad", error: { name: "RangeError", message: "no" } },
    { kind: "suspend.opened", key: "ok", note: { due: new Date(2) } },
    { kind: "run.suspended", wakeAt: null },
    { kind: "suspend.resolved", key: "ok", value: 10n, outside: true },
    { kind: "run.completed", output: 10n },
  ]);
});

describe("start", () => {
  test("records the run before it answers, and drives it in the background", async () => {
    const on = lab();
    let ended = false;
    const flow = durable("background", async (ctx) => {
      await ctx.step("slow", () => pause(on.world, 5_000));
      ended = true;
    }).with({ ...on });
    const run = await flow.start(undefined, { id: "r" });
    expect(ended).toBe(false);
    expect(await run.outcome()).toMatchObject({ status: "running", recorded: false });
    await on.world.advance(6_000);
    expect(ended).toBe(true);
    expect(await run.outcome()).toMatchObject({ status: "completed", recorded: true });
  });

  test("hands its background work to waitUntil, which settles when the run stops", async () => {
    const on = lab();
    const kept: Promise<unknown>[] = [];
    const flow = durable("kept", (ctx) => ctx.suspend("ok"));
    await flow.with({ ...on, waitUntil: (work) => void kept.push(work) }).start(undefined, { id: "r" });
    expect(kept).toHaveLength(1);
    await on.world.run(Promise.all(kept));
    expect(
      await flow
        .with({ ...on })
        .get("r")
        .outcome(),
    ).toMatchObject({ status: "suspended" });
  });

  test("whose storage fails later is warned about, and is no unhandled rejection", async () => {
    const on = lab();
    const rejections = unhandled();
    const storage = hooked(on.storage, (operation, moment, index) => {
      if (operation === "append" && moment === "before" && index > 1) throw new Error("down");
    });
    const flow = durable("down", (ctx) => ctx.step("work", () => 1)).with({ ...on, storage });
    const run = await flow.start(undefined, { id: "r" });
    await on.world.advance(3_600_000);
    expect(on.world.warnings).toEqual([expect.stringMatching(/^run r stopped: .*down/)]);
    expect(await rejections()).toEqual([]);
    expect(await failureOf(on.world.run(run.result()))).toMatchObject({ code: "storage-failed" });
  });
});
