/** What was asked of a model, put together from the entries of a run. What adapters record is proven in @durable/ai-sdk. */

import { createApp, durable, Journal, MemoryStorage, type Context, type StepInfo } from "@durable/core";
import { promptOf, promptsIn, viewRun } from "@durable/core/inspect";
import type { Asking, KeepsPrompt, PromptRecord } from "@durable/core/storage";
import type { Entry } from "@durable/core/types";
import { expect, test } from "vitest";

const about = { about: "a", with: { model: "m", provider: "p", tools: [], settings: {} } };
const first: PromptRecord = { add: ["one", "two"], hashes: ["h1", "h2"], ...about };
const second: PromptRecord = { keep: 2, after: "h2", add: ["three"], hashes: ["h3"], about: "a" };

function keep(info: StepInfo, make: (asking: Asking) => PromptRecord): void {
  (info as StepInfo & KeepsPrompt).keepPrompt(make);
}

const ask = (ctx: Context, name: string, record: unknown): Promise<string> =>
  ctx.step(name, (info) => {
    keep(info, () => record as PromptRecord);
    return name;
  });

async function recorded(
  body: (ctx: Context) => Promise<unknown>,
  record: { readonly prompts?: boolean } = { prompts: true },
): Promise<Entry[]> {
  const flow = durable("flow", (ctx) => body(ctx));
  const app = createApp({ storage: new MemoryStorage(), workflows: [flow], bind: false, record });
  await expect(app.run(flow, undefined, { id: "r" })).resolves.toMatchObject({ status: "completed" });
  return app.get("r").entries();
}

test("a prompt is put together from several entries", async () => {
  const entries = await recorded(async (ctx) => {
    await ask(ctx, "a", first);
    await ask(ctx, "b", second);
    await ask(ctx, "c", { ...second, keep: 1, after: "h1" });
  });
  expect(promptOf(entries, "b")).toEqual({
    key: "b",
    model: "m",
    provider: "p",
    tools: [],
    settings: {},
    messages: ["one", "two", "three"],
    missing: 0,
    change: { key: "a", kept: 2, removed: [], added: ["three"], settings: [] },
  });
  expect(promptOf(entries, "c")).toMatchObject({
    messages: ["one", "three"],
    change: { key: "b", kept: 1, removed: ["two", "three"], added: ["three"] },
  });
  expect(promptOf(entries, "none")).toBeNull();
  expect(viewRun(entries).rows.map(({ prompt }) => prompt)).toEqual([true, true, true]);
});

test("asked.1 no other record stands in for a missing one", async () => {
  const entries = await recorded(async (ctx) => {
    await ask(ctx, "other", { ...first, hashes: ["x1", "x2"] });
    await ask(ctx, "b", second);
    await ask(ctx, "c", { keep: 3, after: "h3", add: ["four"], hashes: ["h4"], about: "b" });
  });
  expect(promptOf(entries, "b")).toMatchObject({ messages: ["three"], missing: 2, change: null });
  expect(promptOf(entries, "c")).toMatchObject({
    model: null,
    messages: ["three", "four"],
    missing: 2,
    change: { key: "b", kept: 3, removed: [], added: ["four"], settings: [] },
  });
});

test("records of any shape, in any number, are survived", async () => {
  const shapes = [
    null,
    "text",
    [],
    {},
    { add: 1, hashes: 1 },
    { add: ["a"], hashes: [] },
    { keep: -1, after: "h2", add: [], hashes: [] },
    { keep: 1.5, after: "h2", add: [], hashes: [] },
    { keep: 9e15, after: "h2", add: [], hashes: [], about: "a" },
  ];
  const entries = await recorded(async (ctx) => {
    await ask(ctx, "a", first);
    for (const [i, shape] of shapes.entries()) await ask(ctx, `s${i}`, shape);
    await ask(ctx, "b", second);
  });
  expect(promptOf(entries, "b")?.messages).toEqual(["one", "two", "three"]);
  for (const i of shapes.keys()) expect(promptOf(entries, `s${i}`)?.messages ?? []).toEqual([]);
  const [one] = entries.filter((entry) => entry.kind === "step.completed");
  const turns = 20_000;
  const many = Array.from({ length: turns }, (_, seq) => {
    const prompt = {
      ...(seq > 0 && { keep: seq, after: `${seq - 1}` }),
      add: [seq],
      hashes: [`${seq}`],
      about: "a",
    };
    return { ...one, key: `k${seq}`, seq, prompt } as Entry;
  });
  const prompts = promptsIn(many);
  expect(prompts(`k${turns - 1}`)?.messages).toHaveLength(turns);
  expect(prompts(turns - 1)?.change).toMatchObject({ key: `k${turns - 2}`, kept: turns - 1 });
});

test("off: nothing is made or kept; what throws keeps nothing and stops nothing", async () => {
  let made = 0;
  const body = (ctx: Context): Promise<unknown> =>
    ctx.step("a", (info) => {
      keep(info, () => {
        made += 1;
        throw new Error("no");
      });
      return 1;
    });
  for (const record of [{ prompts: false }, {}])
    expect((await recorded(body, record)).some((entry) => "prompt" in entry)).toBe(false);
  expect(made).toBe(0);
  expect((await recorded(body)).some((entry) => "prompt" in entry)).toBe(false);
  expect(made).toBe(1);
});

test("an adapter sees what the run has recorded, and a failed attempt has what it asked", async () => {
  const seen: (readonly [string, number, number])[] = [];
  const entries = await recorded((ctx) =>
    ctx.step(
      "a",
      (info) => {
        keep(info, ({ key, after, entries: all }) => {
          seen.push([key, after, all.length]);
          return first;
        });
        if (info.attempt === 1) throw new Error("once more");
      },
      { retry: { attempts: 2, delay: 0 } },
    ),
  );
  expect(seen.map(([key, after]) => [key, after])).toEqual([
    ["a", 0],
    ["a", 0],
  ]);
  expect(seen[1]![2]).toBe(seen[0]![2] + 1);
  expect(entries.filter((entry) => "prompt" in entry).map(({ kind }) => kind)).toEqual([
    "attempt.failed",
    "step.completed",
  ]);
});

test("a journal without a workflow keeps prompts of records and streams", async () => {
  const storage = new MemoryStorage();
  const journal = await Journal.open("j", { storage, record: { prompts: true } });
  await journal.record("a", (info) => keep(info, () => first));
  const stream = journal.recordStream("b", async function* (info) {
    keep(info, () => second);
    yield "words";
  });
  expect(await new Response(stream.pipeThrough(new TextEncoderStream())).text()).toBe("words");
  await expect(
    journal.record("c", (info) => {
      keep(info, () => second);
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  const entries = (await Journal.open("j", { storage })).entries();
  expect(promptOf(entries, "b")?.messages).toEqual(["one", "two", "three"]);
  expect(promptOf(entries, "c")?.messages).toEqual(["one", "two", "three"]);
  expect(JSON.stringify(entries.filter(({ kind }) => kind === "stream.chunks"))).not.toContain("three");
});
