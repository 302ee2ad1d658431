import { durable, type Context, type ForkOptions, type Run } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, type Lab } from "../support/behaviour-lab.ts";

const hour = 3_600_000;
const day = 24 * hour;

/** Steps with sleeps between them that depend on the clock of the run; gives the times that it saw. */
const clock = durable("clock", async (ctx: Context) => {
  const seen: Record<string, number> = { start: ctx.now() };
  for (const name of ["a", "b", "c"]) {
    await ctx.sleep(new Date(ctx.now() + hour), { name: `before ${name}` });
    await ctx.step(name, () => name);
    seen[name] = ctx.now();
  }
  return seen;
});

type Seen = Readonly<Record<string, number>>;

/** Lets a day pass, then forks, and gives the times that the fork saw. */
async function forked(on: Lab, parent: string, options: ForkOptions): Promise<Seen> {
  await on.world.advance(day);
  const run = await on.world.run(clock.with({ ...on }).fork(parent, options));
  return on.world.run(run.result());
}

/** The times of a run that begins now: an hour for each step. */
function timesFrom(start: number): Seen {
  return { start, a: start + hour, b: start + 2 * hour, c: start + 3 * hour };
}

describe("the clock of a fork", () => {
  test("is that of the parent in the part that it keeps", async () => {
    const on = lab();
    const start = on.world.now();
    const parent: Run<Seen> = await clock.with({ ...on }).start(undefined, { id: "parent" });
    expect(await on.world.run(parent.result())).toEqual(timesFrom(start));
    const { c, ...kept } = await forked(on, "parent", { id: "fork", from: "c" });
    expect(kept).toEqual({ start, a: start + hour, b: start + 2 * hour });
    expect(c).toBeGreaterThan(start + day);
  });

  test("is that of each ancestor in forks of forks", async () => {
    const on = lab();
    const start = on.world.now();
    const parent = await clock.with({ ...on }).start(undefined, { id: "parent" });
    await on.world.run(parent.result());
    const first = await forked(on, "parent", { id: "first", from: "b" });
    const second = await forked(on, "first", { id: "second", from: "c" });
    expect(first).toMatchObject({ start, a: start + hour });
    expect(first["b"]).toBeGreaterThan(start + day);
    const { c, ...kept } = second;
    expect(first).toMatchObject(kept);
    expect(c).toBeGreaterThanOrEqual(first["c"]! + day);
    expect(await forked(on, "second", { id: "third", from: "a" })).toMatchObject({ start });
  });

  test("does not move with an edit of a recorded output, also in a fork of that fork", async () => {
    const on = lab();
    const start = on.world.now();
    const parent = await clock.with({ ...on }).start(undefined, { id: "parent" });
    await on.world.run(parent.result());
    const first = await forked(on, "parent", { id: "first", edit: { a: "edited" } });
    expect(first).toMatchObject({ start, a: start + hour });
    const second = await forked(on, "first", { id: "second", edit: { b: "edited, too" } });
    expect(second).toMatchObject({ start, a: start + hour, b: first["b"]! });
    const third = await forked(on, "second", { id: "third", from: "c", edit: { a: "again" } });
    expect(third).toMatchObject({ start, a: start + hour });
  });

  test("is the time of the fork from an edit of an open wait on, also in a fork of that fork", async () => {
    const on = lab();
    const asked = durable("asked", async (ctx) => {
      const before = ctx.now();
      await ctx.suspend("ok");
      const after = ctx.now();
      await ctx.sleep(new Date(ctx.now() + hour));
      return [before, after, await ctx.step("end", () => ctx.now())];
    }).with({ ...on });
    const start = on.world.now();
    await on.world.run(asked.run(undefined, { id: "parent" }));
    await on.world.advance(day);
    const first = await on.world.run(asked.fork("parent", { edit: { ok: true }, id: "first" }));
    expect(await on.world.run(first.result())).toEqual([start, start + day, start + day + hour]);
    await on.world.advance(day);
    const second = await on.world.run(asked.fork("first", { from: "end", id: "second" }));
    expect(await on.world.run(second.result())).toEqual([start, start + day, start + day + hour]);
  });

  test("lets a sleep go on that was open in the parent", async () => {
    const on = lab();
    const beside = durable("beside", (ctx) =>
      ctx.parallel({
        left: (c) => c.step("work", () => "left"),
        right: async (c) => {
          await c.sleep(new Date(c.now() + 3 * day));
          return c.now();
        },
      }),
    ).with({ ...on });
    const start = on.world.now();
    await on.world.run(beside.run(undefined, { id: "parent" }));
    await on.world.advance(day);
    const fork = await on.world.run(beside.fork("parent", { from: "parallel[left]", id: "fork" }));
    expect(await on.world.run(fork.result())).toEqual({ left: "left", right: start + 3 * day });
  });
});
