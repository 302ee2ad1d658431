import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createApp, durable, Journal, MemoryStorage, type Context, type Outcome } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { promptOf, promptsIn, viewRun } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import type { Entry } from "@durable/core/types";
import {
  generateText,
  stepCountIs,
  streamText,
  tool,
  wrapLanguageModel,
  type LanguageModel,
  type ModelMessage,
} from "ai";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { durableMiddleware, durableModel, durableProvider, durableTools } from "../src/index.ts";
import { fakeModel, type Call, type FakeModel } from "./support/fake-model.ts";
import { Provider } from "./support/provider.ts";
import { latest, versions, type Version } from "./support/versions.ts";

const secret = "a secret for tests, of no worth";
const encryption = aesGcm({ current: "k1", keys: { k1: "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY" } });

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "durable-prompts-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** What a model that was called got, as its prompt is shown. */
function messagesOf({ prompt }: Call): unknown {
  return JSON.parse(JSON.stringify(prompt));
}

function keysIn(entries: readonly Entry[]): string[] {
  return viewRun(entries).rows.flatMap(({ key, prompt }) => (prompt === true ? [key] : []));
}

function language(model: FakeModel): LanguageModel & object {
  return model;
}

interface AgentRun {
  readonly turns: number;
  readonly prompts: boolean;
  readonly encrypted?: boolean;
  readonly version?: Version;
  readonly stream?: boolean;
}

/** An agent that calls a tool in every turn, on SQLite. Returns the bytes that each turn has written. */
async function agentRun({ turns, prompts, encrypted = false, version = latest, stream = false }: AgentRun) {
  const path = join(folder(), "journal.db");
  const storage = new SqliteStorage(path);
  const file = new DatabaseSync(path, { readOnly: true });
  const stored = file.prepare(
    "SELECT (SELECT sum(length(CAST(body AS BLOB))) FROM batches) + (SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM blobs) AS bytes",
  );
  const sizes: number[] = [];
  const provider = await Provider.open(({ number }) => {
    sizes.push((stored.get() as { bytes: number }).bytes);
    if (number > turns) return { text: "done" };
    const input = { page: number, why: `canary-call ${"because ".repeat(20)}` };
    return {
      text: `turn ${number} ${"thinks ".repeat(30)}`,
      calls: [{ tool: "read", input, id: `c${number}` }],
    };
  });
  onTestFinished(async () => {
    file.close();
    await storage.close();
    await provider.close();
  });
  const { ai, models } = version;
  const flow = durable("agent", async (ctx) => {
    const read = ai.tool({
      inputSchema: z.object({ page: z.number(), why: z.string() }),
      execute: ({ page }: { page: number }) => `canary-page ${page} ${"line ".repeat(120)}`,
    });
    const asked = {
      model: durableModel(ctx, models.chat(provider.url)),
      system: `canary-system ${"You read pages. ".repeat(40)}`,
      prompt: "canary-question: what is on the pages?",
      temperature: 0.5,
      tools: durableTools(ctx, { read }),
      stopWhen: ai.stepCountIs(turns + 1),
    };
    const { text } = stream ? ai.streamText(asked) : await ai.generateText(asked);
    return await text;
  });
  const app = createApp({
    storage,
    secret,
    workflows: [flow],
    bind: false,
    record: { prompts },
    ...(encrypted && { encryption }),
  });
  await expect(app.run(flow, undefined, { id: "r" })).resolves.toMatchObject({ output: "done" });
  const perTurn = sizes.slice(1).map((size, i) => size - (sizes[i] ?? 0));
  return { perTurn, provider, entries: await app.get("r").entries(), path, app, flow };
}

/** The average of five turns, because a number with one digit more is not growth. */
function around(perTurn: readonly number[], turn: number): number {
  return perTurn.slice(turn - 3, turn + 2).reduce((sum, bytes) => sum + bytes, 0) / 5;
}

