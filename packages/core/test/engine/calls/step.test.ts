import { createHash } from "node:crypto";
import { DurableError, durable, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf } from "../../support/behaviour-lab.ts";
import { dieAt, replayOf, runOf } from "../../support/behaviour-lives.ts";

/** Runs a body, then replays its journal: both must give the same. */
async function twice(body: (ctx: Context) => unknown): Promise<unknown> {
  const on = lab();
  const flow = durable("flow", body);
  const first = await runOf(on, flow);
  expect(outputOf(await replayOf(on, flow))).toEqual(outputOf(first));
  return outputOf(first);
}

describe("H7 what a step gives is a copy of its own", () => {
  test("decoded on the first run: no alias of the work's object, types kept", async () => {
    const shared = { at: new Date(5), list: [1] };
    const on = lab();
    const flow = durable("copies", async (ctx) => {
      const got = await ctx.step("make", () => shared);
      shared.list.push(2);
      got.at.setTime(9);
      const own = got !== shared && got.list.length === 1;
      await ctx.step("next", () => 1);
      return { own, list: got.list };
    });
    expect(outputOf(await runOf(on, flow))).toEqual({ own: true, list: [1] });
    const [made] = (
      await flow
        .with({ ...on })
        .get("r")
        .entries()
    ).filter(({ kind }) => kind === "step.completed");
    expect(made).toMatchObject({ key: "make", value: { at: new Date(5), list: [1] } });
    expect(outputOf(await replayOf(on, flow))).toEqual({ own: true, list: [1] });
  });

  test("what a caller does to its input afterwards is not seen, nor is what the workflow does", async () => {
    const on = lab();
    const flow = durable("input", async (ctx, input: { list: number[] }) => {
      input.list.push(2);
      await ctx.suspend("ok", { timeout: "1s", fallback: null });
      return input.list;
    }).with({ ...on });
    const input = { list: [1] };
    const run = await flow.start(input, { id: "r" });
    input.list.push(99);
    expect(await on.world.run(run.result({ wait: true }))).toEqual([1, 2]);
    const [started] = await run.entries();
    expect(started).toMatchObject({ kind: "run.started", input: { list: [1] } });
  });

  test("what becomes of the output after the return is not recorded", async () => {
    const output = { list: [1] };
    const on = lab();
    const flow = durable("output", () => {
      queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => output.list.push(2))));
      return output;
    });
    const outcome = await runOf(on, flow);
    expect(output.list).toEqual([1, 2]);
    expect(outputOf(outcome)).toEqual(
      outputOf(
        await flow
          .with({ ...on })
          .get("r")
          .outcome(),
      ),
    );
    expect(outputOf(outcome)).not.toBe(output);
  });
});

test("work may be sync, async or a thenable, and give undefined", async () => {
  const output = await twice(async (ctx) => ({
    sync: await ctx.step("sync", () => 1),
    async: await ctx.step("async", async () => 2),
    // oxlint-disable-next-line unicorn/no-thenable
    thenable: await ctx.step("thenable", () => ({ then: (go: (n: number) => void) => go(3) })),
    nothing: await ctx.step("nothing", () => undefined),
    isUndefined: (await ctx.step("nothing", () => undefined)) === undefined,
  }));
  expect(output).toEqual({ sync: 1, async: 2, thenable: 3, nothing: undefined, isUndefined: true });
});

test("the idempotency key is equal across attempts and lives, and different for each step and run", async () => {
  const on = lab();
  const keys: string[] = [];
  const flow = durable("keyed", async (ctx) => {
    const keep = (name: string, fails: number) =>
      ctx.step(name, ({ attempt, idempotencyKey }) => {
        keys.push(`${name} ${idempotencyKey}`);
        if (attempt <= fails) throw new Error("again");
      });
    await keep("flaky", 2);
    await keep("flaky", 0);
    await keep("other", 0);
  });
  await dieAt(on, flow, 2);
  await runOf(on, flow);
  await on.world.run(flow.with({ ...on }).run(undefined, { id: "r2" }));
  const byName = (name: string) => keys.filter((key) => key.startsWith(name));
  // Per run: three attempts of the first, one of the second of its name.
  expect(new Set(byName("flaky")).size).toBe(4);
  expect(new Set(byName("other")).size).toBe(2);
  expect(new Set(keys.map((key) => key.split(" ")[1])).size).toBe(6);
  for (const key of keys) expect(key).toMatch(/^\w+ [a-z2-7]{32}$/);
});

