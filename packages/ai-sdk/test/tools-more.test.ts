/** Tools over a journal, typed and asynchronous approval, and tools that end the run. */

import { FatalError, Journal, MemoryStorage, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { durableCall, durableModel, durableTools } from "../src/index.ts";
import { Lab, waitOf } from "./support/lab.ts";
import { Provider } from "./support/provider.ts";
import { versions, type Version } from "./support/versions.ts";

const each = versions.map((version) => [version.name, version] as const);
const input = z.object({ n: z.number() });

describe.each(each)("a journal without a workflow: %s", (_, version) => {
  const { ai, models } = version;

  async function program(journal: Journal, url: string, execute: (n: number, key: string) => unknown) {
    const add = ai.tool({
      inputSchema: input,
      execute: ({ n }, options) => execute(n, durableCall(options).idempotencyKey ?? ""),
    });
    const { text } = await ai.generateText({
      model: durableModel(journal, models.chat(url)),
      tools: durableTools(journal, { add }),
      prompt: "Add them.",
      stopWhen: ai.stepCountIs(4),
    });
    return text;
  }

  test("a recorded call does not run again, and its result needs neither model nor tool", async () => {
    const server = await Provider.open(adding);
    const storage = new MemoryStorage();
    const keys: string[] = [];
    const live = (n: number, key: string) => (keys.push(key), { sum: n + 1 });
    const first = await program(await Journal.open("j", { storage }), server.url, live);
    await server.close();
    const again = await program(await Journal.open("j", { storage }), "http://127.0.0.1:9/v1", () => {
      throw new Error("ran again");
    });
    expect(again).toBe(first);
    expect(first).toBe("done 2");
    expect(new Set(keys).size).toBe(2);
    expect(keys.every((key) => key !== "")).toBe(true);
    const names = (await Journal.open("j", { storage }))
      .entries()
      .flatMap((e) => ("key" in e ? [e.key] : []));
    expect(names.filter((name) => name.startsWith("add ")).map((name) => name.slice(0, 11))).toEqual([
      "add call_1_",
      "add call_1_",
    ]);
  });

  test("an error reaches the model, and is not kept: the next time the tool runs again", async () => {
    const server = await Provider.open(adding);
    const storage = new MemoryStorage();
    let ran = 0;
    const fragile = () => {
      if (++ran <= 2) throw new Error("not yet");
      return { sum: ran };
    };
    try {
      await program(await Journal.open("j", { storage }), server.url, fragile);
      const requests = server.requests.length;
      await program(await Journal.open("j", { storage }), server.url, fragile);
      expect(ran).toBe(4);
      // The first question is recorded. The second has other results in it.
      expect(server.requests.length).toBe(requests + 1);
    } finally {
      await server.close();
    }
  });
});

const adding = ({ results, number }: { results: number; number: number }) =>
  results > 0
    ? { text: `done ${number}` }
    : { text: "", calls: [1, 2].map((n) => ({ tool: "add", input: { n } })) };

test("equal ids with other arguments are other records of a journal", async () => {
  const journal = await Journal.open("j", { storage: new MemoryStorage() });
  const add = { execute: ({ n }: { n: number }) => n + 1 };
  const call = async (n: number) =>
    durableTools(journal, { add }).add.execute({ n }, ...([{ toolCallId: "call_0" }] as unknown as []));
  expect([await call(1), await call(5)]).toEqual([2, 6]);
});

test.each([
  ["approve", { approve: true }],
  ["approve", { approve: () => false }],
  ["suspends", { suspends: true }],
  ["timeout", { timeout: 1_000 }],
] as const)("over a journal, %s is refused before anything runs", async (name, options) => {
  const journal = await Journal.open("j", { storage: new MemoryStorage() });
  const pay = { execute: () => 1 };
  const refused = () => durableTools(journal, { pay }, { pay: options });
  expect(refused).toThrow(expect.objectContaining({ code: "invalid-options" }));
  expect(refused).toThrow(
    `Tool "pay" has the option ${name}, which needs a workflow, and durableTools got a journal. Call it in a workflow, outside of its steps, or leave the option out.`,
  );
});

describe.each(each)("approve: %s", (_, { ai, models }) => {
  test("a function knows the arguments; an asynchronous one is asked once, and its answer is recorded", async () => {
    const server = await Provider.open(({ results }) =>
      results > 0
        ? { text: "done" }
        : { text: "", calls: [5, 50].map((n) => ({ tool: "pay", input: { n }, id: `c${n}` })) },
    );
    const lab = new Lab();
    const paid: number[] = [];
    let limit = 10;
    let asked = 0;
    const pay = ai.tool({ inputSchema: input, execute: ({ n }) => (paid.push(n), `paid ${n}`) });
    const body = async (ctx: Context): Promise<string> => {
      const tools = durableTools(
        ctx,
        { pay },
        {
          pay: {
            approve: async ({ n }) => {
              asked += 1;
              await Promise.resolve();
              // A limit that changes while the run is parked.
              return n > limit;
            },
          },
        },
      );
      const model = durableModel(ctx, models.chat(server.url));
      return (await ai.generateText({ model, tools, prompt: "?", stopWhen: ai.stepCountIs(3) })).text;
    };
    try {
      const parked = await lab.drive(body);
      const wait = waitOf(parked, "approval pay c50 ");
      expect(paid).toEqual([5]);
      expect(asked).toBe(2);
      limit = 0;
      await lab.resume(body, wait.token, true);
      const { outcome, value } = await lab.drive(body);
      expect(value).toBe("done");
      expect(waitOf({ outcome }, "more").key).toBe("more");
      expect(paid).toEqual([5, 50]);
      expect(asked).toBe(2);
    } finally {
      await server.close();
    }
    const text = await lab.text();
    expect(text).toContain("needs approval pay c5 ");
    expect(text).toContain("needs approval pay c50 ");
  });
});

test("a decision that fails denies the call, and the model gets the error", async () => {
  const lab = new Lab();
  let ran = 0;
  const { error } = await lab.drive(async (ctx) => {
    const tools = durableTools(
      ctx,
      { pay: { execute: async ({ n }: { n: number }) => (ran += n) } },
      { pay: { approve: () => Promise.reject(new FatalError("no rules")) } },
    );
    await tools.pay.execute({ n: 1 }, ...([{ toolCallId: "a" }] as unknown as []));
  });
  expect(String(error)).toContain("no rules");
  expect(ran).toBe(0);
});

describe.each(each)("FatalError: %s", (_, version) => {
  test.each([false, true])(
    "streaming %s: it ends the run, and the model is not asked what to do",
    async (stream) => {
      const server = await Provider.open(adding);
      try {
        const lab = new Lab();
        let ran = 0;
        const body = (ctx: Context) =>
          ending(version, ctx, { url: server.url, stream, ran: () => (ran += 1) });
        const live = await lab.drive(body);
        expect(server.requests).toHaveLength(1);
        expect(live.outcome).toMatchObject({
          status: "failed",
          error: { cause: { message: "the account is closed" } },
        });
        const again = await lab.drive(body);
        expect(again.outcome).toMatchObject({ status: "failed" });
        expect(server.requests).toHaveLength(1);
        expect(ran).toBe(2);
      } finally {
        await server.close();
      }
    },
  );
});

async function ending(
  { ai, models }: Version,
  ctx: Context,
  { url, stream, ran }: { readonly url: string; readonly stream: boolean; readonly ran: () => void },
): Promise<string> {
  const add = ai.tool({
    inputSchema: input,
    execute: (): string => {
      ran();
      throw new FatalError("the account is closed");
    },
  });
  const asked = {
    model: durableModel(ctx, models.chat(url)),
    tools: durableTools(ctx, { add }),
    prompt: "?",
    stopWhen: ai.stepCountIs(4),
  };
  if (!stream) return (await ai.generateText(asked)).text;
  let failure: unknown = null;
  const result = ai.streamText({ ...asked, onError: ({ error }) => void (failure = error) });
  for await (const part of result.fullStream) if (part.type === "error") failure = part.error;
  if (failure !== null) throw failure as Error;
  return result.text;
}
