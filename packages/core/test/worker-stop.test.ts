import { createApp, createWorker, durable, type World, type WorkerOptions } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { describe, expect, it } from "vitest";
import { lab, kindsOf, pause } from "./support/behaviour-lab.ts";
import { bare, open, outputs, slow } from "./support/worker-lab.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

describe("stopping (W3, H61)", () => {
  it("records the body that runs, begins no other, gives the lease back, and burns no attempt", async () => {
    const base = lab();
    const { flow, ran } = slow(base.world);
    await record(base, "r", { workflow: "slow", input: "x" });
    const { app, worker, heard } = open(base, [flow]);
    await base.world.advance(1_500);
    expect(ran).toEqual(["r a 1", "r b 1"]);
    await base.world.run(worker.stop());
    expect(worker.active).toBe(0);
    expect(heard).toMatchObject([{ status: "running" }]);
    expect(ran, "b was finished, c not begun").toEqual(["r a 1", "r b 1"]);
    expect(await kindsOf(app.get("r"))).toEqual(["run.started", "step.completed a", "step.completed b"]);
    expect((await app.list({ dueAt: base.world.now() })).runs, "due at once").toHaveLength(1);

    const from = base.world.now();
    const second = open(base, [flow]);
    await second.until(1);
    expect(outputs(second.heard)).toEqual([["x a", "x b", "x c"]]);
    expect(ran).toEqual(["r a 1", "r b 1", "r c 1"]);
    expect(base.world.now() - from, "no run waited for a lease").toBeLessThan(30_000);
    expect(base.world.warnings).toEqual([]);
  });

  it("side by side: every body that runs is recorded, whatever waits for a place is not begun", async () => {
    const base = lab();
    const ran: string[] = [];
    const flow = durable("wide", (ctx) =>
      ctx.parallel(
        numbered("b", 6).map(
          (name) => (c) =>
            c.step(name, async ({ attempt }) => {
              ran.push(`${name} ${attempt}`);
              await pause(base.world, 1_000);
              return name;
            }),
        ),
        { concurrency: 2 },
      ),
    );
    await record(base, "r", { workflow: "wide" });
    const { worker } = open(base, [flow]);
    await base.world.advance(1_200);
    await base.world.run(worker.stop());
    expect(ran).toHaveLength(4);
    const second = open(base, [flow]);
    await second.until(1);
    expect(outputs(second.heard)).toEqual([numbered("b", 6)]);
    expect(ran, "each body once, each as its first attempt").toEqual(numbered("b", 6).map((n) => `${n} 1`));
  });

  it("hands a run on between two attempts without taking one away", async () => {
    const base = lab();
    const ran: number[] = [];
    const flow = durable("flaky", (ctx) =>
      ctx.step(
        "call",
        ({ attempt }) => {
          ran.push(attempt);
          if (attempt < 3) throw new Error("not yet");
          return "done";
        },
        { retry: { attempts: 3, delay: 400, factor: 1, jitter: false } },
      ),
    );
    await record(base, "r", { workflow: "flaky" });
    let hands = 0;
    for (; ran.length < 3 && hands < 50; hands++) {
      const { worker } = open(base, [flow]);
      await base.world.advance(150);
      await base.world.run(worker.stop());
    }
    expect(ran).toEqual([1, 2, 3]);
    expect(hands).toBeGreaterThan(3);
    expect(await statuses(base.storage)).toEqual({ completed: 1 });
  });

  it("lets a body that runs on go after `drain`, and says which run", async () => {
    const base = lab();
    const { flow } = slow(base.world, 600_000);
    await record(base, "r", { workflow: "slow", input: "x" });
    const { worker } = open(base, [flow], { drain: "5s" });
    await base.world.advance(1_000);
    const from = base.world.now();
    await base.world.run(worker.stop());
    expect(base.world.now() - from).toBe(5_000);
    expect(base.world.warnings).toEqual([expect.stringMatching(/steps under way.*: r$/)]);
    expect(worker.active).toBe(1);
    await base.world.advance(600_000);
    expect(worker.active).toBe(0);
    const { app } = open(base, []);
    expect(await kindsOf(app.get("r")), "it was recorded all the same").toEqual([
      "run.started",
      "step.completed a",
    ]);
  });

  it.each(["claim", "list"])("takes nothing more, not even what %s gives it afterwards", async (ask) => {
    const base = lab();
    const { flow, ran } = slow(base.world);
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "slow", input: id });
    const tardy = faultyStorage(ask === "list" ? bare(base.storage) : base.storage, {
      world: base.world,
      latency: () => 50,
    });
    const { worker } = open(base, [flow], { storage: tardy });
    await base.world.advance(10);
    await base.world.run(worker.stop());
    await base.world.advance(60_000);
    expect(tardy.counts).toMatchObject({ claim: 0, list: 0, [ask]: 1, lease: 0, read: 0 });
    expect(ran).toEqual([]);
    expect(worker.active).toBe(0);
    expect((await base.storage.list({ dueAt: base.world.now() })).runs, "all are due").toHaveLength(5);
  });

  it("leaves nothing behind: no timer, and no ear for signals", async () => {
    const base = lab();
    const { flow } = slow(base.world);
    const armed = new Set<object>();
    let ears = 0;
    const world: World = {
      ...base.world,
      timer: (ms, fire) => {
        const mark = {};
        armed.add(mark);
        const cancel = base.world.timer(ms, () => {
          armed.delete(mark);
          fire();
        });
        return () => {
          armed.delete(mark);
          cancel();
        };
      },
      onTerminate: () => {
        ears += 1;
        return () => (ears -= 1);
      },
    };
    await record(base, "r", { workflow: "slow", input: "x" });
    const { worker, until } = open(base, [flow], { world });
    await until(1);
    expect(ears).toBe(1);
    await base.world.run(worker.stop());
    expect(ears).toBe(0);
    await base.world.advance(0);
    expect(armed.size, "a process that has nothing else to do can end").toBe(0);
  });

  it("SIGTERM is a stop; asked twice, it warns once", async () => {
    const base = lab();
    let terminate = (): void => {};
    const world = {
      ...base.world,
      onTerminate: (stop: () => void) => {
        terminate = stop;
        return () => {};
      },
    };
    const { flow, ran } = slow(base.world, 60_000);
    await record(base, "r", { workflow: "slow", input: "x" });
    const { worker } = open(base, [flow], { world, drain: "1s" });
    await base.world.advance(1_000);
    terminate();
    await base.world.run(worker.stop());
    await base.world.advance(300_000);
    expect(ran).toEqual(["r a 1"]);
    expect(worker.active).toBe(0);
    expect(base.world.warnings).toHaveLength(1);
  });

  it("refuses options that make no sense when it is made, not when it is stopped", () => {
    const base = lab();
    const app = createApp({ ...base, workflows: [] });
    for (const options of [{ interval: "soon" }, { drain: "soon" }]) {
      expect(() => createWorker(app, options as WorkerOptions)).toThrow(/soon/);
    }
  });
});
