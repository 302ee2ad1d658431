/** The number of the format, and the refusal of every other one by name. */

import { createApp, durable, Journal, MemoryStorage } from "@durable/core";
import { virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { formatVersion, readBatch } from "../../src/journal/batch.ts";
import { codeOf, messageOf } from "../support/codec-failure.ts";

const where = "Batch 2 of run r";
const kid = durable("kid", (ctx, n: number) => ctx.step("work", () => n));
const flow = durable("flow", async (ctx) => {
  await ctx.stream("tokens", () => ["a", "b"]);
  await ctx.step("charge", () => "x".repeat(10_000), { onUncertain: "retry" });
  return ctx.child(kid, 1);
});

/** The batches of a workflow and of a journal without one. */
async function written(): Promise<string[]> {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const app = createApp({ world, storage, workflows: [flow, kid] });
  await world.run(app.start("flow", undefined, { id: "run" }));
  await world.run(app.get("run").result());
  const journal = await Journal.open("direct", { world, storage });
  await world.run(journal.record("a", () => 1));
  const { runs } = await storage.list();
  const reads = await Promise.all(runs.map(({ locator }) => storage.read(locator)));
  return reads.flatMap(({ batches }) => batches);
}

const withFormat = (text: string, format: unknown): string =>
  JSON.stringify({ ...(JSON.parse(text) as object), v: format });

describe("H54 the format of a batch", () => {
  test("is one number, whatever a batch holds", async () => {
    const texts = await written();
    expect(texts.length).toBeGreaterThan(6);
    expect(texts.filter((text) => !text.startsWith(`{"v":${formatVersion},`))).toEqual([]);
    for (const text of texts) expect(readBatch(text, where).facts.length).toBeGreaterThan(0);
  });

  test("of a later version is refused as newer, also when its entries are unknown", async () => {
    const [text = ""] = await written();
    const next = formatVersion + 1;
    expect(codeOf(() => readBatch(withFormat(text, next), where))).toBe("newer-format");
    expect(messageOf(() => readBatch(`{"v":${next},"entries":[{"kind":"step.dreamt"}]}`, where))).toBe(
      `${where} has format ${next}, newer than this build reads (${formatVersion}). Upgrade @durable/core in this process.`,
    );
  });

  test("from before the first release is refused as such", async () => {
    const [text = ""] = await written();
    for (let format = 1; format < formatVersion; format++)
      expect(codeOf(() => readBatch(withFormat(text, format), where))).toBe("pre-release");
    expect(messageOf(() => readBatch('{"v":1}', where))).toBe(
      `${where} has format 1, of a version before the first release; this build reads ${formatVersion}. Finish or export its runs with that version, then delete them.`,
    );
  });

  test("that is no number is damage", async () => {
    const [text = ""] = await written();
    for (const format of [undefined, null, "4", 1.5, 0, -1, Number.NaN])
      expect(codeOf(() => readBatch(withFormat(text, format), where))).toBe("corrupt");
  });
});
