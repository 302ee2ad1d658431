import { createApp, durable, MemoryStorage, type Context, type Outcome, type Workflow } from "@durable/core";
import { virtualWorld, type VirtualWorld } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { cutAt, entriesOf, outputOf, runId, secret, settlement } from "../support/order-stage.ts";

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length <= 1) return [[...list]];
  return list.flatMap((item, i) => permutations(list.toSpliced(i, 1)).map((rest) => [item, ...rest]));
}

/** Work that ends when the test says so, and what the workflow saw meanwhile. */
class Hands {
  readonly open = new Map<string, () => void>();
  trace: string[] = [];

  work = (name: string) => (): Promise<string> =>
    new Promise((resolve) => void this.open.set(name, () => resolve(`${name}!`)));

  end(name: string): void {
    const done = this.open.get(name);
    if (done === undefined) throw new Error(`${name} is not running; ${[...this.open.keys()].join()} are.`);
    this.open.delete(name);
    done();
  }
}

const five = ["a", "b", "c", "d", "e"] as const;

/** Each branch has two steps, the second made of the first; all of them write to one shared variable. */
function shapes(hands: Hands): Record<string, (ctx: Context) => Promise<unknown>> {
  const branch = async (ctx: Context, name: string, shared: string[], own: boolean): Promise<string> => {
    const first = await ctx.step(own ? "one" : `${name}1`, hands.work(`${name}1`));
    hands.trace.push(first);
    shared.push(`${name}${shared.length}`);
    const second = await ctx.step(own ? "two" : `${name}2`, () =>
      hands
        .work(`${name}2`)()
        .then((value) => `${first} ${value}`),
    );
    hands.trace.push(second);
    shared.push(`${name}${shared.length}`);
    return `${second} ${ctx.now()}`;
  };
  return {
    "ctx.parallel": async (ctx) => {
      const shared: string[] = [];
      const results = await ctx.parallel(
        Object.fromEntries(five.map((name) => [name, (c: Context) => branch(c, name, shared, true)])),
      );
      return { results, shared };
    },
    "Promise.all": async (ctx) => {
      const shared: string[] = [];
      return { results: await Promise.all(five.map((name) => branch(ctx, name, shared, false))), shared };
    },
    "Promise.race": async (ctx) => {
      const shared: string[] = [];
      const left = new Map(
        five.map((name) => [name, branch(ctx, name, shared, false).then((value) => ({ name, value }))]),
      );
      const results: string[] = [];
      while (left.size > 0) {
        const { name, value } = await Promise.race(left.values());
        left.delete(name);
        hands.trace.push(`${name} left`);
        results.push(`${value} ${shared.at(-1)} ${ctx.now()}`);
      }
      return { results, shared };
    },
  };
}

interface Setting {
  readonly world: VirtualWorld;
  readonly storage: MemoryStorage;
}

const setting = (): Setting => {
  const world = virtualWorld();
  return { world, storage: new MemoryStorage({ now: () => world.now() }) };
};

const names = Object.keys(shapes(new Hands()));

describe.each(names)("H41 %s: every order in which five branches can end", (shape) => {
  test.each(["one after the other", "in one turn"])("%s", async (how) => {
    // One order in five here, all 120 in `npm run test:full`.
    for (const order of permutations(five).filter((_, n) => inject("full") || n % 5 === 0)) {
      const hands = new Hands();
      const flow = durable("five", shapes(hands)[shape]!);
      const { world, storage } = setting();
      const running = flow.with({ world, storage, secret }).run(null, { id: runId });
      for (const wanted of [order.map((n) => `${n}1`), order.toReversed().map((n) => `${n}2`)]) {
        await world.advance(0);
        for (const name of wanted) {
          hands.end(name);
          if (how === "one after the other") await world.advance(7);
        }
      }
      const live = outputOf(await world.run(running)) as { results: unknown };
      const seen = hands.trace;

      // What the workflow saw is the order in which the work ended, and the order of the journal.
      const said = order.join();
      expect(
        seen.filter((text) => !text.includes("left")).map((text) => text.slice(-3, -1)),
        said,
      ).toEqual([...order.map((n) => `${n}1`), ...order.toReversed().map((n) => `${n}2`)]);
      const { batches } = await storage.read((await storage.list()).runs[0]!.locator);
      const keys = entriesOf(batches)
        .filter(({ kind }) => settlement.test(kind))
        .map(({ key }) => key);
      const key = (n: string, i: 1 | 2): string =>
        shape === "ctx.parallel" ? `parallel[${n}]/${i === 1 ? "one" : "two"}` : `${n}${i}`;
      expect(keys, said).toEqual([
        ...order.map((n) => key(n, 1)),
        ...order.toReversed().map((n) => key(n, 2)),
      ]);

      // Again without the end, in a process that knows nothing: the same, and no work.
      hands.trace = [];
      const cold = await cutAt(storage, batches.length - 1, () => world.now());
      const again = await world.run(flow.with({ world, storage: cold, secret }).run(null, { id: runId }));
      expect(outputOf(again), said).toEqual(live);
      expect(hands.trace, said).toEqual(seen);
      expect(hands.open.size).toBe(0);
    }
  });
});

