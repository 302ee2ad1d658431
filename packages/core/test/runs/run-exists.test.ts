/** A start gets its own run or an error, never a fork, a child or another workflow's run that has its id. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { expect, test } from "vitest";
import { failureOf } from "../support/behaviour-lab.ts";
import { childIdOf } from "../../src/journal/keys.ts";

const work = durable("work", async (ctx, input: unknown) => {
  const approved = await ctx.suspend<boolean>("approve");
  return { approved, input };
});
const other = durable("other", (_ctx, input: unknown) => input);
const parent = durable("parent", (ctx, input: unknown) => ctx.child(work, input));

function open() {
  const storage = new MemoryStorage();
  const on = { storage, secret: "a secret of 32 characters, at least" };
  return { storage, on, app: createApp({ workflows: [work, other, parent], ...on }) };
}

test("a fork under the id of a start: the start is refused, and the fork is unchanged", async () => {
  const { app, on } = open();
  await (await app.start("work", 1, { id: "mine" })).result().catch(() => {});
  const fork = await app.get("mine").fork({ edit: { approve: true }, id: "yours" });
  expect(await fork.result()).toEqual({ approved: true, input: 1 });
  const before = await fork.entries();
  // The attacker chose the input of its own run to match that of the start.
  expect(await failureOf(app.start("work", 1, { id: "yours" }))).toMatchObject({ code: "run-exists" });
  expect(await failureOf(app.start("work", 1, { id: "yours", drive: false }))).toMatchObject({
    code: "run-exists",
  });
  expect(await failureOf(work.with(on).start(1, { id: "yours" }))).toMatchObject({ code: "run-exists" });
  expect(await fork.entries()).toEqual(before);
});

test("a fork that went on to its next chapter is still a fork", async () => {
  const chapters = durable("chapters", async (ctx, n: number): Promise<number> => {
    await ctx.step("work", () => n);
    return n < 2 ? ctx.continueAs(n + 1) : n;
  });
  const { on } = open();
  const app = createApp({ workflows: [chapters], ...on });
  await (await app.start("chapters", 0, { id: "mine" })).result();
  const fork = await app.get("mine").fork({ from: "work", chapter: 1, id: "yours" });
  expect(await fork.result()).toBe(2);
  expect(await failureOf(app.start("chapters", 0, { id: "yours" }))).toMatchObject({ code: "run-exists" });
});

test("a child under the id of a start: the start is refused, and the parent gets its own child", async () => {
  const { app } = open();
  await (await app.start("parent", 1, { id: "above" })).result().catch(() => {});
  const child = (await app.list({ parent: "above" })).runs[0]?.runId as string;
  expect(await failureOf(app.start("work", 1, { id: child }))).toMatchObject({ code: "run-exists" });
  const outcome = await app.get("above").outcome();
  const token = outcome.status === "suspended" ? (outcome.waiting[0]?.token ?? "") : "";
  expect(await app.resume(token, true)).toMatchObject({ status: "accepted" });
  expect(await app.get("above").result()).toEqual({ approved: true, input: 1 });
});

test("another workflow's run under the id of a start: the start is refused", async () => {
  const { app } = open();
  await (await app.start("other", 1, { id: "mine" })).result();
  expect(await failureOf(app.start("work", 1, { id: "mine" }))).toMatchObject({ code: "run-exists" });
});

test("its own run is still returned, by id and input", async () => {
  const { app } = open();
  const first = await app.start("other", { n: 1 }, { id: "mine" });
  const again = await app.start("other", { n: 1 }, { id: "mine" });
  expect([first.repeated, again.repeated, await again.result()]).toEqual([false, true, { n: 1 }]);
});

test("a run that was started under the id of a later child is not taken for the child", async () => {
  const { app, storage, on } = open();
  const nonce = "k".repeat(16);
  const world = { ...app.world, nonce: () => nonce };
  const known = createApp({ workflows: [work, other, parent], storage, secret: on.secret, world });
  // Somebody who can read a run knows its nonce, and so the ids of the children that it has not begun.
  await known.start("work", "forged", { id: childIdOf("above", "work", nonce) });
  await known
    .get(childIdOf("above", "work", nonce))
    .result()
    .catch(() => {});
  const run = await known.start("parent", 1, { id: "above" });
  expect(await failureOf(run.result())).toMatchObject({ code: "step-failed" });
});

test("a page of entries decodes the entries of the page alone", async () => {
  const { app, storage } = open();
  await (await app.start("other", { n: 1 }, { id: "mine" })).result();
  const run = app.get("mine");
  const all = await run.entries();
  expect(await run.entries({ after: 1 })).toEqual(all.slice(1));
  expect(await run.entries({ limit: 1 })).toEqual(all.slice(0, 1));
  expect(await run.entries({ after: 1, limit: 1 })).toEqual(all.slice(1, 2));
  const damaged = createApp({ workflows: [other], storage: withOutput(storage, '{"$":"nonsense"}') });
  expect(await failureOf(damaged.get("mine").entries())).toMatchObject({ code: "corrupt" });
  expect(await damaged.get("mine").entries({ limit: 1 })).toEqual(all.slice(0, 1));
});

/** A storage whose runs have this output. */
function withOutput(storage: MemoryStorage, output: string): MemoryStorage {
  const read: MemoryStorage["read"] = async (...given) => damaged(await storage.read(...given));
  const readChapter: MemoryStorage["readChapter"] = async (...given) =>
    damaged(await storage.readChapter(...given));
  function damaged<Reply extends { readonly batches: readonly string[] }>(reply: Reply): Reply {
    return {
      ...reply,
      batches: reply.batches.map((text) => text.replace(/"output":\{[^}]*\}/, `"output":${output}`)),
    };
  }
  return new Proxy(storage, {
    get: (target, name) => {
      if (name === "read") return read;
      if (name === "readChapter") return readChapter;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
