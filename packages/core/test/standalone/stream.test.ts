import { limits } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, pause } from "../support/behaviour-lab.ts";
import { drained, kindsIn, openJournal, wordsOf } from "./support/lab.ts";
import { held, labs, range, readable } from "../support/stream-lab.ts";

describe.each(labs)("a recorded stream, on %s", (_, make) => {
  test("is handed on and recorded; later handles give the same chunks without the producer", async () => {
    const on = make();
    const { produce, calls, whole } = wordsOf(on, 300, 1);
    const journal = await openJournal(on);
    expect(await on.world.run(drained(journal.recordStream("ask", produce)))).toEqual(whole());
    expect(await on.world.run(drained(journal.recordStream("ask", produce)))).toEqual(whole());
    const later = await openJournal(on);
    expect(later.has("ask")).toBe(true);
    expect(await on.world.run(drained(later.recordStream("ask", produce)))).toEqual(whole());
    expect(calls).toEqual([1]);
    expect(new Set(kindsIn(later))).toEqual(
      new Set(["run.started", "stream.chunks ask", "stream.completed ask"]),
    );
  });

  test("may have any producer, any chunks, or none", async () => {
    const on = make();
    const journal = await openJournal(on);
    const chunks = [new Map([[1, new Date(2)]]), undefined, "x", 5n, new Uint8Array([1])];
    for (const [key, producer] of Object.entries({
      list: () => chunks,
      stream: () => readable(chunks),
      later: () => Promise.resolve(chunks),
      none: () => [] as unknown[],
    })) {
      const expected = key === "none" ? [] : chunks;
      expect(await on.world.run(drained(journal.recordStream(key, producer))), key).toEqual(expected);
      const again = (await openJournal(on)).recordStream(key, () => expect.fail("it ran again"));
      expect(await on.world.run(drained(again)), key).toEqual(expected);
    }
  });
});

describe("while it comes", () => {
  test("chunks are handed on before they are durable, and the end only after, whatever is held back", async () => {
    for (const passed of range(4)) {
      const on = lab();
      const storage = held(on.storage);
      const journal = await openJournal(on, { storage });
      storage.hold(passed);
      const { produce, whole, ended } = wordsOf(on, 20, 7);
      const seen: string[] = [];
      const reading = { over: false };
      const end = (async () => {
        for await (const word of journal.recordStream("ask", produce)) seen.push(word);
        reading.over = true;
      })();
      await on.world.advance(60_000);
      expect(seen).toEqual(whole());
      expect(ended, "the producer is done").toEqual([1]);
      // Some chunks, the rest of them, and the end.
      expect(storage.appends).toBe(Math.min(passed, 3));
      expect(reading.over, `with ${passed} appends made`).toBe(passed === 3);
      expect((await openJournal(on)).has("ask")).toBe(passed === 3);
      storage.letGo();
      await on.world.run(end);
      expect((await openJournal(on)).has("ask"), "what was said to have ended is there").toBe(true);
    }
  });

  test("a storage that stands still holds the producer back: two batches at most are not durable", async () => {
    const on = lab();
    const storage = held(on.storage);
    const journal = await openJournal(on, { storage });
    storage.hold(2);
    const given = { count: 0 };
    const stream = journal.recordStream("ask", async function* () {
      for (; given.count < 5_000; given.count++) yield given.count;
    });
    await on.world.advance(60_000);
    const durable = (await openJournal(on))
      .entries()
      .reduce((sum, entry) => sum + (entry.kind === "stream.chunks" ? entry.chunks.length : 0), 0);
    expect(durable).toBeGreaterThan(0);
    expect(given.count - durable).toBeLessThanOrEqual(2 * limits.chunksPerEntry);
    storage.letGo();
    expect(await on.world.run(drained(stream))).toEqual(range(5_000));
  });

  test("several readers each get it all, also one that comes late; what one changes no other sees (H7)", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const produce = async function* () {
      for (const n of range(5)) {
        yield { n };
        await pause(on.world, 50);
      }
    };
    const spoil = async () => {
      for await (const chunk of journal.recordStream("ask", produce)) chunk.n = -1;
    };
    const spoilt = spoil();
    const beside = drained(journal.recordStream("ask", produce));
    await on.world.advance(120);
    const late = drained(journal.recordStream("ask", produce));
    const expected = range(5).map((n) => ({ n }));
    expect(await on.world.run(Promise.all([beside, late]))).toEqual([expected, expected]);
    await on.world.run(spoilt);
    expect(await on.world.run(drained(journal.recordStream("ask", produce)))).toEqual(expected);
  });

  test("a reader that leaves stops nobody: the recording goes on to its end", async () => {
    const on = lab();
    const { produce, calls, ended, whole } = wordsOf(on, 50, 20);
    const journal = await openJournal(on);
    for await (const word of journal.recordStream("ask", produce)) {
      expect(word).toBe("1.0");
      break;
    }
    await on.world.advance(10_000);
    expect(ended).toEqual([1]);
    expect(journal.has("ask")).toBe(true);
    const later = await openJournal(on);
    expect(await on.world.run(drained(later.recordStream("ask", produce)))).toEqual(whole());
    expect(calls).toEqual([1]);
  });

  test("nobody need read at all, and a slow reader holds nobody back", async () => {
    const on = lab();
    const { produce, whole } = wordsOf(on, 50, 20);
    const journal = await openJournal(on);
    const slow = journal.recordStream("ask", produce);
    const began = on.world.now();
    while (!journal.has("ask")) await on.world.advance(50);
    expect(on.world.now() - began).toBeLessThan(1_300);
    const seen: string[] = [];
    await on.world.run(async () => {
      for await (const word of slow) {
        seen.push(word);
        await pause(on.world, 1_000);
      }
    });
    expect(seen).toEqual(whole());
  });
});

describe("what a stream depends on", () => {
  test("another input is diverged: recorded, after a restart, and while it comes", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const { produce, calls, whole } = wordsOf(on, 3, 10);
    const stream = journal.recordStream("ask", produce, { input: { prompt: "a" } });
    const diverged = expect.objectContaining({ code: "diverged" }) as Error;
    expect(() => journal.recordStream("ask", produce, { input: { prompt: "b" } })).toThrow(diverged);
    expect(await on.world.run(drained(stream))).toEqual(whole());
    for (const opened of [journal, await openJournal(on)]) {
      expect(() => opened.recordStream("ask", produce, { input: { prompt: "b" } })).toThrow(diverged);
      const same = opened.recordStream("ask", produce, { input: { prompt: "a" } });
      expect(await on.world.run(drained(same))).toEqual(whole());
    }
    expect(calls).toEqual([1]);
  });

  test("the producer is told the caller's signal", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const leave = new AbortController();
    const stream = journal.recordStream(
      "ask",
      async function* ({ signal }) {
        yield 1;
        await pause(on.world, 50);
        signal.throwIfAborted();
        yield 2;
      },
      { signal: leave.signal },
    );
    const reading = failureOf(drained(stream));
    leave.abort(new Error("the user left"));
    expect(await on.world.run(reading)).toMatchObject({ message: "the user left" });
  });
});
