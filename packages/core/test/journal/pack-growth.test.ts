import { DatabaseSync } from "node:sqlite";
import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Json } from "../../src/values/codec/tags.ts";
import { outputOf } from "../support/behaviour-lab.ts";
import { conversations, noting, type Grow } from "./support/blobs-growth.ts";
import { Blobs, hashOf } from "../support/blobs-pack.ts";
import { memoryFolder, tempFolder } from "../support/sqlite-temp.ts";

const turns = inject("full") ? 100 : 20;
/** Up to 16 KiB a text is not cut: the first few steps are kept whole. */
const settledAfter = 4;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const sum = (numbers: readonly number[]): number => numbers.reduce((all, n) => all + n, 0);

/** A loop over a state that each step returns whole, on SQLite; what was stored for each step, and what it had added. */
async function grown(grow: Grow) {
  const temp = tempFolder(memoryFolder);
  const sqlite = new SqliteStorage(temp.path);
  onTestFinished(async () => {
    await sqlite.close();
    temp.remove();
  });
  const { storage, written } = noting(sqlite);
  const sums: string[] = [];
  const sizes = [0];
  const flow = durable("grow", async (ctx) => {
    let state: unknown;
    for (let turn = 1; turn <= turns; turn++) {
      state = await ctx.step("turn", () => grow(state, turn));
      sizes.push(bytesOf(state));
      sums.push(hashOf(JSON.stringify(state)));
    }
    return turns;
  }).with({ storage });
  expect(outputOf(await flow.run(undefined, { id: "loop" }))).toBe(turns);
  const steps = written.slice(1, turns + 1).map(({ batch, blobs }, i) => ({
    stored: batch + blobs,
    own: (sizes[i + 1] ?? 0) - (sizes[i] ?? 0),
  }));
  return { steps, path: temp.path, flow, sums, bodies: written.flatMap(({ bodies }) => bodies) };
}

describe.each(Object.entries(conversations))("H71 steps over %s that grows by 10 kB each", (_, make) => {
  test("each step stores at most 1.2 times what it adds, and so do all together", async () => {
    const { steps, path, flow, sums, bodies } = await grown(make(1));
    expect(sum(steps.map(({ own }) => own))).toBeGreaterThan(9_500 * turns);
    const settled = steps.slice(settledAfter);
    for (const { stored, own } of settled) expect(stored / own).toBeLessThanOrEqual(1.2);
    const total = sum(settled.map(({ stored }) => stored)) / sum(settled.map(({ own }) => own));
    expect(total).toBeLessThanOrEqual(1.15);

    // Each distinct value once: no body was sent twice, and none is kept twice.
    const database = new DatabaseSync(path, { readOnly: true });
    const kept = database
      .prepare("SELECT count(*) AS n, count(DISTINCT body) AS distinct_n FROM blobs")
      .get();
    database.close();
    expect(kept).toEqual({ n: bodies.length, distinct_n: bodies.length });
    expect(new Set(bodies).size).toBe(bodies.length);

    // A fork reads all of it back, and what it reads is what the steps returned.
    const first = sums.splice(0);
    const again = await flow.fork("loop", { after: `turn#${turns}`, id: "again" });
    expect(await again.result()).toBe(turns);
    expect(sums).toEqual(first);
  });
});

test("H71 the figure does not hang on the text: of two others, one step in a hundred may store a little more", () => {
  const ratios: number[] = [];
  for (let seed = 2; seed <= 3; seed++) {
    const grow = conversations["one growing text"]!(seed);
    const blobs = new Blobs();
    let state: unknown;
    for (let turn = 1, before = 0; turn <= turns; turn++) {
      state = grow(state, turn);
      const { text, fresh } = blobs.pack(state as Json);
      const size = bytesOf(state);
      const stored = 125 + sum([text, ...fresh].map((part) => Buffer.byteLength(part)));
      if (turn > settledAfter) ratios.push(stored / (size - before));
      before = size;
    }
  }
  expect(ratios.length).toBe(2 * (turns - settledAfter));
  expect(ratios.filter((ratio) => ratio > 1.2).length).toBeLessThanOrEqual(2);
  expect(Math.max(...ratios)).toBeLessThan(1.25);
  expect(sum(ratios) / ratios.length).toBeLessThan(1.15);
});
