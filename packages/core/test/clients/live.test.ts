/** live.1 to live.5: words that the code reads while they are recorded. */

import { crashEverywhere } from "@durable/testing";
import { durable, MemoryStorage, type Context } from "@durable/core";
import { liveStream, type LiveOptions } from "@durable/core/clients";
import { expect, test } from "vitest";
import { Lives, rejection } from "./support/lives.ts";

interface Read {
  readonly words: readonly unknown[];
  readonly error?: string;
}

async function readAll(stream: AsyncIterable<unknown>): Promise<Read> {
  const words: unknown[] = [];
  const error = await rejection(
    (async () => {
      for await (const word of stream) words.push(word);
    })(),
  );
  return error === null ? { words } : { words, error: (error as Error).message };
}

test("words come while they are recorded, and a replay gives the same without the work", async () => {
  const lives = new Lives();
  const go = Promise.withResolvers<void>();
  let made = 0;
  const body = async (ctx: Context) => {
    const words: unknown[] = [];
    const stream = liveStream(ctx, "say", async function* () {
      made += 1;
      yield "good";
      // Comes only after the code has read the first word.
      await go.promise;
      yield { when: new Date(5) };
    });
    for await (const word of stream) {
      words.push(word);
      go.resolve();
    }
    return words;
  };
  const first = await lives.live(body);
  const second = await lives.live(body);
  expect([first.value, second.value, made]).toEqual([
    ["good", { when: new Date(5) }],
    ["good", { when: new Date(5) }],
    1,
  ]);
  expect(lives.warnings).toEqual([]);
});

test("the end is held back until everything is durable", async () => {
  const lives = new Lives();
  const order: string[] = [];
  const { storage } = lives;
  const append = storage.append.bind(storage);
  storage.append = async (request) => {
    const reply = await append(request);
    if (JSON.stringify(request).includes("stream.completed")) order.push("durable");
    return reply;
  };
  await lives.live(async (ctx) => {
    const stream = liveStream(ctx, "say", () => ["a", "end", "after"], { isEnd: (word) => word === "end" });
    for await (const word of stream) order.push(word);
  });
  expect(order).toEqual(["a", "durable", "end", "after"]);
});

const flaky = (failures: number, before: readonly string[]) => {
  let made = 0;
  return async function* () {
    made += 1;
    yield* before;
    if (made <= failures) throw Object.assign(new Error(`lost ${made}`), { status: 500 });
    yield `word of ${made}`;
  };
};

test.each<[string, readonly string[], LiveOptions<string>, Read]>([
  [
    "before the first word is retried unnoticed",
    ["head"],
    { isWord: (one) => one !== "head" },
    { words: ["head", "word of 2"] },
  ],
  ["after it is an outcome", ["one"], {}, { words: ["one"], error: "lost 1" }],
])("a failure %s, live and on replay", async (_, before, options, expected) => {
  const lives = new Lives();
  const producer = flaky(1, before);
  const body = (ctx: Context) => readAll(liveStream(ctx, "say", producer, options));
  expect((await lives.live(body)).value).toEqual(expected);
  expect((await lives.live(body)).value).toEqual(expected);
});

test.each([[[]], [["head"]]])(
  "a failure before the first word that is final gives its own error alone, after %j, live and on replay",
  async (before: readonly string[]) => {
    const lives = new Lives();
    const producer = flaky(9, before);
    const options = { retry: { attempts: 2 }, isWord: (one: string) => one !== "head" };
    const body = (ctx: Context) => readAll(liveStream(ctx, "say", producer, options));
    expect((await lives.live(body)).value).toEqual({ words: [], error: "lost 2" });
    expect((await lives.live(body)).value).toEqual({ words: [], error: "lost 2" });
  },
);

test("a reader that leaves does not end the recording", async () => {
  const lives = new Lives();
  const body = async (ctx: Context) => {
    for await (const word of liveStream(ctx, "say", () => ["a", "b", "c"])) return word;
    return null;
  };
  expect((await lives.live(body)).value).toBe("a");
  const [done] = (await lives.entries()).filter(({ kind }) => kind === "stream.completed");
  expect(done).toMatchObject({ count: 3 });
});

test("a crash at every write: the words are those of one attempt, and what is recorded is kept", async () => {
  const flow = durable(
    "speak",
    async (ctx) => {
      const said: string[] = [];
      for await (const word of liveStream(ctx, "say", () => ["a", "b", "c"])) {
        said.push(word);
        await ctx.step(`hear ${word}`, () => word);
      }
      return said.join("");
    },
    { storage: new MemoryStorage(), secret: "a secret for tests, of no worth" },
  );
  const { ok } = await crashEverywhere(flow, { input: undefined });
  expect(ok).toBe(true);
});
