import { createApp, durable, FatalError, type Context, type DurableError } from "@durable/core";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { failureOf, kindsOf, lab, outputOf } from "../../support/behaviour-lab.ts";
import { batchesOf, dieAt, replayOf, runOf } from "../../support/behaviour-lives.ts";
import { childOf, childrenOf, Ran } from "./support/child-family.ts";

const double = durable("double", async (ctx, n: number) => ({ twice: await ctx.step("work", () => n * 2) }));

describe("ctx.child", () => {
  test("gives the child's output, typed; the child is a run of its own that knows its parent", async () => {
    const on = lab();
    const flow = durable("parent", async (ctx, n: number) => {
      const output = await ctx.child(double, n);
      expectTypeOf(output).toEqualTypeOf<{ twice: number }>();
      return output.twice + 1;
    }).with({ ...on });
    const outcome = await on.world.run(flow.run(4, { id: "r" }));
    if (outcome.status === "completed") expectTypeOf(outcome.output).toEqualTypeOf<number>();
    expect(outputOf(outcome)).toBe(9);
    const child = await childOf(on);
    expect(child).toMatchObject({ workflow: "double", status: "completed", parent: "r", steps: 1 });
    expect(await kindsOf(flow.get("r"))).toEqual([
      "run.started",
      "child.opened double",
      "child.completed double",
      "run.completed",
    ]);
    // The same storage holds it: it can be looked at like any run.
    expect(
      await double
        .with({ ...on })
        .get(child.runId)
        .outcome(),
    ).toMatchObject({ output: { twice: 8 } });
  });

  test("infers input and output, asks for an input where there must be one, and takes a name", async () => {
    const on = lab();
    const noInput = durable("no input", (ctx) => ctx.step("work", () => "x" as const));
    const checked = durable("checked", async (_, { n }) => n.toFixed(1), {
      input: z.object({ n: z.coerce.number<string | number>() }),
    });
    const flow = durable("parent", async (ctx) => {
      const x = await ctx.child(noInput);
      expectTypeOf(x).toEqualTypeOf<"x">();
      const text = await ctx.child(checked, { n: "4" }, { name: "other" });
      expectTypeOf(text).toEqualTypeOf<string>();
      // Never run: these must not compile.
      const wrong = (c: Context) => [
        // @ts-expect-error an input is needed
        c.child(double),
        // @ts-expect-error of the right type
        c.child(double, "4"),
        // @ts-expect-error a workflow is not its body
        c.child((_ctx: Context, n: number) => n, 4),
      ];
      return [x, text, wrong.length];
    });
    expect(outputOf(await runOf(on, flow))).toEqual(["x", "4.0", 1]);
    expect((await childrenOf(on.storage, "r")).map(({ workflow }) => workflow)).toEqual([
      "no input",
      "checked",
    ]);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).toContain("child.opened other");
  });

  test("is refused without a workflow, with an input that cannot be kept, and under a bad name", async () => {
    const on = lab();
    const codes: string[] = [];
    const flow = durable("parent", async (ctx) => {
      for (const call of [
        () => ctx.child({ name: "double" } as typeof double, 1),
        () =>
          ctx.child(
            durable("any", () => 1),
            () => 1,
          ),
        () => ctx.child(double, 1, { name: "a/b" }),
      ])
        await new Promise((resolve) => resolve(call())).catch((error: DurableError) =>
          codes.push(error.code),
        );
    });
    expect((await runOf(on, flow)).status).toBe("completed");
    expect(codes).toEqual(["invalid-options", "not-serializable", "invalid-name"]);
    expect(await childrenOf(on.storage, "r")).toEqual([]);
  });

  test("replay gives the recorded output and starts no child; the child's body ran once", async () => {
    const on = lab();
    const ran = new Ran();
    const kid = durable("kid", (ctx, n: number) => ctx.step("work", ran.work(ctx, n)));
    const flow = durable("parent", async (ctx) => [await ctx.child(kid, 1), await ctx.child(kid, 2)]);
    await runOf(on, flow);
    const before = await childrenOf(on.storage, "r");
    // Only the parent's journal is there: its children cannot be asked.
    expect(outputOf(await replayOf(on, flow))).toEqual([1, 2]);
    expect(await childrenOf(on.storage, "r")).toEqual(before);
    expect(ran.counts).toEqual([1, 1]);
  });

  test("its id follows from parent and key: the same after a crash, another for each key and each parent", async () => {
    const on = lab();
    const pair = durable("pair", async (ctx) => [await ctx.child(double, 1), await ctx.child(double, 1)]);
    // Dies when the parent knows of the child and the child is not there yet.
    await dieAt(on, pair, 2);
    const opened = (
      await pair
        .with({ ...on })
        .get("r")
        .entries()
    ).find(({ kind }) => kind === "child.opened");
    expect(await childrenOf(on.storage, "r")).toEqual([]);
    await runOf(on, pair);
    const first = await childrenOf(on.storage, "r");
    expect(opened).toMatchObject({ child: first[0]!.runId, workflow: "double" });
    expect(first).toHaveLength(2);
    await on.world.run(pair.with({ ...on }).run(undefined, { id: "s" }));
    const other = await childrenOf(on.storage, "s");
    expect(new Set([...first, ...other].map(({ runId }) => runId)).size).toBe(4);
    // Another incarnation of the same id has other children.
    const there = lab(7);
    await runOf(there, pair);
    const again = await childrenOf(there.storage, "r");
    expect(again).toHaveLength(2);
    for (const { runId } of again) expect(first.map((run) => run.runId)).not.toContain(runId);
  });

  test("children of children, and children in branches and races that run side by side", async () => {
    const on = lab();
    const tree = durable("tree", async (ctx, depth: number): Promise<number> => {
      if (depth === 0) return 1;
      const below = await ctx.parallel([(c) => c.child(tree, depth - 1), (c) => c.child(tree, depth - 1)]);
      return below[0] + below[1];
    });
    const outcome = await on.world.run(tree.with({ ...on }).run(4, { id: "r" }));
    expect(outputOf(outcome)).toBe(16);
    const runs = (await on.storage.list({ limit: 100 })).runs;
    expect(runs).toHaveLength(31);
    expect(runs.every(({ status }) => status === "completed")).toBe(true);
    expect(await childrenOf(on.storage, "r")).toHaveLength(2);
  });

  test("list({ parent }) shows the children of a run, and not those of another", async () => {
    const on = lab();
    const flow = durable("parent", (ctx, n: number) =>
      ctx.map(
        Array.from({ length: n }, (_, i) => i),
        (c, i) => c.child(double, i),
      ),
    ).with({ ...on });
    await on.world.run(flow.run(3, { id: "a" }));
    await on.world.run(flow.run(2, { id: "b" }));
    const app = createApp({ ...on, workflows: [flow, double], bind: false });
    expect((await app.list({ parent: "a" })).runs).toHaveLength(3);
    expect((await double.with({ ...on }).list({ parent: "b" })).runs).toHaveLength(2);
    expect((await flow.list({ parent: "a" })).runs).toEqual([]);
  });
});

