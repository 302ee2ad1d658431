import { createApp, durable, FatalError, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, type Lab } from "../support/behaviour-lab.ts";

const names = ["a", "b", "c", "d", "e"] as const;

/** Five steps, of which those in `broken` fail. */
function gathering(gather: (steps: Promise<string>[], ctx: Context) => Promise<unknown>) {
  const broken = new Set<string>(["a", "c", "e"]);
  const ran: string[] = [];
  const work = (name: string): string => {
    ran.push(name);
    if (broken.has(name)) throw new FatalError(`no ${name}`);
    return name.toUpperCase();
  };
  const flow = durable("gather", (ctx) =>
    gather(
      names.map((name) => ctx.step(name, () => work(name))),
      ctx,
    ),
  );
  return { broken, ran, flow };
}

const reasons = (settled: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));

/** Fails once, is repaired, and is retried. */
async function retried(on: Lab, { flow, broken, ran }: ReturnType<typeof gathering>): Promise<string[]> {
  const app = createApp({ ...on, workflows: [flow] });
  expect(await on.world.run(flow.with(on).run(undefined, { id: "r" }))).toMatchObject({ status: "failed" });
  broken.clear();
  ran.length = 0;
  await app.get("r").retry({ drive: false });
  expect(outputOf(await on.world.run(app.advance("r")))).toBe("ABCDE");
  return ran.toSorted();
}

