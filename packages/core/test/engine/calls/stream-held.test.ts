import { durable, limits, type Storage } from "@durable/core";
import { faultyStorage, seeded } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { kindsOf, lab, outputOf, pause, type Lab } from "../../support/behaviour-lab.ts";
import { chunksOf, held, isDense, labs, range, readAll, timed, wholeOf } from "../../support/stream-lab.ts";
import { open } from "../../support/worker-lab.ts";
import { record } from "../../support/worker-runs.ts";

/** A stream that is as fast as it is let; `given` counts chunks, `ended` says how its generator was left. */
function fast(count = Number.POSITIVE_INFINITY, options: { timeout?: number; chunk?: unknown } = {}) {
  const { chunk = 1, timeout } = options;
  const given = { count: 0 };
  const ended: string[] = [];
  const flow = durable("fast", (ctx) =>
    ctx.stream(
      "words",
      async function* ({ attempt, signal }) {
        try {
          for (let n = 0; n < count; n++) {
            given.count += 1;
            yield chunk;
          }
        } finally {
          ended.push(`${attempt} ${signal.aborted}`);
        }
      },
      { timeout, retry: { attempts: 2, delay: 10, jitter: false } },
    ),
  );
  return { flow, given, ended };
}

/** Everything up to the last durable chunk, as far as the storage knows. */
async function durableChunks(on: Lab, flow: ReturnType<typeof fast>["flow"]): Promise<number> {
  return (await chunksOf(flow.with({ ...on }).get("r"))).reduce((sum, { chunks }) => sum + chunks.length, 0);
}

describe("a producer that is faster than the storage (K2, H48)", () => {
  test("holds two batches at most while the storage does not respond, however long", async () => {
    const on = lab();
    const storage = held(on.storage);
    const { flow, given } = fast(5_000);
    storage.hold(3);
    const run = await on.world.run(flow.with({ ...on, storage }).start(undefined, { id: "r" }));
    await on.world.advance(60_000);
    expect(given.count - (await durableChunks(on, flow))).toBe(2 * limits.chunksPerEntry);
    storage.letGo();
    expect(await on.world.run(run.result())).toHaveLength(5_000);
  });

  test("holds two batches at most while the storage is slow", async () => {
    const on = lab();
    const storage = faultyStorage(on.storage, { world: on.world, latency: () => 20 });
    const { flow, given } = fast(5_000);
    const starting = flow.with({ ...on, storage }).start(undefined, { id: "r" });
    let most = 0;
    for (let n = 0; n < 300 && given.count < 5_000; n++) {
      await on.world.advance(5);
      const durable = given.count === 0 ? 0 : await durableChunks(on, flow);
      most = Math.max(most, given.count - durable);
    }
    expect(await on.world.run((await starting).result())).toHaveLength(5_000);
    expect(most).toBe(2 * limits.chunksPerEntry);
  });

  test("and when the chunks are large: what is held is counted in bytes", async () => {
    const on = lab();
    const storage = held(on.storage);
    const { flow, given } = fast(100, { chunk: "x".repeat(limits.chunkBytes / 4) });
    storage.hold(1);
    await on.world.run(flow.with({ ...on, storage }).start(undefined, { id: "r" }));
    await on.world.advance(60_000);
    expect(given.count).toBe(8);
    storage.letGo();
  });

  test("a worker that stops still holds two batches at most, lets go in time, and says so (H61)", async () => {
    const on = lab();
    const storage = faultyStorage(on.storage, { world: on.world, latency: () => 20 });
    const { flow, given } = fast(200_000);
    await record(on, "r", { workflow: "fast" });
    const { worker } = open(on, [flow], { storage, drain: "2s" });
    await on.world.advance(1_000);
    const stopping = worker.stop();
    let most = 0;
    for (let n = 0; n < 100; n++) {
      await on.world.advance(5);
      most = Math.max(most, given.count - (await durableChunks(on, flow)));
    }
    expect(most).toBe(2 * limits.chunksPerEntry);
    await on.world.run(stopping);
    expect(given.count, "the stream is far from its end").toBeLessThan(100_000);
    expect(on.world.warnings.join()).toMatch(/stopped with steps under way.*: r/);
  });

  test.each(["cancel", "time-out", "another driver"] as const)(
    "is stopped while it waits for the storage: %s",
    async (why) => {
      const on = lab();
      const { world, timers } = timed(on.world);
      const storage = held(on.storage);
      const { flow, ended } = fast(5_000, why === "time-out" ? { timeout: 1_000 } : {});
      const bound = flow.with({ ...on, storage, lease: "5s", world });
      storage.hold(2);
      const run = await on.world.run(bound.start(undefined, { id: "r" }));
      await on.world.advance(500);
      expect(ended, "it waits").toEqual([]);
      if (why === "cancel") await on.world.run(flow.with({ ...on }).cancel("r"));
      if (why === "another driver") {
        await on.world.advance(10_000);
        const other = flow
          .with({ ...on })
          .get("r")
          .result();
        expect(await on.world.run(other)).toHaveLength(5_000);
        expect(ended.splice(0), "the other's own").toEqual(["2 false"]);
      }
      if (why === "time-out") await on.world.advance(1_000);
      storage.letGo();
      const late = await on.world.run(run.result()).catch((error: unknown) => error);
      await on.world.advance(5_000);
      expect(ended, "the generator was closed").toContain("1 true");
      expect(timers(), "and nothing is left to wake").toBe(0);
      if (why === "cancel") expect(late).toMatchObject({ code: "cancelled" });
      else expect(late).toHaveLength(5_000);
      expect(isDense(await chunksOf(run))).toBe(true);
    },
  );
});

