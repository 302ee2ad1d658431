import { MemoryStorage, type ForkOptions, type Run } from "@durable/core";
import { diff } from "@durable/core/inspect";
import type { AppendRequest } from "@durable/core/storage";
import { seeded, virtualWorld } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { causedBy, frontier, leaves, randomTree, treeFlow, type Tree } from "../support/fork-trees.ts";

const secret = "a secret for tests, of no worth";

/** Keeps every append, so that any moment of a run's life can be brought back. */
class Remembering extends MemoryStorage {
  readonly requests: AppendRequest[] = [];

  override async append(request: AppendRequest): Promise<void> {
    await super.append(request);
    this.requests.push(request);
  }
}

function setUp(seed: number) {
  const world = virtualWorld({ seed });
  const random = seeded(seed * 13 + 5);
  const { flow, effects } = treeFlow(world, random);
  const on = (storage: MemoryStorage) => flow.with({ world, storage, secret });
  return { world, random, effects, on };
}

type Set = ReturnType<typeof setUp>;

/** Answers every wait until the run is over; returns what had to be answered. */
async function toTheEnd(run: Run<unknown, Tree>, flow: ReturnType<Set["on"]>, { world }: Set) {
  const answered: string[] = [];
  await world.run(run.result().catch(() => {}));
  for (;;) {
    const outcome = await run.outcome();
    if (outcome.status === "completed") return answered;
    if (outcome.status !== "suspended") throw new Error(`The run is ${outcome.status}.`);
    for (const { token, key } of outcome.waiting) {
      answered.push(key);
      await world.run(flow.resume(token, `answer to ${key}`));
    }
  }
}

/** A storage that holds the run as it was after so many batches. */
async function asItWas(requests: readonly AppendRequest[], length: number, { world }: Set) {
  const storage = new MemoryStorage({ now: () => world.now() });
  for (const { lease: _, ...request } of requests.slice(0, length)) await storage.append(request);
  return storage;
}

const ways = ["from", "after", "edit", "edits"] as const;

function optionsFor(how: (typeof ways)[number], keys: readonly string[]): ForkOptions<Tree> {
  if (how === "from" || how === "after") return { [how]: keys };
  return { edit: Object.fromEntries(keys.map((key) => [key, "edited"])) };
}

describe("H44 a fork at every step, in every way, at any moment of its parent's life", () => {
  test.each(Array.from({ length: inject("full") ? 6 : 1 }, (_, i) => i + 1))(
    "seed %i: the plan, the fork and the diff are what causes say",
    async (seed) => {
      const set = setUp(seed);
      const { world, random, effects, on } = set;
      const tree = randomTree(random, random.between(4, 10));
      const whole = new Remembering({ now: () => world.now() });
      const flow = on(whole);
      await toTheEnd(await world.run(flow.start(tree, { id: "parent" })), flow, set);
      const all = leaves(tree);
      const moments = [whole.requests.length, ...[1, 2].map(() => random.between(2, whole.requests.length))];
      for (const length of moments) {
        const storage = await asItWas(whole.requests, length, set);
        const then = on(storage);
        const parent = then.get("parent");
        const entries = await parent.entries();
        const locator = whole.requests[0]!.locator;
        const before = (await storage.read(locator)).batches.join("\n");
        const settled = entries.flatMap((entry) =>
          entry.kind === "step.completed" || entry.kind === "suspend.resolved" ? [entry.key] : [],
        );
        const known = new Set(entries.flatMap((entry) => ("key" in entry ? [entry.key] : [])));
        for (const key of all.filter((leaf) => known.has(leaf))) {
          for (const how of ways) {
            if (how === "after" && !settled.includes(key)) continue;
            const second = random.pick(all.filter((leaf) => known.has(leaf)));
            const keys = how === "edits" && second !== key ? [key, second] : [key];
            const options = optionsFor(how, keys);
            const where = `${length} of ${whole.requests.length}, ${how} ${keys.join(", ")}`;
            const lost = new Set(keys.flatMap((leaf) => [leaf, ...causedBy(tree, leaf)]));
            const kept = settled.filter((leaf) => !lost.has(leaf) || (how === "after" && leaf === key));
            const edited = how.startsWith("edit") ? keys.toSorted() : [];
            const begun = new Set([...kept, ...edited]);
            effects.length = 0;

            const plan = await world.run(parent.plan(options));
            expect(effects, `${where}: a plan does nothing`).toEqual([]);
            const planned = (...what: string[]) =>
              plan.calls.filter((call) => what.includes(call.what)).map((call) => call.key);
            expect(planned("reused").toSorted(), where).toEqual(kept.toSorted());
            expect(planned("edited").toSorted(), where).toEqual(edited);
            expect(
              plan.calls
                .filter(({ next }) => next)
                .map((call) => call.key)
                .toSorted(),
              `${where}: what comes first`,
            ).toEqual(frontier(tree, begun).toSorted());
            const steps = (keys: readonly string[]) => keys.filter((leaf) => leaf.includes("step-")).length;
            expect(plan.saved, where).toMatchObject({ inputTokens: 100 * steps(kept), cost: null });
            const again = settled.filter((leaf) => !begun.has(leaf));
            expect(plan.atStake.outputTokens, where).toBe(steps(again));

            const fork = await world.run(parent.fork(options));
            const answered = await toTheEnd(fork, then, set);
            const done = [...effects, ...answered].toSorted();
            expect(done, where).toEqual(all.filter((leaf) => !begun.has(leaf)).toSorted());
            const ahead = new Set([...known, ...frontier(tree, begun)]);
            expect(planned("runs").toSorted(), `${where}: work`).toEqual(
              effects.filter((leaf) => ahead.has(leaf)).toSorted(),
            );
            expect(planned("waits").toSorted(), `${where}: waits`).toEqual(
              answered.filter((leaf) => ahead.has(leaf)).toSorted(),
            );

            const { calls } = diff(entries, await fork.entries());
            const changed = (change: string) =>
              calls
                .filter((call) => call.change === change)
                .map((call) => call.key)
                .toSorted();
            expect(changed("same"), where).toEqual(kept.toSorted());
            expect(changed("edited"), where).toEqual(edited);
            expect(changed("re-run"), where).toEqual(again.toSorted());
            expect(changed("new"), where).toEqual(done.filter((leaf) => !settled.includes(leaf)));
            expect(changed("gone"), where).toEqual([]);
          }
        }
        expect((await storage.read(locator)).batches.join("\n"), "the parent is as it was").toBe(before);
      }
    },
  );
});
