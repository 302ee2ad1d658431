import {
  createApp,
  createWorker,
  durable,
  type AnyWorkflow,
  type App,
  type Outcome,
  type Storage,
  type Worker,
  type WorkerOptions,
  type World,
} from "@durable/core";
import { countingStorage, faultyStorage, type VirtualWorld } from "@durable/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { lab, kindsOf, outputOf, pause, secret, tokenOf, type Lab } from "./support/behaviour-lab.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

interface Shop extends Lab {
  readonly app: App;
  readonly worker: Worker;
  readonly heard: Outcome<unknown>[];
  /** Lets time pass until so many drives have stopped. */
  readonly until: (stops: number) => Promise<void>;
}

/** A worker in virtual time; it is stopped when the test is over. */
function open(
  base: Lab,
  workflows: readonly AnyWorkflow[],
  options: WorkerOptions & { readonly storage?: Storage; readonly world?: World } = {},
): Shop {
  const { storage = base.storage, world = base.world, onStop, ...rest } = options;
  const app = createApp({ storage, world, secret, workflows });
  const heard: Outcome<unknown>[] = [];
  let tell = (): void => {};
  const worker = createWorker(app, {
    ...rest,
    onStop: (outcome) => {
      heard.push(outcome);
      tell();
      onStop?.(outcome);
    },
  });
  onTestFinished(() => void worker.stop());
  const until = async (stops: number): Promise<void> => {
    while (heard.length < stops) await base.world.run(new Promise<void>((resolve) => (tell = resolve)));
  };
  return { ...base, app, worker, heard, until };
}

/** Three steps, each of which takes a while; `ran` has every body that was begun. */
function slow(world: VirtualWorld, ms = 1_000) {
  const ran: string[] = [];
  const seen = { now: 0, most: 0 };
  const flow = durable("slow", async (ctx, topic: string) => {
    const done: string[] = [];
    for (const name of ["a", "b", "c"]) {
      done.push(
        await ctx.step(name, async ({ attempt }) => {
          ran.push(`${ctx.runId} ${name} ${attempt}`);
          seen.now += 1;
          seen.most = Math.max(seen.most, seen.now);
          await pause(world, ms);
          seen.now -= 1;
          return `${topic} ${name}`;
        }),
      );
    }
    return done;
  });
  return { flow, ran, seen };
}

const outputs = (heard: readonly Outcome<unknown>[]): unknown[] => heard.map(outputOf);

describe("what a worker finds", () => {
  it("finds a run that nobody drives", async () => {
    const base = lab();
    await record(base, "r", { workflow: "slow", input: "tides" });
    const { heard, until } = open(base, [slow(base.world).flow]);
    await until(1);
    expect(outputs(heard)).toEqual([["tides a", "tides b", "tides c"]]);
  });

  it("finds a run whose driver died, once its lease has run out", async () => {
    const base = lab();
    const { flow, ran } = slow(base.world);
    const dying = faultyStorage(base.storage, {
      world: base.world,
      plan: (operation, index) => (operation === "append" && index === 3 ? "crash-before" : null),
    });
    const first = flow.with({ ...base, storage: dying }).run("tides", { id: "r" });
    await base.world.run(Promise.race([first, dying.died]));
    const { heard, until } = open(base, [flow]);
    await until(1);
    expect(outputs(heard)).toEqual([["tides a", "tides b", "tides c"]]);
    expect(ran).toEqual(["r a 1", "r b 1", "r b 1", "r c 1"]);
  });

  it("finds an answer that was delivered and for which nobody was woken", async () => {
    const base = lab();
    const flow = durable("ask", (ctx) => ctx.suspend<string>("ok"));
    const token = tokenOf(await base.world.run(flow.with(base).run(undefined, { id: "r" })));
    const { app, heard, until } = open(base, [flow]);
    await base.world.advance(60_000);
    expect(heard, "a run that waits for the outside is not touched").toEqual([]);
    await app.deliver(token, "yes");
    await until(1);
    expect(outputs(heard)).toEqual(["yes"]);
  });

  it("finds timers when their time has come, and not before", async () => {
    const base = lab();
    const flow = durable("nap", async (ctx) => {
      const from = ctx.now();
      await ctx.sleep("3 days");
      return ctx.now() - from;
    });
    const counted = countingStorage(base.storage);
    await record(base, "r", { workflow: "nap" });
    const { heard, until } = open(base, [flow], { storage: counted, interval: "1 minute" });
    await until(2);
    expect(heard.map(({ status }) => status)).toEqual(["suspended", "completed"]);
    expect(counted.counts.leases, "one drive to the park, one to the end").toBe(2);
    const slept = Number(outputOf(heard[1]));
    expect(slept).toBeGreaterThanOrEqual(3 * 86_400_000);
    expect(slept).toBeLessThan(3 * 86_400_000 + 61_000);
  });
});

