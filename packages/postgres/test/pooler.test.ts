import { createApp, durable } from "@durable/core";
import { storageConformance } from "@durable/testing/conformance";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { headOf, request } from "./support/head.ts";
import { freshSchema, openSchema } from "./support/open.ts";
import { startPooler, type Pooler } from "./support/pooler.ts";

async function pooled(): Promise<{ pooler: Pooler; open: () => PostgresStorage }> {
  const pooler = await startPooler(inject("postgres"));
  const schema = freshSchema();
  const handles: PostgresStorage[] = [];
  onTestFinished(async () => {
    await Promise.all(handles.map((handle) => handle.close()));
    await pooler.close();
  });
  return {
    pooler,
    open: () => {
      const storage = new PostgresStorage({ url: pooler.url, schema });
      handles.push(storage);
      return storage;
    },
  };
}

describe.skipIf(inject("full"))("behind a transaction pooler", () => {
  test("workflows run, wait, are answered elsewhere and are forked", async () => {
    const { pooler, open } = await pooled();
    const flow = durable("pooled", async (ctx, input: { n: number }) => {
      const parts = await ctx.parallel([1, 2, 3].map((n) => (c) => c.step("part", () => n * input.n)));
      const answer = await ctx.suspend<string>("ask");
      return `${parts.join()} ${answer}`;
    });
    const [one, two] = [open(), open()].map((storage) =>
      createApp({ storage, secret: "a secret for tests", workflows: [flow], patience: 0 }),
    );
    const bound = flow.with({ storage: open(), secret: "a secret for tests", patience: 0 });
    const outcomes = await Promise.all([1, 2, 3, 4].map((n) => bound.run({ n }, { id: `run-${n}` })));
    for (const [n, outcome] of outcomes.entries()) {
      const token = outcome.status === "suspended" ? (outcome.waiting[0]?.token ?? "") : "";
      const app = n % 2 === 0 ? one : two;
      const { outcome: ended } = (await app?.resume(token, "yes")) ?? {};
      expect(ended).toMatchObject({
        status: "completed",
        output: `${[1, 2, 3].map((k) => k * (n + 1)).join()} yes`,
      });
    }
    const fork = await bound.fork("run-1", { from: "ask", id: "fork-1" });
    expect(await bound.get(fork.id).outcome()).toMatchObject({ runId: "fork-1" });
    await expect(fork.result()).rejects.toMatchObject({ code: "suspended" });
    expect(pooler.transactions).toBeGreaterThan(20);
  });

  test("a name of a prepared statement that is lost costs nothing but the name", async () => {
    const { open } = await pooled();
    const [one, two] = [open(), open()];
    const heads = [headOf(), headOf()];
    for (let position = 0; position < 20; position++)
      for (const [n, storage] of [one, two].entries())
        await storage.append(request(heads[n]!, position, { lease: { owner: "a", ttlMs: 60_000 } }));
    for (const { locator } of heads) expect((await one.read(locator)).length).toBe(20);
  });

  test("notifications do not arrive, which is noticed, and changes are found by polling", async () => {
    const { open } = await pooled();
    const [reader, writer] = [open(), open()];
    const head = headOf({ status: "suspended", wakeAt: null, workflow: "w" });
    await writer.append(request(head, 0));
    const due = reader.whenDue(["w"], new AbortController().signal);
    for (let position = 1; position <= 2; position++) {
      const changed = reader.changed(head.locator, position, new AbortController().signal);
      await writer.append(request({ ...head, wakeAt: 0 }, position));
      await changed;
    }
    await due;
    expect(reader.listening).toBe(false);
  });
});

test("the same database without the pooler does notify", async () => {
  const place = openSchema();
  onTestFinished(() => place.close());
  const storage = place.open();
  const abort = new AbortController();
  const waiting = storage.changed("aaaaaaaaaaaaaaaaaa", 0, abort.signal);
  await expect.poll(() => storage.listening, { timeout: 10_000 }).toBe(true);
  abort.abort();
  await waiting;
});

if (inject("full")) {
  let pooler: Pooler;
  beforeAll(async () => void (pooler = await startPooler(inject("postgres"), 12)));
  afterAll(() => pooler.close());

  storageConformance("PostgresStorage behind a transaction pooler", ({ now }) => {
    const place = openSchema(pooler.url);
    return Promise.resolve({
      storage: place.open({ now }),
      reopen: () => Promise.resolve(place.open({ now })),
      close: place.close,
    });
  });
}
