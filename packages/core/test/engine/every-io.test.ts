import { createApp, durable, MemoryStorage, type Outcome, type Storage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { faultyStorage, virtualWorld, type Fault, type Operation, type VirtualWorld } from "@durable/testing";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { RunJournal } from "../../src/journal/journal.ts";
import { outputOf, pause, secret } from "../support/behaviour-lab.ts";
import { tempFolder } from "../support/sqlite-temp.ts";
import { heads } from "../support/worker-runs.ts";

interface Place {
  readonly world: VirtualWorld;
  readonly storage: Storage;
}

const places: Record<string, () => Place> = {
  memory: () => {
    const world = virtualWorld();
    return { world, storage: new MemoryStorage({ now: () => world.now() }) };
  },
  SQLite: () => {
    const world = virtualWorld();
    const temp = tempFolder();
    const storage = new SqliteStorage({ path: temp.path, now: () => world.now() });
    onTestFinished(async () => {
      await storage.close();
      temp.remove();
    });
    return { world, storage };
  },
};

/** A bit of everything that leads to I/O; `effects` has every body, by idempotency key. */
function everything(world: VirtualWorld) {
  const effects = new Map<string, number>();
  const work =
    (value: unknown, ms = 20) =>
    async ({ idempotencyKey, attempt }: { idempotencyKey: string; attempt: number }) => {
      effects.set(idempotencyKey, (effects.get(idempotencyKey) ?? 0) + 1);
      await pause(world, ms);
      if (value === "flaky" && attempt === 1) throw new Error("again");
      return value;
    };
  const flow = durable("everything", async (ctx) => {
    const first = await ctx.step("first", work(1));
    const beside = await ctx.parallel({
      asks: async (c) => [await c.step("ask", work(2)), await c.suspend<string>("ok")],
      naps: async (c) => [await c.sleep("5s"), await c.step("up", work(3, 400))],
    });
    const flaky = await ctx.step("flaky", work("flaky"), { retry: { delay: "1s", jitter: false } });
    const raced = await ctx.race({ quick: (c) => c.step("q", work(4)), slow: (c) => c.sleep("1y") });
    return [first, beside, flaky, raced, await ctx.suspend("late", { timeout: "3h", fallback: "nobody" })];
  });
  return { effects, flow };
}

const faults: readonly Fault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-request",
  "lose-reply",
];

interface Case {
  readonly id: string;
  readonly operation: Operation;
  readonly index: number;
  readonly fault: Fault | null;
}

/** One history: the fault happens in the first life, and others come until the run is over. */
async function history({ world, storage: base }: Place, one: Case) {
  const { effects, flow } = everything(world);
  const counts: Partial<Record<Operation, number>> = {};
  for (let life = 1; ; life++) {
    const storage = faultyStorage(base, {
      world,
      plan: (operation, index) =>
        life === 1 && operation === one.operation && index === one.index ? one.fault : null,
    });
    const end = await world.run(
      Promise.race([toTheEnd({ world, storage }, flow, one.id), storage.died.then(() => null)]),
    );
    if (life === 1) Object.assign(counts, storage.counts);
    if (end !== null) return { end, effects, counts };
    await world.advance(60_000);
  }
}

async function toTheEnd(
  { world, storage }: Place,
  flow: ReturnType<typeof everything>["flow"],
  id: string,
): Promise<Outcome<unknown>> {
  const bound = flow.with({ world, storage, secret, patience: "2h" });
  for (;;) {
    // The caller gets the error of a storage that did not answer, and calls again.
    const outcome = await bound.run(undefined, { id }).catch(() => null);
    if (outcome !== null && !["running", "suspended"].includes(outcome.status)) return outcome;
    if (outcome?.status === "suspended") {
      const point = outcome.waiting.find(({ name }) => name === "ok");
      if (point !== undefined) await bound.resume(point.token, "yes").catch(() => null);
    }
    // Longer than its patience, so that the run is parked.
    const wakeAt = outcome?.status === "suspended" ? (outcome.wakeAt ?? 0) : 0;
    await pause(world, Math.max(1_000, wakeAt - world.now()));
  }
}

/** H18: what lists show is what the journal adds up to. */
async function expectHeadsToFold({ world, storage }: Place, told: string): Promise<void> {
  for (const { locator, driven: _, waits, mark, ...head } of await heads(storage)) {
    const { state } = (await RunJournal.open(locator, { storage, world })) as RunJournal;
    expect(head, told).toEqual(state.summary);
    const question = waits === undefined ? {} : { question: JSON.parse(waits.question ?? "") as string };
    const marks = { waits: waits && { ...waits, ...question }, mark };
    expect(marks, told).toEqual({
      waits: undefined,
      mark: undefined,
      ...state.marksAfter([], state.summary),
    });
  }
}