describe("an agent of a hundred turns", () => {
  test.each([
    ["streamText", true, false] as const,
    ...(inject("full")
      ? ([
          ["generateText", false, false],
          ["generateText with encryption", false, true],
        ] as const)
      : []),
  ])(
    "%s: turn 100 writes what turn 50 does, and every prompt can be read",
    async (_, stream, encrypted) => {
      const { perTurn, entries, provider } = await agentRun({ turns: 105, prompts: true, stream, encrypted });
      const [fifty, hundred] = [around(perTurn, 50), around(perTurn, 100)];
      expect(hundred / fifty).toBeLessThan(1.5);
      const keys = keysIn(entries);
      expect(keys).toHaveLength(106);
      const prompts = promptsIn(entries);
      for (const [turn, key] of keys.entries()) {
        const prompt = prompts(key)!;
        const sent = JSON.parse(provider.requests[turn]!.body) as { messages: { role: string }[] };
        expect(prompt.messages.map((one) => (one as { role: string }).role)).toEqual(
          sent.messages.map(({ role }) => role),
        );
        expect(prompt).toMatchObject({ missing: 0, model: "scripted", tools: ["read"] });
        expect(prompt.settings).toMatchObject({ temperature: 0.5 });
        if (turn === 0) expect(prompt.change).toBeNull();
        else
          expect(prompt.change).toMatchObject({
            key: keys[turn - 1],
            kept: turn * 2,
            removed: [],
            added: [{ role: "assistant" }, { role: "tool" }],
            settings: [],
          });
      }
      expect(JSON.stringify(prompts(keys.at(-1)!)!.messages)).toContain("canary-page 105 line");
    },
    120_000,
  );

  test.each(versions.map((version) => [version.name, version] as const))("%s", async (_, version) => {
    const { entries, provider } = await agentRun({ turns: 3, prompts: true, version });
    const keys = keysIn(entries);
    expect(keys).toHaveLength(4);
    expect(promptOf(entries, keys[3]!)?.messages).toHaveLength(
      (JSON.parse(provider.requests[3]!.body) as { messages: unknown[] }).messages.length,
    );
  });
});

test("with encryption no part of a prompt stands in the file", async () => {
  const clear = await agentRun({ turns: 8, prompts: true });
  const sealed = await agentRun({ turns: 8, prompts: true, encrypted: true });
  const found = (path: string): string[] => {
    const bytes = readdirSync(join(path, ".."))
      .map((name) => readFileSync(join(path, "..", name)).toString("latin1"))
      .join("");
    return ["canary-system", "canary-question", "canary-page", "canary-call", "temperature"].filter((word) =>
      bytes.includes(word),
    );
  };
  expect(found(clear.path), "the words can be found at all").toHaveLength(5);
  expect(found(sealed.path)).toEqual([]);
  const prompt = promptOf(sealed.entries, keysIn(sealed.entries).at(-1)!);
  expect(JSON.stringify(prompt)).toContain("canary-system");
});

test("nothing is kept by default, and neither names nor results differ", async () => {
  const [on, off] = [
    await agentRun({ turns: 3, prompts: true }),
    await agentRun({ turns: 3, prompts: false }),
  ];
  const bare = (entries: readonly Entry[]): unknown[] =>
    entries.flatMap((entry) =>
      entry.kind === "step.completed" ? [[entry.key, withoutTimes(entry.value)]] : [],
    );
  expect(bare(on.entries)).toEqual(bare(off.entries));
  expect(off.entries.some((entry) => "prompt" in entry)).toBe(false);
  expect(keysIn(off.entries)).toEqual([]);
  const storage = new MemoryStorage();
  const flow = durable("one", async (ctx) => {
    const model = durableModel(ctx, language(fakeModel(() => "yes")));
    return (await generateText({ model, prompt: "canary" })).text;
  });
  const app = createApp({ storage, workflows: [flow], bind: false });
  await app.run(flow, undefined, { id: "r" });
  expect(JSON.stringify(await app.get("r").entries())).not.toContain("canary");
});

function withoutTimes(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, field: unknown) =>
      ["timestamp", "date", "x-request-id"].includes(name) ? "" : field,
    ),
  );
}

/** A chat that goes on with every answer to its wait. */
function chatOf(model: FakeModel, storage = new MemoryStorage()) {
  const chat = durable("chat", async (ctx) => {
    const recorded = durableModel(ctx, language(model));
    const messages: ModelMessage[] = [];
    for (;;) {
      messages.push({ role: "user", content: await ctx.suspend<string>("ask") });
      const { text } = await generateText({ model: recorded as LanguageModel, messages });
      messages.push({ role: "assistant", content: text });
    }
  });
  const open = (prompts?: boolean) =>
    createApp({
      storage,
      secret,
      workflows: [chat],
      bind: false,
      patience: 0,
      warm: 0,
      ...(prompts !== undefined && { record: { prompts } }),
    });
  let outcome: Outcome<unknown> | undefined;
  const say = async (app: ReturnType<typeof open>, text: string): Promise<void> => {
    outcome ??= await app.run(chat, undefined, { id: "r" });
    if (outcome?.status !== "suspended") throw new Error(outcome?.status);
    ({ outcome } = await app.resume(outcome.waiting[0]!.token, text));
    expect(outcome?.status).toBe("suspended");
  };
  return { chat, open, say };
}

