import { DurableError, limits, type StepInfo, type Storage } from "@durable/core";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { failureOf, lab, pause } from "../support/behaviour-lab.ts";
import { unhandled } from "../support/behaviour-unhandled.ts";
import { setLimits } from "../support/small-sizes.ts";
import { drained, openJournal, wordsOf } from "./support/lab.ts";
import { held, timed } from "../support/stream-lab.ts";

describe("a producer that fails half-way", () => {
  test("gives the reader its chunks and its very error; asked for again, it is recorded anew", async () => {
    const on = lab();
    const rejections = unhandled();
    const thrown = new Error("the model is gone");
    const calls: number[] = [];
    const produce = async function* ({ attempt }: StepInfo) {
      calls.push(attempt);
      yield `${attempt}.0`;
      await pause(on.world, 150);
      yield `${attempt}.1`;
      if (attempt < 3) throw thrown;
    };
    const journal = await openJournal(on);
    const seen: string[] = [];
    const reading = (async () => {
      for await (const word of journal.recordStream("ask", produce)) seen.push(word);
    })();
    expect(await on.world.run(failureOf(reading)), "the very object").toBe(thrown);
    expect(seen).toEqual(["1.0", "1.1"]);
    expect(journal.has("ask")).toBe(false);
    expect(await on.world.run(failureOf(drained(journal.recordStream("ask", produce))))).toBe(thrown);
    const later = await openJournal(on);
    expect(await on.world.run(drained(later.recordStream("ask", produce)))).toEqual(["3.0", "3.1"]);
    expect(calls).toEqual([1, 2, 3]);
    const whole = await openJournal(on);
    expect(await on.world.run(drained(whole.recordStream("ask", produce))), "no chunk of the others").toEqual(
      ["3.0", "3.1"],
    );
    expect(whole.entries().filter(({ kind }) => kind === "attempt.failed")).toMatchObject([
      { attempt: 1, stream: true },
      { attempt: 2, stream: true },
    ]);
    expect(await rejections()).toEqual([]);
  });

  test("before its first chunk, or by giving none at all, is the same", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const sync = new Error("sync");
    for (const produce of [
      () => {
        throw sync;
      },
      () => Promise.reject(sync),
    ])
      expect(await on.world.run(failureOf(drained(journal.recordStream("ask", produce))))).toBe(sync);
    const nothing = journal.recordStream("ask", (() => 42) as never);
    expect(await on.world.run(failureOf(drained(nothing)))).toBeInstanceOf(TypeError);
    expect(await on.world.run(drained(journal.recordStream("ask", ({ attempt }) => [attempt])))).toEqual([4]);
  });

  test("by a chunk that cannot be kept is told by its path, and closed", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const ended: string[] = [];
    const stream = journal.recordStream("ask", async function* () {
      try {
        yield { deep: [() => 1] };
      } finally {
        ended.push("finally");
      }
    });
    expect(await on.world.run(failureOf(drained(stream)))).toMatchObject({
      code: "not-serializable",
      message: expect.stringMatching(/stream "ask" of journal j.*deep/),
    });
    expect(ended).toEqual(["finally"]);
  });

  test("a stream that grows past the limit is too-large, and says which", async () => {
    if (!inject("full")) onTestFinished(setLimits({ streamChunks: 10_000 }));
    const on = lab();
    const journal = await openJournal(on);
    const stream = journal.recordStream("ask", function* () {
      for (;;) yield 1;
    });
    const reader = failureOf(drained(stream));
    expect(await on.world.run(reader)).toMatchObject({
      code: "too-large",
      message: expect.stringContaining(`stream "ask" of journal j is number ${limits.streamChunks + 1} `),
    });
  });

  test("a storage that fails for good fails the reader; no timer is left", async () => {
    const on = lab();
    const { world, timers } = timed(on.world);
    const storage = { ...held(on.storage), append: () => Promise.reject(new Error("the disk is gone")) };
    const journal = await openJournal(on, { storage, world });
    const { produce, ended } = wordsOf(on, 100_000);
    const stream = journal.recordStream("ask", produce);
    expect(await on.world.run(failureOf(drained(stream)))).toMatchObject({ name: "DurableError" });
    expect(ended).toEqual([1]);
    expect(timers()).toBe(0);
    expect(journal.has("ask")).toBe(false);
  });

  test("a batch that was lost leaves no hole: what comes after it is not written either", async () => {
    const on = lab();
    let lost = true;
    const storage: Storage = {
      ...held(on.storage),
      append: (request) =>
        lost ? Promise.reject(new DurableError("storage-closed", "gone")) : on.storage.append(request),
    };
    const journal = await openJournal(on, { storage });
    const stream = journal.recordStream("ask", async function* () {
      yield 1;
      await pause(on.world, 150);
      lost = false;
      yield 2;
      await pause(on.world, 150);
      yield 3;
    });
    expect(await on.world.run(failureOf(drained(stream)))).toMatchObject({ code: "storage-closed" });
    await on.world.advance(1_000);
    expect((await openJournal(on)).entries()).toEqual([]);
    expect(await on.world.run(drained(journal.recordStream("ask", () => [1, 2])))).toEqual([1, 2]);
  });
});