const racers = ["work", "nap", "ask"] as const;
type Racer = (typeof racers)[number];

/** A race of a step, a sleep and a wait that end in a given order, ten seconds apart; and what comes after. */
async function raced(order: readonly Racer[], kind: "ctx" | "plain"): Promise<RaceHistory> {
  const { world, storage } = setting();
  const flow = raceFlow(world, kind, (racer) => (order.indexOf(racer) + 1) * 10_000);
  const app = createApp({ storage, world, secret, workflows: [flow(racers)], bind: false });
  world.timer(
    (order.indexOf("ask") + 1) * 10_000,
    () => void app.resume(tokens.at(-1)!, "answer", { drive: false }),
  );
  const outcome = await world.run(flow(racers).with({ storage, world, secret }).run(null, { id: runId }));
  return { world, storage, flow, live: outputOf(outcome) as Raced };
}

const tokens: string[] = [];

interface Raced {
  readonly first: string;
  readonly now: number;
}

interface RaceHistory extends Setting {
  readonly flow: (racers: readonly Racer[]) => Workflow<unknown, unknown>;
  readonly live: Raced;
}

function raceFlow(world: VirtualWorld, kind: "ctx" | "plain", ms: (racer: Racer) => number) {
  return (given: readonly Racer[]): Workflow<unknown, unknown> =>
    durable(
      "race",
      async (ctx): Promise<Raced> => {
        const calls: Record<Racer, (c: Context) => Promise<unknown>> = {
          work: (c) =>
            c.step("work", () => new Promise((done) => void world.timer(ms("work"), () => done(1)))),
          nap: (c) => c.sleep(ms("nap"), { name: "nap" }),
          ask: (c) => {
            const wait = c.suspend("ask", { timeout: "1h", fallback: "late" });
            tokens.push(wait.token);
            return wait;
          },
        };
        const first =
          kind === "ctx"
            ? (await ctx.race(Object.fromEntries(given.map((racer) => [racer, calls[racer]])))).name
            : await Promise.race(given.map((racer) => calls[racer](ctx).then(() => racer)));
        const now = ctx.now();
        await ctx.step("after", () => "after");
        await ctx.sleep(60_000);
        return { first, now };
      },
      { patience: "1h" },
    );
}

/** Goes on from every batch after the one that decided the race, with the racers given in every order. */
async function sameWinner(history: RaceHistory, orders: readonly (readonly Racer[])[]): Promise<void> {
  const { storage, world, flow, live } = history;
  const { batches } = await storage.read((await storage.list()).runs[0]!.locator);
  const decided = batches.findIndex((text) =>
    entriesOf([text]).some(({ kind, key }) => settlement.test(kind) && key?.endsWith(live.first)),
  );
  expect(decided).toBeGreaterThan(0);
  for (let count = decided + 1; count < batches.length; count++) {
    for (const given of orders) {
      const cut = await cutAt(storage, count, () => world.now());
      const bound = flow(given).with({ storage: cut, world, secret });
      const outcome: Outcome<unknown> = await world.run(bound.run(null, { id: runId }));
      expect(outputOf(outcome), `${count} batches, ${given.join()}`).toEqual(live);
    }
  }
}

describe("H4 the winner of a race", () => {
  test.each(permutations(racers))(
    "Promise.race: %s, %s, %s; arguments in any order on replay",
    async (...order) => {
      const history = await raced(order, "plain");
      expect(history.live.first).toBe(order[0]);
      await sameWinner(history, permutations(racers));
    },
  );

  test.each(permutations(racers))("ctx.race: %s, %s, %s; the same code on replay", async (...order) => {
    const history = await raced(order, "ctx");
    expect(history.live.first).toBe(order[0]);
    await sameWinner(history, [racers]);
  });

  // The names of a group's branches are compared as a list: the same branches in another order block the run.
  test.each(permutations(racers))(
    "ctx.race: %s, %s, %s; branches in any order on replay",
    async (...order) => {
      const history = await raced(order, "ctx");
      await expect(sameWinner(history, permutations(racers))).resolves.toBeUndefined();
    },
  );
});
