import { durable, type StreamEvent } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, inject, test } from "vitest";
import { lab, pause } from "../support/behaviour-lab.ts";
import { runOf } from "../support/behaviour-lives.ts";
import { labs, range, readAll, seenAs, streamOf, wholeOf, type Seen } from "../support/stream-lab.ts";

/** Where a reader that saw this comes back: what it hands to `run.stream`. */
function placeAfter(seen: readonly Seen[]): { from: number; attempt: number } {
  const last = seen.at(-1);
  if (last === undefined) return { from: 0, attempt: 1 };
  if (typeof last === "string") return { from: 0, attempt: Number(last.slice(6)) };
  return { from: last[1] + 1, attempt: last[0] };
}

/** Reads so many events, and leaves. */
async function readSome(reader: AsyncGenerator<StreamEvent>, count: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  if (count > 0)
    for await (const event of reader) {
      seen.push(seenAs(event));
      if (seen.length === count) break;
    }
  return seen;
}

const lengths = inject("full") ? [300, 200, 500] : [60, 40, 100];
const chunks = lengths.reduce((sum, length) => sum + length, 0);

/** Three attempts, of which the first two break off. */
function longStream(world: ReturnType<typeof lab>["world"], everyMs = 0) {
  const flow = durable("long", (ctx) =>
    ctx.stream(
      "words",
      async function* ({ attempt }) {
        for (const n of range(lengths[attempt - 1] ?? 0)) {
          yield `${attempt}.${n}`;
          if (everyMs > 0) await pause(world, everyMs);
        }
        if (attempt < 3) {
          await pause(world, 120);
          throw new Error("broke off");
        }
      },
      { retry: { attempts: 3, delay: 10, jitter: false } },
    ),
  );
  const whole: Seen[] = lengths.flatMap((length, i) => [
    ...(i === 0 ? [] : [`reset ${i + 1}` as const]),
    ...wholeOf(
      range(length).map((n) => `${i + 1}.${n}`),
      i + 1,
    ),
  ]);
  return { flow, whole };
}

describe.each(labs)("H48 a reader that leaves and comes back, on %s", (name, make) => {
  test(`at every index of ${chunks} chunks: it gets the exact rest each time`, async () => {
    const on = make();
    const { flow, whole } = longStream(on.world);
    await runOf(on, flow);
    // A second handle on the same journals, where there can be one.
    const second =
      "path" in on ? new SqliteStorage({ path: on.path as string, now: () => on.world.now() }) : on.storage;
    const there = flow.with({ ...on, storage: second }).get("r");
    expect(await readAll(there.stream("words"))).toEqual(whole);
    for (const left of range(whole.length + 1)) {
      const place = placeAfter(whole.slice(0, left));
      const rest = await readAll(there.stream("words", place));
      // Compared by hand: a million deep comparisons take their time.
      const same =
        rest.length === whole.length - left &&
        rest.every((one, i) => String(one) === String(whole[left + i]));
      if (!same) expect(rest, `after ${left}`).toEqual(whole.slice(left));
    }
    if (name === "SQLite") await second.close?.();
  });

  test("after every single event, while the stream is being made", async () => {
    const on = make();
    const { flow, whole } = longStream(on.world, 7);
    const run = await on.world.run(flow.with({ ...on }).start(undefined, { id: "r" }));
    const seen: Seen[] = [];
    await on.world.run(async () => {
      while (seen.length < whole.length)
        seen.push(...(await readSome(run.stream("words", placeAfter(seen)), 1)));
    });
    expect(seen).toEqual(whole);
    expect(await on.world.run(readAll(run.stream("words", placeAfter(seen)))), "and then the end").toEqual(
      [],
    );
  });
});

test("a place that is not there yet is waited for; one past the end gives only the end", async () => {
  const on = lab();
  const { flow } = streamOf(on.world, range(10), 200);
  const run = await on.world.run(flow.with({ ...on }).start(undefined, { id: "r" }));
  expect(await on.world.run(readAll(run.stream("words", { from: 8 })))).toEqual(wholeOf(range(10), 1, 8));
  expect(await on.world.run(readAll(run.stream("words", { from: 99 })))).toEqual([]);
  expect(await on.world.run(readAll(run.stream("words", { from: 3, attempt: 9 })))).toEqual([]);
});
