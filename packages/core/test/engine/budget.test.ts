import { durable, MemoryStorage } from "@durable/core";
import { countingStorage, virtualWorld } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";

const secret = "a secret for tests, of no worth";

function made() {
  const world = virtualWorld();
  const storage = countingStorage(new MemoryStorage({ now: () => world.now() }));
  return { world, storage, options: { world, storage, secret } };
}

describe("round trips are promises, not details", () => {
  test("a new run: no read, one append for the start, one a step, one for the end", async () => {
    const { world, storage, options } = made();
    const flow = durable(
      "sequence",
      async (ctx) => {
        for (let i = 0; i < 50; i++) await ctx.step("s", () => i);
      },
      options,
    );
    await world.run(flow.run());
    expect(storage.counts).toMatchObject({ appends: 52, reads: 0, leases: 0, releases: 0 });
  });

  test("parallel steps that settle together share one append, also when timers of one turn end them", async () => {
    const { world, storage, options } = made();
    const count = 40;
    // Set in one go when the last body begins: a busy machine takes a while to begin them all.
    const waiting: (() => void)[] = [];
    const timer = (): Promise<void> =>
      new Promise((resolve) => {
        if (waiting.push(resolve) === count) for (const each of waiting) setTimeout(each, 5);
      });
    const flow = durable(
      "together",
      async (ctx) => {
        await Promise.all(Array.from({ length: count }, (_, i) => ctx.step(`s${i}`, async () => i)));
        await ctx.parallel(Array.from({ length: count }, () => (c) => c.step("t", timer)));
      },
      options,
    );
    await world.run(flow.run());
    expect(waiting).toHaveLength(count);
    // Start, one for the first forty, at most three for timers that straddle a turn, and the end.
    expect(storage.counts.appends).toBeLessThanOrEqual(6);
  });

  test("a wait is one append, its park included; an advance is one read; a resume, one read and one append for the answer", async () => {
    const { world, storage, options } = made();
    const flow = durable(
      "waits",
      async (ctx) => {
        await ctx.step("a", () => 1);
        const answer = await ctx.suspend<number>("ask");
        return (await ctx.step("b", () => answer)) + 1;
      },
      options,
    );
    const outcome = await world.run(flow.run(undefined, { id: "r" }));
    expect(storage.counts).toMatchObject({ appends: 3, reads: 0 });
    if (outcome.status !== "suspended") throw new Error(outcome.status);
    await world.run(flow.run(undefined, { id: "r" }));
    // Looking again at a parked run: the start is refused, one read settles that, nothing is written.
    expect(storage.counts).toMatchObject({ appends: 4, reads: 1 });
    await world.run(flow.resume(outcome.waiting[0]!.token, 41));
    expect(storage.counts).toMatchObject({ appends: 7, reads: 2 });
  });

  test("an attempt that fails is one append; a retry needs no other", async () => {
    const { world, storage, options } = made();
    const flow = durable(
      "retries",
      (ctx) =>
        ctx.step("flaky", ({ attempt }) => {
          if (attempt < 3) throw new Error("again");
          return attempt;
        }),
      options,
    );
    await world.run(flow.run());
    expect(storage.counts).toMatchObject({ appends: 5, reads: 0 });
  });

  test("a sleep that is held in memory is two appends: its deadline, and its end", async () => {
    const { world, storage, options } = made();
    const flow = durable("sleeps", (ctx) => ctx.sleep("10s"), options);
    await world.run(flow.run());
    expect(storage.counts).toMatchObject({ appends: 4, reads: 0 });
  });

  const steps = inject("full") ? 20_000 : 4_000;
  test(`a fork of a run of ${steps} steps reads the parent once and writes one batch of at most 1 kB`, async () => {
    const { world, storage, options } = made();
    let bodies = 0;
    const flow = durable(
      "long",
      async (ctx) => {
        let sum = 0;
        for (let from = 0; from < steps; from += 1_000) {
          const chunk = await Promise.all(
            Array.from({ length: 1_000 }, (_, i) => ctx.step("s", () => ((bodies += 1), from + i))),
          );
          sum += chunk.length;
        }
        return sum + (await ctx.step("last", () => ((bodies += 1), 1)));
      },
      options,
    );
    await world.run(flow.run(undefined, { id: "parent" }));
    expect(bodies).toBe(steps + 1);
    const { appends, reads, written } = storage.counts;
    const forked = flow.fork("parent", { from: "last", id: "child" });
    const run = await world.run(forked);
    // The fork is driven in the background and has appended once more for `last`, once for its end.
    await world.run(run.result());
    expect(bodies).toBe(steps + 2);
    expect(storage.counts.appends - appends).toBe(3);
    expect(storage.counts.written - written).toBeLessThan(1_500);
    const { runs } = await flow.list({ parent: "parent" });
    const { batches } = await storage.read(runs[0]!.locator);
    expect(batches[0]!.length).toBeLessThanOrEqual(1_024);
    // The parent once for the fork; then the drive: the fork itself and the parent it builds on; then this test.
    expect(storage.counts.reads - reads).toBe(4);
  }, 300_000);
});