describe("a child that fails", () => {
  const failing = durable("failing", async (ctx, how: "body" | "step") => {
    if (how === "step")
      await ctx.step("charge", () => Promise.reject(new RangeError("no funds")), { retry: false });
    throw new RangeError("no luck", { cause: new TypeError("why") });
  });

  test("fails the call as step-failed, with the child's error as cause and its run in details", async () => {
    const on = lab();
    const flow = durable("parent", async (ctx) => {
      const error = await failureOf(ctx.child(failing, "body"));
      const { code, message, details, cause } = error as DurableError & { cause: Error };
      return { code, message, details, cause: [cause.name, cause.message, (cause.cause as Error).message] };
    });
    const output = outputOf(await runOf(on, flow));
    const { runId, status } = await childOf(on);
    expect(status).toBe("failed");
    expect(output).toEqual({
      code: "step-failed",
      message: `Child "failing" (run ${runId} of workflow "failing") failed: RangeError: no luck`,
      details: { key: "failing", runId },
      cause: ["RangeError", "no luck", "why"],
    });
    expect(outputOf(await replayOf(on, flow))).toEqual(output);
  });

  test("not caught, it fails the parent: causes lead down to the error of the step", async () => {
    const on = lab();
    const flow = durable("parent", (ctx) => ctx.child(failing, "step"));
    const outcome = await runOf(on, flow);
    expect(outcome).toMatchObject({
      status: "failed",
      error: { code: "step-failed", cause: { code: "step-failed", cause: { message: "no funds" } } },
    });
  });

  test("is not tried again by its parent; its own steps follow their own policy", async () => {
    const on = lab();
    let tries = 0;
    const flaky = durable("flaky", (ctx) =>
      ctx.step(
        "call",
        ({ attempt }) => {
          tries += 1;
          if (attempt < 3) throw new Error(`attempt ${attempt}`);
          return attempt;
        },
        { retry: { attempts: 3, delay: "10s", jitter: false } },
      ),
    );
    const flow = durable("parent", async (ctx) => [
      await ctx.child(flaky),
      await ctx.child(failing, "step").catch((error: DurableError) => error.code),
    ]);
    expect(outputOf(await runOf(on, flow))).toEqual([3, "step-failed"]);
    expect(tries).toBe(3);
    expect(await childrenOf(on.storage, "r")).toHaveLength(2);
  });

  test("a FatalError and an output that cannot be kept are failures of the child alone", async () => {
    const on = lab();
    const fatal = durable("fatal", (ctx) =>
      ctx.step("work", () => {
        throw new FatalError("stop");
      }),
    );
    const unkept = durable("unkept", () => () => 1);
    const flow = durable("parent", (ctx) =>
      Promise.all(
        [fatal, unkept].map((kid) => ctx.child(kid as typeof fatal).catch((e: Error) => e.message)),
      ),
    );
    const output = outputOf(await runOf(on, flow));
    expect(output).toEqual([expect.stringMatching(/FatalError: stop/), expect.stringMatching(/function/)]);
  });
});