/** Every prompt that is kept is exactly what the model got. */
function expectExact(entries: readonly Entry[], model: FakeModel, turns: readonly number[]): void {
  const keys = keysIn(entries);
  expect(keys.map((key) => promptOf(entries, key)?.messages)).toEqual(
    turns.map((turn) => messagesOf(model.calls[turn]!)),
  );
  expect(keys.map((key) => promptOf(entries, key)?.missing)).toEqual(turns.map(() => 0));
}

test("on and off under a parked run: what is kept is right, and nothing is asked again", async () => {
  const model = fakeModel((_, n) => `answer ${n}`);
  const { open, say } = chatOf(model);
  const turns = [false, true, true, false, true, undefined, true];
  for (const [turn, prompts] of turns.entries()) await say(open(prompts), `question ${turn}`);
  expect(model.calls).toHaveLength(turns.length);
  const entries = await open().get("r").entries();
  expectExact(entries, model, [1, 2, 4, 6]);
  const changes = keysIn(entries).map((key) => promptOf(entries, key)?.change);
  // Turns that were not kept are part of what the next one adds.
  expect(changes.map((change) => [change?.kept, change?.added.length])).toEqual([
    [undefined, undefined],
    [3, 2],
    [5, 4],
    [9, 4],
  ]);
});

test("forks: cut, edited, and at each turn", async () => {
  const model = fakeModel((_, n) => `answer ${n}`);
  const { chat, open, say } = chatOf(model);
  const app = open(true);
  for (let turn = 0; turn < 4; turn++) await say(app, `question ${turn}`);
  const keys = keysIn(await app.get("r").entries());
  for (const [turn, from] of keys.entries()) {
    const before = model.calls.length;
    const fork = await app.fork(chat, "r", { from, id: `from-${turn}` });
    await fork.outcome();
    await expect.poll(() => model.calls.length).toBe(before + 1);
    await app.advance(fork.id);
    expectExact(await fork.entries(), model, [...keys.keys()].slice(0, turn).concat(before));
  }
  const edited = await app.fork(chat, "r", {
    after: keys[1]!,
    edit: {
      [keys[1]!]: { ...(await answerOf(app, keys[1]!)), content: [{ type: "text", text: "other words" }] },
    },
    id: "edited",
  });
  await app.advance(edited.id);
  const [wait] = ((await edited.outcome()) as Outcome<unknown> & { status: "suspended" }).waiting;
  await app.resume(wait!.token, "and now?");
  const entries = await edited.entries();
  expectExact(entries, model, [0, 1, model.calls.length - 1]);
  expect(promptOf(entries, keysIn(entries)[2]!)?.change).toMatchObject({ key: keys[1], kept: 3 });
});

async function answerOf(app: ReturnType<ReturnType<typeof chatOf>["open"]>, key: string): Promise<object> {
  const entry = (await app.get("r").entries()).find(
    (one) => one.kind === "step.completed" && one.key === key,
  );
  return (entry as { value: object }).value;
}

test("a fork that keeps a branch and cuts its sibling lacks no part of a prompt", async () => {
  const model = fakeModel((_, n) => `answer ${n}`);
  const ask = async (ctx: Context, messages: ModelMessage[], question: string): Promise<ModelMessage[]> => {
    const all: ModelMessage[] = [...messages, { role: "user", content: question }];
    const { text } = await generateText({
      model: durableModel(ctx, language(model)),
      system: "be brief",
      messages: all,
    });
    return [...all, { role: "assistant", content: text }];
  };
  const flow = durable("branches", async (ctx) => {
    const start = await ask(ctx, [], "plan");
    await ctx.parallel({
      a: async (one) => {
        const first = await ask(one, start, "the same question");
        await ask(one, first, "more of a");
      },
      b: async (one) => {
        await one.sleep(30);
        const first = await ask(one, start, "the same question");
        await ask(one, first, "more of b");
      },
    });
  });
  const app = createApp({
    storage: new MemoryStorage(),
    secret,
    workflows: [flow],
    bind: false,
    record: { prompts: true },
  });
  await app.run(flow, undefined, { id: "r" });
  const entries = await app.get("r").entries();
  const keys = keysIn(entries);
  expect(keys).toHaveLength(5);
  for (const key of keys) expect(promptOf(entries, key)).toMatchObject({ missing: 0 });
  for (const from of keys) {
    const fork = await app.fork(flow, "r", { from });
    await fork.result();
    const forked = await fork.entries();
    expect(keysIn(forked)).toHaveLength(5);
    for (const key of keysIn(forked))
      expect(promptOf(forked, key), `${key} after ${from}`).toMatchObject({ missing: 0 });
  }
});

