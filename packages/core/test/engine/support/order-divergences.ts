/** Changes of code that a journal cannot go along with: what the code was, and what it is now. */

import type { Context } from "@durable/core";

export interface Divergence {
  readonly change: string;
  /** Version 1: everything up to `review`, the wait it is parked on. */
  readonly was: (ctx: Context) => unknown;
  readonly now: (ctx: Context) => unknown;
  readonly key?: string;
}

const work = (): number => 1;
const branch = (c: Context): Promise<number> => c.step("x", work);

export const divergences: readonly Divergence[] = [
  { change: "a step became a sleep", was: (c) => c.step("a", work), now: (c) => c.sleep(5, { name: "a" }) },
  { change: "a step became a wait", was: (c) => c.step("a", work), now: (c) => c.suspend("a") },
  {
    change: "a step became a group",
    was: (c) => c.step("a", work),
    now: (c) => c.parallel({ x: branch }, { name: "a" }),
  },
  {
    change: "a failed attempt became a sleep",
    was: (c) => {
      const failing = (): never => {
        throw new Error("down");
      };
      void c.step("a", failing, { retry: { attempts: 5, delay: "1 day", jitter: false } });
    },
    now: (c) => c.sleep(5, { name: "a" }),
  },
  {
    change: "an open sleep became a wait",
    was: (c) => void c.sleep("1 day", { name: "a" }),
    now: (c) => c.suspend("a"),
  },
  {
    change: "an open sleep became a step",
    was: (c) => void c.sleep("1 day", { name: "a" }),
    now: (c) => c.step("a", work),
  },
  {
    change: "an open wait became a step",
    was: () => null,
    now: (c) => c.step("review", work),
    key: "review",
  },
  {
    change: "an open wait became a sleep",
    was: () => null,
    now: (c) => c.sleep("1h", { name: "review" }),
    key: "review",
  },
  {
    change: "a group became a race",
    was: (c) => c.parallel({ x: branch }, { name: "a" }),
    now: (c) => c.race({ x: branch }, { name: "a" }),
  },
  {
    change: "another declared input",
    was: (c) => c.step("a", work, { input: { model: "small" } }),
    now: (c) => c.step("a", work, { input: { model: "large" } }),
  },
  {
    change: "no declared input any more",
    was: (c) => c.step("a", work, { input: { model: "small" } }),
    now: (c) => c.step("a", work),
  },
  {
    change: "another length of an open sleep",
    was: (c) => void c.sleep("1 day", { name: "a" }),
    now: (c) => c.sleep("2 days", { name: "a" }),
  },
  {
    change: "a length of time became a moment",
    was: (c) => void c.sleep("1 day", { name: "a" }),
    now: (c) => c.sleep(new Date(Date.UTC(2026, 5, 1)), { name: "a" }),
  },
  {
    change: "a branch added",
    was: (c) => c.parallel({ x: branch, y: branch }, { name: "a" }),
    now: (c) => c.parallel({ x: branch, y: branch, z: branch }, { name: "a" }),
  },
  {
    change: "a branch removed",
    was: (c) => c.parallel({ x: branch, y: branch }, { name: "a" }),
    now: (c) => c.parallel({ x: branch }, { name: "a" }),
  },
  {
    change: "a branch of a race renamed",
    was: (c) => c.race({ x: branch, y: branch }, { name: "a" }),
    now: (c) => c.race({ x: branch, why: branch }, { name: "a" }),
  },
  {
    change: "a numbered branch added",
    was: (c) => c.parallel([branch, branch], { name: "a" }),
    now: (c) => c.parallel([branch, branch, branch], { name: "a" }),
  },
  { change: "the open wait vanished", was: () => null, now: () => null, key: "review" },
  {
    change: "the step that `was` names is no step",
    was: () => null,
    now: (c) => c.step("check", work, { was: "review" }),
    key: "review",
  },
];
