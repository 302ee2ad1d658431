import { durable } from "@durable/core";
import { expect, test } from "vitest";
import { failureOf, kindsOf, lab } from "../support/behaviour-lab.ts";
import { runOf } from "../support/behaviour-lives.ts";

/** Waits for an answer after a step, with a clean-up. */
function cleaned(log: string[]) {
  return durable("cleaned", async (ctx) => {
    ctx.onCancel((c) => c.parallel({ a: (b) => b.step("tell", () => void log.push(`tell ${ctx.runId}`)) }));
    const plan = await ctx.step("plan", () => "plan 1");
    await ctx.step("draft", () => void log.push(`draft of ${plan}`));
    return ctx.suspend("ok");
  });
}

test("a fork of a cancelled run inherits the registration, and nothing of the clean-up", async () => {
  const on = lab();
  const log: string[] = [];
  const flow = cleaned(log).with(on);
  await runOf(on, flow);
  await on.world.run(flow.cancel("r"));
  await failureOf(on.world.run(flow.get("r").result()));
  const fork = await on.world.run(flow.fork("r", { from: "draft", id: "f" }));
  await failureOf(on.world.run(fork.result()));
  expect((await kindsOf(fork)).filter((line) => line.includes("onCancel"))).toEqual([
    "cleanup.opened onCancel",
  ]);
  await on.world.run(fork.cancel({ reason: "enough" }));
  await failureOf(on.world.run(fork.result()));
  expect(log).toEqual(["draft of plan 1", "tell r", "draft of plan 1", "tell f"]);
  expect(await fork.outcome()).toMatchObject({ status: "cancelled", reason: "enough" });
});

test("a fork that is cancelled before it is driven cleans up, because its registration is inherited", async () => {
  const on = lab();
  const log: string[] = [];
  const flow = cleaned(log).with(on);
  await runOf(on, flow);
  const fork = await on.world.run(flow.fork("r", { from: "draft", id: "f" }));
  await on.world.run(fork.cancel());
  await failureOf(on.world.run(fork.result()));
  expect(log.at(-1)).toBe("tell f");
  expect(await flow.get("r").outcome()).toMatchObject({ status: "suspended" });
});

test("a fork inside one branch inherits nothing of the clean-up of its sibling", async () => {
  const on = lab();
  const log: string[] = [];
  const flow = durable("branches", (ctx) =>
    ctx.parallel({
      work: async (c) => {
        await c.step("draft", () => void log.push(`draft ${ctx.runId}`));
        return c.suspend("ok");
      },
      guard: async (c) => {
        c.onCancel((clean) => clean.step("tell", () => void log.push(`tell ${ctx.runId}`)));
        return c.suspend("stop");
      },
    }),
  ).with(on);
  await runOf(on, flow);
  await on.world.run(flow.cancel("r"));
  await failureOf(on.world.run(flow.get("r").result()));
  const fork = await on.world.run(flow.fork("r", { from: "parallel[work]/draft", id: "f" }));
  await failureOf(on.world.run(fork.result()));
  await on.world.run(fork.cancel());
  await failureOf(on.world.run(fork.result()));
  expect(log).toEqual(["draft r", "tell r", "draft f", "tell f"]);
});
