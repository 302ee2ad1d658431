import { systemWorld } from "@durable/core/storage";
import { seeded } from "@durable/testing";
import { expect, inject, test } from "vitest";
import { CallRegistry } from "../../src/engine/registry.ts";
import { Replay } from "../../src/engine/replay.ts";
import type { Entry } from "../../src/journal/entry.ts";
import { isWithin } from "../../src/journal/keys.ts";

const size = inject("full") ? 8_000 : 1_000;

/** Comparisons of positions when `count` held settlements are called for in a random order and delivered. */
function comparisons(count: number): number {
  let compared = 0;
  const replay = new Replay();
  const random = seeded(3);
  const keys = Array.from({ length: count }, (_, i) => ({ key: `w${i}`, draw: random.next() }));
  for (const [i, { key }] of keys.entries()) {
    const seq = { valueOf: () => ((compared += 1), i + 1) } as unknown as number;
    const at = { at: 0, seq, outside: false, after: 0 };
    replay.learn({ kind: "suspend.resolved", key, wait: key, value: i, ...at } satisfies Entry);
  }
  expect(replay.next(), "no call is made yet").toBeNull();
  for (const { key } of keys.toSorted((a, b) => a.draw - b.draw)) replay.call(key);
  for (const { key } of keys) {
    const next = replay.next();
    expect(next?.kind).toBe("deliver");
    expect(next?.settlement.key).toBe(key);
  }
  expect(replay.orphans()).toEqual([]);
  return compared;
}

test(`held settlements are put in order with few comparisons, ${size} and ${size * 2} of them`, () => {
  const once = comparisons(size) / size;
  const twice = comparisons(size * 2) / (size * 2);
  expect(once).toBeLessThan(100);
  expect(twice / once).toBeLessThan(1.3);
});

test("held settlements of equal position are delivered in the order of their calls", () => {
  const replay = new Replay();
  for (const key of ["a", "b", "c", "d"])
    replay.learn({
      kind: "suspend.resolved",
      key,
      wait: key,
      value: 1,
      at: 0,
      seq: 5,
      outside: false,
      after: 0,
    });
  expect(replay.next()).toBeNull();
  for (const key of ["c", "a", "d", "b"]) replay.call(key);
  const order = ["c", "a", "d", "b"].map(() => replay.next()?.settlement.key);
  expect(order).toEqual(["c", "a", "d", "b"]);
});

test("a key is closed exactly when it lies within a closed path", () => {
  const random = seeded(11);
  const segment = (): string => {
    const name = "ab"[random.between(0, 1)]!.repeat(random.between(1, 2));
    return [name, `${name}#2`, `${name}[${random.between(0, 2)}]`][random.between(0, 2)]!;
  };
  const path = (): string => Array.from({ length: random.between(1, 4) }, segment).join("/");
  let within = 0;
  for (let round = 0; round < 300; round++) {
    const calls = new CallRegistry("r", new Replay(), systemWorld, false);
    const closed = Array.from({ length: random.between(0, 6) }, path);
    for (const one of closed) calls.close(one);
    for (let i = 0; i < 20; i++) {
      const key = path();
      const expected = closed.some((one) => isWithin(key, one));
      within += Number(expected);
      expect(calls.isClosed(key), `${key} within ${closed.join(" ")}`).toBe(expected);
    }
  }
  expect(within).toBeGreaterThan(200);
});