describe("a child's input", () => {
  const strict = durable("strict", (_, { n }) => n, { input: z.object({ n: z.number().default(7) }) });

  test("is checked and transformed by the child's schema; what it refuses fails the call, not the run", async () => {
    const on = lab();
    const flow = durable("parent", async (ctx) => {
      const bad = { n: "seven" } as unknown as { n: number };
      const error = await failureOf(ctx.child(strict, bad));
      const { code, cause, details } = error as DurableError & { cause: DurableError };
      return [await ctx.child(strict, {}), code, cause.code, details["key"]];
    });
    const output = outputOf(await runOf(on, flow));
    expect(output).toEqual([7, "step-failed", "invalid-input", "strict"]);
    // It never began: only the one with a good input is a run.
    expect(await childOf(on)).toMatchObject({ status: "completed" });
    expect(outputOf(await replayOf(on, flow))).toEqual(output);
  });

  test("not caught, it fails the run", async () => {
    const on = lab();
    const flow = durable("parent", (ctx) => ctx.child(strict, { n: "seven" } as unknown as { n: number }));
    expect(await runOf(on, flow)).toMatchObject({
      status: "failed",
      error: { code: "step-failed", cause: { code: "invalid-input" } },
    });
  });

  test("is declared: another input, another workflow or another kind under one key stops the run, untouched", async () => {
    const on = lab();
    const asks = durable("asks", (ctx, n: number) => ctx.suspend<number>("n", { note: n }));
    const parent = (call: (ctx: Context) => Promise<unknown>) => durable("parent", call);
    await runOf(
      on,
      parent((ctx) => ctx.child(asks, 1, { name: "kid" })),
    );
    const before = await batchesOf(on);
    const changed = {
      input: parent((ctx) => ctx.child(asks, 2, { name: "kid" })),
      workflow: parent((ctx) => ctx.child(double, 1, { name: "kid" })),
      kind: parent((ctx) => ctx.step("kid", () => 1)),
    };
    for (const [what, flow] of Object.entries(changed)) {
      const outcome = await runOf(on, flow);
      expect(outcome, what).toMatchObject({ status: "blocked", error: { code: "diverged" } });
      expect(await batchesOf(on), what).toEqual(before);
    }
    expect(await childrenOf(on.storage, "r")).toHaveLength(1);
    const right = await runOf(
      on,
      parent((ctx) => ctx.child(asks, 1, { name: "kid" })),
    );
    expect(right).toMatchObject({ status: "suspended", waiting: [{ key: "kid/n", note: 1 }] });
  });
});
