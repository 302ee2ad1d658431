/** A clean-up whose time is over: its work is aborted, and nothing that its code calls afterwards happens. */

import { durable, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, kindsOf, lab, pause, type Lab } from "../support/behaviour-lab.ts";
import { runOf } from "../support/behaviour-lives.ts";

/** Cancels a run with a clean-up that gets 5 seconds. One that takes half a minute follows, so the run is driven on. */
async function cleaned(on: Lab, slow: (ctx: Context) => Promise<unknown>) {
  const flow = durable("cleans", async (ctx) => {
    ctx.onCancel((c) => c.step("long", () => pause(on.world, 30_000)), { name: "next" });
    ctx.onCancel(slow, { name: "slow", timeout: "5s" });
    await ctx.suspend("ok");
  }).with(on);
  await runOf(on, flow);
  await on.world.run(flow.cancel("r"));
  await failureOf(on.world.run(flow.get("r").result()));
  return { outcome: await flow.get("r").outcome(), kinds: await kindsOf(flow.get("r")) };
}

test("its work gets the reason with its signal, at its time", async () => {
  const on = lab();
  const aborted: unknown[] = [];
  let startedAt = 0;
  const { outcome } = await cleaned(on, (c) =>
    c.step("hangs", ({ signal }) => {
      startedAt = on.world.now();
      return new Promise((_, no) => {
        signal.addEventListener("abort", () => {
          aborted.push(signal.reason, on.world.now() - startedAt);
          no(signal.reason);
        });
      });
    }),
  );
  expect(aborted).toEqual([expect.objectContaining({ code: "step-timeout" }), 5_000]);
  expect(outcome).toMatchObject({
    status: "cancelled",
    error: { code: "cleanup-failed", details: { key: "slow" } },
  });
});

const late = durable("late", (ctx) => ctx.step("n", () => 1));

describe("what its code calls afterwards", () => {
  test.each<[string, (ctx: Context, log: string[]) => Promise<unknown>]>([
    ["a step", (c, log) => c.step("late", () => void log.push("late"))],
    ["a sleep", (c) => c.sleep("1s")],
    ["a child", (c) => c.child(late)],
    ["a run of its own", (c) => c.spawn(late)],
    ["branches", (c, log) => c.parallel({ late: (b) => b.step("late", () => void log.push("late")) })],
  ])("does not happen: %s", async (_, call) => {
    const on = lab();
    const log: string[] = [];
    const { kinds } = await cleaned(on, async (c) => {
      // Code that ignores its signal.
      await pause(on.world, 10_000);
      await call(c, log);
      log.push("went on");
    });
    expect(log).toEqual([]);
    expect(kinds.filter((kind) => /late|sleep/.test(kind))).toEqual([]);
    expect(kinds.filter((kind) => kind.startsWith("cleanup."))).toEqual(
      expect.arrayContaining(["cleanup.failed slow", "cleanup.completed next"]),
    );
  });
});
