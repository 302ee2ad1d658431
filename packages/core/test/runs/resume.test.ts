import { createApp, durable } from "@durable/core";
import { faultyStorage, type Fault } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { lab, outputOf, pause, secret, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { replayOf, runOf, type Flow } from "../support/behaviour-lives.ts";

const ways = ["resume", "record"] as const;

/** An app of one workflow. */
function appOf(on: Lab, ...workflows: Flow[]) {
  return createApp({ workflows, ...on });
}

describe.each(ways)("H27 an early answer, by %s", (way) => {
  test("to a wait that is made and not yet awaited, while an earlier step runs", async () => {
    const on = lab();
    const { world } = on;
    let token = "";
    let bodies = 0;
    const flow = durable("mailed", async (ctx) => {
      const wait = ctx.suspend<string>("ok");
      ({ token } = wait);
      await ctx.step("slow", async () => {
        bodies += 1;
        await pause(world, 10_000);
      });
      return [await wait, await ctx.step("after", () => "after")];
    });
    const driving = flow.with({ ...on }).run(undefined, { id: "r" });
    const answering = pause(world, 5_000).then(() =>
      appOf(on, flow).resume(token, "yes", { drive: way === "resume" }),
    );
    const [outcome, result] = await world.run(Promise.all([driving, answering]));
    expect(result).toMatchObject({ status: "accepted", outcome: { status: "running" } });
    expect(outputOf(outcome)).toEqual(["yes", "after"]);
    expect(outputOf(await replayOf(on, flow))).toEqual(["yes", "after"]);
    expect(bodies).toBe(1);
  });

  test("to a wait that does not exist yet, while the step before it runs", async () => {
    const on = lab();
    const { world } = on;
    const flow = durable("later", async (ctx) => {
      await ctx.step("slow", () => pause(world, 10_000));
      return ctx.suspend("ok", { schema: z.number() });
    });
    const token = tokenOf(await runOf({ ...on, ...lab(), world }, flow));
    const driving = flow.with({ ...on }).run(undefined, { id: "r" });
    const app = appOf(on, flow);
    const answering = pause(world, 5_000).then(async () => [
      (await app.resume(token, "no number", { drive: way === "resume" })).status,
      (await app.resume(token, 5, { drive: way === "resume" })).status,
    ]);
    const [outcome, statuses] = await world.run(Promise.all([driving, answering]));
    // Neither can be checked yet, so both are kept. The first that fits is taken.
    expect(statuses).toEqual(["accepted", "accepted"]);
    expect(outputOf(outcome)).toBe(5);
    expect((await world.run(app.resume(token, 6, { drive: way === "resume" }))).status).toBe("duplicate");
  });
});

describe.each(ways)("H33 an answer that comes too late, by %s", (way) => {
  test("to a wait that was answered: duplicate, before and after the end", async () => {
    const on = lab();
    const flow = durable("two", async (ctx) => [await ctx.suspend("a"), await ctx.suspend("b")]);
    const app = appOf(on, flow);
    const first = tokenOf(await runOf(on, flow));
    await on.world.run(app.resume(first, 1));
    expect((await on.world.run(app.resume(first, 2, { drive: way === "resume" }))).status).toBe("duplicate");
    await on.world.run(app.resume(tokenOf(await app.get("r").outcome()), 3));
    expect(await on.world.run(app.resume(first, 4, { drive: way === "resume" }))).toMatchObject({
      status: "duplicate",
      outcome: { status: "completed", output: [1, 3] },
    });
  });

  test("to a wait that nobody listens to at the run's end: expired", async () => {
    const on = lab();
    let token = "";
    const flow = durable("deaf", (ctx) => {
      ({ token } = ctx.suspend("ok"));
      return ctx.step("work", () => "done");
    });
    expect(outputOf(await runOf(on, flow))).toBe("done");
    const late = await on.world.run(appOf(on, flow).resume(token, 1, { drive: way === "resume" }));
    expect(late).toMatchObject({ status: "expired", outcome: { status: "completed" } });
  });

  test("after its deadline: expired, whether or not anybody has written that down", async () => {
    const on = lab();
    const flow = durable("deadline", (ctx) => ctx.suspend("ok", { timeout: "1h", fallback: "nobody" }));
    const app = appOf(on, flow);
    const token = tokenOf(await runOf(on, flow));
    await on.world.advance(3_600_000);
    expect(await on.world.run(app.resume(token, "late", { drive: way === "resume" }))).toMatchObject({
      status: "expired",
      outcome: { status: "suspended" },
    });
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("nobody");
    expect((await on.world.run(app.resume(token, "later", { drive: way === "resume" }))).status).toBe(
      "expired",
    );
  });

  test("to a cancelled run: expired; to one that was deleted or never was: unknown", async () => {
    const on = lab();
    const flow = durable("approval", (ctx) => ctx.suspend("ok"));
    const app = appOf(on, flow);
    const token = tokenOf(await runOf(on, flow));
    await app.cancel("r");
    expect(await on.world.run(app.resume(token, 1, { drive: way === "resume" }))).toMatchObject({
      status: "expired",
      outcome: { status: "cancelled" },
    });
    await app.delete("r");
    expect(await on.world.run(app.resume(token, 1, { drive: way === "resume" }))).toEqual({
      status: "unknown",
      repeated: false,
    });
    const elsewhere = appOf({ ...on, ...lab(), world: on.world }, flow);
    expect(await on.world.run(elsewhere.resume(token, 1, { drive: way === "resume" }))).toEqual({
      status: "unknown",
      repeated: false,
    });
  });
});

test("H33 two waits with their tokens swapped: each answer goes to the wait its token names", async () => {
  for (const order of [
    ["left", "right"],
    ["right", "left"],
  ]) {
    const on = lab();
    const flow = durable("both", (ctx) =>
      ctx.parallel({ left: (c) => c.suspend("ok"), right: (c) => c.suspend("ok") }),
    );
    const outcome = await runOf(on, flow);
    for (const side of order)
      await on.world.run(flow.with({ ...on }).resume(tokenOf(outcome, `parallel[${side}]/ok`), side));
    expect(outputOf(await runOf(on, flow))).toEqual({ left: "left", right: "right" });
  }
});

test("H33 a token outlives the rotation of its key, and dies with its retirement", async () => {
  const on = lab();
  const flow = durable("approval", (ctx) => ctx.suspend("ok"));
  const old = tokenOf(await runOf({ ...on, secret: "the first secret" }, flow));
  const keys = { a: "the first secret", b: "the second secret" };
  const rotated = flow.with({ ...on, secret: { current: "b", keys } });
  const fresh = tokenOf(await rotated.get("r").outcome());
  expect(fresh).not.toBe(old);
  const retired = flow.with({ ...on, secret: { current: "b", keys: { b: keys.b } } });
  expect(await on.world.run(retired.resume(old, 1))).toEqual({ status: "unknown", repeated: false });
  expect((await on.world.run(rotated.resume(old, 1))).status).toBe("accepted");
  expect((await on.world.run(retired.resume(fresh, 2))).status).toBe("duplicate");
});

test("H33 a token outlives two rotations, and a park under each key has a token of its own that works", async () => {
  const on = lab();
  const keys = { a: "the first secret", b: "the second secret", c: "the third secret" };
  const flow = durable("steps", async (ctx) => [
    await ctx.suspend("first"),
    await ctx.suspend("second"),
    await ctx.suspend("third"),
  ]);
  const under = (current: string) => ({ ...on, secret: { current, keys } as never });
  const tokens: string[] = [];
  let outcome = await runOf(under("a"), flow);
  for (const [n, current] of ["a", "b", "c"].entries()) {
    outcome = await on.world.run(flow.with(under(current)).get("r").outcome());
    tokens.push(tokenOf(outcome));
    expect(tokens[n]?.[0]).toBe(current);
    // Answered under the newest key, with whatever key it was signed.
    const { status } = await on.world.run(flow.with(under("c")).resume(tokens[n]!, n));
    expect(status).toBe("accepted");
  }
  expect(outputOf(await flow.with(under("c")).get("r").outcome())).toEqual([0, 1, 2]);
  for (const token of tokens)
    expect((await on.world.run(flow.with(under("c")).resume(token, 9))).status).toBe("duplicate");
});

test("H33 a genuine token of another workflow is told whose run it is", async () => {
  const on = lab();
  const token = tokenOf(
    await runOf(
      on,
      durable("one", (ctx) => ctx.suspend("ok")),
    ),
  );
  const other = durable("other", (ctx) => ctx.suspend("ok")).with({ ...on });
  await expect(other.resume(token, 1)).rejects.toMatchObject({ code: "unknown-workflow" });
});

describe("H30 the same answer sent again", () => {
  const flow = durable("approval", (ctx) => ctx.suspend<string>("ok"));

  test.each(ways)("with its id is accepted again and counts once, by %s", async (way) => {
    const on = lab();
    const app = appOf(on, flow);
    const token = tokenOf(await runOf(on, flow));
    const again = { status: "accepted", repeated: true };
    expect(
      await on.world.run(app.resume(token, "first", { id: "m1", drive: way === "resume" })),
    ).toMatchObject({
      status: "accepted",
      repeated: false,
    });
    expect(
      await on.world.run(app.resume(token, "first", { id: "m1", drive: way === "resume" })),
    ).toMatchObject(again);
    expect(
      (await on.world.run(app.resume(token, "other", { id: "m2", drive: way === "resume" }))).status,
    ).toBe("duplicate");
    expect((await on.world.run(app.resume(token, "other", { drive: way === "resume" }))).status).toBe(
      "duplicate",
    );
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("first");
    expect(
      await on.world.run(app.resume(token, "first", { id: "m1", drive: way === "resume" })),
    ).toMatchObject(again);
  });

  test.each<Fault>(["lose-reply", "lose-request"])(
    "by the storage's own doubt (%s) is one",
    async (fault) => {
      const on = lab();
      const token = tokenOf(await runOf(on, flow));
      const storage = faultyStorage(on.storage, {
        world: on.world,
        plan: (operation, index) => (operation === "append" && index === 1 ? fault : null),
      });
      const result = await on.world.run(flow.with({ ...on, storage }).resume(token, "yes"));
      expect(result).toMatchObject({ status: "accepted", outcome: { output: "yes" } });
      const entries = await flow
        .with({ ...on })
        .get("r")
        .entries();
      expect(entries.filter(({ kind }) => kind === "suspend.resolved")).toHaveLength(1);
    },
  );

  test("after the first sender died with its answer written drives the run on", async () => {
    const on = lab();
    const token = tokenOf(await runOf(on, flow));
    const storage = faultyStorage(on.storage, {
      world: on.world,
      plan: (operation) => (operation === "append" ? "crash-after" : null),
    });
    const dying = flow.with({ ...on, storage }).resume(token, "yes", { id: "m1" });
    await on.world.run(Promise.race([dying, storage.died]));
    await on.world.advance(60_000);
    const again = await on.world.run(flow.with({ ...on, secret }).resume(token, "yes", { id: "m1" }));
    expect(again).toMatchObject({ status: "accepted", outcome: { status: "completed", output: "yes" } });
  });
});
