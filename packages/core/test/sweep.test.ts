import { createApp, createWorker, durable, type AnyWorkflow } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { expect, test } from "vitest";
import { lab, outputOf, secret, tokenOf } from "./support/behaviour-lab.ts";
import { record } from "./support/worker-runs.ts";

const approval = durable("approval", (ctx) => ctx.suspend<string>("ok"));

test("H28 an answer without a notification is found by a sweep", async () => {
  const { world, storage } = lab();
  const flow = approval.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], bind: false, storage, world, secret });
  await app.resume(tokenOf(await world.run(flow.run(undefined, { id: "r" }))), "yes", { drive: false });
  const { outcomes, failed, unknown } = await world.run(app.sweep());
  expect(outcomes.map(outputOf)).toEqual(["yes"]);
  expect({ failed, unknown }).toEqual({ failed: [], unknown: [] });
});

test("H28 with every wake-up lost, one worker finds whatever is due within a look or two", async () => {
  const on = lab();
  const { world } = on;
  const flows = {
    started: durable("started", (ctx) => ctx.step("work", () => "started")),
    answered: durable("answered", (ctx) => ctx.suspend<string>("ok")),
    slept: durable("slept", (ctx) => ctx.sleep("2h").then(() => "slept")),
    retried: durable("retried", (ctx) =>
      ctx.step("work", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("no")) : "retried"), {
        retry: { delay: "1h", maxDelay: "1h", jitter: false },
      }),
    ),
    expired: durable("expired", (ctx) => ctx.suspend("ok", { timeout: "3h", fallback: "expired" })),
  };
  const workflows = Object.values(flows) as AnyWorkflow[];
  await record(on, "started", { workflow: "started" });
  for (const name of ["answered", "slept", "retried", "expired"] as const) {
    await record(on, name, { workflow: name });
    await world.run(createApp({ ...on, workflows }).advance(name));
  }
  // The resumer dies after the answer is written and before any notification.
  const dying = faultyStorage(on.storage, {
    world,
    plan: (operation) => (operation === "append" ? "crash-after" : null),
  });
  const parked = await createApp({ ...on, workflows })
    .get("answered")
    .outcome();
  const resuming = createApp({ ...on, storage: dying, workflows }).resume(tokenOf(parked), "answered");
  await world.run(Promise.race([resuming, dying.died]));
  // So does the process that forks, once the fork is written.
  await world.run(flows.started.with({ ...on }).run(undefined, { id: "parent" }));
  const forking = faultyStorage(on.storage, {
    world,
    plan: (operation) => (operation === "append" ? "crash-after" : null),
  });
  const fork = flows.started.with({ ...on, storage: forking }).fork("parent", { from: "work", id: "forked" });
  await world.run(Promise.race([fork, forking.died]));

  const ended: string[] = [];
  const from = world.now();
  const worker = createWorker(createApp({ ...on, workflows }), {
    interval: "10s",
    onStop: (outcome) => {
      if (outcome.status === "completed")
        ended.push(`${outcome.runId} ${Math.floor((world.now() - from) / 60_000)}`);
    },
  });
  await world.advance(4 * 3_600_000);
  await world.run(worker.stop());
  expect(ended.toSorted()).toEqual([
    "answered 0",
    "expired 180",
    "forked 0",
    "retried 60",
    "slept 120",
    "started 0",
  ]);
});

test("H37 an answer from a host whose clock is five minutes ahead is swept at once", async () => {
  const { world, storage } = lab();
  const flow = approval.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], bind: false, storage, world, secret });
  const ahead = { ...world, now: () => world.now() + 300_000 };
  const sender = createApp({ workflows: [], storage, world: ahead, secret });
  await sender.resume(tokenOf(await world.run(flow.run(undefined, { id: "r" }))), "yes", { drive: false });
  expect((await world.run(app.sweep())).outcomes.map(outputOf)).toEqual(["yes"]);
});

test("H37 a run whose driver died with a fast clock is swept once its lease has run out", async () => {
  const { world, storage } = lab();
  const flow = durable("two", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("b", () => 2)]);
  const dying = faultyStorage(storage, {
    world,
    plan: (operation, index) => (operation === "append" && index === 2 ? "crash-after" : null),
  });
  const fast = { ...world, now: () => world.now() + 300_000 };
  const running = flow.with({ storage: dying, world: fast, secret }).run(undefined, { id: "r" });
  await world.run(Promise.race([running, dying.died]));
  await world.advance(60_000);
  const app = createApp({ workflows: [flow], storage, world, secret });
  expect((await world.run(app.sweep())).outcomes.map(outputOf)).toEqual([[1, 2]]);
});
