import { createApp, durable, type App } from "@durable/core";
import { describe, expect, test } from "vitest";
import { nonceLab, outputOf, pause, sqliteLab, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";
import { locatorOf } from "../../src/journal/keys.ts";

/** Deletes run `r`, as another process does it. */
async function deleteRun({ world, ...on }: Lab, runId = "r"): Promise<void> {
  await world.run(createApp({ world, ...on, workflows: [] }).delete(runId));
  await world.advance(1_000);
}

describe("an id that is used again after a delete", () => {
  test("has other idempotency keys and other draws; a replay has the same ones", async () => {
    const on = nonceLab();
    const passes: unknown[][] = [];
    const flow = durable("drawn", async (ctx) => {
      const drawn = [ctx.random(), ctx.uuid(), ctx.random("named"), ctx.uuid("named")];
      passes.push(drawn);
      const key = await ctx.step("pay", ({ idempotencyKey }) => idempotencyKey);
      await ctx.suspend("ok");
      return [...drawn, key, ctx.random(), await ctx.step("again", (info) => info.idempotencyKey)];
    }).with({ ...on });
    const life = async (): Promise<unknown[]> => {
      const token = tokenOf(await on.world.run(flow.run(undefined, { id: "r" })));
      const { outcome } = await on.world.run(flow.resume(token, null));
      return outputOf(outcome) as unknown[];
    };
    const first = await life();
    await deleteRun(on);
    const second = await life();
    expect(second).toHaveLength(first.length);
    expect(second.filter((value) => first.includes(value))).toEqual([]);
    expect(passes).toEqual([passes[0], passes[0], passes[2], passes[2]]);
  });

  test("gets the output of its own child, also where the child of the old run is still there", async () => {
    const on = nonceLab();
    const ran: number[] = [];
    const inner = durable("inner", (ctx, n: number) =>
      ctx.step("double", () => {
        ran.push(n);
        return n * 2;
      }),
    );
    const outer = durable("outer", (ctx, n: number) => ctx.child(inner, n)).with({ ...on });
    expect(outputOf(await on.world.run(outer.run(1, { id: "r" })))).toBe(2);
    // Below the app, so that the child stays.
    await on.storage.delete(locatorOf("r"));
    await on.world.advance(1_000);
    expect((await on.storage.list()).runs.map(({ workflow }) => workflow)).toEqual(["inner"]);
    expect(outputOf(await on.world.run(outer.run(5, { id: "r" })))).toBe(10);
    expect(ran).toEqual([1, 5]);
    expect((await on.storage.list({ parent: "r" })).runs).toHaveLength(2);
  });

  test("gets nothing of a driver of the old run", async () => {
    const on = nonceLab();
    const flow = durable("slow", async (ctx, topic: string) => {
      await ctx.step("work", () => pause(on.world, topic === "old" ? 10_000 : 20_000));
      return ctx.step("end", () => topic);
    });
    const old = flow.with({ ...on }).run("old", { id: "r" });
    await on.world.advance(5_000);
    await deleteRun(on);
    const outcome = await on.world.run(flow.with({ ...on }).run("new", { id: "r" }));
    expect(outputOf(outcome)).toBe("new");
    expect(await on.world.run(old)).toMatchObject({ status: "cancelled", reason: "Run r was deleted." });
    expect(await batchesOf(on)).toHaveLength(4);
  });
});

const ways = ["resume", "record"] as const;
const labs = { memory: nonceLab, sqlite: () => nonceLab(sqliteLab()) };

describe.each(Object.entries(labs))("a token of a deleted run, on %s", (_, makeLab) => {
  /** The token of a run that parked and was deleted. */
  async function oldToken() {
    const on = makeLab();
    const ask = askOn(on);
    const token = tokenOf(await on.world.run(ask.run(0, { id: "r" })));
    await deleteRun(on);
    return { on, ask, app: createApp({ ...on, workflows: [ask], bind: false }), token };
  }

  /** What an answer did: its status, and whether the journal grew. */
  async function answered(
    { on, app, token }: { readonly on: Lab; readonly app: App; readonly token: string },
    way: (typeof ways)[number],
  ): Promise<unknown> {
    const before = await batchesOf(on);
    const result = await on.world.run(app.resume(token, "an old answer", { drive: way === "resume" }));
    expect(await batchesOf(on)).toEqual(before);
    return result;
  }

  test.each(ways)("is unknown by %s while the id is not used", async (way) => {
    expect(await answered(await oldToken(), way)).toEqual({ status: "unknown", repeated: false });
  });

  test.each(ways)("is unknown by %s before the new run comes to its wait: no early answer", async (way) => {
    const old = await oldToken();
    const { on, ask } = old;
    const driving = ask.run(60_000, { id: "r" });
    await on.world.advance(1_000);
    expect(await answered(old, way)).toEqual({ status: "unknown", repeated: false });
    expect(await on.world.run(driving)).toMatchObject({ status: "suspended", waiting: [{ key: "ok" }] });
  });

  test.each(ways)("is unknown by %s while the new run waits at the same place", async (way) => {
    const old = await oldToken();
    const { on, ask, app } = old;
    const own = tokenOf(await on.world.run(ask.run(0, { id: "r" })));
    expect(own).not.toBe(old.token);
    expect(await answered(old, way)).toEqual({ status: "unknown", repeated: false });
    expect((await on.world.run(app.resume(own, "mine", { drive: way === "resume" }))).status).toBe(
      "accepted",
    );
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("mine");
  });

  test.each(ways)("is unknown by %s after the end of the new run", async (way) => {
    const old = await oldToken();
    const { on, ask } = old;
    await on.world.run(ask.resume(tokenOf(await on.world.run(ask.run(0, { id: "r" }))), "mine"));
    expect(await answered(old, way)).toEqual({ status: "unknown", repeated: false });
    expect(await ask.get("r").outcome()).toMatchObject({ status: "completed", output: "mine" });
  });
});

/** Works for a while, then asks. */
function askOn(on: Lab) {
  return durable("ask", async (ctx, ms: number) => {
    await ctx.step("before", () => pause(on.world, ms));
    return ctx.suspend<string>("ok");
  }).with({ ...on });
}
