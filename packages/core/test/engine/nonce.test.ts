import { createApp, createWorker, durable, type Context } from "@durable/core";
import { faultyStorage, seeded, type Fault, type Random } from "@durable/testing";
import { expect, inject, test } from "vitest";
import { lab, pause, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";
import { entriesOf } from "../support/order-stage.ts";
import { numbered, record, statuses } from "../support/worker-runs.ts";

const faults: readonly Fault[] = [
  "lose-request",
  "lose-reply",
  "conflict",
  "crash-before",
  "crash-after",
  "crash-then-apply",
];

/** Steps that return an unpredictable number; all that any pass of the code saw is kept, by run and step. */
function nonces(on: Lab, random: Random) {
  const seen = new Map<string, Set<number>>();
  const bodies = new Map<string, number>();
  let last = 0;
  const draw = async (ctx: Context, name: string): Promise<number> => {
    let key = "";
    const value = await ctx.step(name, async (info) => {
      key = `${ctx.runId} ${info.key}`;
      bodies.set(key, (bodies.get(key) ?? 0) + 1);
      await pause(on.world, random.between(0, 3_000));
      return ++last;
    });
    const id = `${ctx.runId} ${name}`;
    seen.set(id, (seen.get(id) ?? new Set()).add(value));
    return value;
  };
  const flow = durable("nonces", async (ctx) => {
    const first = await draw(ctx, "first");
    const beside = await ctx.parallel({
      left: async (c) => [await draw(c, "left-1"), await draw(c, "left-2")],
      right: async (c) => [await draw(c, "right-1"), await c.sleep(500), await draw(c, "right-2")],
    });
    return [first, beside, await draw(ctx, "last")];
  });
  return { flow, seen, bodies };
}

/** A place for a worker process: whenever one dies, another comes. Faults end at `heal`. */
function keepWorking(on: Lab, flow: ReturnType<typeof nonces>["flow"], random: Random, heal: number): void {
  const rate = random.pick([0.02, 0.05, 0.15]);
  const life = (): void => {
    const storage = faultyStorage(on.storage, {
      world: on.world,
      latency: () => random.between(0, 30),
      plan: () => (on.world.now() < heal && random.chance(rate) ? random.pick(faults) : null),
    });
    const app = createApp({ ...on, storage, workflows: [flow], lease: "5s" });
    createWorker(app, { concurrency: 3, interval: 200, maxStarts: 1_000 });
    void storage.died.then(() => on.world.timer(random.between(0, 2_000), life));
  };
  life();
}

test("H1 a step's number is one number in every pass, with three workers and any faults", async () => {
  let repeated = 0;
  const seeds = inject("full") ? 60 : 15;
  for (let seed = 1; seed <= seeds; seed++) {
    const on = lab(seed);
    const random = seeded(seed);
    const { flow, seen, bodies } = nonces(on, random);
    const ids = numbered("n", 3);
    for (const id of ids) await record(on, id, { workflow: "nonces" });
    const heal = on.world.now() + 40_000;
    for (let place = 0; place < 3; place++) keepWorking(on, flow, random, heal);
    for (let rounds = 0; (await statuses(on.storage))["completed"] !== ids.length; rounds++) {
      expect(rounds, `seed ${seed} comes to its end`).toBeLessThan(60);
      await on.world.advance(10_000);
    }
    expect(seen.size).toBe(ids.length * 6);
    for (const [step, values] of seen) expect([...values], `seed ${seed}: ${step}`).toHaveLength(1);
    for (const id of ids) {
      const settled = entriesOf(await batchesOf(on, id)).filter(({ kind }) => kind.startsWith("step."));
      const keys = settled.map(({ key }) => key ?? "");
      expect(new Set(keys).size, `seed ${seed}: one record a key`).toBe(6);
      expect(keys).toHaveLength(6);
      for (const key of keys) expect(bodies.get(`${id} ${key}`), `seed ${seed}: ${key}`).toBeGreaterThan(0);
    }
    for (const count of bodies.values()) repeated += count - 1;
  }
  // A green run in which nothing was ever repeated would have tested nothing.
  expect(repeated).toBeGreaterThan(seeds);
});
