import { setTimeout as delay } from "node:timers/promises";
import { durable, Journal, MemoryStorage, type Context, type Storage } from "@durable/core";
import { streamText } from "ai";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { durableModel, partsOf, type PartChunk } from "../src/index.ts";
import { Packer } from "../src/chunks.ts";
import { fakeModel, finish, words, type StreamPart } from "./support/fake-model.ts";
import { Lab } from "./support/lab.ts";

const open = (storage: Storage): Promise<Journal> => Journal.open("j", { storage });

async function partsFrom(stream: ReadableStream<StreamPart>): Promise<StreamPart[]> {
  const parts: StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

const question = { prompt: [{ role: "user" as const, content: [{ type: "text" as const, text: "?" }] }] };

describe("chunks", () => {
  const delta = (id: string, text: string) => ({ type: "text-delta", id, delta: text });

  test("deltas of one kind and id are one chunk, and come back as they were", () => {
    const parts = [
      { type: "text-start", id: "a" },
      ...["one", " two", " three"].map((text) => delta("a", text)),
      { ...delta("a", " four"), providerMetadata: { x: { y: 1 } } },
      delta("a", " five"),
      delta("b", "six"),
      { type: "reasoning-delta", id: "b", delta: "seven" },
      { type: "text-end", id: "b" },
    ];
    const packer = new Packer();
    const chunks: PartChunk[] = parts.flatMap((part, at) => packer.take(part, at));
    chunks.push(...packer.flush());
    expect(chunks.flatMap(partsOf)).toEqual(parts);
    expect(chunks).toHaveLength(7);
    expect(chunks[1]).toEqual([1, "text-delta", "a", ["one", " two", " three"]]);
  });

  test("what came later than the time of gathering begins another chunk", () => {
    const packer = new Packer();
    expect(packer.due).toBeNull();
    packer.take(delta("a", "one"), 0);
    expect(packer.due).toBe(100);
    expect(packer.take(delta("a", "two"), 99)).toEqual([]);
    expect(packer.take(delta("a", "three"), 100)).toEqual([[0, "text-delta", "a", ["one", "two"]]]);
  });

  test("800 words take less than a third of what their parts would", async () => {
    const text = Array.from({ length: 800 }, (_, i) => ` word${i}`).join("");
    const lab = new Lab();
    await lab.drive(
      (ctx) =>
        streamText({
          model: durableModel(
            ctx,
            fakeModel(() => text),
          ),
          prompt: "?",
        }).text as Promise<string>,
    );
    const entries = await lab.entries();
    const kept = entries.flatMap((entry) => (entry.kind === "stream.chunks" ? entry.chunks : []));
    expect(JSON.stringify(kept).length * 3).toBeLessThan(JSON.stringify(words(text)).length);
  });
});

test("parts are given as they come, and finish only when all of it is durable", async () => {
  const storage = new MemoryStorage();
  const gate = Promise.withResolvers<void>();
  const held = new Proxy(storage, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      if (property !== "append") return value.bind(target) as unknown;
      return async (...args: unknown[]) => {
        await gate.promise;
        return (value as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  const model = durableModel(
    await open(held),
    fakeModel(() => "one two"),
  );
  const { stream } = await model.doStream(question);
  const reader = stream.getReader();
  const seen: string[] = [];
  while (seen.at(-1) !== "text-end") seen.push((await reader.read()).value?.type ?? "");
  expect(seen).toEqual([
    "stream-start",
    "response-metadata",
    "text-start",
    "text-delta",
    "text-delta",
    "text-end",
  ]);
  const end = reader.read();
  expect(await Promise.race([end, delay(150, "withheld")])).toBe("withheld");
  gate.resolve();
  expect((await end).value?.type).toBe("finish");
  expect((await reader.read()).done).toBe(true);
});

test("a caller that stops reading does not stop the recording", async () => {
  const lab = new Lab();
  const model = fakeModel(() => "one two three four five six", { paceMs: 5 });
  const body = async (ctx: Context): Promise<void> => {
    const { stream } = await durableModel(ctx, model).doStream(question);
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel();
  };
  await lab.drive(body);
  const { value } = await lab.drive(async (ctx) => {
    const { stream } = await durableModel(ctx, model).doStream(question);
    return partsFrom(stream);
  });
  expect(value?.at(-1)?.type).toBe("finish");
  expect(value?.filter(({ type }) => type === "text-delta")).toHaveLength(6);
  expect(model.calls).toHaveLength(1);
});

test("the caller's signal stops it, in the middle and for good", async () => {
  const lab = new Lab();
  const model = fakeModel(() => "one two three four five six", { paceMs: 20 });
  const body = async (ctx: Context): Promise<{ text: string; error: unknown }> => {
    const abort = new AbortController();
    const { stream } = await durableModel(ctx, model).doStream({ ...question, abortSignal: abort.signal });
    let text = "";
    try {
      for await (const part of stream) {
        if (part.type === "text-delta") text += part.delta;
        if (text.includes("two")) abort.abort();
      }
      return { text, error: null };
    } catch (error) {
      return { text, error };
    }
  };
  const live = await lab.drive(body);
  expect(live.value?.error).toMatchObject({ name: "AbortError" });
  const replay = await lab.drive(body);
  expect(replay.value?.text).toBe(live.value?.text);
  expect(replay.value?.error).toMatchObject({ name: "AbortError" });
  expect(model.calls).toHaveLength(1);
});

test("the caller's signal stops a call that answers at once, and that is its outcome", async () => {
  const lab = new Lab();
  let calls = 0;
  const model = fakeModel(() => "never");
  model.doGenerate = (call) => {
    calls += 1;
    return delay(60_000, undefined, { signal: call.abortSignal }) as Promise<never>;
  };
  const body = async (ctx: Context): Promise<unknown> => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 20);
    return durableModel(ctx, model).doGenerate({ ...question, abortSignal: abort.signal });
  };
  for (let i = 0; i < 2; i++) expect((await lab.drive(body)).error).toMatchObject({ name: "AbortError" });
  expect(calls).toBe(1);
});

test.each([
  ["an error part", [{ type: "error", error: { message: "overloaded" } }, finish("error")]],
  ["an interruption", [finish("interrupted")]],
  ["no finish", []],
] as [string, StreamPart[]][])(
  "%s is not a success: a workflow replays it, a journal calls again",
  async (_, end) => {
    const broken = words("half an", end);
    const lab = new Lab();
    const model = fakeModel(() => broken);
    const read = async (on: Context | Journal, from = model) =>
      partsFrom((await durableModel(on, from).doStream(question)).stream);
    const [live, replay] = [await lab.drive((ctx) => read(ctx)), await lab.drive((ctx) => read(ctx))];
    expect(live.value?.slice(-1)[0]?.type).toBe(broken.at(-1)?.type);
    expect(replay.value).toEqual(live.value);
    expect(model.calls).toHaveLength(1);

    const storage = new MemoryStorage();
    const later = fakeModel((_call, number) => (number === 1 ? broken : words("all of it")));
    const first = await read(await open(storage), later);
    expect(first.map(({ type }) => type)).toEqual(live.value?.map(({ type }) => type));
    for (let i = 0; i < 2; i++) expect((await read(await open(storage), later)).at(-1)).toEqual(finish());
    expect(later.calls).toHaveLength(2);
  },
);

test("an error before the first content is retried, and reported when that does not help", async () => {
  const lab = new Lab();
  const model = fakeModel(() => [
    { type: "stream-start", warnings: [] },
    { type: "error", error: { message: "overloaded" } },
    finish("error"),
  ]);
  const retry = { attempts: 2, delay: 1 };
  const body = async (ctx: Context) =>
    partsFrom((await durableModel(ctx, model, { retry }).doStream(question)).stream);
  const [live, replay] = [await lab.drive(body), await lab.drive(body)];
  // The metadata of both attempts are given, and the last one counts.
  const [told, again] = [live, replay].map(({ value }) =>
    value?.filter(({ type }) => type !== "response-metadata"),
  );
  expect(told?.map(({ type }) => type)).toEqual(["stream-start", "error", "finish"]);
  expect(told?.[1]).toMatchObject({ error: { message: "overloaded" } });
  expect(again).toEqual(told);
  expect(model.calls).toHaveLength(2);
});

test("a replay keeps the pace it had, if asked to", async () => {
  const storage = new MemoryStorage();
  const model = fakeModel(() => "one two three four five", { paceMs: 40 });
  const partsAt = async (pace: "instant" | "recorded"): Promise<StreamPart[]> => {
    const { stream } = await durableModel(await open(storage), model, { pace }).doStream(question);
    return partsFrom(stream);
  };
  const live = await partsAt("instant");
  // Time stands still from here on, so a replay that waits ends only when time is let pass.
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const from = Date.now();
  expect(await partsAt("instant")).toEqual(live);
  expect(Date.now() - from).toBe(0);
  const recorded: unknown[] = [];
  const end = (found: unknown): void => void recorded.push(found);
  void partsAt("recorded").then(end, end);
  while (recorded.length === 0) await vi.advanceTimersByTimeAsync(1);
  expect(recorded).toEqual([live]);
  // Between the first word and the last there are four pauses, which may be a millisecond shorter each.
  expect(Date.now() - from).toBeGreaterThan(4 * 39);
  expect(model.calls).toHaveLength(1);
});

test("a fork may put parts in the place of an answer", async () => {
  const storage = new MemoryStorage();
  const model = fakeModel(() => "as it was");
  const flow = durable(
    "flow",
    (ctx) => Promise.resolve(streamText({ model: durableModel(ctx, model), prompt: "?" }).text),
    { storage },
  );
  await flow.run(undefined, { id: "r" });
  const entries = await flow.get("r").entries();
  const key = entries.flatMap((entry) => (entry.kind === "stream.completed" ? entry.key : []))[0] ?? "";
  const fork = await flow.fork("r", { edit: { [key]: words("as you like it") } });
  expect(await fork.result()).toBe("as you like it");
  expect(model.calls).toHaveLength(1);
});

test("ids and times that a provider leaves out are made up once", async () => {
  const lab = new Lab();
  const model = fakeModel(() => "one");
  const body = async (ctx: Context) => {
    const result = streamText({ model: durableModel(ctx, model), prompt: "?" });
    return result.response;
  };
  const [live, replay] = [await lab.drive(body), await lab.drive(body)];
  expect(replay.value).toEqual(live.value);
  expect(live.value).toMatchObject({ modelId: "fake-1", timestamp: expect.any(Date) as Date });
});