describe("how many runs at a time (W2)", () => {
  it("drives as many as it was told and no more", async () => {
    const base = lab();
    const { flow, seen } = slow(base.world);
    for (const id of numbered("r", 20)) await record(base, id, { workflow: "slow", input: id });
    const { worker, heard, until } = open(base, [flow], { concurrency: 3 });
    await base.world.advance(10);
    expect(worker.active).toBe(3);
    await until(20);
    expect(seen.most).toBe(3);
    expect(heard.every(({ status }) => status === "completed")).toBe(true);
    expect(worker.active).toBe(0);
  });

  it("a run that sleeps or waits takes no place", async () => {
    const base = lab();
    const flow = durable("nap", async (ctx) => {
      await ctx.sleep("1 hour");
      return "up";
    });
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "nap" });
    const from = base.world.now();
    const { until } = open(base, [flow], { concurrency: 1 });
    await until(10);
    expect(base.world.now() - from, "they slept side by side").toBeLessThan(2 * 3_600_000);
    expect(await statuses(base.storage)).toEqual({ completed: 5 });
  });
});

describe("runs that are not for this worker", () => {
  it("goes past 250 due runs of a workflow it does not know, and leaves them alone", async () => {
    const base = lab();
    for (const id of numbered("strange", 250)) await record(base, id, { workflow: "strange" });
    await record(base, "known", { workflow: "slow", input: "x" });
    const counted = countingStorage(base.storage);
    const { heard, until } = open(base, [slow(base.world).flow], { storage: counted });
    await until(1);
    await base.world.advance(600_000);
    expect(heard).toMatchObject([{ runId: "known", status: "completed" }]);
    expect(counted.counts.leases, "of the strange ones not even a lease was taken").toBe(1);
    expect(counted.counts.reads).toBe(1);
    expect(await statuses(base.storage)).toEqual({ running: 250, completed: 1 });
    expect(base.world.warnings).toEqual([]);
  });

  it("a blocked run rests, is spoken of once a minute, and keeps nobody waiting", async () => {
    const base = lab();
    const before = durable("changed", async (ctx) => {
      await ctx.step("a", () => 1, { input: "old" });
      return ctx.suspend("ok");
    });
    const token = tokenOf(await base.world.run(before.with(base).run(undefined, { id: "odd" })));
    const after = durable("changed", async (ctx) => {
      await ctx.step("a", () => 1, { input: "new" });
      return ctx.suspend("ok");
    });
    const { flow } = slow(base.world);
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "slow", input: id });
    const { app, heard, until } = open(base, [after, flow], { concurrency: 1 });
    await app.deliver(token, "yes");
    await until(6);
    await base.world.advance(10 * 60_000);
    const blocked = heard.filter(({ status }) => status === "blocked");
    expect(blocked.length).toBeGreaterThanOrEqual(9);
    expect(blocked.length).toBeLessThanOrEqual(12);
    expect(base.world.warnings).toHaveLength(blocked.length);
    expect(base.world.warnings[0]).toMatch(/^run odd is left alone for a minute: .*"a"/);
    expect(await statuses(base.storage)).toEqual({ completed: 5, running: 1 });
    const right = createApp({ ...base, workflows: [before] });
    expect(outputOf(await base.world.run(right.advance("odd"))), "its journal is as it was").toBe("yes");
  });

  it("says nothing of a run that somebody else drives", async () => {
    const base = lab();
    const { flow, ran } = slow(base.world, 120_000);
    const driving = flow.with(base).run("x", { id: "r" });
    const { heard } = open(base, [flow]);
    expect(outputOf(await base.world.run(driving))).toEqual(["x a", "x b", "x c"]);
    expect(heard).toEqual([]);
    expect(ran).toEqual(["r a 1", "r b 1", "r c 1"]);
    expect(base.world.warnings).toEqual([]);
  });
});

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
      expect.stringMatching(/^run bad is left alone for a minute: .*51 times without progress.*driver/),
    ]);
    expect(await statuses(base.storage)).toEqual({ running: 1, completed: 3 });
    expect(ran.filter((line) => line.startsWith("bad"))).toEqual([]);

    expect(outputOf(await base.world.run(app.advance("bad"))), "by hand it is tried").toHaveLength(3);
  });

  it("is tried to the last start that is allowed", async () => {
    const base = lab();
    const { flow } = slow(base.world);
    await losses(base, await record(base, "r", { workflow: "slow", input: "x" }), 48);
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

  // Not so yet: a neighbour that was under way each time has as many starts without progress, and is blamed too.
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
    expect(await statuses(base.storage)).toEqual({ running: 1, completed: 5 });
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
    await app.deliver(token, "yes");
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
    expect(base.world.now() - from, "nobody waited for a lease").toBeLessThan(30_000);
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

  it("takes nothing more, not even what it had already asked the storage for", async () => {
    const base = lab();
    const { flow, ran } = slow(base.world);
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "slow", input: id });
    const tardy = faultyStorage(base.storage, { world: base.world, latency: () => 50 });
    const { worker } = open(base, [flow], { storage: tardy });
    await base.world.advance(10);
    await base.world.run(worker.stop());
    await base.world.advance(60_000);
    expect(tardy.counts).toMatchObject({ list: 1, lease: 0, read: 0 });
    expect(ran).toEqual([]);
    expect(worker.active).toBe(0);
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
      expect(() => createWorker(app, options)).toThrow(/soon/);
    }
  });
});

