import { createApp, durable, FatalError, MemoryStorage, type Outcome, type Storage } from "@durable/core";
import { faultyStorage, seeded, virtualWorld, type Random } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { cutAt, entriesOf, runId, secret, settlement, stage, type Code } from "../support/order-stage.ts";
import { randomTree, walkTree, type Tree } from "./support/order-trees.ts";

interface History {
  readonly storage: Storage;
  readonly outcome: Outcome<unknown> | null;

  /** What each life of the workflow function saw. */
  readonly lives: readonly (readonly string[])[];
  /** The most any life had seen when a batch was asked to be appended, by its position. */
  readonly seenBefore: ReadonlyMap<number, number>;
  /** Results of work, by the idempotency key it ran under. */
  readonly done: ReadonlyMap<string, string>;
  readonly endedAt: number;
}

interface Setting {
  readonly seed: number;
  readonly storage?: MemoryStorage;
  readonly start?: number;
  /** Dies at the first thing it would write, when replay has come to its end. */
  readonly replayOnly?: boolean;
  /** Virtual milliseconds before a wait is answered. */
  readonly answerAfter: () => number;
}

/** Plays a tree to its end, with slow storage, slow work, and answers by another process. */
async function play(tree: Tree, setting: Setting): Promise<History> {
  const random = seeded(setting.seed);
  const world = virtualWorld({
    seed: setting.seed,
    ...(setting.start === undefined ? {} : { start: setting.start }),
  });
  const base = setting.storage ?? new MemoryStorage({ now: () => world.now() });
  const lives: string[][] = [];
  const seenBefore = new Map<number, number>();
  const done = new Map<string, string>();
  const watched: Storage = Object.assign(Object.create(base) as Storage, {
    readChapter: undefined,
    append: (request: Parameters<Storage["append"]>[0]) => {
      const seen = Math.max(0, ...lives.map((life) => life.length));
      seenBefore.set(request.position, seenBefore.get(request.position) ?? seen);
      return base.append(request);
    },
    read: base.read.bind(base),
    list: base.list.bind(base),
    lease: base.lease.bind(base),
    release: base.release.bind(base),
    changed: base.changed.bind(base),
  });
  const storage = faultyStorage(watched, {
    world,
    latency: () => (random.chance(0.5) ? random.between(0, 30) : 0),
    // The first append is how a run is found by its id: it is refused.
    plan: (operation, index) =>
      setting.replayOnly === true && operation === "append" && index === 2 ? "crash-before" : null,
  });
  const asked = new Set<string>();
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void world.timer(ms, resolve));
  const flow = durable(
    "tree",
    (ctx) => {
      const life: string[] = [];
      lives.push(life);
      return walkTree(tree, {
        says: (text) => void life.push(text),
        waits: (token) => {
          if (asked.has(token)) return;
          asked.add(token);
          const answer = `answer ${asked.size}`;
          const checked = random.chance(0.5);
          void pause(setting.answerAfter()).then(() =>
            checked ? app.resume(token, answer) : app.resume(token, answer, { drive: false }),
          );
        },
        work: async (node, { idempotencyKey }) => {
          await pause(random.pick([0, 0, 5, 40, 900]));
          if (node.fails && random.chance(0.5)) throw new FatalError(`${node.name} fails`);
          if (node.fails) throw new Error(`${node.name} stumbles`);
          const result = `${node.name} by ${setting.seed}.${done.size}`;
          done.set(idempotencyKey, result);
          return result;
        },
      })(ctx);
    },
    { storage, world, secret, patience: "1h" },
  );
  const app = createApp({ storage, world, secret, patience: "1h", workflows: [flow], bind: false });
  const toTheEnd = async (): Promise<Outcome<unknown>> => {
    for (let rounds = 0; rounds < 500; rounds++) {
      const outcome = await flow.run(null, { id: runId });
      if (outcome.status !== "suspended" && outcome.status !== "running") return outcome;
      seenBefore.set(-1, seenBefore.get(-1) ?? Math.max(0, ...lives.map((life) => life.length)));
      await pause(1_000);
    }
    throw new Error("The run does not come to its end.");
  };
  const outcome = await world.run(Promise.race([toTheEnd(), storage.died.then(() => null)]));
  return { storage: base, outcome, lives, seenBefore, done, endedAt: world.now() };
}

