/** Uncertain steps beside everything else that may happen to a run: forks, other code, workers that stop. */

import { createApp, durable, type OnUncertain } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { hooked, kindsOf, lab, outputOf, pause, tokenOf, type Lab } from "../../support/behaviour-lab.ts";
import { batchesOf, dieAt, runOf, type Flow } from "../../support/behaviour-lives.ts";
import { afterDeath, appends, dieCharged, shop, till } from "./support/uncertain-till.ts";
import { open } from "../../support/worker-lab.ts";
import { record } from "../../support/worker-runs.ts";

async function answer(on: Lab, flow: Flow, value: unknown, key = "charge/uncertain") {
  const bound = flow.with({ ...on });
  const found = await bound.get("r").outcome();
  // A run that was blocked with other code shows its waits once it was driven with the right one.
  const outcome = found.status === "blocked" ? await on.world.run(bound.run(undefined, { id: "r" })) : found;
  return on.world.run(flow.with({ ...on }).resume(tokenOf(outcome, key), value));
}

describe("a fork of a run with an uncertain step", () => {
  test("from that step: it begins anew, under its own key, and does not ask about its parent's attempt", async () => {
    const on = lab();
    const taken = till();
    const flow = shop(taken, "suspend").with({ ...on });
    await afterDeath(on, flow);
    const fork = await flow.fork("r", { from: "charge", id: "f" });
    expect(await on.world.run(fork.result())).toEqual(["receipt 2", "mailed"]);
    expect(new Set(taken.charges).size).toBe(2);
    expect(await flow.get("r").outcome()).toMatchObject({
      status: "suspended",
      waiting: [{ key: "charge/uncertain" }],
    });
  });

  test("after it, once it was answered: the answer's value is kept, and nothing is asked or charged again", async () => {
    const on = lab();
    const taken = till();
    const flow = shop(taken, "suspend").with({ ...on });
    await afterDeath(on, flow);
    await answer(on, flow, { status: "completed", value: "found" });
    const fork = await flow.fork("r", { from: "mail", id: "f" });
    expect(await on.world.run(fork.result())).toEqual(["found", "mailed"]);
    expect(taken.charges).toHaveLength(1);
    expect(on.world.warnings).toEqual([]);
  });

  test("with another output for it: the question is gone in the fork, and open in the parent", async () => {
    const on = lab();
    const taken = till();
    const flow = shop(taken, "suspend").with({ ...on });
    await afterDeath(on, flow);
    const fork = await flow.fork("r", { edit: { charge: "edited" }, id: "f" });
    expect(await on.world.run(fork.result())).toEqual(["edited", "mailed"]);
    expect(taken.charges).toHaveLength(1);
    expect(await flow.get("r").outcome()).toMatchObject({ status: "suspended" });
  });

  test("that keeps a sibling's answer to retry: a crash of the fork is a question of the fork", async () => {
    const on = lab();
    const taken = till();
    const flow = durable("shop", (ctx) =>
      ctx.parallel({
        pay: (c) => c.step("charge", taken.charge, { onUncertain: "suspend" }),
        look: async (c) => {
          await c.step("look", () => 1);
          return c.suspend<string>("ok");
        },
      }),
    );
    // Appends: the start, both beginnings; the outcomes are lost.
    await dieCharged(on, flow);
    const parked = await runOf(on, flow);
    // The answer tells the parent to charge again, and it dies before it does.
    await createApp({ ...on, workflows: [] }).resume(
      tokenOf(parked, "parallel[pay]/charge/uncertain"),
      {
        status: "retry",
      },
      { drive: false },
    );
    await dieCharged(on, flow, 3);
    const kinds = await kindsOf(flow.with({ ...on }).get("r"));
    expect(kinds.at(-1)).toBe("suspend.resolved parallel[pay]/charge/uncertain");
    const charged = taken.charges.length;
    // The fork charges under its own key, and dies with that charge taken.
    const dying = faultyStorage(on.storage, {
      world: on.world,
      plan: (operation) => (operation === "append" && taken.charges.length > charged ? "crash-before" : null),
    });
    await flow.with({ ...on, storage: dying }).fork("r", { from: "parallel[look]/look", id: "f" });
    await on.world.advance(60_000);
    expect(taken.charges.length).toBe(charged + 1);
    const outcome = await on.world.run(createApp({ ...on, workflows: [flow] }).advance("f"));
    expect(outcome.status === "suspended" && outcome.waiting.map(({ key }) => key).toSorted()).toEqual([
      "parallel[look]/ok",
      "parallel[pay]/charge/uncertain",
    ]);
    expect(taken.charges.length).toBe(charged + 1);
  });
});