describe("what goes wrong around it", () => {
  it("outlives a storage that fails for a while, and says so", async () => {
    const base = lab();
    const { flow } = slow(base.world);
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "slow", input: id });
    const heal = base.world.now() + 120_000;
    const failing = faultyStorage(base.storage, {
      world: base.world,
      plan: () => (base.world.now() > heal - 119_000 && base.world.now() < heal ? "lose-request" : null),
    });
    open(base, [flow], { storage: failing, interval: "5s" });
    await base.world.advance(400_000);
    expect(await statuses(base.storage)).toEqual({ completed: 5 });
    expect(base.world.warnings).toContainEqual(expect.stringMatching(/cannot read its storage.*list/));
    expect(base.world.now()).toBeGreaterThan(heal);
  });

  it("an ear that throws harms nobody", async () => {
    const base = lab();
    const flow = durable("hops", async (ctx) => {
      await ctx.sleep("5s");
      return "there";
    });
    await record(base, "r", { workflow: "hops" });
    const { until } = open(base, [flow], {
      onStop: () => {
        throw new Error("the log is full");
      },
    });
    const from = base.world.now();
    await until(2);
    expect(base.world.now() - from, "the run did not rest for it").toBeLessThan(10_000);
    expect(base.world.warnings).toEqual([
      expect.stringMatching(/the log is full/),
      expect.stringMatching(/the log is full/),
    ]);
  });

  it("hears how every drive stopped", async () => {
    const base = lab();
    const flow = durable("kinds", async (ctx, kind: string) => {
      if (kind === "fails") throw new Error("no");
      if (kind === "waits") await ctx.suspend("ok");
      return kind;
    });
    for (const id of ["ends", "fails", "waits"]) await record(base, id, { workflow: "kinds", input: id });
    const { heard, until } = open(base, [flow]);
    await until(3);
    expect(Object.fromEntries(heard.map(({ runId, status }) => [runId, status]))).toEqual({
      ends: "completed",
      fails: "failed",
      waits: "suspended",
    });
  });
});

describe("several workers on one storage", () => {
  it("drive each run once (H24), to what one calm worker makes of it (H57)", async () => {
    const calm = lab();
    const ids = numbered("r", 40);
    const of = async (base: Lab, workers: number): Promise<{ ran: string[]; out: unknown[] }> => {
      const { flow, ran } = slow(base.world, 700);
      for (const id of ids) await record(base, id, { workflow: "slow", input: id });
      const shops = Array.from({ length: workers }, () => open(base, [flow], { concurrency: 4 }));
      const done = async (): Promise<boolean> => (await statuses(base.storage))["completed"] === ids.length;
      while (!(await done())) await base.world.advance(1_000);
      const { app, heard } = shops[0] as Shop;
      expect(workers > 1 || heard.length === ids.length).toBe(true);
      const ends = await Promise.all(ids.map((id) => app.get(id).outcome()));
      return { ran: ran.toSorted(), out: ends.map(outputOf) };
    };
    const expected = await of(calm, 1);
    const found = await of(lab(2), 4);
    expect(found).toEqual(expected);
    expect(found.ran).toHaveLength(ids.length * 3);
  });

  it("one run and 16 workers at the same instant: one body each, few operations (H25)", async () => {
    const base = lab();
    const { flow, ran } = slow(base.world);
    await record(base, "r", { workflow: "slow", input: "x" });
    const counted = countingStorage(base.storage);
    const shops = Array.from({ length: 16 }, () => open(base, [flow], { storage: counted }));
    await base.world.advance(10_000);
    expect(ran).toEqual(["r a 1", "r b 1", "r c 1"]);
    expect(counted.counts.leases, "each asks once, and is refused or drives").toBeLessThanOrEqual(16);
    expect(shops.flatMap(({ heard }) => heard).filter(({ status }) => status === "completed")).toHaveLength(
      1,
    );
  });
});
