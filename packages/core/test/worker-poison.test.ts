import { createApp, createWorker, durable } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { describe, expect, it } from "vitest";
import { lab, outputOf, tokenOf, type Lab } from "./support/behaviour-lab.ts";
import { open, slow } from "./support/worker-lab.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

describe("a run that keeps killing its worker (W4, H58)", () => {
  /** A run whose driver was lost so many times, with nothing written. */
  async function losses(base: Lab, locator: string, times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      expect(await base.storage.lease(locator, `dead ${locator} ${n}`, 1)).not.toBeNull();
      await base.world.advance(2);
    }
  }

  it("is left alone after 50 starts with the reason, and others finish", async () => {
    const base = lab();
    const { flow, ran } = slow(base.world);
    const locator = await record(base, "bad", { workflow: "slow", input: "x" });
    await losses(base, locator, 50);
    for (const id of numbered("r", 3)) await record(base, id, { workflow: "slow", input: id });
    const { app, heard, until } = open(base, [flow], { concurrency: 1 });
    await until(4);
    expect(heard[0]).toMatchObject({ runId: "bad", status: "blocked", error: { code: "poison" } });
    expect(base.world.warnings).toEqual([
      expect.stringMatching(/^run bad is skipped for a minute: .*50 times without progress.*driver/),
    ]);
    expect(await statuses(base.storage)).toEqual({ blocked: 1, completed: 3 });
    expect(ran.filter((line) => line.startsWith("bad"))).toEqual([]);

    expect(outputOf(await base.world.run(app.advance("bad"))), "by hand it is tried").toHaveLength(3);
  });

  it("is tried to the last start that is allowed", async () => {
    const base = lab();
    const { flow } = slow(base.world);
    await losses(base, await record(base, "r", { workflow: "slow", input: "x" }), 49);
    const { heard, until } = open(base, [flow]);
    await until(1);
    expect(heard[0]).toMatchObject({ status: "completed" });
    expect(base.world.warnings).toEqual([]);
  });

  it("counts lives of real workers; each dies in the same step, whose attempts are not counted", async () => {
    const base = lab();
    const ran: number[] = [];
    let deadly = true;
    const lives = 5;
    const flow = durable("deadly", async (ctx) => {
      await ctx.step("fine", () => 1);
      return ctx.step("deadly", async ({ attempt }) => {
        ran.push(attempt);
        if (deadly) await new Promise(() => {});
        return "survived";
      });
    });
    await record(base, "bad", { workflow: "deadly" });
    for (let life = 0; life < lives; life++) {
      let dead = false;
      const dying = faultyStorage(base.storage, {
        world: base.world,
        plan: () => (dead ? "crash-before" : null),
      });
      const app = createApp({ ...base, storage: dying, workflows: [flow] });
      createWorker(app, { maxStarts: lives });
      await base.world.advance(2_000);
      dead = true;
      await base.world.advance(60_000);
    }
    // The life that recorded "fine" made progress: the count began after it.
    const { app, heard, until } = open(base, [flow], { maxStarts: lives - 1 });
    await until(1);
    expect(ran).toEqual([1, 1, 1, 1, 1]);
    expect(heard[0]).toMatchObject({ status: "blocked", error: { code: "poison" } });
    deadly = false;
    await base.world.advance(10);
    expect(outputOf(await base.world.run(app.advance("bad")))).toBe("survived");
    expect(ran.at(-1), "a lost worker burns no attempt (H59)").toBe(1);
  });

  it("does not take its neighbours along", async () => {
    const base = lab();
    const { flow } = slow(base.world);
    const world = { die: (): void => {} };
    const deadly = durable("deadly", (ctx) =>
      ctx.step("kill", () => {
        world.die();
        return new Promise(() => {});
      }),
    );
    await record(base, "bad", { workflow: "deadly" });
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "slow", input: id });
    for (let life = 0; life < 20; life++) {
      let dead = false;
      world.die = () => (dead = true);
      const plan = (): "crash-before" | null => (dead ? "crash-before" : null);
      const storage = faultyStorage(base.storage, { world: base.world, plan });
      createWorker(createApp({ ...base, storage, workflows: [deadly, flow] }), { maxStarts: 10 });
      await base.world.advance(60_000);
    }
    expect(await statuses(base.storage)).toEqual({ blocked: 1, completed: 5 });
  });

  it("progress clears the count", async () => {
    const base = lab();
    const { flow } = slow(base.world);
    const locator = await record(base, "r", { workflow: "slow", input: "x" });
    await losses(base, locator, 40);
    const dying = faultyStorage(base.storage, {
      world: base.world,
      plan: (operation, index) => (operation === "append" && index === 2 ? "crash-before" : null),
    });
    createWorker(createApp({ ...base, storage: dying, workflows: [flow] }));
    await base.world.run(dying.died);
    await base.world.advance(60_000);
    await losses(base, locator, 40);
    const { heard, until } = open(base, [flow]);
    await until(1);
    expect(heard[0]).toMatchObject({ status: "completed" });
  });

  it("being let go in good order is no death: parked 200 times, never poison", async () => {
    const base = lab();
    const flow = durable("ask", (ctx) => ctx.suspend<string>("ok"));
    const token = tokenOf(await base.world.run(flow.with(base).run(undefined, { id: "r" })));
    const app = createApp({ ...base, workflows: [flow] });
    for (let n = 0; n < 200; n++) {
      const outcome = await base.world.run(app.advance("r", { maxStarts: 2 }));
      expect(outcome.status, `time ${n}`).toBe("suspended");
    }
    await app.resume(token, "yes", { drive: false });
    expect(outputOf(await base.world.run(app.advance("r", { maxStarts: 2 })))).toBe("yes");
  });

  it("a worker that is stopped 100 times during one step is no death either", async () => {
    const base = lab();
    const { flow } = slow(base.world, 1_000);
    await record(base, "r", { workflow: "slow", input: "x" });
    for (let n = 0; n < 100; n++) {
      const { worker } = open(base, [flow], { maxStarts: 2 });
      // Stopped before it begins anything.
      await base.world.run(worker.stop());
    }
    const { heard, until } = open(base, [flow], { maxStarts: 2 });
    await until(1);
    expect(heard[0]).toMatchObject({ status: "completed" });
    expect(base.world.warnings).toEqual([]);
  });
});
