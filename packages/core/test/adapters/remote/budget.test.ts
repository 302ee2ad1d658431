import { durable, type World } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { countingBucket, virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";

const secret = "a secret for tests, of no worth";

/** A bucket that somebody has used before, so that it was asked for its conditions. */
async function probed() {
  const world = virtualWorld();
  const counting = countingBucket(new MemoryBucket());
  const open = () => new RemoteStorage(counting, { world });
  const warmUp = durable("warm-up", (ctx) => ctx.step("a", () => 1), { world, storage: open(), secret });
  await world.run(warmUp.run());
  const reset = (): void =>
    void Object.assign(counting.counts, { gets: 0, puts: 0, lists: 0, deletes: 0, written: 0 });
  counting.counts.writes.clear();
  reset();
  return { world, bucket: counting, counts: counting.counts, reset, open };
}

function steps(count: number, notes: { bodies: number }) {
  return durable("steps", async (ctx) => {
    for (let i = 0; i < count / 2; i++) await ctx.step("before", () => `result ${(notes.bodies += 1)}`);
    const answer = await ctx.suspend<string>("review");
    for (let i = 0; i < count / 2; i++) await ctx.step("after", () => `${answer} ${(notes.bodies += 1)}`);
    return answer;
  });
}

/** Runs to the suspend point and, in another isolate, on to the end; tells what each half cost. */
async function twoHalves(count: number) {
  const made = await probed();
  const { world, counts, open, reset } = made;
  const notes = { bodies: 0 };
  const flow = steps(count, notes);
  const first = await world.run(flow.with({ world, storage: open(), secret }).run(undefined, { id: "r" }));
  if (first.status !== "suspended") throw new Error(first.status);
  const before = { ...counts };
  reset();
  let gets = -1;
  const elsewhere = durable(
    "steps",
    async (ctx) => {
      for (let i = 0; i < count / 2; i++) await ctx.step("before", () => "again");
      const answer = await ctx.suspend<string>("review");
      for (let i = 0; i < count / 2; i++)
        await ctx.step("after", () => {
          if (gets < 0) gets = counts.gets;
          return `${answer} ${(notes.bodies += 1)}`;
        });
      return answer;
    },
    { world, storage: open(), secret },
  );
  const { status } = await world.run(elsewhere.resume(first.waiting[0]!.token, "yes"));
  expect(status).toBe("accepted");
  expect(await world.run(elsewhere.get("r").outcome())).toMatchObject({ status: "completed" });
  return { ...made, gets, puts: before.puts + counts.puts, written: before.written + counts.written, notes };
}

describe("requests to the object store are promises, not details", () => {
  test("a run of 20 steps with one suspend point takes at most 30 writes", async () => {
    const { puts, notes } = await twoHalves(20);
    expect(notes.bodies).toBe(20);
    // Start, steps, park, answer and end are 24; a lease, four index objects, a snapshot.
    expect(puts).toBeLessThanOrEqual(30);
  });

  test.each([
    [2, 3],
    [20, 3],
    [200, 3],
    // A large snapshot is in two objects.
    [2_000, 4],
  ])(
    "a clean resume after %i steps reads at most %i objects before its first new step",
    async (count, most) => {
      const { gets } = await twoHalves(count);
      expect(gets).toBeGreaterThan(0);
      expect(gets).toBeLessThanOrEqual(most);
    },
    60_000,
  );

  test("50 parallel steps take at most 10 writes, also when they end one after the other", async () => {
    const { world, counts, bucket } = await probed();
    const slow = {
      ...bucket,
      create: (key: string, text: string) => later(world, 20, () => bucket.create(key, text)),
    };
    const flow = durable(
      "wide",
      (ctx) =>
        ctx.parallel(
          Array.from(
            { length: 50 },
            (_, i) => (c) => c.step("s", () => later(world, i, () => Promise.resolve(i))),
          ),
        ),
      { world, storage: new RemoteStorage(slow, { world }), secret },
    );
    expect(await world.run(flow.run())).toMatchObject({ status: "completed" });
    expect(counts.puts).toBeLessThanOrEqual(10);
  });

  test("bytes grow with the steps, not with their square", async () => {
    const sizes: number[] = [];
    for (const count of [100, 200, 400, 800, 1_600]) sizes.push((await twoHalves(count)).written / count);
    // With the square it would be sixteen times as much.
    expect(Math.max(...sizes) / Math.min(...sizes)).toBeLessThan(1.5);
  }, 300_000);

  test("no key is written twice but the snapshot", async () => {
    const { counts } = await twoHalves(400);
    const twice = [...counts.writes].filter(([, times]) => times > 1).map(([key]) => key);
    expect(twice.filter((key) => !key.startsWith("snapshots/"))).toEqual([]);
    expect(twice).toHaveLength(1);
  });
});

function later<T>(world: World, ms: number, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => void world.timer(ms, () => void work().then(resolve, reject)));
}
