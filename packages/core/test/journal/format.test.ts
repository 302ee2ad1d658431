/** Which format a batch is written in: the oldest that can hold it, so that older builds read what they can. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { durable, Journal, MemoryStorage, type WorkflowOptions } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { virtualWorld } from "@durable/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { readBatch } from "../../src/journal/batch.ts";
import { inlineLength } from "../../src/journal/pack.ts";
import { codeOf, messageOf } from "../support/codec-failure.ts";
import { tempFolder } from "../support/sqlite-temp.ts";

interface Written {
  readonly v: number;
  readonly entries: readonly { readonly kind: string }[];
}

/** The batches of every run in a storage, as texts. */
async function textsOf(storage: MemoryStorage): Promise<string[]> {
  const { runs } = await storage.list();
  const reads = await Promise.all(runs.map(({ locator }) => storage.read(locator)));
  return reads.flatMap(({ batches }) => batches);
}

const lines = (texts: readonly string[]): string[] =>
  texts.map((text) => {
    const { v, entries } = JSON.parse(text) as Written;
    return `${v} ${entries.map(({ kind }) => kind).join(" ")}`;
  });

const secret = "a secret for tests, of no worth";
const kid = durable("kid", (ctx, n: number) => ctx.step("work", () => n));

/** What a run of each of these writes, by the format of its batches. */
const flows = {
  plain: durable("plain", async (ctx) => {
    await ctx.parallel([(c) => c.step("a", () => "a"), (c) => c.sleep("1h")]);
    return ctx.race({ ask: (c) => c.suspend("ask"), step: (c) => c.step("b", () => "b") });
  }),
  fits: durable("fits", (ctx) => ctx.step("big", () => "x".repeat(inlineLength - 200))),
  long: durable("long", async (ctx) => {
    const schema = z.object(
      Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`field${n}`, z.string()])),
    );
    const asked = ctx.suspend("ask", { schema, timeout: "1h", fallback: null });
    const text = await ctx.step("text", () => "x".repeat(inlineLength + 1));
    return [await asked, text.length];
  }),
  large: durable("large", async (ctx) => {
    const length = await ctx.step("small", () => inlineLength);
    return (await ctx.step("big", () => ["x".repeat(length)])).length;
  }),
  stream: durable("stream", async (ctx) => {
    await ctx.step("before", () => 1);
    return ctx.stream("tokens", () => ["a", "b"]);
  }),
  uncertain: durable("uncertain", (ctx) => ctx.step("charge", () => 1, { onUncertain: "retry" })),
  child: durable("child", (ctx) => ctx.child(kid, 1)),
};

async function written(flow: keyof typeof flows, options: WorkflowOptions = {}): Promise<string[]> {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const bound = flows[flow].with({ world, storage, secret, patience: "2h", ...options });
  await world.run<unknown>(bound.run(undefined, { id: flow }));
  return textsOf(storage);
}

describe("H54 the format of a batch", () => {
  test("is 3 for the first batch, and 1 for all after it that format 1 could hold", async () => {
    for (const flow of ["plain", "fits", "long"] as const) {
      const [first, ...batches] = lines(await written(flow));
      expect(first).toBe("3 run.started");
      expect(batches.length).toBeGreaterThan(1);
      expect(batches.filter((line) => !line.startsWith("1 "))).toEqual([]);
    }
  });

  test("is 2 where something needs it, batch by batch", async () => {
    expect(lines(await written("large"))).toEqual([
      "3 run.started",
      "1 step.completed",
      "2 step.completed",
      "1 run.completed",
    ]);
    expect(lines(await written("stream"))).toEqual([
      "3 run.started",
      "1 step.completed",
      "2 stream.chunks stream.completed",
      "1 run.completed",
    ]);
    expect(lines(await written("uncertain"))).toEqual([
      "3 run.started",
      "2 step.started",
      "1 step.completed",
      "1 run.completed",
    ]);
    expect(lines(await written("child")).toSorted()).toEqual([
      "1 run.completed",
      "1 run.completed",
      "1 step.completed",
      "2 child.completed",
      "2 child.opened",
      "3 run.started",
      "3 run.started",
    ]);
  });

  test("is 3 for all that is sealed, and 2 for a journal without a workflow", async () => {
    const encryption = aesGcm({
      current: "k",
      keys: { k: Uint8Array.from({ length: 32 }, (_, at) => at + 7) },
    });
    const sealed = lines(await written("plain", { encryption }));
    expect(sealed.filter((line) => !line.startsWith("3 "))).toEqual([]);
    const world = virtualWorld();
    const storage = new MemoryStorage({ now: () => world.now() });
    const journal = await Journal.open("direct", { world, storage });
    await world.run(journal.record("a", () => 1));
    await world.run(journal.record("b", () => 2));
    expect(lines(await textsOf(storage))).toEqual(["2 run.started step.completed", "1 step.completed"]);
  });
});

describe("H54 a build that knows format 1 alone", () => {
  /** Today's reader, but for the one number that it would have. */
  async function olderReader(): Promise<typeof readBatch> {
    const source = new URL("../../src/journal/batch.ts", import.meta.url);
    const text = readFileSync(source, "utf8");
    const older = text
      .replace("export const formatVersion = 3;", "export const formatVersion = 1;")
      .replace(/from "(\.{1,2}\/[^"]+)"/g, (_, path: string) => `from "${new URL(path, source).href}"`);
    expect(older).toContain("formatVersion = 1;");
    const { folder, remove } = tempFolder();
    onTestFinished(remove);
    const file = join(folder, "batch.ts");
    writeFileSync(file, older);
    const module = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
      readBatch: typeof readBatch;
    };
    return module.readBatch;
  }

  test("reads every batch of format 1, and refuses newer ones by name", async () => {
    const read = await olderReader();
    const texts = (
      await Promise.all((Object.keys(flows) as (keyof typeof flows)[]).map((flow) => written(flow)))
    ).flat();
    const counts = { read: 0, refused: 0 };
    for (const text of texts) {
      const { v } = JSON.parse(text) as Written;
      if (v === 1) {
        expect(read(text, "Batch 2 of run r").facts.length).toBeGreaterThan(0);
        counts.read += 1;
      } else {
        expect(codeOf(() => read(text, "Batch 2 of run r"))).toBe("newer-format");
        counts.refused += 1;
      }
    }
    expect(messageOf(() => read('{"v":2}', "Batch 2 of run r"))).toBe(
      "Batch 2 of run r has format 2, but this build reads only up to 1. Upgrade @durable/core.",
    );
    expect(counts.read).toBeGreaterThan(10);
    expect(counts.refused).toBeGreaterThan(4);
  });
});