describe.each(Object.entries(places))("on %s", (name, place) => {
  // Each commit to a file waits for the disk: there, a sample.
  const full = inject("full");
  const stride = name === "memory" ? 1 : full ? 6 : 3;

  test("H10 H18 a fault at every operation of a driver: the same output, no head that differs from its journal", async () => {
    const at = place();
    const calm = await history(at, { id: "calm", operation: "append", index: 0, fault: null });
    const expected = outputOf(calm.end);
    expect(expected).toEqual([
      1,
      { asks: [2, "yes"], naps: [undefined, 3] },
      "flaky",
      { name: "quick", value: 4 },
      "nobody",
    ]);
    const kinds = ["append", "read", "lease", "release"] as const;
    let cases = 0;
    for (const operation of kinds) {
      expect(calm.counts[operation], operation).toBeGreaterThan(0);
      for (let index = 1; index <= (calm.counts[operation] ?? 0); index += stride) {
        // In the sample the faults take turns.
        for (const fault of full ? faults : [faults[cases % faults.length]!]) {
          const told = `${fault} at ${operation} ${index}`;
          const one = { id: `r-${operation}-${index}-${fault}`, operation, index, fault };
          const { end, effects } = await history(at, one);
          expect(outputOf(end), told).toEqual(expected);
          // One fault costs one repetition at most; the flaky step has two attempts anyway.
          const again = [...effects.values()].map((count) => count - 1).reduce((sum, n) => sum + n, 0);
          expect(again, told).toBeLessThanOrEqual(1 + 3);
          cases += 1;
        }
      }
    }
    expect(cases).toBeGreaterThan((full ? 120 : 24) / stride);
    await expectHeadsToFold(at, "at the end");
  });

  test("H10 every append is applied twice, and the second refused: each is known as one's own", async () => {
    const at = place();
    const { effects, flow } = everything(at.world);
    const storage: Storage = Object.assign(Object.create(at.storage) as Storage, {
      readChapter: undefined,
      append: async (request: Parameters<Storage["append"]>[0]) => {
        await at.storage.append(request);
        await at.storage.append(request);
      },
      read: at.storage.read.bind(at.storage),
      lease: at.storage.lease.bind(at.storage),
      release: at.storage.release.bind(at.storage),
      changed: undefined,
    });
    const end = await at.world.run(toTheEnd({ world: at.world, storage }, flow, "r"));
    expect(end.status).toBe("completed");
    expect([...effects.values()].toSorted((a, b) => a - b)).toEqual([1, 1, 1, 1, 2]);
    await expectHeadsToFold(at, "at the end");
  });

  test("H18 the head in lists is the fold of the journal after every append of a life", async () => {
    const at = place();
    const { flow } = everything(at.world);
    const statuses: string[] = [];
    const storage: Storage = Object.assign(Object.create(at.storage) as Storage, {
      readChapter: undefined,
      append: async (request: Parameters<Storage["append"]>[0]) => {
        await at.storage.append(request);
        await expectHeadsToFold(at, `after batch ${request.position}`);
        statuses.push((await heads(at.storage))[0]!.status);
      },
      read: at.storage.read.bind(at.storage),
      list: at.storage.list.bind(at.storage),
      lease: at.storage.lease.bind(at.storage),
      release: at.storage.release.bind(at.storage),
      changed: undefined,
    });
    await at.world.run(toTheEnd({ world: at.world, storage }, flow, "r"));
    expect(new Set(statuses)).toEqual(new Set(["running", "suspended", "completed"]));
  });
});

test("H18 a list that lags harms nothing: a handle folds the journal, a sweep writes nothing, a worker finds no work", async () => {
  const at = places["memory"]!();
  const flow = durable("ask", (ctx) => ctx.suspend<string>("ok"));
  const bound = flow.with({ ...at, secret });
  const parked = await at.world.run(bound.run(undefined, { id: "r" }));
  const stale = (await at.storage.list()).runs.map((head) => ({ ...head, status: "running", wakeAt: 0 }));
  const token = parked.status === "suspended" ? parked.waiting[0]!.token : "";
  await at.world.run(bound.resume(token, "yes"));
  const batches = (await at.storage.read(stale[0]!.locator)).batches;
  const lagging = Object.assign(Object.create(at.storage) as Storage, {
    readChapter: undefined,
    append: at.storage.append.bind(at.storage),
    read: at.storage.read.bind(at.storage),
    lease: at.storage.lease.bind(at.storage),
    release: at.storage.release.bind(at.storage),
    list: () => Promise.resolve({ runs: stale, next: null }),
    paused: at.storage.paused?.bind(at.storage),
  });
  const app = createApp({ ...at, storage: lagging, secret, workflows: [flow] });
  expect(await app.get("r").outcome()).toMatchObject({ status: "completed", output: "yes" });
  const { outcomes } = await at.world.run(app.sweep());
  expect(outcomes).toMatchObject([{ status: "completed", output: "yes", recorded: true }]);
  expect((await at.storage.read(stale[0]!.locator)).batches).toEqual(batches);
});