test("a later call that ends first is no part of an earlier one", async () => {
  const model = fakeModel((call, n) => {
    if (n === 1) throw new Error("no capacity");
    return `answer ${call.prompt.length}`;
  });
  const flow = durable("crossing", async (ctx) => {
    const recorded = durableModel(ctx, language(model), { retry: false });
    const ask = (...texts: string[]) =>
      generateText({
        model: recorded as LanguageModel,
        messages: texts.map((content): ModelMessage => ({ role: "user", content })),
        maxRetries: 0,
      });
    const slow = ask("one");
    slow.catch(() => {});
    await ctx.step("tick", () => 1);
    await ask("one", "two");
    await slow;
  });
  const app = createApp({
    storage: new MemoryStorage(),
    secret,
    workflows: [flow],
    bind: false,
    record: { prompts: true },
  });
  await expect(app.run(flow, undefined, { id: "r" })).resolves.toMatchObject({ status: "failed" });
  const failed = (await app.get("r").entries()).flatMap((one) =>
    one.kind === "step.failed" ? [one.key] : [],
  );
  await app.get("r").retry({ steps: failed });
  await app.get("r").result();
  const entries = await app.get("r").entries();
  const answers = entries.filter((entry) => entry.kind === "step.completed" && entry.prompt !== undefined);
  const [quick, slow] = answers.map((entry) => (entry as { key: string }).key);
  expect([quick, slow].map((key) => promptOf(entries, key!)?.messages.length)).toEqual([2, 1]);
  const fork = await app.fork(flow, "r", { from: quick! });
  await fork.result();
  expect(model.calls).toHaveLength(4);
  for (const key of [quick, slow]) expect(promptOf(await fork.entries(), key!)).toMatchObject({ missing: 0 });
});

test("a retry strikes a failed call: what it asked stays, and the new call is exact", async () => {
  let fails = true;
  const model = fakeModel((_, n) => {
    if (n >= 2 && fails) throw new Error("no capacity");
    return `answer ${n}`;
  });
  const flow = durable("retried", async (ctx) => {
    const recorded = durableModel(ctx, language(model), { retry: false });
    const messages: ModelMessage[] = [{ role: "user", content: "one" }];
    const { text } = await generateText({ model: recorded as LanguageModel, messages, maxRetries: 0 });
    messages.push({ role: "assistant", content: text }, { role: "user", content: "two" });
    return (await generateText({ model: recorded as LanguageModel, messages, maxRetries: 0 })).text;
  });
  const app = createApp({
    storage: new MemoryStorage(),
    secret,
    workflows: [flow],
    bind: false,
    record: { prompts: true },
  });
  await expect(app.run(flow, undefined, { id: "r" })).resolves.toMatchObject({ status: "failed" });
  const failed = await app.get("r").entries();
  // A failure shows what was asked.
  expectExact(failed, model, [0, 1]);
  fails = false;
  await app.get("r").retry({ steps: keysIn(failed).slice(1) });
  await expect(app.get("r").result()).resolves.toBe("answer 3");
  expectExact(await app.get("r").entries(), model, [0, 2]);
  const all = await app.get("r").entries({ struck: true });
  const struck = all.find((entry) => entry.kind === "step.failed")!;
  expect(promptOf(all, struck.seq)?.messages).toEqual(messagesOf(model.calls[1]!));
  expect(promptOf(all, (struck as { key: string }).key)?.messages).toEqual(messagesOf(model.calls[2]!));
});

