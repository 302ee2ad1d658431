import { limits, type StepInfo } from "@durable/core";
import { countingStorage } from "@durable/testing";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { setLimits } from "../support/small-sizes.ts";
import { failureOf, lab, pause } from "../support/behaviour-lab.ts";
import { unhandled } from "../support/behaviour-unhandled.ts";
import { kindsIn, openJournal, tapped } from "./support/lab.ts";
import { labs, range } from "../support/stream-lab.ts";

describe.each(labs)("a journal without a workflow, on %s", (_, make) => {
  test("runs work once, and gives its record in this handle and in every later one", async () => {
    const on = make();
    const journal = await openJournal(on);
    let ran = 0;
    const work = () => ({ n: ++ran, when: new Date(5) });
    expect(journal.has("ask")).toBe(false);
    expect(await journal.record("ask", work)).toEqual({ n: 1, when: new Date(5) });
    expect(await journal.record("ask", work)).toEqual({ n: 1, when: new Date(5) });
    expect(journal.has("ask")).toBe(true);
    const later = await openJournal(on);
    expect(later.has("ask")).toBe(true);
    expect(await later.record("ask", work)).toEqual({ n: 1, when: new Date(5) });
    expect(ran).toBe(1);
    expect(kindsIn(later)).toEqual(["run.started", "step.completed ask"]);
  });

  test("records of nothing and of undefined are records", async () => {
    const on = make();
    const journal = await openJournal(on);
    let ran = 0;
    for (const value of [undefined, null]) await journal.record(`k${value}`, () => (ran++, value));
    const later = await openJournal(on);
    expect(await later.record("kundefined", () => 1)).toBeUndefined();
    expect(await later.record("knull", () => 1)).toBeNull();
    expect(ran).toBe(2);
  });

  test("calls that are made together share an append", async () => {
    const on = make();
    const storage = countingStorage(on.storage);
    const journal = await openJournal(on, { storage });
    const made = range(500).map((n) => journal.record(`call ${n}`, () => n));
    expect(await Promise.all(made)).toEqual(range(500));
    expect(storage.counts.appends).toBe(1);
    expect(storage.counts.reads, "and one read at the beginning").toBe(1);
    const later = await openJournal(on);
    expect(later.entries()).toHaveLength(501);
  });

  test("blobs: a large value is kept once, however many records share it", async () => {
    const on = make();
    const storage = countingStorage(on.storage);
    const journal = await openJournal(on, { storage });
    const history: string[] = [];
    for (const n of range(20)) {
      history.push(`${n} ${"lorem ipsum ".repeat(400)}`);
      await journal.record(`turn ${n}`, () => history);
    }
    const whole = JSON.stringify(history).length;
    expect(storage.counts.written, "ten times as much if each had it all").toBeLessThan(1.5 * whole);
    const later = await openJournal(on);
    expect(await later.record("turn 19", () => null)).toEqual(history);
    expect(await later.record("turn 3", () => null)).toEqual(history.slice(0, 4));
  });
});

test("a journal that was only opened leaves no trace", async () => {
  const on = lab();
  const journal = await openJournal(on);
  expect(journal.entries()).toEqual([]);
  expect((await on.storage.list()).runs).toEqual([]);
});

test("the same key twice at once runs once; different keys run side by side", async () => {
  const on = lab();
  const journal = await openJournal(on);
  const live = { now: 0, most: 0, ran: 0 };
  const work = async () => {
    live.ran += 1;
    live.most = Math.max(live.most, ++live.now);
    await pause(on.world, 50);
    live.now -= 1;
    return live.ran;
  };
  const made = ["a", "a", "b", "a"].map((key) => journal.record(key, work));
  const [a1, a2, b, a3] = await on.world.run(Promise.all(made));
  expect([a1, a2, a3].every((value) => value === a1)).toBe(true);
  expect(b).not.toBe(undefined);
  expect([live.ran, live.most]).toEqual([2, 2]);
});

test("every moment at which a record may come in while another is being written is heeded", async () => {
  // The writer must not go to sleep between its last look at the queue and saying so.
  for (const microtasks of range(80)) {
    const on = lab();
    const written = Promise.withResolvers<void>();
    const storage = tapped(on.storage, () => written.resolve());
    const journal = await openJournal(on, { storage });
    const first = journal.record("first", () => 1);
    const second = journal.record("second", async () => {
      await written.promise;
      for (let n = 0; n < microtasks; n++) await Promise.resolve();
      return 2;
    });
    expect(await on.world.run(Promise.all([first, second])), `after ${microtasks}`).toEqual([1, 2]);
  }
});

