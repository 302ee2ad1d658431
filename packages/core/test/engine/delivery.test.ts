import { durable, type Context, type Storage, type World } from "@durable/core";
import { faultyStorage, seeded, type Random } from "@durable/testing";
import { expect, inject, test } from "vitest";
import { lab, outputOf, pause, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf, runOf } from "../support/behaviour-lives.ts";
import { cutAt, entriesOf } from "../support/order-stage.ts";

/** A world and a storage that take their time at every turn of the engine, by random amounts up to 50 ms. */
function slowed({ world }: Lab, storage: Storage, random: Random): { world: World; storage: Storage } {
  const wait = (): Promise<void> => pause(world, random.pick([0, 0, 1, 7, 50]));
  return {
    world: {
      ...world,
      drain: () => wait().then(() => world.drain()),
      turn: () => wait().then(() => world.turn()),
    },
    storage: faultyStorage(storage, { world, latency: () => random.pick([0, 0, 1, 7, 50]) }),
  };
}

/** What a library between the journal and the code may add to each result: some more microtasks. */
async function hops(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

test("H3 results that are ready together are seen in journal order, however long each takes to arrive", async () => {
  const on = lab();
  let asked: string[] = [];
  let latency = (): number => 0;
  const flow = durable("pairs", async (ctx) => {
    const order: string[] = [];
    const strand = async (c: Context, name: string): Promise<void> => {
      for (let round = 1; round <= 3; round++) {
        asked.push(`${name}${round}`);
        await c.step(`${name}${round}`, () => name);
        await hops(latency());
        order.push(`${name}${round}`);
      }
    };
    await Promise.all([strand(ctx, "a"), strand(ctx, "b")]);
    const first = await Promise.race([
      ctx.step("x", () => "x").then((x) => hops(latency()).then(() => x)),
      ctx.step("y", () => "y").then((y) => hops(latency()).then(() => y)),
    ]);
    await ctx.step(`after ${first}`, () => 1);
    return [order, first];
  });
  const live = outputOf(await runOf(on, flow));
  const story = asked;
  const batches = await batchesOf(on);
  const together = batches.map((text) => entriesOf([text]).length);
  expect(Math.max(...together), "two results in one batch").toBe(2);

  for (let seed = 1; seed <= (inject("full") ? 1_000 : 200); seed++) {
    const random = seeded(seed);
    latency = () => random.between(0, 50);
    asked = [];
    const cold = await cutAt(on.storage, batches.length - 1, () => on.world.now());
    const slow = slowed(on, cold, random);
    const again = await on.world.run(flow.with({ ...on, ...slow }).run(undefined, { id: "r" }));
    expect(asked, `seed ${seed}`).toEqual(story);
    expect(outputOf(again), `seed ${seed}`).toEqual(live);
  }
});
