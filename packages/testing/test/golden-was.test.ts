/** Golden journals against code whose `was` is wrong. */

import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { recordGolden, replayGolden, virtualWorld, type GoldenJournal } from "@durable/testing";
import { expect, test } from "vitest";

type Work = (ctx: Context) => Promise<unknown>;

async function recorded(work: Work): Promise<GoldenJournal> {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const secret = "a secret for tests, of no worth";
  const app = createApp({ workflows: [durable("flow", work)], storage, world, secret, bind: false });
  await world.run(app.run("flow" as never, undefined as never, { id: "parked" } as never));
  return recordGolden(storage, "parked");
}

const judge = async (journal: GoldenJournal, work: Work) => {
  const { journals } = await replayGolden(journal, { against: durable("flow", work), report: true });
  return journals[0];
};

test("a `was` that names no recorded step is named, with the step that was meant", async () => {
  const journal = await recorded(async (ctx) => {
    await ctx.step("draft", () => 1);
    await ctx.suspend("ok");
  });
  const wrong = await judge(journal, async (ctx) => {
    await ctx.step("write", () => 1, { was: "darft" });
    await ctx.suspend("ok");
  });
  expect(wrong?.verdict).not.toBe("replays");
  expect(wrong?.message).toContain(
    '`was: "darft"` of "write" names no recorded call; "draft" is recorded and not asked for.',
  );
  const right = await judge(journal, async (ctx) => {
    await ctx.step("write", () => 1, { was: "draft" });
    await ctx.suspend("ok");
  });
  expect(right).toMatchObject({ verdict: "replays", warnings: [] });
});

test("two that are swapped: a parked run replays with a warning, an ended one says it beside its end", async () => {
  const two =
    (ends: boolean): Work =>
    async (ctx) => {
      const net = await ctx.step("net", () => 100);
      const tax = await ctx.step("tax", () => net * 0.03);
      if (!ends) await ctx.suspend("ok");
      return tax;
    };
  const swapped =
    (ends: boolean): Work =>
    async (ctx) => {
      await ctx.step("net sum", () => 100, { was: "tax" });
      const tax = await ctx.step("tax sum", () => 3, { was: "net" });
      if (!ends) await ctx.suspend("ok");
      return tax;
    };
  const text =
    'The code calls "net sum" (was "tax") before "tax sum" (was "net"), but "net" was recorded before "tax". Check that the two are not swapped.';
  expect(await judge(await recorded(two(false)), swapped(false))).toMatchObject({
    verdict: "replays",
    warnings: [text],
  });
  const ended = await judge(await recorded(two(true)), swapped(true));
  expect(ended?.verdict).toBe("diverged");
  expect(ended?.message).toContain(`it ends with 100. ${text}`);
});

test("renames in the same order, in parallel branches, and of new code under live runs say nothing", async () => {
  const journal = await recorded(async (ctx) => {
    await ctx.parallel([(c) => c.step("a", () => 1), (c) => c.step("b", () => 2)]);
    await ctx.suspend("ok");
  });
  const now = await judge(journal, async (ctx) => {
    await ctx.parallel([
      (c) => c.step("x", () => 1, { was: "a" }),
      (c) => c.step("y", () => 2, { was: "b" }),
    ]);
    await ctx.suspend("ok");
  });
  expect(now).toMatchObject({ verdict: "replays", warnings: [] });
});