test("H71 large records that are made together do not make one huge append", async () => {
  const full = inject("full");
  if (!full) onTestFinished(setLimits({ batchBytes: limits.batchBytes / 8 }));
  const on = lab();
  const sizes: number[] = [];
  const storage = tapped(on.storage, ({ batch, blobs = [] }) => {
    sizes.push(blobs.reduce((size, { body = "" }) => size + body.length, batch.length));
  });
  const journal = await openJournal(on, { storage });
  // Nothing in it comes twice, so that nothing is kept once for two.
  const text = (n: number): string =>
    range(full ? 80_000 : 10_000)
      .map((i) => Math.imul(i * 34 + n, 2_654_435_761).toString(36))
      .join();
  const made = range(34).map((n) => journal.record(`call ${n}`, () => text(n)));
  expect((await Promise.all(made))[33]).toBe(text(33));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(limits.batchBytes * 1.1);
  expect(sizes.length).toBeLessThan(5);
});

describe("work that fails (standalone.2)", () => {
  test("throws what it threw, is noted, and runs again when it is asked for again", async () => {
    const on = lab();
    const rejections = unhandled();
    const journal = await openJournal(on);
    const thrown = Object.assign(new TypeError("no"), { status: 503 });
    const attempts: number[] = [];
    const work = ({ attempt }: StepInfo) => {
      attempts.push(attempt);
      if (attempt < 3) throw thrown;
      return "third time";
    };
    expect(await failureOf(journal.record("ask", work)), "the very object").toBe(thrown);
    expect(journal.has("ask")).toBe(false);
    const later = await openJournal(on);
    expect(await failureOf(later.record("ask", work))).toBe(thrown);
    expect(await later.record("ask", work)).toBe("third time");
    expect(await later.record("ask", work)).toBe("third time");
    expect(attempts).toEqual([1, 2, 3]);
    expect(kindsIn(later)).toEqual([
      "run.started",
      "attempt.failed ask",
      "attempt.failed ask 2",
      "step.completed ask 3",
    ]);
    expect(later.entries()[1]).toMatchObject({ error: { name: "TypeError", message: "no", status: 503 } });
    expect(await rejections()).toEqual([]);
  });

  test("whatever it throws: nothing, a text, an error that cannot be kept", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const odd = Object.assign(new Error("odd"), { call: () => 1 });
    for (const thrown of [undefined, "text", odd])
      await journal
        .record("ask", () => Promise.reject(thrown))
        .then(
          () => expect.fail("it did not fail"),
          (error: unknown) => expect(error).toBe(thrown),
        );
    expect((await openJournal(on)).entries().filter(({ kind }) => kind === "attempt.failed")).toHaveLength(3);
  });

  test("by giving what cannot be kept: not-serializable with its path", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const error = await failureOf(journal.record("ask", () => ({ list: [() => 1] })));
    expect(error).toMatchObject({
      code: "not-serializable",
      message: expect.stringContaining('"ask" of journal j'),
    });
    expect(journal.has("ask")).toBe(false);
  });

  test("two who wait for one work get the one failure", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const thrown = new Error("both");
    let ran = 0;
    const work = async () => {
      ran += 1;
      await pause(on.world, 10);
      throw thrown;
    };
    const both = [journal.record("a", work), journal.record("a", work)].map((made) => failureOf(made));
    expect(await on.world.run(Promise.all(both))).toEqual([thrown, thrown]);
    expect(ran).toBe(1);
  });
});

test("work is told its key, its attempt, the caller's signal, and an idempotency key that lasts", async () => {
  const on = lab();
  const journal = await openJournal(on);
  const told: StepInfo[] = [];
  const { signal } = new AbortController();
  const work = (info: StepInfo) => {
    told.push(info);
    if (told.length === 1) throw new Error("once");
    return 1;
  };
  await failureOf(journal.record("a", work, { signal }));
  await (await openJournal(on)).record("a", work);
  await (await openJournal(on, { id: "other" })).record("a", work);
  expect(told.map(({ key, attempt }) => [key, attempt])).toEqual([
    ["a", 1],
    ["a", 2],
    ["a", 1],
  ]);
  expect(told[0]?.signal).toBe(signal);
  expect(told[1]?.signal.aborted).toBe(false);
  expect(told[1]?.idempotencyKey).toBe(told[0]?.idempotencyKey);
  expect(told[2]?.idempotencyKey).not.toBe(told[0]?.idempotencyKey);
});

test("H7 what is given back is the record: changing it, or what work returned, changes nothing", async () => {
  const on = lab();
  const journal = await openJournal(on);
  const made = { list: [1] };
  const given = await journal.record("a", () => made);
  made.list.push(2);
  given.list.push(3);
  expect(await journal.record("a", () => null)).toEqual({ list: [1] });
  expect(await (await openJournal(on)).record("a", () => null)).toEqual({ list: [1] });
});