describe("H50 a result that cannot be kept", () => {
  test.each([
    ["a function", () => ({ deep: [{ f: () => 1 }] }), "deep[0].f"],
    ["a symbol", () => ({ s: Symbol("s") }), "s"],
    ["an instance of a class", () => ({ hash: createHash("sha256") }), "hash"],
  ])("%s: caught with its path, and not tried again", async (_, make, path) => {
    let bodies = 0;
    const output = await twice(async (ctx) => {
      try {
        return await ctx.step("bad", () => {
          bodies += 1;
          return make();
        });
      } catch (error) {
        const { code, cause } = error as DurableError;
        return [code, (cause as DurableError).code, (cause as Error).message];
      }
    });
    expect(output).toEqual(["step-failed", "not-serializable", expect.stringContaining(path)]);
    expect(bodies).toBe(1);
  });

  test("as the run's own output: the run fails, typed, and is over", async () => {
    const on = lab();
    let lives = 0;
    const flow = durable("bad", () => {
      lives += 1;
      return { f: () => 1 };
    });
    expect(await runOf(on, flow)).toMatchObject({ status: "failed", error: { code: "not-serializable" } });
    expect(await runOf(on, flow)).toMatchObject({ status: "failed", recorded: true });
    expect(lives).toBe(1);
  });
});

describe("what a step throws", () => {
  test.each<[string, unknown]>([
    ["a text", "no"],
    ["null", null],
    ["undefined", undefined],
    ["a number", 42],
    ["a plain object", { reason: "no" }],
    ["a bigint", 7n],
  ])("may be %s: it is the cause, as it was", async (_, thrown) => {
    const output = await twice(async (ctx) => {
      try {
        return await ctx.step("bad", () => Promise.reject(thrown as Error), { retry: false });
      } catch (error) {
        return { step: DurableError.is(error, "step-failed"), cause: (error as Error).cause };
      }
    });
    expect(output).toEqual({ step: true, cause: thrown });
  });

  test.each([
    ["a function", () => () => 1],
    ["a symbol", () => Symbol("no")],
    [
      "an object with a getter that throws",
      () =>
        Object.defineProperty({}, "x", {
          enumerable: true,
          get: () => {
            throw new Error("gotcha");
          },
        }),
    ],
  ])("may be %s, which cannot be kept: the step fails all the same", async (_, make) => {
    const output = await twice(async (ctx) => {
      try {
        return await ctx.step("bad", () => Promise.reject(make() as unknown as Error), { retry: false });
      } catch (error) {
        return (error as DurableError).code;
      }
    });
    expect(output).toBe("step-failed");
  });

  test("keeps class name, message, stack, fields and causes, on the first run as on replay", async () => {
    class QuotaError extends TypeError {
      override readonly name = "QuotaError";
      readonly status = 429;
    }
    const output = (await twice(async (ctx) => {
      try {
        return await ctx.step(
          "bad",
          () => {
            throw new QuotaError("too many", { cause: new RangeError("deeper", { cause: "root" }) });
          },
          { retry: false },
        );
      } catch (error) {
        const { message, details } = error as DurableError;
        const cause = (error as Error).cause as QuotaError;
        const { cause: deeper } = cause as { cause: Error };
        return {
          message,
          details,
          told: [cause.name, cause.message, cause.status, cause instanceof TypeError],
          deeper: [deeper.name, deeper instanceof RangeError, deeper.cause],
          stack: /step\.test\.ts/.test(cause.stack ?? ""),
        };
      }
    })) as Record<string, unknown>;
    expect(output).toEqual({
      message: 'Step "bad" of run r failed: QuotaError: too many',
      details: { key: "bad", attempts: 1 },
      told: ["QuotaError", "too many", 429, true],
      deeper: ["RangeError", true, "root"],
      stack: true,
    });
  });

  test("uncaught, is the run's error with the step in its message", async () => {
    const on = lab();
    const flow = durable("fails", (ctx) =>
      ctx.step("bad", () => Promise.reject(new Error("no")), { retry: false }),
    );
    const outcome = await runOf(on, flow);
    expect(outcome).toMatchObject({
      status: "failed",
      error: { code: "step-failed", cause: { message: "no" } },
    });
    expect(
      await flow
        .with({ ...on })
        .get("r")
        .outcome(),
    ).toMatchObject({ error: { code: "step-failed", cause: { message: "no" } } });
  });
});

const declared = (input: unknown) =>
  durable("declared", async (ctx) => {
    await ctx.step("call", () => 1, { input });
    return ctx.suspend("ok");
  });

test("a declared input is compared by content, not by the order of its fields", async () => {
  const on = lab();
  await runOf(on, declared({ model: "a", at: new Date(1) }));
  expect(await runOf(on, declared({ at: new Date(1), model: "a" }))).toMatchObject({ status: "suspended" });
  expect(await runOf(on, declared({ at: new Date(2), model: "a" }))).toMatchObject({
    status: "blocked",
    error: { code: "diverged", details: { key: "call" } },
  });
});

test.each<[string, unknown]>([
  ["object", Promise.resolve(1)],
  ["string", "work"],
  ["undefined", undefined],
])("work of type %s is refused, and the message shows the right form", async (type, work) => {
  const on = lab();
  const outcome = await runOf(
    on,
    durable("wrong", (ctx) => ctx.step("call", work as () => unknown)),
  );
  expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-options" } });
  const { message } = (outcome as { error: Error }).error;
  expect(message).toContain(`ctx.step("call", ...) needs a function, not ${type}`);
  expect(message).toContain("pass () => work()");
});