describe("several failures", () => {
  const joined = (settled: readonly PromiseSettledResult<string>[]): string =>
    settled.map((one) => (one.status === "fulfilled" ? one.value : "")).join("");
  const all = async (
    steps: Promise<string>[],
    errorOf: (failures: unknown[]) => unknown,
  ): Promise<string> => {
    const settled = await Promise.allSettled(steps);
    if (reasons(settled).length > 0) throw errorOf(reasons(settled));
    return joined(settled);
  };

  test.each<[string, (failures: unknown[]) => unknown]>([
    ["an AggregateError", (failures) => new AggregateError(failures, "3 of 5")],
    ["one as a cause", (failures) => new Error("3 of 5", { cause: new AggregateError(failures) })],
    [
      "one in another",
      ([first, ...others]) =>
        new AggregateError([new Error("wrapped", { cause: first }), new AggregateError(others)]),
    ],
  ])("all that %s names begin anew with one retry", async (_, errorOf) => {
    const on = lab();
    expect(
      await retried(
        on,
        gathering((steps) => all(steps, errorOf)),
      ),
    ).toEqual(["a", "c", "e"]);
  });

  test("of a group that settles, too", async () => {
    const on = lab();
    const broken = new Set(["x", "z"]);
    const flow = durable("settled", async (ctx) => {
      const branches = ["x", "y", "z"].map(
        (name) => (c: Context) =>
          c.step(name, () => (broken.has(name) ? Promise.reject(new FatalError(name)) : name)),
      );
      const settled = await ctx.parallel(branches, { mode: "settled" });
      const failed = settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
      if (failed.length > 0) throw new AggregateError(failed);
      return settled.length;
    });
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    broken.clear();
    await app.get("r").retry({ drive: false });
    expect(outputOf(await on.world.run(app.advance("r")))).toBe(3);
  });

  test("an error that names none is refused from the second retry on, and `steps` heals the run", async () => {
    const on = lab();
    const { flow, broken, ran } = gathering((steps) => all(steps, () => new Error("3 of 5 failed")));
    const warned: string[] = [];
    const world = { ...on.world, warn: (text: string) => void warned.push(text) };
    const app = createApp({ ...on, world, workflows: [flow] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    broken.clear();
    await app.get("r").retry({ drive: false });
    expect(warned.join()).toContain('run.retry({ steps: ["a", "c", "e"] })');
    expect((await on.world.run(app.advance("r"))).status).toBe("failed");
    const refusal = await failureOf(app.get("r").retry());
    expect(refusal).toMatchObject({ code: "retry-refused" });
    expect((refusal as Error).message).toContain('run.retry({ steps: ["a", "c", "e"] })');
    await app.get("r").retry({ steps: [], drive: false });
    expect((await on.world.run(app.advance("r"))).status).toBe("failed");
    ran.length = 0;
    await app.get("r").retry({ steps: ["a", "c"], drive: false });
    expect((await on.world.run(app.advance("r"))).status).toBe("failed");
    expect(ran.toSorted()).toEqual(["a", "c"]);
    await app.get("r").retry({ steps: ["e"], drive: false });
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("ABCDE");
  });

  test("steps that are unknown, or did not fail, are refused by name", async () => {
    const on = lab();
    const { flow } = gathering((steps) => Promise.all(steps));
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    const { length } = await app.get("r").entries();
    for (const [step, text] of [
      ["b", '"b": that one did not fail. Failed: a'],
      ["aa", 'no failed step "aa". Failed: a'],
    ] as const) {
      const refusal = await failureOf(app.get("r").retry({ steps: [step] }));
      expect(refusal).toMatchObject({ code: "unknown-step" });
      expect((refusal as Error).message).toContain(text);
    }
    expect(await failureOf(app.get("r").retry({ steps: "a" as never }))).toMatchObject({
      code: "invalid-options",
    });
    expect((await app.get("r").entries()).length).toBe(length);
  });

  test("a name is enough where it is unique", async () => {
    const on = lab();
    let broken = true;
    const flow = durable("names", async (ctx) => {
      const branch = (c: Context): Promise<string> =>
        c.step("s", () => (broken ? Promise.reject(new FatalError("x")) : "ok"));
      const { left } = await ctx.parallel({ left: branch }, { mode: "settled" });
      if (left.status === "rejected") throw new Error("bare");
      return left.value;
    });
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    broken = false;
    await app.get("r").retry({ steps: ["s"], drive: false });
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("ok");
  });
});

describe("a failure that the code has handled", () => {
  const charging = (bug: boolean, ran: string[]) =>
    durable("charge", async (ctx) => {
      const paid = await ctx
        .step("charge", () => {
          ran.push("charge");
          if (ran.length === 1) throw new FatalError("declined");
          return "charged after all";
        })
        .catch(() => "by invoice");
      if (bug) throw new TypeError("a bug");
      return paid;
    });

  test("stays when the code itself fails afterwards", async () => {
    const on = lab();
    const ran: string[] = [];
    await on.world.run(charging(true, ran).with(on).run(undefined, { id: "r" }));
    const fixed = charging(false, ran);
    const app = createApp({ ...on, workflows: [fixed] });
    await app.get("r").retry({ drive: false });
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("by invoice");
    expect(ran).toEqual(["charge"]);
  });

  test("stays when a later step fails, also where its error is the cause of another of that name", async () => {
    const on = lab();
    let broken = true;
    const ran: string[] = [];
    const child = durable("child", (ctx) =>
      ctx.step("s", () => {
        ran.push("child");
        return broken ? Promise.reject(new FatalError("x")) : "ok";
      }),
    );
    const flow = durable("parent", async (ctx) => {
      await ctx
        .step("s", () => {
          ran.push("parent");
          throw new FatalError("handled");
        })
        .catch(() => null);
      return ctx.child(child);
    });
    const app = createApp({ ...on, workflows: [flow, child] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    broken = false;
    await app.get("r").retry({ drive: false });
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("ok");
    expect(ran).toEqual(["parent", "child", "child"]);
  });

  test("a run that comes further with each retry may be retried as often", async () => {
    const on = lab();
    let deploys = 0;
    const flow = durable("far", async (ctx) => {
      await ctx.step("handled", () => Promise.reject(new FatalError("x"))).catch(() => null);
      for (let n = 0; n < deploys; n++) await ctx.step(`s${n}`, () => n);
      throw new Error("not yet");
    });
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    for (deploys = 1; deploys < 4; deploys++) {
      await app.get("r").retry({ drive: false });
      expect((await on.world.run(app.advance("r"))).status).toBe("failed");
    }
  });
});
