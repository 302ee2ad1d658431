/** Faults of storages in what purging needs, and the test that must find each. */

import type { RunHead } from "@durable/core";
import { spentOf, sumSpent, type SpentRow } from "@durable/core/storage";
import type { Planted } from "./conformance-journal-faults.ts";

const byEnd = "a list by end has runs that ended before a time, and no others";
const unchanged = "deleteUnchanged deletes runs that are as they were listed, and says which";
const spent = "what a deleted run used is kept once, by day, workflow and model";
const turns = "takeTurn gives a turn to one owner at a time";

export const endedFaults: readonly Planted[] = [
  [
    byEnd,
    "does not know the filter",
    (good) => ({ list: (query = {}) => good.list({ ...query, endedBefore: undefined }) }),
  ],
  [
    byEnd,
    "has runs that ended at that time",
    (good) => ({
      list: ({ endedBefore, ...query } = {}) =>
        good.list({ ...query, ...(endedBefore !== undefined && { endedBefore: endedBefore + 1 }) }),
    }),
  ],
  [
    "a list by end goes by workflow and parent as well",
    "forgets the workflow",
    (good) => ({
      list: ({ workflow, ...query } = {}) =>
        good.list(query.endedBefore === undefined ? { workflow, ...query } : query),
    }),
  ],
  [
    "a list by end shows each run once, page by page, while runs are deleted",
    "forgets the cursor",
    (good) => ({
      list: async (query = {}) => {
        const { runs, next } = await good.list(query);
        return { runs: query.cursor === undefined ? runs : runs.slice(1), next };
      },
    }),
  ],
  [
    "a list has the forks and children of several runs",
    "knows the first of them only",
    (good) => ({
      list: ({ parent, ...query } = {}) =>
        good.list({ ...query, ...(parent !== undefined && { parent: [parent].flat()[0] ?? "" }) }),
    }),
  ],
  [
    unchanged,
    "deletes whatever has that locator",
    (good) => ({
      deleteUnchanged: async (heads) => {
        for (const { locator } of heads) await good.delete(locator);
        return heads.map(({ locator }) => locator);
      },
    }),
  ],
  [
    unchanged,
    "does not compare the creation",
    (good) => ({
      deleteUnchanged: async (heads) => {
        const { runs } = await good.list({ limit: 1_000 });
        const now = (head: RunHead): RunHead => {
          const found = runs.find(({ locator }) => locator === head.locator);
          return { ...head, createdAt: found?.createdAt ?? head.createdAt };
        };
        return good.deleteUnchanged(heads.map(now));
      },
    }),
  ],
  [
    "deleteUnchanged keeps what forks read, until the last of them has gone",
    "deletes hidden runs again",
    (good) => ({
      deleteUnchanged: async (heads) => {
        await good.deleteUnchanged(heads);
        return heads.map(({ locator }) => locator);
      },
    }),
  ],
  [
    "deleteUnchanged of a parent and its fork removes both, in either order",
    "deletes the first only",
    (good) => ({ deleteUnchanged: (heads) => good.deleteUnchanged(heads.slice(0, 1)) }),
  ],
  [turns, "gives it to all", () => ({ takeTurn: () => Promise.resolve(true) })],
  [turns, "gives it once", (good) => ({ takeTurn: (name, owner) => good.takeTurn(name, owner, 1e9) })],
  [
    turns,
    "has one turn for all names",
    (good) => ({ takeTurn: (_name, owner, ttlMs) => good.takeTurn("purge", owner, ttlMs) }),
  ],
  [spent, "forgets what deleted runs used", () => ({ spent: () => Promise.resolve([]) })],
  [
    spent,
    "counts a run again that was deleted before",
    (good) => {
      const again: SpentRow[] = [];
      return {
        delete: async (locator) => {
          again.push(
            ...(await good.list({ limit: 1_000 })).runs
              .filter((head) => head.locator === locator)
              .flatMap((head) => spentOf(head)),
          );
          await good.delete(locator);
        },
        spent: async () => sumSpent([...(await good.spent()), ...again]),
      };
    },
  ],
  [
    spent,
    "takes an unknown cost for none",
    (good) => ({ spent: async () => (await good.spent()).map((row) => ({ cost: 0, ...row })) }),
  ],
];