test("attempts that failed and parked show what was asked, also of streams", async () => {
  const model = fakeModel(() => [new Error("broken off")]);
  const flow = durable("streams", async (ctx) => {
    const recorded = durableModel(ctx, language(model), { retry: { attempts: 2, delay: 1 } });
    const { text } = streamText({
      model: recorded as LanguageModel,
      prompt: "canary",
      maxRetries: 0,
      onError: () => {},
    });
    return await text;
  });
  const app = createApp({
    storage: new MemoryStorage(),
    workflows: [flow],
    bind: false,
    record: { prompts: true },
  });
  await app.run(flow, undefined, { id: "r" });
  const entries = await app.get("r").entries();
  const [key] = keysIn(entries);
  expect(JSON.stringify(promptOf(entries, key!)?.messages)).toContain("canary");
  expect(JSON.stringify(entries.filter(({ kind }) => kind === "stream.chunks"))).not.toContain("canary");
});

test("a chapter begins anew, and each is whole", async () => {
  const model = fakeModel((_, n) => `answer ${n}`);
  const flow = durable(
    "chapters",
    async (ctx, { turn, messages }: { turn: number; messages: ModelMessage[] }) => {
      for (const part of ["a", "b"]) {
        messages.push({ role: "user", content: `question ${turn}${part}` });
        const { text } = await generateText({ model: durableModel(ctx, language(model)), messages });
        messages.push({ role: "assistant", content: text });
      }
      if (turn < 3) await ctx.continueAs({ turn: turn + 1, messages });
    },
  );
  const app = createApp({
    storage: new MemoryStorage(),
    workflows: [flow],
    bind: false,
    record: { prompts: true },
  });
  await app.run(flow, { turn: 1, messages: [] }, { id: "r" });
  expect(model.calls).toHaveLength(6);
  for (const chapter of [1, 2, 3])
    expectExact(await app.get("r").entries({ chapter }), model, [chapter * 2 - 2, chapter * 2 - 1]);
});

test("a record whose beginning is not there says how much is missing, and is never completed by another", async () => {
  const model = fakeModel((_, n) => `answer ${n}`);
  const { open, say } = chatOf(model);
  const app = open(true);
  for (let turn = 0; turn < 4; turn++) await say(app, `question ${turn}`);
  const entries = await app.get("r").entries();
  const keys = keysIn(entries);
  const without = entries.filter((entry) => !("key" in entry) || entry.key !== keys[1]);
  expect(promptOf(without, keys[1]!)).toBeNull();
  expect(promptOf(without, keys[3]!)).toMatchObject({ missing: 3, change: { key: keys[2], kept: 5 } });
  expect(promptOf(without, keys[3]!)?.messages).toEqual((messagesOf(model.calls[3]!) as unknown[]).slice(3));
  expect(promptOf(without, keys[2]!)).toMatchObject({ missing: 3, change: null });
  const late = entries.map((entry) =>
    "key" in entry && entry.key === keys[1] ? { ...entry, seq: 10_000 } : entry,
  );
  expect(promptOf(late, keys[2]!)).toMatchObject({ missing: 3, change: null });
});

test("files by their digest, in every form", async () => {
  const model = fakeModel(() => "a cat");
  const bytes = new Uint8Array(4_000).map((_, i) => i % 251);
  const base64 = Buffer.from(bytes).toString("base64");
  const flow = durable("files", async (ctx) => {
    const recorded = durableModel(ctx, language(model));
    const shown = (data: unknown): ModelMessage => ({
      role: "user",
      content: [{ type: "file", mediaType: "image/png", data: data as Uint8Array }],
    });
    const messages = [bytes, base64, `data:image/png;base64,${base64}`].map(shown);
    return (await generateText({ model: recorded as LanguageModel, messages })).text;
  });
  const app = createApp({
    storage: new MemoryStorage(),
    workflows: [flow],
    bind: false,
    record: { prompts: true },
  });
  await app.run(flow, undefined, { id: "r" });
  const entries = await app.get("r").entries();
  const text = JSON.stringify(entries);
  expect(text).not.toContain(base64.slice(100, 200));
  expect(text.length).toBeLessThan(10_000);
  const files = JSON.stringify(promptOf(entries, keysIn(entries)[0]!)?.messages).match(
    /"file":"[a-z2-7]{16}","bytes":4000/g,
  );
  expect(files).toHaveLength(3);
  expect(new Set(files).size).toBe(1);
});

