/** A text that several processes change: how long a storage that fails is asked again, and how long one that is busy. */

import { DurableError, type Storage } from "@durable/core";
import { virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { TextStore } from "../../src/runs/window.ts";

type Reply = "works" | "lost" | Error;
type Operation = "read" | "swap";

/** A store whose storage answers as it is given; after the last answer everything works. */
function storeOf(at: Operation, replies: readonly Reply[]) {
  const world = virtualWorld({ seed: 1 });
  const left = [...replies];
  const asked: number[] = [];
  const take = async (operation: Operation): Promise<Reply> => {
    if (operation !== at) return "works";
    asked.push(world.now());
    const reply = left.shift() ?? "works";
    if (reply instanceof Error) throw reply;
    return reply;
  };
  const limits = {
    read: async () => {
      await take("read");
      return { value: null, now: world.now() };
    },
    swap: async () => (await take("swap")) === "works",
    slots: async () => [],
    texts: async () => [],
  };
  const store = new TextStore({ limits } as unknown as Storage, world);
  const startedAt = world.now();
  const update = (): Promise<number> =>
    world.run(store.update("a text", () => ({ text: "new", wait: 7, keepMs: 1_000 })));
  return { update, asked, tookMs: () => world.now() - startedAt };
}

const failure = new Error("connection reset");
const times = (count: number, reply: Reply): Reply[] => Array.from({ length: count }, () => reply);
/** So that a store that never gives up ends the test. */
const enough = new DurableError("invalid-options", "It was asked far too often.");

describe.each<Operation>(["read", "swap"])("a storage whose %s fails", (at) => {
  test.each([1, 5, 11])("%i times in a row is asked again", async (count) => {
    const { update, asked } = storeOf(at, times(count, failure));
    expect(await update()).toBe(7);
    expect(asked).toHaveLength(count + 1);
  });

  test("12 times in a row is not asked again", async () => {
    const { update, asked } = storeOf(at, [...times(12, failure), ...times(100, failure), enough]);
    await expect(update()).rejects.toMatchObject({ code: "storage-failed", cause: failure });
    expect(asked).toHaveLength(12);
  });

  test("for a reason that stays is not asked again", async () => {
    const { update, asked } = storeOf(at, [enough]);
    await expect(update()).rejects.toBe(enough);
    expect(asked).toHaveLength(1);
  });

  test("is asked less and less often, and for less than a minute", async () => {
    const { update, asked, tookMs } = storeOf(at, times(11, failure));
    await update();
    const pauses = asked.slice(1).map((now, n) => now - (asked[n] as number));
    expect(pauses[5]).toBeGreaterThan(4 * (pauses[0] as number));
    expect(tookMs()).toBeLessThan(60_000);
  });
});

describe("a change that comes too late", () => {
  test("is computed again, as often as it takes", async () => {
    const { update, asked } = storeOf("swap", times(200, "lost"));
    expect(await update()).toBe(7);
    expect(asked).toHaveLength(201);
  });

  test("shows that the storage works: earlier failures do not count", async () => {
    const round = [...times(11, failure), "lost" as const];
    const { update } = storeOf("swap", [...round, ...round, ...round]);
    expect(await update()).toBe(7);
  });

  test.each([
    [5, 4 * (1 + 2 + 3 + 4 + 5)],
    [100, 100 * 100],
  ])("%i times in a row takes no longer than %i ms", async (count, mostMs) => {
    const { update, tookMs } = storeOf("swap", times(count, "lost"));
    await update();
    expect(tookMs()).toBeLessThanOrEqual(mostMs);
  });
});

test("a change is told when an earlier swap of it may have been done", async () => {
  const world = virtualWorld({ seed: 1 });
  const told: boolean[] = [];
  const replies = ["refused", "lost", "refused", "done"];
  const limits = {
    read: () => Promise.resolve({ value: null, now: world.now() }),
    swap: () => {
      const reply = replies.shift();
      return reply === "lost" ? Promise.reject(failure) : Promise.resolve(reply === "done");
    },
  };
  const store = new TextStore({ limits } as unknown as Storage, world);
  const change = (_: string | null, __: number, mayBeDone: boolean) => {
    told.push(mayBeDone);
    return { text: "new", wait: 0, keepMs: 1_000 };
  };
  await world.run(store.update("a text", change));
  expect(told).toEqual([false, false, true, true]);
});
