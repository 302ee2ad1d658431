import { durable, type Storage } from "@durable/core";
import { countingStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, type Lab } from "../../support/behaviour-lab.ts";
import { replayOf, runOf } from "../../support/behaviour-lives.ts";
import { Chance, difference, ValueMaker } from "../../support/codec-values.ts";
import {
  chunksOf,
  isDense,
  labs,
  range,
  readable,
  readAll,
  streamOf,
  wholeOf,
} from "../../support/stream-lab.ts";

/** Runs a stream of these values, and gives the sizes of its entries and the number of appends. */
async function recordedOf(on: Lab, values: readonly unknown[], everyMs = 0) {
  const storage = countingStorage(on.storage);
  const { flow } = streamOf(on.world, values, everyMs);
  const outcome = await runOf({ ...on, storage }, flow);
  const entries = await chunksOf(flow.with({ ...on }).get("r"));
  expect(outputOf(outcome)).toEqual(values);
  expect(isDense(entries)).toBe(true);
  return { sizes: entries.map(({ chunks }) => chunks.length), appends: storage.counts.appends };
}

describe.each(labs)("a stream on %s", (_, make) => {
  test("is recorded in batches: 256 chunks at a time when they come fast", async () => {
    const { sizes, appends } = await recordedOf(make(), range(1_000));
    expect(sizes).toEqual([256, 256, 256, 232]);
    expect(appends, "start, four batches, and the end").toBeLessThanOrEqual(6);
  });

  test("is recorded in batches: of 64 KiB when they are large", async () => {
    const { sizes } = await recordedOf(
      make(),
      range(40).map((i) => String(i % 10).repeat(10_000)),
    );
    expect(sizes).toEqual([7, 7, 7, 7, 7, 5]);
  });

  test("is recorded in batches: of 100 ms when they come slowly", async () => {
    const { sizes, appends } = await recordedOf(make(), range(100), 10);
    expect(sizes.length).toBeGreaterThanOrEqual(9);
    expect(sizes.length).toBeLessThanOrEqual(11);
    expect(appends).toBeLessThanOrEqual(13);
  });

  test("a chunk is durable 100 ms after it came, however long the next one takes", async () => {
    const on = make();
    const { world } = on;
    const flow = durable("pauses", (ctx) =>
      ctx.stream("words", async function* () {
        yield "early";
        await pause(world, 3_600_000);
        yield "late";
      }),
    ).with({ ...on });
    const started = world.now();
    const at: number[] = [];
    const run = await world.run(flow.start(undefined, { id: "r" }));
    await world.run(async () => {
      for await (const event of run.stream("words")) {
        expect(event.type).toBe("chunk");
        at.push(world.now() - started);
      }
    });
    expect(at[0]).toBeLessThanOrEqual(100);
    expect(at[1]).toBeGreaterThanOrEqual(3_600_000);
  });

  test("is given back on replay without its producer, to workflow and reader alike", async () => {
    const on = make();
    const values = ["a", { deep: [1, new Date(7)] }, null];
    const { flow, calls } = streamOf(on.world, values);
    expect(outputOf(await runOf(on, flow))).toEqual(values);
    expect(outputOf(await replayOf(on, flow))).toEqual(values);
    expect(calls).toEqual([1]);
    const reader = flow
      .with({ ...on })
      .get("r")
      .stream("words");
    expect(await on.world.run(readAll(reader))).toEqual(wholeOf(values));
  });

  test("of no chunks is an empty list, and ends its readers", async () => {
    const on = make();
    const { flow, calls } = streamOf(on.world, []);
    expect(outputOf(await runOf(on, flow))).toEqual([]);
    expect(outputOf(await replayOf(on, flow))).toEqual([]);
    expect(calls).toEqual([1]);
    expect(
      await on.world.run(
        readAll(
          flow
            .with({ ...on })
            .get("r")
            .stream("words"),
        ),
      ),
    ).toEqual([]);
  });

  test("keeps every type of the codec as a chunk, also the first time", async () => {
    const on = make();
    const cycle: unknown[] = [1];
    cycle.push(cycle);
    const error = Object.assign(new TypeError("no", { cause: new Error("why") }), { extra: 1 });
    const values: unknown[] = [undefined, null, true, -0, Number.NaN, -Infinity, 12345678901234567890n];
    values.push(
      "",
      "\ud800 half",
      "\u0000",
      new Date(Number.NaN),
      /a+/giu,
      new URL("https://example.test/?q=é"),
    );
    values.push(
      new Map([[{ a: 1 }, new Set([1n])]]),
      new Float64Array([0.5]),
      new ArrayBuffer(3),
      error,
      cycle,
    );
    values.push(Object.create(null), JSON.parse('{"__proto__":1}'));
    const maker = new ValueMaker(new Chance(48));
    for (let n = 0; n < 300; n++) values.push(maker.value());
    const seen: unknown[][] = [];
    const flow = durable("kept", async (ctx) => {
      seen.push(await ctx.stream("words", () => values));
      await ctx.suspend("ok");
    });
    for (let life = 1; life <= 2; life++) await runOf(on, flow);
    const read = await on.world.run(
      readAll(
        flow
          .with({ ...on })
          .get("r")
          .stream("words"),
      ),
    );
    seen.push(read.map((one) => one[2]));
    expect(seen.map((list) => list.length)).toEqual([values.length, values.length, values.length]);
    for (const [i, value] of values.entries())
      for (const [n, how] of ["first", "replayed", "read"].entries())
        expect(difference(seen[n]?.[i], value), `chunk ${i}, ${how}`).toBeNull();
  });

  test("H7 a chunk that is changed after it was given is recorded as it was", async () => {
    const on = make();
    const flow = durable("aliased", async (ctx) => {
      const parts = await ctx.stream("words", async function* () {
        const shared = { text: "", list: [] as number[] };
        for (const n of range(3)) {
          shared.text += n;
          shared.list.push(n);
          yield shared;
        }
        shared.text = "spoilt";
      });
      const seen = parts.map(({ text, list }) => `${text}:${list}`);
      for (const part of parts) part.text = "changed by the workflow";
      return seen;
    });
    const expected = ["0:0", "01:0,1", "012:0,1,2"];
    expect(outputOf(await runOf(on, flow))).toEqual(expected);
    expect(outputOf(await replayOf(on, flow))).toEqual(expected);
  });
});