describe("code that changes while a question is open", () => {
  test("retry instead of suspend: the work runs again by rule, and the question is no longer asked", async () => {
    const on = lab();
    const taken = till();
    const token = tokenOf(await afterDeath(on, shop(taken, "suspend")));
    const changed = shop(taken, "retry");
    expect(outputOf(await runOf(on, changed))).toEqual(["receipt 2", "mailed"]);
    expect(await on.world.run(changed.with({ ...on }).resume(token, { status: "retry" }))).toMatchObject({
      status: "expired",
    });
    expect(on.world.warnings).toEqual([]);
  });

  test("a function instead of suspend: it finds out, and the question is no longer asked", async () => {
    const on = lab();
    const taken = till();
    await afterDeath(on, shop(taken, "suspend"));
    const changed = shop(taken, () => ({ status: "completed", value: "found" }));
    expect(outputOf(await runOf(on, changed))).toEqual(["found", "mailed"]);
    expect(taken.charges).toHaveLength(1);
  });

  test.each<[string, OnUncertain]>([
    ["suspend", "suspend"],
    ["a function", () => ({ status: "completed", value: "found" })],
  ])("%s instead of nothing: an attempt that was never announced is not uncertain", async (_, mode) => {
    const on = lab();
    const taken = till();
    // Without the option, appends are: the start, the outcome.
    await dieCharged(on, shop(taken, undefined), 2);
    expect(outputOf(await runOf(on, shop(taken, mode)))).toEqual(["receipt 2", "mailed"]);
  });

  test.each(["open", "answered"])(
    "the option is gone with a question %s: nothing is repeated, the run stops until it is back",
    async (how) => {
      const on = lab();
      const taken = till();
      const before = shop(taken, "suspend");
      const token = tokenOf(await afterDeath(on, before));
      if (how === "answered")
        await createApp({ ...on, workflows: [] }).resume(
          token,
          { status: "completed", value: "found" },
          { drive: false },
        );
      const batches = await batchesOf(on);
      const outcome = await runOf(on, shop(taken, undefined));
      expect(outcome).toMatchObject({
        status: "blocked",
        error: { code: "diverged", message: expect.stringContaining('{ onUncertain: "retry" }') as string },
      });
      expect([taken.charges.length, await batchesOf(on)]).toEqual([1, batches]);
      await on.world.advance(120_000);
      if (how === "open") await answer(on, before, { status: "completed", value: "found" });
      expect(outputOf(await runOf(on, before))).toEqual(["found", "mailed"]);
      expect(taken.charges).toHaveLength(1);
    },
  );

  test("the option is gone once the step has ended, or failed an attempt: nothing is amiss", async () => {
    const on = lab();
    const taken = till();
    await dieAt(on, shop(taken, "suspend"), appends.charged);
    expect(outputOf(await runOf(on, shop(taken, undefined)))).toEqual(["receipt 1", "mailed"]);
    const other = lab();
    const flaky = (onUncertain: OnUncertain | undefined) =>
      durable("shop", (ctx) =>
        ctx.step("charge", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("no")) : attempt), {
          onUncertain,
        }),
      );
    await dieAt(other, flaky("suspend"), 3);
    expect(outputOf(await runOf(other, flaky(undefined)))).toBe(2);
  });
});

describe("a worker that is stopped (H61)", () => {
  test("between announcement and start: the attempt is called off, and no question is opened", async () => {
    const on = lab();
    const taken = till();
    const flow = shop(taken, "suspend");
    await record(on, "r", { workflow: "shop" });
    let stop: () => Promise<void> = () => Promise.resolve();
    // The announcement is durable, its reply under way.
    const storage = hooked(on.storage, (operation, moment) => {
      if (operation === "append" && moment === "after") void stop();
    });
    const first = open(on, [flow], { storage });
    stop = () => first.worker.stop();
    await on.world.advance(5_000);
    expect(first.worker.active).toBe(0);
    const started = (
      await flow
        .with({ ...on })
        .get("r")
        .entries()
    ).filter(({ kind }) => kind === "step.started");
    expect(started).toMatchObject([{ attempt: 1 }, { attempt: 0 }]);
    expect(taken.charges).toEqual([]);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).not.toContain("suspend.opened charge/uncertain");
    const second = open(on, [flow]);
    await second.until(1);
    expect(outputOf(await second.app.get("r").outcome())).toEqual(["receipt 1", "mailed"]);
    expect(taken.charges).toHaveLength(1);
    expect(on.world.warnings).toEqual([]);
  });

  test("while the work is under way: it is recorded, and no question is opened", async () => {
    const on = lab();
    const taken = till();
    const flow = durable("shop", async (ctx) => [
      await ctx.step(
        "charge",
        async (info) => {
          await pause(on.world, 2_000);
          return taken.charge(info);
        },
        { onUncertain: "suspend" },
      ),
      await ctx.step("mail", () => "mailed"),
    ]);
    await record(on, "r", { workflow: "shop" });
    const first = open(on, [flow]);
    await on.world.advance(1_000);
    await on.world.run(first.worker.stop());
    expect((await kindsOf(flow.with({ ...on }).get("r"))).at(-1)).toBe("step.completed charge");
    const second = open(on, [flow]);
    await second.until(1);
    expect(outputOf(await second.app.get("r").outcome())).toEqual(["receipt 1", "mailed"]);
    expect(taken.charges).toHaveLength(1);
  });
});

test("a step that is not awaited is still done, announced or not", async () => {
  const on = lab();
  const taken = till();
  const flow = durable("shop", (ctx) => {
    void ctx.step("plain", taken.charge);
    void ctx.step("charge", taken.charge, { onUncertain: "suspend" });
  });
  expect((await runOf(on, flow)).status).toBe("completed");
  expect(taken.charges).toHaveLength(2);
});

test("H45 a run that is cancelled with a question open: its token answers nothing any more", async () => {
  const on = lab();
  const taken = till();
  const flow = shop(taken, "suspend").with({ ...on });
  const token = tokenOf(await afterDeath(on, flow));
  await flow.cancel("r");
  expect(await on.world.run(flow.resume(token, { status: "retry" }))).toMatchObject({ status: "expired" });
  expect(taken.charges).toHaveLength(1);
});
