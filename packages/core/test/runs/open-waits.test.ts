import { createApp, durable, MemoryStorage, secret as registerSecret, type Outcome } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { expect, test } from "vitest";

const secret = "SoYi7qPpiBsm1QGmyS9d0WNVnE9pYBYNZ4ZxP2VpL0g";
/** A person is asked while a step works; `finish` ends the step. */
function review() {
  const work = Promise.withResolvers<string>();
  const flow = durable("review", (ctx) =>
    ctx.parallel({
      person: (c) => c.suspend<boolean>("approve", { note: "may I?" }),
      work: (c) => c.step("long", () => work.promise),
    }),
  );
  const parent = durable("parent", (ctx) => ctx.child(flow, undefined, { name: "below" }));
  return { finish: () => work.resolve("done"), flow, parent };
}

const waitsOf = (outcome: Outcome<unknown>) => ("waiting" in outcome ? outcome.waiting : []);

test("a wait that is open while a step works is in the outcome, with its token", async () => {
  const { flow, finish } = review();
  const app = createApp({ workflows: [flow], storage: new MemoryStorage(), secret });
  const run = await app.start("review", undefined, { id: "r1" });
  await expect.poll(async () => waitsOf(await run.outcome()).length).toBe(1);
  const outcome = await run.outcome();
  expect(outcome).toMatchObject({
    status: "running",
    waiting: [{ key: expect.any(String), note: "may I?" }],
  });
  const [wait] = waitsOf(outcome);
  const { status } = await app.resume(wait?.token ?? "", true, { drive: false });
  expect(status).toBe("accepted");
  expect(waitsOf(await run.outcome())).toEqual([]);
  finish();
  expect(await run.result()).toEqual({ person: true, work: "done" });
});

test("waits of a child that works are in the outcome of its parent, whatever the parent does", async () => {
  const { flow, parent, finish } = review();
  const storage = new MemoryStorage();
  const app = createApp({ workflows: [parent, flow], storage, secret });
  const run = await app.start("parent", undefined, { id: "p" });
  const keys = async () => waitsOf(await run.outcome()).map(({ key }) => key);
  await expect.poll(keys).toEqual([expect.stringMatching(/^below\/.*approve$/)]);
  await run.pause({ reason: "wait" });
  expect(await run.outcome()).toMatchObject({ status: "paused", waiting: [{ note: "may I?" }] });
  expect(await keys()).toHaveLength(1);
  await run.unpause();
  const [wait] = waitsOf(await run.outcome());
  await app.resume(wait?.token ?? "", true, { drive: false });
  finish();
  expect(await run.result({ wait: true })).toEqual({ person: true, work: "done" });
});

test("without a secret, the outcome of a run that works has no waits, and does not throw", async () => {
  const { flow, finish } = review();
  const storage = new MemoryStorage();
  const app = createApp({ workflows: [flow], storage, secret });
  const run = await app.start("review", undefined, { id: "r1" });
  await expect.poll(async () => waitsOf(await run.outcome()).length).toBe(1);
  const blind = createApp({ workflows: [flow], storage });
  expect(await blind.get("r1").outcome()).toMatchObject({ status: "running", waiting: [] });
  const [wait] = waitsOf(await run.outcome());
  await app.resume(wait?.token ?? "", false, { drive: false });
  finish();
  await run.result();
});

test("lists have the first question, scrubbed, cut, and sealed in the storage where values are", async () => {
  const storage = new MemoryStorage();
  registerSecret("the password of the test", "password");
  const flow = durable("ask", (ctx) =>
    ctx.suspend("approve", {
      note: { question: `is the password of the test right? ${"x".repeat(300)}` },
      timeout: "1 day",
    }),
  );
  const encryption = aesGcm({ current: "k", keys: { k: "3q2+7wABAgMEBQYHCAkKC8Kx5vT2aWzQ1mRkT0xpZFA=" } });
  const app = createApp({ workflows: [flow], storage, secret, encryption });
  await app.start("ask", undefined, { id: "r" });
  await expect.poll(async () => (await app.list({ waiting: true })).runs.length).toBe(1);
  const [listed] = (await app.list({ waiting: true })).runs;
  expect(listed?.waits?.question).toHaveLength(200);
  expect(listed?.waits?.question).toMatch(/^is \[secret password\] right\? x+$/);
  const [stored] = (await storage.list()).runs;
  expect(stored?.waits?.question).toMatch(/^\{"\$":"sealed"/);
  const [blind] = (await createApp({ workflows: [flow], storage, secret }).list({ waiting: true })).runs;
  expect(blind?.waits).toEqual({ count: 1, expiresAt: listed?.waits?.expiresAt });
});

test("an answer without a verdict changes the count in the head, and nothing else", async () => {
  const flow = durable("two", (ctx) =>
    ctx.parallel([
      (c) => c.suspend("first", { note: "first?", timeout: "1h" }),
      (c) => c.suspend("second", { note: "second?" }),
    ]),
  );
  const app = createApp({ workflows: [flow], storage: new MemoryStorage(), secret, patience: 0 });
  const outcome = await app.run(flow, undefined, { id: "r" });
  const waits = async () => (await app.list()).runs[0]?.waits;
  const before = await waits();
  expect(before).toEqual({ count: 2, expiresAt: expect.any(Number), question: "first?" });
  const first = waitsOf(outcome).find(({ note }) => note === "first?");
  expect((await app.resume(first?.token ?? "", 1, { drive: false })).status).toBe("accepted");
  expect(await waits()).toEqual({ ...before, count: 1 });
});