const producers: readonly [string, () => unknown][] = [
  ["a list", () => [1, 2, 3]],
  ["a set", () => new Set([1, 2, 3])],
  ["a generator", () => [1, 2, 3].values()],
  [
    "an async generator",
    async function* () {
      yield* [1, 2, 3];
    },
  ],
  ["a ReadableStream", () => readable([1, 2, 3])],
  ["a list of promises", () => [Promise.resolve(1), 2, Promise.resolve(3)]],
  ["a promise of a list", () => Promise.resolve([1, 2, 3])],
  ["a promise of a ReadableStream", async () => readable(await Promise.resolve([1, 2, 3]))],
  [
    "an object with an iterator of its own",
    () => ({
      [Symbol.asyncIterator]: () => {
        let n = 0;
        return { next: () => Promise.resolve({ done: n === 3, value: ++n }) };
      },
    }),
  ],
];

test.each(producers)("%s is a producer", async (_, produce) => {
  const on = lab();
  const flow = durable("produced", (ctx) => ctx.stream("words", produce as () => number[]));
  expect(outputOf(await runOf(on, flow))).toEqual([1, 2, 3]);
  expect(outputOf(await replayOf(on, flow))).toEqual([1, 2, 3]);
});

test.each([
  ["no list at all", () => 42],
  ["nothing", () => undefined],
])("a producer that gives %s fails the stream, and not the process", async (_, produce) => {
  const on = lab();
  const flow = durable("wrong", (ctx) =>
    ctx.stream("words", produce as unknown as () => number[], { retry: false }),
  );
  expect(await runOf(on, flow)).toMatchObject({
    status: "failed",
    error: { code: "step-failed", message: expect.stringMatching(/"words" of run r/) },
  });
});

test("work that is no function is refused by name", async () => {
  const on = lab();
  const flow = durable("wrong", (ctx) => ctx.stream("words", [1, 2] as never));
  expect(await runOf(on, flow)).toMatchObject({ status: "failed", error: { code: "invalid-options" } });
});

test("the producer gets its attempt, and a key that differs in every run", async () => {
  const on = lab();
  const told: unknown[] = [];
  const flow = durable("told", (ctx) =>
    ctx.stream("words", (info) => {
      told.push([info.attempt, info.key, info.idempotencyKey, info.signal.aborted]);
      return [];
    }),
  ).with({ ...on });
  for (const id of ["r", "s"]) await on.world.run(flow.run(undefined, { id }));
  expect(told).toEqual([
    [1, "words", expect.stringMatching(/^\w{32}$/), false],
    [1, "words", expect.stringMatching(/^\w{32}$/), false],
  ]);
  expect(new Set(told.map((one) => (one as unknown[])[2])).size).toBe(2);
});

test("bytes written grow with the chunks: no chunk is written twice", async () => {
  const written = async (count: number): Promise<number> => {
    const on = lab();
    const storage: Storage & { counts?: { written: number } } = countingStorage(on.storage);
    const { flow } = streamOf(
      on.world,
      range(count).map((i) => `word ${i}`.padEnd(20)),
      5,
    );
    await runOf({ ...on, storage }, flow);
    return storage.counts?.written ?? 0;
  };
  const [few, many] = [await written(200), await written(2_000)];
  expect(many / few).toBeGreaterThan(5);
  expect(many / few).toBeLessThan(11);
});