test("changes of settings, tools and models, and messages that were taken away", async () => {
  const model = fakeModel((_, n) => `answer ${n}`);
  const look = tool({ inputSchema: z.object({}), execute: () => "nothing" });
  const flow = durable("changes", async (ctx) => {
    const recorded = durableModel(ctx, language(model)) as LanguageModel;
    const messages = ["one", "two", "three"].map((content): ModelMessage => ({ role: "user", content }));
    await generateText({ model: recorded, messages, temperature: 0 });
    await generateText({
      model: recorded,
      messages,
      temperature: 1,
      tools: { look },
      stopWhen: stepCountIs(1),
    });
    await generateText({
      model: recorded,
      messages: [messages[0]!, { role: "user", content: "four" }],
      temperature: 0,
    });
    await generateText({ model: recorded, prompt: "elsewhere", temperature: 0 });
  });
  const app = createApp({
    storage: new MemoryStorage(),
    workflows: [flow],
    bind: false,
    record: { prompts: true },
  });
  await app.run(flow, undefined, { id: "r" });
  const entries = await app.get("r").entries();
  expectExact(entries, model, [0, 1, 2, 3]);
  const [first, second, third, fourth] = keysIn(entries);
  const change = (key: string | undefined) => promptOf(entries, key!)?.change;
  expect(change(first)).toBeNull();
  expect(change(second)).toMatchObject({ key: first, kept: 3, removed: [], added: [] });
  expect(change(second)?.settings.toSorted()).toEqual(["temperature", "tools"]);
  expect(change(third)).toMatchObject({
    key: second,
    kept: 1,
    removed: [{ role: "user" }, { role: "user" }],
  });
  expect(change(fourth)).toBeNull();
});

test("journals, middleware, providers and models of other kinds", async () => {
  const storage = new MemoryStorage();
  const model = fakeModel((_, n) => `answer ${n}`);
  const journal = await Journal.open("j", { storage, record: { prompts: true } });
  const recorded = durableModel(journal, language(model)) as LanguageModel;
  const wrapped = wrapLanguageModel({
    model,
    middleware: durableMiddleware(journal),
  });
  const given = durableProvider(journal, { languageModel: () => model as object }).languageModel();
  const messages: ModelMessage[] = [{ role: "user", content: "canary 0" }];
  for (const [i, each] of [recorded, wrapped, given as LanguageModel].entries()) {
    const { text } = await generateText({ model: each, messages });
    messages.push({ role: "assistant", content: text }, { role: "user", content: `canary ${i + 1}` });
  }
  await streamText({ model: recorded, messages }).text;
  const embedding = {
    specificationVersion: "v4",
    provider: "fake",
    modelId: "embed-1",
    maxEmbeddingsPerCall: 10,
    supportsParallelCalls: true,
    doEmbed: async () => ({ embeddings: [[1]], warnings: [] }),
  };
  await durableModel(journal, embedding as { doEmbed(params: object): Promise<object> }).doEmbed({
    values: ["canary"],
  });
  const entries = (await Journal.open("j", { storage })).entries();
  const keys = keysIn(entries);
  expect(keys.slice(0, 4).map((key) => promptOf(entries, key)?.messages)).toEqual(
    model.calls.map(messagesOf),
  );
  expect(promptOf(entries, keys[3]!)?.change).toMatchObject({ key: keys[2], kept: 5 });
  expect(promptOf(entries, keys[4]!)).toMatchObject({
    model: "embed-1",
    messages: [],
    settings: { values: ["canary"] },
  });
  const again = await Journal.open("j", { storage });
  await generateText({
    model: durableModel(again, language(model)) as LanguageModel,
    messages: messages.slice(0, 1),
  });
  expect(model.calls).toHaveLength(4);
});

test("a prompt that cannot be kept does not stop its call", async () => {
  const model = fakeModel(() => "yes");
  const flow = durable("huge", async (ctx) => {
    const recorded = durableModel(ctx, language(model)) as LanguageModel;
    const content = "x".repeat(20 * 1024 * 1024);
    return (
      await generateText({
        model: recorded,
        messages: [
          { role: "user", content },
          { role: "user", content },
        ],
      })
    ).text;
  });
  const app = createApp({
    storage: new MemoryStorage(),
    workflows: [flow],
    bind: false,
    record: { prompts: true },
  });
  await expect(app.run(flow, undefined, { id: "r" })).resolves.toMatchObject({
    status: "completed",
    output: "yes",
  });
  expect(keysIn(await app.get("r").entries())).toEqual([]);
}, 30_000);

test("a misspelt option is refused", () => {
  expect(() => createApp({ workflows: [], record: { prompt: true } as object })).toThrow(/"prompt"/);
});