test("a producer that hears nothing leaves no timer behind when its run is taken away", async () => {
  const on = lab();
  const { world, timers } = timed(on.world);
  const storage = held(on.storage);
  const flow = durable("deaf", (ctx) =>
    ctx.stream("words", async function* () {
      yield* range(limits.chunksPerEntry + 3);
      await new Promise(() => {});
    }),
  );
  storage.hold(1);
  const run = await on.world.run(flow.with({ ...on, storage, world }).start(undefined, { id: "r" }));
  await on.world.advance(500);
  await on.world.run(flow.with({ ...on }).cancel("r"));
  storage.letGo();
  expect(await on.world.run(run.outcome())).toMatchObject({ status: "cancelled" });
  await on.world.advance(5_000);
  expect(timers(), "gathered chunks wait for a batch that will never land").toBe(0);
});

describe.each(labs)("H46 chunk order on %s", (name, make) => {
  test.each(range(name === "SQLite" ? 4 : 20))("every append delayed at random, seed %i", async (seed) => {
    const on = make();
    const random = seeded(seed);
    const storage = faultyStorage(on.storage, {
      world: on.world,
      latency: () => random.between(0, 100),
      // Some replies are lost on the way: what landed is not written twice.
      plan: (operation) => (operation === "append" && random.chance(0.1) ? "lose-reply" : null),
    });
    const producer = (stream: string) =>
      async function* ({ attempt }: { attempt: number }) {
        for (const n of range(60)) {
          if (random.chance(0.3)) await pause(on.world, random.between(0, 80));
          yield `${stream} ${attempt} ${n}`;
          if (attempt === 1 && n === 40 && stream === "b") throw new Error("half-way");
        }
      };
    const flow = durable("ordered", (ctx) =>
      ctx.parallel({
        a: (c) => c.stream("words", producer("a")),
        b: (c) => c.stream("words", producer("b"), { retry: { attempts: 2, delay: 5, jitter: false } }),
      }),
    );
    const run = await on.world.run(flow.with({ ...on, storage }).start(undefined, { id: "r" }));
    const readers = ["parallel[a]/words", "parallel[b]/words"].map((key) => readAll(run.stream(key)));
    const [a = [], b = []] = await on.world.run(Promise.all(readers));
    const words = (stream: string, attempt: number) => range(60).map((n) => `${stream} ${attempt} ${n}`);
    expect(a).toEqual(wholeOf(words("a", 1)));
    const reset = b.indexOf("reset 2");
    expect(reset).toBeGreaterThanOrEqual(0);
    expect(b.slice(0, reset), "a prefix").toEqual(wholeOf(words("b", 1)).slice(0, reset));
    expect(b.slice(reset + 1), "and then a clean stream").toEqual(wholeOf(words("b", 2), 2));
    expect(await on.world.run(run.result())).toEqual({ a: words("a", 1), b: words("b", 2) });
    expect(isDense(await chunksOf(flow.with({ ...on }).get("r")))).toBe(true);
  });
});

test("a stream that is not awaited is recorded before its run ends", async () => {
  const on = lab();
  const flow = durable("forgotten", async (ctx) => {
    void ctx.stream("words", async function* () {
      yield 1;
      await pause(on.world, 400);
      yield 2;
    });
    return ctx.step("quick", () => "done");
  }).with({ ...on });
  const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
  expect(outputOf(outcome)).toBe("done");
  expect(await kindsOf(flow.get("r"))).toEqual([
    "run.started",
    "step.completed quick",
    "stream.chunks words",
    "stream.chunks words",
    "stream.completed words",
    "run.completed",
  ]);
});

test("a storage that fails for good stops the drive; the producer is aborted, and no timer stays", async () => {
  const on = lab();
  const { world, timers } = timed(on.world);
  const storage: Storage = faultyStorage(on.storage, {
    world: on.world,
    plan: (operation, index) => (operation === "append" && index > 3 ? "lose-request" : null),
  });
  const { flow, ended } = fast(200_000);
  const bound = flow.with({ ...on, storage, world });
  const run = await on.world.run(bound.start(undefined, { id: "r" }));
  const failed = await on.world.run(run.result()).catch((error: unknown) => error);
  expect(failed).toMatchObject({ name: "DurableError" });
  await on.world.advance(60_000);
  expect(ended).toEqual(["1 true"]);
  expect(timers()).toBe(0);
});
