import { durable, type StandardSchema } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { countingStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { lab, outputOf, tokenOf } from "../support/behaviour-lab.ts";

describe("encrypted", () => {
  const keys = { current: "k1", keys: { k1: Uint8Array.from({ length: 32 }, (_, at) => at + 7) } };

  test("chapters are sealed, read back, and bound to their place", async () => {
    const on = { ...lab(), encryption: aesGcm(keys) };
    const flow = durable("secretive", async (ctx, state: { n: number; text: string }): Promise<string> => {
      const text = await ctx.step("write", () => `${state.text} plain-text-${state.n} ${"z".repeat(5_000)}`);
      await ctx.suspend("next");
      return state.n === 3 ? text : ctx.continueAs({ n: state.n + 1, text: text.slice(0, 50) });
    });
    let outcome = await on.world.run(flow.with(on).run({ n: 1, text: "start" }, { id: "r" }));
    for (let i = 0; i < 3; i++)
      outcome = (await on.world.run(flow.with(on).resume(tokenOf(outcome), i))).outcome!;
    expect(outputOf(outcome)).toContain("start plain-text-1");
    expect(outputOf(outcome)).toContain("plain-text-3");
    const [head] = (await on.storage.list()).runs;
    const { batches, blobs } = await on.storage.read(head!.locator);
    expect(JSON.stringify([batches, blobs])).not.toContain("plain-text");
    const again = await on.world.run(flow.with(on).run({ n: 1, text: "start" }, { id: "r" }));
    expect(again).toMatchObject({ recorded: true, status: "completed" });
  });

  test("the first input is still compared, without being readable", async () => {
    const on = { ...lab(), encryption: aesGcm(keys) };
    const flow = durable("f", (ctx, n: number): unknown => (n > 2 ? n : ctx.continueAs(n + 1))).with(on);
    await on.world.run(flow.run(1, { id: "r" }));
    expect(outputOf(await on.world.run(flow.run(1, { id: "r" })))).toBe(3);
    await expect(on.world.run(flow.run(2, { id: "r" }))).rejects.toMatchObject({ code: "input-mismatch" });
  });
});

describe("large values", () => {
  /** A document that is stored as blobs, part by part. */
  const parts = (n: number): string[] =>
    Array.from({ length: 5 }, (_, i) => `${n}.${i} ${"p".repeat(5_000)}`);

  const growing = durable("growing", async (ctx, state: { n: number; parts: string[] }): Promise<number> => {
    const own = await ctx.step("read", () => parts(state.n));
    await ctx.suspend("next");
    if (state.n === 4) return state.parts.length + own.length;
    // Most of it was stored in the chapter before.
    return ctx.continueAs({ n: state.n + 1, parts: [...state.parts, ...own] });
  });

  test.each([false, true])(
    "are whole in each chapter, for a process that reads it alone (sealed: %s)",
    async (sealed) => {
      const on = {
        ...lab(),
        ...(sealed
          ? {
              encryption: aesGcm({
                current: "k",
                keys: { k: Uint8Array.from({ length: 32 }, (_, at) => at + 1) },
              }),
            }
          : {}),
      };
      let outcome = await on.world.run(growing.with(on).run({ n: 1, parts: [] }, { id: "r" }));
      for (let n = 1; n <= 4; n++) {
        const [first] = await growing.with(on).get("r").entries();
        expect(first, `chapter ${n}`).toMatchObject({
          input: { n, parts: Array.from({ length: n - 1 }, (_, i) => parts(i + 1)).flat() },
        });
        outcome = (await on.world.run(growing.with({ ...on }).resume(tokenOf(outcome), n))).outcome!;
      }
      expect(outputOf(outcome)).toBe(20);
    },
  );

  test("that did not change are fetched with the chapter, and no chapter needs another", async () => {
    const on = lab();
    const text = Array.from({ length: 15_000 }, (_, i) => Math.imul(i + 1, 2_654_435_761).toString(36)).join(
      "",
    );
    const same = durable("same", async (ctx, state: { n: number; text: string }): Promise<number> => {
      await ctx.step("s", () => state.n);
      if (state.n < 10) return ctx.continueAs({ n: state.n + 1, text: state.text });
      await ctx.suspend("ok");
      return state.text.length;
    });
    const parked = await on.world.run(same.with(on).run({ n: 1, text }, { id: "r" }));
    const storage = countingStorage(on.storage);
    const { outcome } = await on.world.run(same.with({ ...on, storage }).resume(tokenOf(parked), 1));
    expect(outputOf(outcome)).toBe(text.length);
    expect(storage.counts.fetched).toBeGreaterThan(text.length);
    expect(storage.counts.fetched).toBeLessThan(2 * text.length);
  });
});

describe("an input schema", () => {
  const positive: StandardSchema<number> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) =>
        typeof value === "number" && value < 4
          ? { value: Math.round(value) }
          : { issues: [{ message: `not ${String(value)}` }] },
    },
  };

  test("checks and transforms the input of each chapter", async () => {
    const on = lab();
    const seen: number[] = [];
    const flow = durable(
      "f",
      (ctx, n): unknown => {
        seen.push(n);
        return n === 3 ? n : ctx.continueAs(n + 0.9);
      },
      { ...on, input: positive },
    );
    expect(outputOf(await on.world.run(flow.run(1.1, { id: "r" })))).toBe(3);
    expect(seen).toEqual([1, 2, 3]);
    // The first input is compared as it was checked.
    expect(outputOf(await on.world.run(flow.run(1.2, { id: "r" })))).toBe(3);
  });

  test("that refuses the next input fails the run with invalid-input", async () => {
    const on = lab();
    const flow = durable("f", (ctx, n): unknown => ctx.continueAs(n * 10), { ...on, input: positive });
    const outcome = await on.world.run(flow.run(1, { id: "r" }));
    expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-input" } });
    expect((outcome as { error: Error }).error.message).toBe(
      'The input of workflow "f" does not fit its schema: not 10.',
    );
    expect(await flow.get("r").outcome()).toMatchObject({ status: "failed", recorded: true });
  });

  test("that throws fails the run as well", async () => {
    const on = lab();
    const broken: StandardSchema<number> = {
      "~standard": {
        ...positive["~standard"],
        validate: (value) => {
          if (value !== 1) throw new TypeError("broken schema");
          return { value };
        },
      },
    };
    const flow = durable("f", (ctx, n): unknown => ctx.continueAs(n + 1), { ...on, input: broken });
    const outcome = await on.world.run(flow.run(1));
    expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-input" } });
  });
});

test("an input that is changed after the call is recorded as it was", async () => {
  const on = lab();
  const flow = durable("f", (ctx, state: { log: string[] }): unknown => {
    if (state.log.length > 0) return state.log;
    const next = { log: ["as it was"] };
    const over = ctx.continueAs(next);
    next.log.push("changed");
    return over;
  }).with(on);
  expect(outputOf(await on.world.run(flow.run({ log: [] })))).toEqual(["as it was"]);
});
