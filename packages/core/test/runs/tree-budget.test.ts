/** The sums of a budget that many runs share. */

import { createApp, durable, type Storage } from "@durable/core";
import type { StorageLimits } from "@durable/core/storage";
import { expect, it } from "vitest";
import { Host } from "../../src/runs/host.ts";
import { treeLedger } from "../../src/runs/tree-budget.ts";
import { hooked, lab } from "../support/behaviour-lab.ts";

const tree = { id: "r:1", most: 10 };

function ledgerOf() {
  const base = lab();
  return { ...base, ledger: treeLedger(new Host(base, () => null)) };
}

it("a call whose process died counts as it was reserved, once its run goes on", async () => {
  const { ledger } = ledgerOf();
  const first = { id: "r/a", token: "1" };
  expect(await ledger.take(tree, first, 4, {})).toEqual({ spent: 0, most: 10, granted: true });
  expect(await ledger.take(tree, first, 4, {}), "the reply was lost").toMatchObject({
    spent: 0,
    granted: true,
  });
  const second = { id: "r/a", token: "2" };
  expect(await ledger.take(tree, second, 4, {})).toEqual({ spent: 4, most: 10, granted: true });
  await ledger.settle(tree, first, 4);
  await ledger.settle(tree, second, 5);
  await ledger.settle(tree, second, 5);
  expect(await ledger.take(tree, { id: "r/b", token: "3" }, 2, {})).toEqual({
    spent: 9,
    most: 10,
    granted: false,
  });
});

it("a call that is not made costs nothing", async () => {
  const { ledger } = ledgerOf();
  const call = { id: "r/a", token: "1" };
  await ledger.take(tree, call, 4, {});
  await ledger.settle(tree, call, null);
  expect(await ledger.take(tree, { id: "r/a", token: "2" }, 10, {})).toMatchObject({
    spent: 0,
    granted: true,
  });
});

it("what was added counts once, however many runs tell of it", async () => {
  const { ledger } = ledgerOf();
  const raises = { w1: 5 };
  for (const id of ["r/a", "s/a", "s/b"])
    expect(await ledger.take(tree, { id, token: id }, 1, raises)).toMatchObject({ most: 15 });
  expect(await ledger.take(tree, { id: "t/a", token: "t" }, 1, { w2: 1 })).toMatchObject({ most: 16 });
});

it("the cost of a call is counted before it is recorded", async () => {
  const base = lab();
  const order: string[] = [];
  const stored = base.storage.limits as StorageLimits;
  const limits: StorageLimits = {
    ...stored,
    swap: async (name, before, after, keepMs) => {
      await new Promise<void>((resolve) => void base.world.timer(50, resolve));
      const { spent } = JSON.parse(after) as { spent: number };
      order.push(`spent ${spent}`);
      return stored.swap(name, before, after, keepMs);
    },
  };
  const storage: Storage = {
    ...hooked(
      base.storage,
      (operation, moment) => void (operation === "append" && moment === "before" && order.push("append")),
    ),
    limits,
  };
  const flow = durable(
    "buy",
    (ctx) => ctx.step("item", ({ meter }) => meter({ model: "m", inputTokens: 3, outputTokens: 0, cost: 3 })),
    { budget: { most: 5, tree: true } },
  );
  const app = createApp({ ...base, storage, bind: false, workflows: [flow] });
  expect(await base.world.run(app.run(flow))).toMatchObject({ status: "completed" });
  expect(order).toEqual(["append", "spent 0", "spent 3", "append", "append"]);
});
