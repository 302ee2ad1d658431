import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createApp, createWorker, durable, MemoryStorage } from "@durable/core";
import { expect, inject, test } from "vitest";
import { secret } from "../support/behaviour-lab.ts";
import { digest } from "../../src/values/hash.ts";

const flow = durable("f", async (ctx) => [await ctx.step("a", () => [1]), await ctx.suspend("ok")]);

/** Without what waits to be collected, which depends on how busy the machine is. */
function liveBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

/** A few blobs, of which each holds the next one eight times. */
function nested(levels: number, wrap: (names: string) => string, core: string) {
  const blobs = new Map<string, string>();
  let name = "";
  for (let level = 0; level <= levels; level++) {
    const text = level === 0 ? core : wrap(Array(8).fill(name).join(" "));
    name = digest(32, "blob", text);
    blobs.set(name, text);
  }
  return { name, blobs };
}

test.each<[string, (names: string) => string, string, (name: string) => string]>([
  ["lists", (names) => `[{"$":"*${names}"}]`, "[1,2,3,4,5,6,7,8]", (name) => `[{"$":"*${name}"}]`],
  ["texts", (names) => `{"$":"+${names}"}`, '"a text, a text, a text"', (name) => `{"$":"+${name}","v":""}`],
])("blobs of %s that name each other do not grow without bound", async (kind, wrap, core, top) => {
  const storage = new MemoryStorage();
  const host = { storage, secret };
  await flow.with(host).run(undefined, { id: "r" });
  const [head] = (await storage.list()).runs;
  const { batches } = await storage.read(head!.locator);
  const { name, blobs } = nested(20, wrap, core);
  const hostile = new MemoryStorage();
  for (const [position, text] of batches.entries()) {
    const batch = text.replace('"value":[1]', `"value":${top(name)}`);
    const named = position === 1 ? [...blobs].map(([blob, body]) => ({ name: blob, body })) : [];
    await hostile.append({ locator: head!.locator, position, batch, head: head!, blobs: named });
  }
  const size = [...blobs.values()].join("").length;
  expect(size, "a small record").toBeLessThan(20_000);
  const app = createApp({ ...host, storage: hostile, workflows: [flow] });
  const before = liveBytes();
  const attempts = [() => app.advance("r"), () => app.get("r").outcome(), () => app.get("r").entries()];
  // Lists take long: each attempt puts together as much as one value may have.
  for (const attempt of inject("full") || kind === "texts" ? attempts : attempts.slice(0, 1))
    await expect(attempt()).rejects.toMatchObject({ code: "corrupt" });
  expect(liveBytes() - before).toBeLessThan(100e6);
  // A worker that meets the run goes on with the others.
  await app.start("f", undefined, { id: "other", drive: false });
  const worker = createWorker(app);
  await expect.poll(async () => (await app.get("other").outcome()).status).toBe("suspended");
  await worker.stop();
});

test("a value of many parts that is within the limit is put back whole", async () => {
  const storage = new MemoryStorage();
  const large = Array.from({ length: 20_000 }, (_, i) => `part ${i} `.repeat(20));
  const big = durable("big", (ctx) => ctx.step("a", () => large), { storage });
  await big.run(undefined, { id: "r" });
  expect(await big.get("r").outcome()).toMatchObject({ status: "completed", output: large });
});
