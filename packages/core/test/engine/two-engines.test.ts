import { createApp, durable, type Context } from "@durable/core";
import { countingStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { hooked, kindsOf, lab, outputOf, pause, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf, freezable, runOf, silent, type Flow } from "../support/behaviour-lives.ts";

/** What a zombie tries to write when it wakes. */
const writes: Record<string, (ctx: Context, gate: () => Promise<void>) => Promise<unknown>> = {
  "a step": async (ctx, gate) => {
    await ctx.step("held", gate);
    return ctx.step("more", () => "end");
  },
  "a failed attempt": async (ctx, gate) => {
    let failed = false;
    await ctx.step("held", async () => {
      await gate();
      if (!failed) {
        failed = true;
        throw new Error("again");
      }
    });
    return "end";
  },
  "a timer": async (ctx, gate) => {
    const slept = ctx.sleep("45s");
    await ctx.step("held", gate);
    await slept;
    return "end";
  },
  "a wait": async (ctx, gate) => {
    await ctx.step("held", gate);
    return ctx.suspend("ok", { timeout: "1s", fallback: "end" });
  },
  "the end": async (ctx, gate) => {
    await ctx.step("held", gate);
    return "end";
  },
};

/** A driver that is frozen inside a body until its lease has run out, and a second that takes the run over. */
async function zombie(on: Lab, flow: Flow, open: () => void) {
  const cold = freezable(on.world);
  const first = flow.with({ ...on, world: cold.world }).run(undefined, { id: "r" });
  await on.world.advance(1_000);
  cold.freeze();
  await on.world.advance(31_000);
  const second = flow.with({ ...on }).run(undefined, { id: "r" });
  await on.world.advance(1_000);
  return { first, second, wake: () => (cold.thaw(), open()) };
}

describe.each(Object.keys(writes))("H21 a zombie that tries to write %s", (what) => {
  test("is refused, tells the other's outcome, and leaves one record of each key", async () => {
    const on = lab();
    const gates: (() => void)[] = [];
    let bodies = 0;
    const flow = durable("held", (ctx) =>
      writes[what]!(ctx, () => {
        bodies += 1;
        return new Promise((resolve) => void gates.push(resolve));
      }),
    );
    const { first, second, wake } = await zombie(on, flow, () => gates[0]?.());
    expect(bodies).toBe(2);
    // The second one's body ends first, so that the journal has moved when the zombie wakes.
    gates[1]?.();
    await on.world.advance(10_000);
    wake();
    await on.world.advance(1_000);
    for (let i = 2; i < 4; i++) gates[i]?.();
    const [zombies, winner] = await on.world.run(Promise.all([first, second]));
    for (let i = 2; i < 4; i++) gates[i]?.();
    await on.world.advance(60_000);
    const end = outputOf(await runOf(on, flow));
    expect(end).toBe("end");
    if (winner.status !== "suspended") expect(outputOf(winner)).toBe("end");
    expect(["completed", "running", "suspended"]).toContain(zombies.status);
    const kinds = await kindsOf(flow.with({ ...on }).get("r"));
    expect(new Set(kinds).size, `keys ${kinds.join()}`).toBe(kinds.length);
    expect(kinds.at(-1)).toBe("run.completed");
    const drivers = (await batchesOf(on)).map(
      (text) => (JSON.parse(text) as { by: string }).by.split(".")[0],
    );
    // The first driver's batches come first, and none of them after the second's.
    expect(drivers.lastIndexOf(drivers[0])).toBeLessThan(drivers.indexOf(drivers.at(-1)));
  });
});

test("H21 a zombie with a false lease and without notifications is refused by the append alone", async () => {
  const on = lab();
  const gates: (() => void)[] = [];
  const flow = durable("held", async (ctx) => {
    const held = await ctx.step("held", () => {
      const name = `body ${gates.length + 1}`;
      return new Promise<string>((resolve) => void gates.push(() => resolve(name)));
    });
    return [held, await ctx.step("more", () => "more")];
  });
  const storage = { ...silent(on), lease: () => Promise.resolve({ starts: 1, length: 1 }) };
  const cold = freezable(on.world);
  const first = flow.with({ ...on, storage, world: cold.world }).run(undefined, { id: "r" });
  await on.world.advance(50);
  cold.freeze();
  await on.world.advance(31_000);
  const second = flow.with({ ...on }).run(undefined, { id: "r" });
  await on.world.advance(1_000);
  gates[1]?.();
  expect(outputOf(await on.world.run(second))).toEqual(["body 2", "more"]);
  const before = await batchesOf(on);
  gates[0]?.();
  expect(outputOf(await on.world.run(first))).toEqual(["body 2", "more"]);
  expect(await batchesOf(on)).toEqual(before);
});

test("H21 a zombie whose lease lies is refused by the append also while the other is still driving", async () => {
  const on = lab();
  const gates: (() => void)[] = [];
  let more = 0;
  const flow = durable("held", async (ctx) => {
    await ctx.step("held", () => new Promise<void>((resolve) => void gates.push(resolve)));
    return ctx.step("more", async () => {
      more += 1;
      await pause(on.world, 20_000);
      return "more";
    });
  });
  const storage = { ...silent(on), lease: () => Promise.resolve({ starts: 1, length: 1 }) };
  const cold = freezable(on.world);
  const first = flow.with({ ...on, storage, world: cold.world }).run(undefined, { id: "r" });
  await on.world.advance(50);
  cold.freeze();
  await on.world.advance(31_000);
  const second = flow.with({ ...on }).run(undefined, { id: "r" });
  await on.world.advance(1_000);
  gates[1]?.();
  await on.world.advance(1_000);
  gates[0]?.();
  expect(await on.world.run(first)).toMatchObject({ status: "running" });
  expect(outputOf(await on.world.run(second))).toBe("more");
  expect(more).toBe(1);
});

test("H21 a zombie that wakes before the other has written may win, and the other then stops", async () => {
  const on = lab();
  const gates: (() => void)[] = [];
  const flow = durable("held", async (ctx) => {
    const held = await ctx.step("held", () => {
      const name = `body ${gates.length + 1}`;
      return new Promise<string>((resolve) => void gates.push(() => resolve(name)));
    });
    return [held, await ctx.step("more", () => "more")];
  });
  const { first, second, wake } = await zombie(on, flow, () => gates[0]?.());
  wake();
  await on.world.advance(1_000);
  gates[1]?.();
  const outcomes = await on.world.run(Promise.all([first, second]));
  await on.world.advance(60_000);
  const end = outputOf(await runOf(on, flow));
  expect(end).toEqual([expect.stringMatching(/^body [12]$/), "more"]);
  for (const outcome of outcomes) expect(outcome.status === "running" ? end : outputOf(outcome)).toEqual(end);
  const kinds = await kindsOf(flow.with({ ...on }).get("r"));
  expect(new Set(kinds).size).toBe(kinds.length);
});

/** A driver that is paused for a minute once its first step is recorded. */
async function frozenAfterFirst(on: Lab, meanwhile: () => Promise<void>) {
  const order: string[] = [];
  const flow = durable("two", async (ctx) => {
    await ctx.step("a", () => order.push("a"));
    await ctx.step("b", async () => {
      order.push("b");
      await pause(on.world, 5_000);
    });
    return order.filter((one) => one !== "lease");
  });
  let appends = 0;
  const storage = hooked(on.storage, async (operation, moment) => {
    if (operation === "lease" && moment === "before") order.push("lease");
    if (operation !== "append" || moment !== "after" || ++appends !== 2) return;
    // Timers of this process are paused as well.
    cold.freeze();
    await pause(on.world, 60_000);
    await meanwhile();
    on.world.timer(0, () => cold.thaw());
  });
  const cold = freezable(on.world);
  const first = flow.with({ ...on, world: cold.world, storage }).run(undefined, { id: "r" });
  return { flow, order, first };
}

describe("H23 a driver that was frozen for twice its lease between two steps", () => {
  test("renews it before the next body", async () => {
    const on = lab();
    const { order, first } = await frozenAfterFirst(on, async () => {});
    expect(outputOf(await on.world.run(first))).toEqual(["a", "b"]);
    expect(order.slice(0, 3)).toEqual(["a", "lease", "b"]);
  });

  test("starts no body where another has taken the run over", async () => {
    const on = lab();
    const app: { advance?: () => Promise<unknown> } = {};
    const { flow, order, first } = await frozenAfterFirst(on, async () => {
      void app.advance?.();
      await pause(on.world, 1_000);
    });
    app.advance = () => createApp({ workflows: [flow], ...on }).advance("r");
    expect(await on.world.run(first)).toMatchObject({ status: "running" });
    await on.world.advance(60_000);
    expect(
      outputOf(
        await flow
          .with({ ...on })
          .get("r")
          .outcome(),
      ),
    ).toEqual(["a", "b"]);
    expect(order.filter((one) => one === "b")).toHaveLength(1);
  });
});

test("H22 slow is not dead: a body of ten leases runs once beside sweeps, starts and results", async () => {
  const on = lab();
  let bodies = 0;
  const flow = durable("slow", (ctx) =>
    ctx.step("work", async () => {
      bodies += 1;
      await pause(on.world, 300_000);
      return "done";
    }),
  ).with({ ...on });
  const app = createApp({ workflows: [flow], bind: false, ...on });
  const first = flow.run(undefined, { id: "r" });
  for (let i = 0; i < 29; i++) {
    await on.world.advance(10_000);
    expect((await app.sweep()).outcomes).toEqual([]);
    expect(await flow.run(undefined, { id: "r" })).toMatchObject({ status: "running" });
  }
  expect(outputOf(await on.world.run(first))).toBe("done");
  expect(bodies).toBe(1);
});

test("H25 fifty drivers on one run: one drives, the others ask for little", async () => {
  const on = lab();
  let bodies = 0;
  const flow = durable("storm", async (ctx) => {
    for (let i = 0; i < 5; i++)
      await ctx.step("work", async () => {
        bodies += 1;
        await pause(on.world, 100);
      });
    return "done";
  });
  const storage = countingStorage(on.storage);
  const bound = flow.with({ ...on, storage });
  const all = await on.world.run(
    Promise.all(Array.from({ length: 50 }, () => bound.run(undefined, { id: "r" }))),
  );
  expect(all.filter(({ status }) => status === "completed")).toHaveLength(1);
  expect(bodies).toBe(5);
  const { appends, reads, leases } = storage.counts;
  expect(appends + reads + leases).toBeLessThan(50 * 4 + 20);
});

test("H25 fifty drivers whose leases all lie: the append decides, and each loser stops at its first conflict", async () => {
  const steps = 5;
  for (const drivers of [10, 50]) {
    const on = lab();
    const flow = durable("storm", async (ctx) => {
      for (let i = 0; i < steps; i++)
        await ctx.step("work", () => pause(on.world, 100 + on.world.random() * 50));
      return "done";
    });
    const storage = countingStorage({
      ...silent(on),
      lease: async (locator) => ({ starts: 1, length: (await on.storage.read(locator)).length }),
    });
    const bound = flow.with({ ...on, storage });
    const running = Array.from({ length: drivers }, () => bound.run(undefined, { id: "r" }));
    const all = await on.world.run(Promise.all(running));
    expect(all.filter(({ status }) => status === "completed").length).toBeGreaterThan(0);
    const kinds = await kindsOf(flow.with({ ...on }).get("r"));
    expect(new Set(kinds).size, "one record of each key").toBe(kinds.length);
    expect(kinds).toHaveLength(steps + 2);
    const { appends, reads, leases } = storage.counts;
    expect(appends + reads + leases, `${drivers} drivers`).toBeLessThanOrEqual(drivers * 6 + steps + 2);
  }
});
