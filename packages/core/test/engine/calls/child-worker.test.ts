import { createApp, durable, type AnyWorkflow, type DurableError } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf, type Lab } from "../../support/behaviour-lab.ts";
import { runOf } from "../../support/behaviour-lives.ts";
import { childOf, childrenOf, Ran, standings } from "./support/child-family.ts";
import { open } from "../../support/worker-lab.ts";
import { numbered, record, statuses } from "../../support/worker-runs.ts";

/** A parent with two children, each with a step that takes a second, a wait and another step. */
function family(on: Lab) {
  const attempts: string[] = [];
  const kid = durable("kid", async (ctx, name: string) => {
    const work = (step: string) =>
      ctx.step(step, async ({ attempt }) => {
        attempts.push(`${name} ${step} ${attempt}`);
        await pause(on.world, 1_000);
        return step;
      });
    return [await work("a"), await ctx.suspend<string>("ok"), await work("b")].join(" ");
  });
  const parent = durable("parent", (ctx) =>
    ctx.map(["x", "y"], (c, name) => c.child(kid, name), { key: (name) => name }),
  );
  return { attempts, kid, parent };
}

const allOnce = ["x a 1", "x b 1", "y a 1", "y b 1"];

describe("a worker that is stopped", () => {
  test("H61 while children are at work: their steps are recorded, nothing more begins, no attempt is burnt", async () => {
    const on = lab();
    const { attempts, kid, parent } = family(on);
    await record(on, "r", { workflow: "parent" });
    const first = open(on, [parent, kid]);
    await on.world.advance(900);
    expect(attempts.toSorted()).toEqual(["x a 1", "y a 1"]);
    await on.world.run(first.worker.stop());
    const [x, y] = await childrenOf(on.storage, "r");
    expect([x!.steps, y!.steps]).toEqual([1, 1]);
    expect(await statuses(on.storage)).toEqual({ running: 3 });
    const second = open(on, [parent, kid]);
    await on.world.advance(5_000);
    const parked = await second.app.get("r").outcome();
    for (const name of ["x", "y"])
      await on.world.run(second.app.resume(tokenOf(parked, `map[${name}]/kid/ok`), name));
    await on.world.advance(5_000);
    expect(outputOf(await second.app.get("r").outcome())).toEqual(["a x b", "a y b"]);
    expect(attempts.toSorted()).toEqual(allOnce);
  });

  test("H61 while it drives, through its parent, a child that was there already: that one is handed on, too", async () => {
    const on = lab();
    const bodies: string[] = [];
    const kid = durable("kid", async (ctx) => {
      for (const step of ["a", "b", "c"])
        await ctx.step(step, async ({ attempt }) => {
          bodies.push(`${step} ${attempt}`);
          await pause(on.world, 1_000);
        });
      return "done";
    });
    const parent = durable("parent", (ctx) => ctx.child(kid));
    await record(on, "r", { workflow: "parent" });
    for (const seen of [["a 1"], ["a 1", "b 1"]]) {
      const { worker } = open(on, [parent]);
      await on.world.advance(900);
      await on.world.run(worker.stop());
      expect(bodies).toEqual(seen);
      expect(worker.active).toBe(0);
    }
    expect((await childOf(on)).steps).toBe(2);
    const last = open(on, [parent]);
    await last.until(1);
    expect(outputOf(await last.app.get("r").outcome())).toBe("done");
    expect(bodies).toEqual(["a 1", "b 1", "c 1"]);
  });
});

describe("workers that know a part of the family", () => {
  const shares: Record<string, (keyof ReturnType<typeof family>)[][]> = {
    "the parent alone": [["parent"]],
    "one the parent, another the child": [["parent"], ["kid"]],
    "two both": [
      ["parent", "kid"],
      ["parent", "kid"],
    ],
  };

  test.each(Object.entries(shares))("%s: every body once, the parent ends", async (_, shops) => {
    const on = lab();
    const flows = family(on);
    const { attempts } = flows;
    await record(on, "r", { workflow: "parent" });
    for (const names of shops)
      open(
        on,
        names.map((name) => flows[name] as AnyWorkflow),
      );
    await on.world.advance(5_000);
    const door = createApp({ ...on, workflows: [] });
    for (const { runId } of await childrenOf(on.storage, "r"))
      await door.resume(tokenOf(await door.get(runId).outcome()), "ok", { drive: false });
    // A worker that has the parent alone looks after its children every ten minutes at first.
    await on.world.advance(700_000);
    expect(outputOf(await door.get("r").outcome())).toEqual(["a ok b", "a ok b"]);
    expect(attempts.toSorted()).toEqual(allOnce);
    expect(await statuses(on.storage)).toEqual({ completed: 3 });
  });

  test("the child alone: it is driven, and its parent is left for another", async () => {
    const on = lab();
    const { kid, parent } = family(on);
    await runOf(on, parent);
    const { worker, app } = open(on, [kid]);
    const door = createApp({ ...on, workflows: [] });
    for (const { runId } of await childrenOf(on.storage, "r"))
      await door.resume(tokenOf(await door.get(runId).outcome()), "ok", { drive: false });
    await on.world.advance(10_000);
    expect(await statuses(on.storage)).toEqual({ completed: 2, running: 1 });
    await on.world.run(worker.stop());
    expect((await app.list({ dueAt: on.world.now() })).runs.map(({ runId }) => runId)).toEqual(["r"]);
    expect(outputOf(await runOf(on, parent))).toEqual(["a ok b", "a ok b"]);
  });
});

describe("one place for many", () => {
  test("a worker that drives one run at a time finishes parents and children alike", async () => {
    const on = lab();
    const ran = new Ran();
    const toy = durable("toy", async (ctx) => {
      await ctx.sleep("2h");
      return ctx.step("work", ran.work(ctx, 1));
    });
    const kid = durable("kid", async (ctx) => 1 + (await ctx.child(toy)));
    const parent = durable("parent", async (ctx) => 1 + (await ctx.child(kid)));
    for (const id of numbered("r", 5)) await record(on, id, { workflow: "parent" });
    const { heard } = open(on, [parent, kid, toy], { concurrency: 1, interval: "1m" });
    await on.world.advance(3 * 3_600_000);
    expect(await statuses(on.storage)).toEqual({ completed: 15 });
    expect(ran.counts).toEqual([1, 1, 1, 1, 1]);
    // Fifteen runs, each begun, woken, and looked at a few times.
    expect(heard.length).toBeLessThan(150);
  });

  test("a child whose code is unknown to the process that has its parent's id is still driven by its parent", async () => {
    const on = lab();
    const kid = durable("kid", (ctx) => ctx.step("work", () => "done"));
    const parent = durable("parent", (ctx) => ctx.child(kid).catch(({ code }: DurableError) => code));
    await record(on, "r", { workflow: "parent" });
    const { until, app } = open(on, [parent]);
    await until(1);
    expect(outputOf(await app.get("r").outcome())).toBe("done");
    expect(await standings(on.storage)).toEqual({ r: "completed", [(await childOf(on)).runId]: "completed" });
    await expect(app.advance((await childOf(on)).runId)).rejects.toMatchObject({ code: "unknown-workflow" });
  });
});
