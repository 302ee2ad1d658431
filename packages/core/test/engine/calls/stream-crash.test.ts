import { durable, type StreamEvent } from "@durable/core";
import { faultyStorage, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { outputOf, pause, type Lab } from "../../support/behaviour-lab.ts";
import { batchesOf, replayOf, runOf } from "../../support/behaviour-lives.ts";
import {
  chunksOf,
  held,
  isDense,
  labs,
  range,
  readAll,
  wholeOf,
  type Held,
  type Seen,
} from "../../support/stream-lab.ts";

const count = 5;

/** In the sample every so many cases are taken; fewer on SQLite, where each takes longer. */
const thinning = (name: string): number => (inject("full") ? 1 : name === "SQLite" ? 4 : 2);

/** Each life of the program gives its chunks with its own name; each chunk is an append of its own. */
function livesOf(on: Lab) {
  const calls: string[] = [];
  const flowOf = (life: string) =>
    durable("lives", async (ctx) => {
      const words = await ctx.stream("words", async function* ({ attempt }) {
        calls.push(`${life} ${attempt}`);
        for (const n of range(count)) {
          yield `${life} ${n}`;
          await pause(on.world, 150);
        }
      });
      return [...words, await ctx.step("after", () => `after by ${life}`)];
    });
  return { calls, flowOf };
}

const words = (life: string): string[] => range(count).map((n) => `${life} ${n}`);

/** A reader on a handle of its own, which sees all there is from the beginning. */
function follow(on: Lab): { readonly seen: Seen[]; readonly end: Promise<Seen[]> } {
  const seen: Seen[] = [];
  const { flowOf } = livesOf(on);
  // The run may not be there yet.
  const end = (async () => {
    const flow = flowOf("reader").with({ ...on });
    while ((await on.storage.list()).runs.length === 0) await pause(on.world, 10);
    return readAll(flow.get("r").stream("words") as AsyncIterable<StreamEvent>, seen);
  })();
  return { seen, end };
}

describe.each(labs)("H47 a driver that dies at any append, on %s", (name, make) => {
  const faults: readonly Fault[] = ["crash-before", "crash-after", "crash-then-apply"];
  // Start, five chunks, the end of the stream, the step, and the end of the run.
  const appends = count + 4;

  test.each(faults)("%s: the reader gets a prefix, a reset, and one clean stream", async (fault) => {
    for (let dies = 1; dies <= appends; dies += thinning(name)) {
      const on = make();
      const { flowOf, calls } = livesOf(on);
      const storage = faultyStorage(on.storage, {
        world: on.world,
        plan: (operation, index) => (operation === "append" && index === dies ? fault : null),
      });
      const reader = follow(on);
      const first = flowOf("one")
        .with({ ...on, storage })
        .run(undefined, { id: "r" });
      const over = await on.world.run(Promise.race([first, storage.died]));
      await on.world.advance(60_000);
      const kept = (
        await chunksOf(
          flowOf("x")
            .with({ ...on })
            .get("r"),
        ).catch(() => [])
      ).flatMap(({ chunks }) => chunks);
      const when = `${fault} at append ${dies}`;
      expect(words("one").slice(0, kept.length), `a prefix: ${when}`).toEqual(kept);

      const outcome = await runOf(on, flowOf("two"));
      const seen = await on.world.run(reader.end);
      const ended = (
        await chunksOf(
          flowOf("x")
            .with({ ...on })
            .get("r"),
        )
      ).every(({ attempt }) => attempt === 1);
      const clean = calls.some((call) => call.startsWith("two")) ? "two" : "one";
      const attempt = clean === "two" && kept.length > 0 ? 2 : 1;
      expect(ended, when).toBe(attempt === 1);
      const before = clean === "two" ? wholeOf(kept) : [];
      const reset = attempt === 2 ? (["reset 2"] as const) : [];
      expect(seen, when).toEqual([...before, ...reset, ...wholeOf(words(clean), attempt)]);
      expect((outputOf(outcome) as string[]).slice(0, count), when).toEqual(words(clean));
      expect(
        isDense(
          await chunksOf(
            flowOf("x")
              .with({ ...on })
              .get("r"),
          ),
        ),
        when,
      ).toBe(true);
      expect(outputOf(await replayOf(on, flowOf("three"))), when).toEqual(outputOf(outcome));
      expect(
        calls.filter((call) => call.startsWith("three")),
        "the producer is not asked again",
      ).toEqual([]);
      if (over !== undefined)
        expect(dies, "only the last of them is not needed").toBeGreaterThanOrEqual(appends);
    }
  });
});

/** A first driver that is cut off after so many chunks, alive and unaware, and a second that takes over. */
async function zombieOf(on: Lab, cut: number): Promise<{ storage: Held; zombie: Promise<unknown> }> {
  const storage = held(on.storage);
  storage.hold(1 + cut);
  const { flowOf } = livesOf(on);
  const zombie = flowOf("zombie")
    .with({ ...on, storage, lease: "5s" })
    .run(undefined, { id: "r" });
  await on.world.advance(20_000);
  return { storage, zombie };
}

describe.each(labs)("H47, H21 a zombie of attempt 1 on %s", (name, make) => {
  test("goes on writing at every moment of attempt 2: it is refused, and no reader sees a mix", async () => {
    for (const cut of range(count + 1)) {
      for (const into of range(count + 1)) {
        if ((cut + into) % thinning(name) !== 0) continue;
        const on = make();
        const reader = follow(on);
        const { storage, zombie } = await zombieOf(on, cut);
        const { flowOf } = livesOf(on);
        const second = flowOf("second").with({ ...on, lease: "5s" });
        const living = second.run(undefined, { id: "r" });
        await on.world.advance(into * 150 + 120);
        const before = (await batchesOf(on)).length;
        storage.letGo();
        const outcome = await on.world.run(living);
        const late = await on.world.run(zombie);
        const when = `cut off after ${cut} chunks, awake after ${into + 1} of the other's`;
        expect(storage.appends, `it tried: ${when}`).toBeGreaterThan(1 + cut);
        const entries = await chunksOf(second.get("r"));
        expect(
          entries.map(({ attempt, chunks }) => `${attempt} ${chunks.join()}`),
          when,
        ).toEqual([
          ...words("zombie")
            .slice(0, cut)
            .map((word) => `1 ${word}`),
          ...words("second").map((word) => `${cut === 0 ? 1 : 2} ${word}`),
        ]);
        expect((outputOf(outcome) as string[]).slice(0, count), when).toEqual(words("second"));
        expect(late, "the zombie learns the state of the run").toMatchObject({
          status: expect.stringMatching(/completed|running/),
        });
        const reset = cut === 0 ? [] : (["reset 2"] as const);
        const old = wholeOf(words("zombie").slice(0, cut));
        expect(await on.world.run(reader.end), when).toEqual([
          ...old,
          ...reset,
          ...wholeOf(words("second"), cut === 0 ? 1 : 2),
        ]);
        expect((await batchesOf(on)).length, when).toBeGreaterThanOrEqual(before);
      }
    }
  });
});

describe.each(labs)("attempts and crashes on %s", (_, make) => {
  test("five deaths in a row, each a chunk further: every number is used once, failures count none", async () => {
    const on = make();
    const reader = follow(on);
    const { flowOf, calls } = livesOf(on);
    for (const life of range(count)) {
      const storage = faultyStorage(on.storage, {
        world: on.world,
        // The first append of each asks for the id.
        plan: (operation, index) => (operation === "append" && index === 2 + life ? "crash-after" : null),
      });
      const living = flowOf(`life${life}`)
        .with({ ...on, storage })
        .run(undefined, { id: "r" });
      await on.world.run(Promise.race([living, storage.died]));
      await on.world.advance(60_000);
    }
    const outcome = await runOf(on, flowOf("last"));
    expect((outputOf(outcome) as string[]).slice(0, count)).toEqual(words("last"));
    expect(calls).toEqual([...range(count).map((n) => `life${n} ${n + 1}`), `last ${count + 1}`]);
    const seen = await on.world.run(reader.end);
    const expected: Seen[] = range(count).flatMap((life) => [
      ...(life === 0 ? [] : [`reset ${life + 1}` as const]),
      ...wholeOf(words(`life${life}`).slice(0, life + 1), life + 1),
    ]);
    expect(seen).toEqual([...expected, `reset ${count + 1}`, ...wholeOf(words("last"), count + 1)]);
    const entries = await flowOf("x")
      .with({ ...on })
      .get("r")
      .entries();
    expect(entries.filter(({ kind }) => kind === "attempt.failed")).toEqual([]);
  });
});