function endOf(outcome: Outcome<unknown> | null): unknown {
  if (outcome?.status === "completed") return outcome.output;
  return outcome?.status === "failed" ? outcome.error.message : outcome;
}

/** All lives of one run saw beginnings of one and the same story; returns that story. */
function oneStory(lives: readonly (readonly string[])[], told: string): readonly string[] {
  const longest = lives.reduce((best, life) => (life.length > best.length ? life : best), []);
  for (const life of lives) expect(life, told).toEqual(longest.slice(0, life.length));
  return longest;
}

function treeOf(random: Random): Tree {
  return { kind: "sequence", nodes: [randomTree(random, random.between(5, 30))] };
}

const seeds = inject("full") ? 150 : 18;
const groups = 6;

describe("H2 random workflows, with slow storage and slow work", () => {
  test.each(Array.from({ length: groups }, (_, i) => i))(
    "part %i: every cut replays what was seen",
    async (part) => {
      let cuts = 0;
      for (let seed = 1 + part; seed <= seeds; seed += groups) {
        const random = seeded(seed);
        const tree = treeOf(random);
        const live = await play(tree, { seed, answerAfter: () => random.between(0, 1_500) });
        const told = `seed ${seed}`;
        expect(["completed", "failed"], told).toContain(live.outcome?.status);
        const story = oneStory(live.lives, told);
        const { batches } = await live.storage.read((await live.storage.list()).runs[0]!.locator);
        for (let count = 1; count < batches.length; count++) {
          cuts += 1;
          await checkCut(tree, { live, story, batches, count, seed });
        }
      }
      expect(cuts).toBeGreaterThan(seeds / groups);
    },
  );
});

interface CutCase {
  readonly live: History;
  readonly story: readonly string[];
  readonly batches: readonly string[];
  readonly count: number;
  readonly seed: number;
}

async function checkCut(tree: Tree, { live, story, batches, count, seed }: CutCase): Promise<void> {
  const told = `seed ${seed}, cut at batch ${count}`;
  const start = live.endedAt + 120_000;
  const storage = await cutAt(live.storage, count, () => start);
  // Some go on to their end; the others are only compared up to where they would.
  const last = count === batches.length - 1;
  const replayOnly = !last && (seed + count) % 5 !== 0;
  const settings = { storage, start, replayOnly, answerAfter: () => 20_000 };
  const again = await play(tree, { seed: seed * 1_000 + count, ...settings });
  const seen = oneStory(again.lives, told);
  // All that had been seen when the next batch was written is seen before anything new is written.
  const replayed = replayOnly
    ? seen.length
    : (again.seenBefore.get(count) ?? again.seenBefore.get(-1) ?? seen.length);
  expect(seen.slice(0, replayed), told).toEqual(story.slice(0, replayed));
  expect(replayed, told).toBeGreaterThanOrEqual(live.seenBefore.get(count) ?? 0);
  const { batches: after } = await storage.read((await storage.list()).runs[0]!.locator);
  expect(after.slice(0, count), told).toEqual(batches.slice(0, count));
  const settled = entriesOf(after).filter(({ kind }) => settlement.test(kind));
  expect(new Set(settled.map(({ key }) => key)).size, told).toBe(settled.length);
  const kept = batches.slice(0, count).join();
  const repeated = [...live.done].filter(
    ([key, result]) => kept.includes(`"${result}"`) && again.done.has(key),
  );
  expect(repeated, told).toEqual([]);
  // With all but the end, the end is the same.
  expect(last ? endOf(again.outcome) : null, told).toEqual(last ? endOf(live.outcome) : null);
}

test("results that were passed over are seen in journal order when changed code asks for them", async () => {
  const at = stage();
  const seen: string[] = [];
  await at.run(
    async (ctx, say) => [await say("a"), await say("b"), await say("c"), await ctx.suspend("end")],
    1,
  );
  const changed: Code = async (ctx, say) => {
    seen.push(await say("x"));
    const log = async (name: string): Promise<void> => void seen.push(await say(name));
    await Promise.all([log("c"), log("y"), log("b"), log("a")]);
    return ctx.suspend("end");
  };
  for (let life = 1; life <= 3; life++) {
    expect(await at.run(changed)).toMatchObject({ status: "suspended" });
    expect(seen.splice(0)).toEqual(["x2", "a1", "b1", "c1", "y2"]);
  }
});
