import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { Watch } from "../../../src/adapters/sqlite/watch.ts";
import { request } from "./support/samples.ts";
import { tempFolder } from "../../support/sqlite-temp.ts";

/** Intervals that were begun since and not ended. */
function countIntervals(): () => number {
  const begun = vi.spyOn(globalThis, "setInterval");
  const ended = vi.spyOn(globalThis, "clearInterval");
  return () => begun.mock.results.length - ended.mock.calls.length;
}

function outcome(work: Promise<unknown>): () => string {
  let state = "pending";
  work.then(
    () => (state = "settled"),
    () => (state = "rejected"),
  );
  return () => state;
}

const signal = (): AbortSignal => new AbortController().signal;

describe("who waits for a journal in a file", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("leaves no timer behind, however it was let go", async () => {
    const temp = tempFolder();
    const storage = new SqliteStorage(temp.path);
    await storage.append(request("one", 0));
    const intervals = countIntervals();
    const abort = new AbortController();
    const watches = Array.from({ length: 100 }, () => storage.changed("one", 1, abort.signal));
    expect(intervals(), "one for all of them").toBe(1);
    abort.abort();
    await Promise.all(watches);
    expect(intervals()).toBe(0);
    const grown = storage.changed("one", 1, signal());
    await storage.append(request("one", 1));
    await grown;
    await storage.changed("one", 1, signal());
    expect(intervals()).toBe(0);
    const closed = storage.changed("one", 2, signal());
    await storage.close();
    await closed;
    expect(intervals()).toBe(0);
    temp.remove();
  });

  it("is let go, and nothing is thrown, when the file breaks meanwhile", async () => {
    const temp = tempFolder();
    const storage = new SqliteStorage(temp.path);
    await storage.append(request("one", 0));
    const watch = storage.changed("one", 1, signal());
    const other = new DatabaseSync(temp.path);
    other.exec("DROP TABLE runs");
    other.close();
    await watch;
    await expect(storage.read("one")).rejects.toMatchObject({ code: "storage-failed" });
    await storage.close();
    temp.remove();
  });
});

it("an append looks at those who wait for its run, and not at a thousand others", async () => {
  const { watch } = setup();
  const abort = new AbortController();
  let compared = 0;
  const counted = { valueOf: () => ((compared += 1), 1) } as unknown as number;
  const others = Array.from({ length: 1_000 }, (_, n) => watch.changed(`other-${n}`, counted, abort.signal));
  const mine = outcome(watch.changed("one", counted, abort.signal));
  compared = 0;
  watch.notify("one", 2);
  expect(compared).toBe(1);
  await vi.waitFor(() => expect(mine()).toBe("settled"));
  abort.abort();
  await Promise.all(others);
});

/** A watch over a file that is only said to be one. */
function setup() {
  const file = { length: 1, version: 1, asked: 0, broken: false };
  const look = <T>(value: T): T => {
    if (file.broken) throw new Error("broken");
    return value;
  };
  const watch = new Watch(
    () => {
      file.asked += 1;
      return look(file.length);
    },
    () => look(file.version),
  );
  return { file, watch };
}

describe("polling", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("asks for lengths only when another connection has written", async () => {
    const { file, watch } = setup();
    const states = Array.from({ length: 10 }, () => outcome(watch.changed("one", 1, signal())));
    await vi.advanceTimersByTimeAsync(50);
    const asked = file.asked;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(file.asked).toBe(asked);
    file.version = 2;
    await vi.advanceTimersByTimeAsync(50);
    expect(file.asked).toBe(asked + 10);
    expect(states.map((state) => state())).toEqual(states.map(() => "pending"));
    Object.assign(file, { version: 3, length: 2 });
    await vi.advanceTimersByTimeAsync(50);
    expect(states.map((state) => state())).toEqual(states.map(() => "settled"));
    expect(vi.getTimerCount()).toBe(0);
  });

  it("sees what was written between one wait and the next", async () => {
    const { file, watch } = setup();
    file.length = 5;
    const state = outcome(watch.changed("one", 4, signal()));
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toBe("settled");
  });

  it("lets all go when it cannot ask any more", async () => {
    const { file, watch } = setup();
    const state = outcome(watch.changed("one", 1, signal()));
    file.broken = true;
    await vi.advanceTimersByTimeAsync(50);
    expect(state()).toBe("settled");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is told of this process's own appends without asking", async () => {
    const { file, watch } = setup();
    const state = outcome(watch.changed("one", 1, signal()));
    const { asked } = file;
    watch.notify("two", 9);
    watch.notify("one", 1);
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toBe("pending");
    watch.notify("one", 2);
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toBe("settled");
    expect(file.asked).toBe(asked);
  });
});
