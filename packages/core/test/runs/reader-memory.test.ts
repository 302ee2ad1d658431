/** What a reader holds while it waits: reader.4. */

import { createApp, durable, MemoryStorage, type App } from "@durable/core";
import { locatorOf } from "@durable/core/inspect";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { failureOf, lab, tokenOf } from "../support/behaviour-lab.ts";
import { labs, readAll, wholeOf } from "../support/stream-lab.ts";

const MiB = 1024 * 1024;
const secret = "a secret for tests, long enough";
const words = (n: number): string => String(n).padEnd(63_000, "x");

/** 13 MB of chunks, beside 13 MB of other values, an input of 2 MB and 1.2 MB of unread messages; then it waits. */
const talk = durable("talk", async (ctx, text: string) => {
  ctx.log.debug("begins", { length: text.length });
  for (let n = 0; n < 13; n++) await ctx.step(`step-${n}`, () => String(n).repeat(MiB));
  await ctx.stream("feed", async function* () {
    for (let n = 0; n < 200; n++) yield words(n);
  });
  await ctx.suspend("go");
  await ctx.stream("later", () => ["news"]);
});

const ids = ["a", "b", "c"] as const;

async function recorded(): Promise<{ app: App; storage: MemoryStorage }> {
  const storage = new MemoryStorage();
  const made = createApp({ storage, secret, workflows: [talk], bind: false });
  for (const id of ids) {
    await made.run(talk, "t".repeat(2 * MiB), { id });
    for (let m = 0; m < 20; m++) await made.get(id).send("unread", "m".repeat(60_000));
  }
  await made.close();
  const app = createApp({ storage, secret, workflows: [talk], bind: false, warm: 0 });
  onTestFinished(() => app.close());
  return { app, storage };
}

/** Bytes in use after a collection. */
function used(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let n = 0; n < 2; n++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test("readers that have stopped in the middle of large streams hold a page each", async () => {
  const { app } = await recorded();
  const before = used();
  const readers = ids.map((id) => app.get(id).stream("feed"));
  for (const reader of readers) expect((await reader.next()).value).toMatchObject({ index: 0 });
  // Without pages they hold 13 MB of chunks and 16 MB of other values each.
  expect((used() - before) / MiB).toBeLessThan(ids.length * 8);
  for (const reader of readers) await reader.return();
});

test.runIf(inject("full"))(
  "readers that wait for the next chunk of runs with large journals hold next to nothing",
  async () => {
    const { app, storage } = await recorded();
    const before = used();
    const changed = vi.spyOn(storage, "changed");
    const stop = new AbortController();
    const waits = ids.map((id) => app.get(id).stream("later", { signal: stop.signal }).next());
    await expect.poll(() => changed.mock.calls.length).toBe(ids.length);
    expect((used() - before) / MiB).toBeLessThan(ids.length);
    stop.abort();
    expect(await Promise.all(waits)).toEqual(waits.map(() => ({ done: true, value: undefined })));
  },
);

test.each(labs)("pages give every chunk once, from any place, on %s", async (_, make) => {
  const on = make();
  const large = durable("large", (ctx) =>
    ctx.stream("feed", async function* () {
      for (let n = 0; n < 150; n++) yield words(n);
    }),
  ).with({ ...on });
  await on.world.run(large.run(undefined, { id: "r" }));
  const all = Array.from({ length: 150 }, (__, n) => words(n));
  expect(await on.world.run(readAll(large.get("r").stream("feed")))).toEqual(wholeOf(all));
  expect(await on.world.run(readAll(large.get("r").stream("feed", { from: 77 })))).toEqual(
    wholeOf(all, 1, 77),
  );
});

test("a chunk that is larger than a page comes alone, and so do its neighbours", async () => {
  const app = await appOf(
    durable("large", (ctx) => ctx.stream("feed", () => ["a", "b".repeat(6 * MiB), "c", "d".repeat(5 * MiB)])),
  );
  const lengths = (await readAll(app.get("r").stream("feed"))).map((seen) => String(seen[2]).length);
  expect(lengths).toEqual([1, 6 * MiB, 1, 5 * MiB]);
});

test("a fork that edits a stream into one beyond a page is read whole, beside another edited one", async () => {
  const flow = durable("edited", async (ctx) => {
    await ctx.parallel({
      a: (c) => c.stream("feed", () => ["a"]),
      b: (c) => c.stream("feed", () => ["b"]),
    });
    await ctx.suspend("go");
  });
  const app = await appOf(flow);
  const edit = { "parallel[a]/feed": ["x".repeat(5 * MiB), "y"], "parallel[b]/feed": ["z"] };
  await app.fork(flow, "r", { from: "go", edit, id: "f" });
  const read = async (key: string): Promise<unknown[]> =>
    (await readAll(app.get("f").stream(key))).map((seen) => seen[2]);
  expect(await read("parallel[a]/feed")).toEqual(edit["parallel[a]/feed"]);
  expect(await read("parallel[b]/feed")).toEqual(["z"]);
});

test("a part that was recorded before is found again by a reader that has let it go", async () => {
  const again = { text: "shared ".repeat(10_000) };
  const flow = durable("again", async (ctx) => {
    await ctx.step("first", () => again);
    await ctx.stream("feed", () => ["one"]);
    await ctx.suspend("go");
    await ctx.stream("next", () => [again, again]);
  });
  const app = await appOf(flow);
  const reading = readAll(app.get("r").stream("next"));
  await app.resume(tokenOf(await app.get("r").outcome()), 1);
  expect(await reading).toEqual(wholeOf([again, again]));
});

test("a run that is deleted, and begun again under its id, is not read on from where the old one was", async () => {
  const on = lab();
  const flow = durable("reused", (ctx) =>
    ctx.stream("feed", async function* () {
      for (let n = 0; n < 100; n++) yield words(n);
    }),
  ).with({ ...on });
  const run = await on.world.run(flow.start(undefined, { id: "r" }));
  await on.world.run(run.result());
  const reader = run.stream("feed");
  for (let n = 0; n < 3; n++) await on.world.run(reader.next());
  await on.world.run(on.storage.delete(locatorOf("r")));
  await on.world.advance(1_000);
  await on.world.run(flow.run(undefined, { id: "r" }));
  // What it holds is true. Then it must look.
  expect(await failureOf(on.world.run(readAll(reader)))).toMatchObject({ code: "not-found" });
});

async function appOf(flow: ReturnType<typeof durable>): Promise<App> {
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow], bind: false });
  onTestFinished(() => app.close());
  await app.run(flow, undefined, { id: "r" });
  return app;
}
