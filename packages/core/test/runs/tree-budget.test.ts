/** The sums of a budget that many runs share. */

import { createApp, durable, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import type { StorageLimits } from "@durable/core/storage";
import { describe, expect, it } from "vitest";
import { Host } from "../../src/runs/host.ts";
import { treeLedger } from "../../src/runs/tree-budget.ts";
import { hooked, lab } from "../support/behaviour-lab.ts";

const nothing = { raises: {}, own: 0 };
const tree = { id: "r:1", most: 10 };

function ledgerOf() {
  const base = lab();
  return { ...base, ledger: treeLedger(new Host(base, () => null)) };
}

it("a call whose process died counts as it was reserved, once its run goes on", async () => {
  const { ledger } = ledgerOf();
  const first = { id: "r/a", token: "1" };
  expect(await ledger.take(tree, first, 4, nothing)).toEqual({ spent: 0, most: 10, granted: true });
  expect(await ledger.take(tree, first, 4, nothing), "the reply was lost").toMatchObject({
    spent: 0,
    granted: true,
  });
  const second = { id: "r/a", token: "2" };
  expect(await ledger.take(tree, second, 4, nothing)).toEqual({ spent: 4, most: 10, granted: true });
  await ledger.settle(tree, first, 4);
  await ledger.settle(tree, second, 5);
  await ledger.settle(tree, second, 5);
  expect(await ledger.take(tree, { id: "r/b", token: "3" }, 2, nothing)).toEqual({
    spent: 9,
    most: 10,
    granted: false,
  });
});

it("a call that is not made costs nothing", async () => {
  const { ledger } = ledgerOf();
  const call = { id: "r/a", token: "1" };
  await ledger.take(tree, call, 4, nothing);
  await ledger.settle(tree, call, null);
  expect(await ledger.take(tree, { id: "r/a", token: "2" }, 10, nothing)).toMatchObject({
    spent: 0,
    granted: true,
  });
});

it("what was added counts once, however many runs tell of it", async () => {
  const { ledger } = ledgerOf();
  const raises = { w1: 5 };
  for (const id of ["r/a", "s/a", "s/b"])
    expect(await ledger.take(tree, { id, token: id }, 1, { raises, own: 0 })).toMatchObject({ most: 15 });
  expect(await ledger.take(tree, { id: "t/a", token: "t" }, 1, { raises: { w2: 1 }, own: 0 })).toMatchObject({
    most: 16,
  });
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

describe("with encryption, somebody who writes to the storage without the key", () => {
  const encryption = aesGcm({
    current: "k1",
    keys: { k1: Uint8Array.from({ length: 32 }, (_, n) => 7 * n + 1) },
  });

  /** A run that has spent 3 of 3, and asks for more; and the text of its tree. */
  async function spent() {
    const base = lab();
    const paid: string[] = [];
    const flow = durable(
      "buy",
      async (ctx) => {
        for (const name of ["a", "b", "c", "d", "e"])
          await ctx.step(name, ({ meter }) => {
            paid.push(name);
            meter({ model: "m", inputTokens: 1, outputTokens: 0, cost: 1 });
          });
      },
      { budget: { most: 3, tree: true } },
    );
    const app = createApp({ ...base, encryption, bind: false, workflows: [flow] });
    const limits = base.storage.limits as StorageLimits;
    for (const id of ["r", "s"]) await base.world.run(app.run(flow, undefined, { id }));
    const [mine, theirs] = ["r", "s"].map((id) => limits.texts(`budget ${id}:`));
    const [one, other] = [(await mine)?.[0], (await theirs)?.[0]];
    if (one === undefined || other === undefined) throw new Error("no text of a budget");
    paid.length = 0;
    // Whoever asks looks again after a while.
    const later = async (text: string) => {
      await limits.swap(one.name, one.value, text, text === one.value ? 1 : 1e9);
      for (let times = 0; times < 3; times++) {
        await base.world.advance(130_000);
        await base.world.run(app.sweep());
      }
      return { paid, outcome: await app.get("r").outcome() };
    };
    return { mine: one, theirs: other, later, remove: () => later(one.value) };
  }

  it.each<[string, (texts: { mine: string; theirs: string }) => string]>([
    ["adds to it", () => JSON.stringify({ spent: 3, held: {}, raises: { w: 100 } })],
    ["says that less was spent", () => JSON.stringify({ spent: 0, held: {}, raises: {} })],
    ["adds below zero", () => JSON.stringify({ spent: -100, held: {}, raises: {} })],
    ["puts the text of another tree there", ({ theirs }) => theirs],
    [
      "changes a character",
      ({ mine }) => `${mine.slice(0, -2)}${mine.at(-2) === "A" ? "B" : "A"}${mine.at(-1)}`,
    ],
    ["empties it", () => ""],
    ["damages it", () => "{"],
  ])("%s, and nothing more is spent", async (_, change) => {
    const { mine, theirs, later } = await spent();
    const { paid, outcome } = await later(change({ mine: mine.value, theirs: theirs.value }));
    expect(paid).toEqual([]);
    expect(outcome).toMatchObject({ state: "blocked", error: { code: "tampered" } });
  });

  it("removes it, and what the run itself has spent still counts", async () => {
    const { remove } = await spent();
    const { paid, outcome } = await remove();
    expect(paid).toEqual([]);
    expect(outcome).toMatchObject({ status: "suspended", waiting: [{ key: "budget/limit" }] });
  });

  it("reads nothing in it", async () => {
    const { mine } = await spent();
    expect(mine.value).toMatch(/^sealed /);
    expect(mine.value).not.toContain("spent");
  });
});
