/** Every token once: in families of runs, forks, chapters, retries and chats. */

import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { generateSpeech, generateText, streamText } from "ai";
import { expect, test } from "vitest";
import { chatStream, createChatHandler, usageOfChat, type ChatInput } from "../src/chat/index.ts";
import { durableModel, usageOf, usageOfFamily } from "../src/index.ts";
import { fakeModel, type FakeModel } from "./support/fake-model.ts";
import { secret } from "./support/lab.ts";
import { Media } from "./support/media-models.ts";

/** What one call of the fake model uses. */
const each = { inputTokens: 10, outputTokens: 5 };
const times = (count: number) => ({ inputTokens: 10 * count, outputTokens: 5 * count });

const ask = async (ctx: Context, model: FakeModel, prompt: string): Promise<string> =>
  (await generateText({ model: durableModel(ctx, model), prompt })).text;

test("U2 a family: a run, its children, those that it spawned, and theirs", async () => {
  const model = fakeModel(() => "yes");
  const grandchild = durable("grandchild", (ctx: Context, n: number) => ask(ctx, model, `grandchild ${n}`));
  const child = durable("child", async (ctx: Context, n: number) => {
    await ask(ctx, model, `child ${n}`);
    return ctx.child(grandchild, n);
  });
  const spawned = durable("spawned", (ctx: Context) => ask(ctx, model, "spawned"));
  const parent = durable("parent", async (ctx: Context) => {
    await ask(ctx, model, "parent");
    await ctx.spawn(spawned, undefined, { id: "s" });
    await Promise.all([ctx.child(child, 1), ctx.child(child, 2, { name: "second" })]);
  });
  const workflows = [parent, child, grandchild, spawned];
  const storage = new MemoryStorage();
  const app = createApp({ storage, secret, workflows });
  await app.run(parent, undefined, { id: "p" });
  await app.advance("s");
  const { total, runs, missing } = await usageOfFamily(app, "p");
  expect(model.calls).toHaveLength(6);
  expect(total).toMatchObject({ ...times(6), unknown: 0 });
  expect([runs.length, missing]).toEqual([6, []]);
  expect(runs[0]).toMatchObject({ runId: "p", total: each });
  const [gone] = (await storage.list({ workflow: "spawned" })).runs;
  await storage.delete(gone!.locator);
  expect(await usageOfFamily(app, "p")).toMatchObject({ total: times(5), missing: ["s"] });
});

test("U2 a fork: its own work, and what it inherited apart; over both runs every token once", async () => {
  const model = fakeModel((_, number) => `answer ${number}`);
  const flow = durable("flow", async (ctx: Context) => {
    for (const prompt of ["one", "two", "three"]) await ask(ctx, model, prompt);
    return ctx.step("end", () => 1);
  });
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow] });
  await app.run(flow, undefined, { id: "p" });
  const keys = (await app.get("p").entries()).flatMap((entry) =>
    entry.kind === "step.completed" ? [entry.key] : [],
  );
  const fork = await app.fork(flow, "p", { from: keys[1]!, id: "f" });
  await fork.result();
  expect(model.calls).toHaveLength(5);
  const own = usageOf(await fork.entries({ struck: true }));
  expect(own.total).toMatchObject({ ...times(2), unknown: 0 });
  expect(own.inherited).toMatchObject(each);
  expect(own.steps).toHaveLength(2);
  const parent = usageOf(await app.get("p").entries());
  expect(parent).toMatchObject({ total: times(3), inherited: times(0) });
  expect((await usageOfFamily(app, "f")).total).toMatchObject(times(2));
});

test("U2 chapters of a run count by their sums, and attempts before a retry count", async () => {
  const model = fakeModel(() => "yes");
  let fails = true;
  const flow = durable("flow", async (ctx: Context, n: number): Promise<void> => {
    await ask(ctx, model, `chapter ${n}`);
    if (n < 3) return ctx.continueAs(n + 1);
    await ctx.step("end", () => (fails ? Promise.reject(new Error("no")) : 1), { retry: false });
  });
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow] });
  await app.run(flow, 1, { id: "r" });
  const run = app.get("r");
  expect(usageOf(await run.entries()).total).toMatchObject(times(3));
  fails = false;
  await run.retry();
  expect(usageOf(await run.entries({ struck: true })).total).toMatchObject(times(model.calls.length));
});

test("U1 speech has no usage, and is unknown, also under a key of its own", async () => {
  const media = new Media("ai 7");
  const flow = durable("flow", async (ctx: Context) => {
    const model = durableModel(ctx, media.model("speech") as object) as never;
    await generateSpeech({ model, text: "one" });
    await generateSpeech({ model, text: "two", providerOptions: { durable: { key: "two" } } });
    await ctx.step("own", () => ({ warnings: [], audio: null }).warnings);
  });
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow] });
  await app.run(flow, undefined, { id: "r" });
  expect(media.calls).toBe(2);
  expect(usageOf(await app.get("r").entries()).total).toMatchObject({ unknown: 2, inputTokens: 0 });
});

test("U2 a chat: all its answers, also the one that was replaced", async () => {
  const model = fakeModel((_, number) => `answer ${number}`);
  const answer = durable("answer", async (ctx: Context, input: ChatInput) => {
    const result = streamText({ model: durableModel(ctx, model), prompt: JSON.stringify(input.messages) });
    await chatStream(ctx, result.toUIMessageStream());
  });
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [answer] });
  const handler = createChatHandler(app, { workflow: "answer", authorize: () => true });
  const send = async (id: string, body: object): Promise<void> => {
    const request = new Request("http://localhost/api/chat", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id, trigger: "submit-message", ...body }),
    });
    await (await handler(request)).text();
  };
  const user = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: id }] });
  await send("c", { messages: [user("1")] });
  await send("c", { messages: [user("1")], trigger: "regenerate-message" });
  await send("c", { messages: [user("1"), user("2")] });
  await send("other", { messages: [user("1")] });
  expect(model.calls).toHaveLength(4);
  const { total, runs } = await usageOfChat(app, "c", { prices: { "fake-1": { input: 1, output: 1 } } });
  expect(runs).toHaveLength(3);
  expect(total).toMatchObject({ ...times(3), unknown: 0 });
  expect(total.cost).toBeCloseTo(45 / 1_000_000, 12);
  expect((await usageOfChat(app, "other")).total).toMatchObject(each);
});
