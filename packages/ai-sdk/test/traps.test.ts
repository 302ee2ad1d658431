/** Mistakes that show only in a later life are warned of in the first one. */

import { durable, MemoryStorage, type Context } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { generateText, isStepCount, streamText, tool, type ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { durableIds, durableModel, durableTools } from "../src/index.ts";
import { fakeModel, finish, words, type FakeModel, type StreamPart } from "./support/fake-model.ts";
import { secret } from "./support/lab.ts";

/** Each run has calls of its own, because what this process has seen is remembered. */
let calls = 0;

/** Calls `pay` in its first answer. */
function payer(): FakeModel {
  const toolCallId = `trapped-${++calls}`;
  return fakeModel(({ prompt }) => {
    if (prompt.some(({ role }) => role === "tool")) return words("paid");
    const call = { type: "tool-call", toolCallId, toolName: "pay", input: "{}" } as StreamPart;
    return words("", [call, finish("tool-calls")]);
  });
}

const pay = (more: object = {}) =>
  tool({ inputSchema: z.object({}), execute: () => "receipt", ...more }) as ToolSet[string];

/** What is warned of, in the first life and in the next. */
async function warningsOf(body: (ctx: Context) => PromiseLike<unknown>): Promise<[string[], string[]]> {
  const storage = new MemoryStorage();
  const live = async (): Promise<string[]> => {
    const lines: string[] = [];
    const world = {
      ...systemWorld,
      warn: () => {},
      log: (level: string, message: string) => void (level === "warn" && lines.push(message)),
    };
    const open = async (ctx: Context) => {
      await body(ctx);
      await ctx.suspend("more");
    };
    await durable("flow", open, { storage, secret, world }).run(undefined, { id: `r-${calls}` });
    return lines;
  };
  return [await live(), await live()];
}

const agent = (model: FakeModel, tools: ToolSet, more: object = {}) =>
  streamText({ model, tools, prompt: "Pay.", stopWhen: isStepCount(3), ...more }).text;

describe("W1 a turn without a record", () => {
  test("an unwrapped model that calls a tool of the run is warned of, once", async () => {
    const model = payer();
    const [first] = await warningsOf((ctx) => agent(model, durableTools(ctx, { pay: pay() })));
    expect(first).toEqual([expect.stringContaining("comes from a model call without a record")]);
  });

  test("also one that prepareStep returns", async () => {
    const [wrapped, other] = [fakeModel(() => words("hm")), payer()];
    const [first] = await warningsOf((ctx) =>
      agent(durableModel(ctx, wrapped), durableTools(ctx, { pay: pay() }), {
        prepareStep: () => ({ model: other }),
      }),
    );
    expect(first).toHaveLength(1);
  });

  test("a recorded turn is not, streamed or not, in no life", async () => {
    const model = payer();
    const body = (ctx: Context) => agent(durableModel(ctx, model), durableTools(ctx, { pay: pay() }));
    expect(await warningsOf(body)).toEqual([[], []]);
  });

  test("a call that the conversation brings is not: its turn was another run", async () => {
    const model = fakeModel(() => "paid");
    const id = `call-${++calls}`;
    const call = { type: "tool-call" as const, toolCallId: id, toolName: "pay", input: {} };
    const request = { type: "tool-approval-request" as const, approvalId: "a", toolCallId: id };
    const response = { type: "tool-approval-response" as const, approvalId: "a", approved: true };
    let ran = 0;
    const [first] = await warningsOf((ctx) =>
      generateText({
        model: durableModel(ctx, model),
        tools: durableTools(ctx, { pay: pay({ execute: () => (ran += 1), needsApproval: true }) }),
        messages: [
          { role: "user", content: "Pay." },
          { role: "assistant", content: [call, request] },
          { role: "tool", content: [response] },
        ],
        ...durableIds(ctx),
      }),
    );
    expect([first, ran]).toEqual([[], 1]);
  });
});

describe("needsApproval", () => {
  const asks = (ids: boolean, needsApproval: unknown) => {
    const model = payer();
    return async (ctx: Context) => {
      const { content } = streamText({
        model: durableModel(ctx, model),
        tools: durableTools(ctx, { pay: pay({ needsApproval }) }),
        prompt: "Pay.",
        ...(ids ? durableIds(ctx) : {}),
      });
      return content;
    };
  };

  test.each([true, async () => true])("without durableIds is warned of", async (needs) => {
    const [first] = await warningsOf(asks(false, needs));
    expect(first).toEqual([expect.stringContaining("Pass ...durableIds(ctx) to the call")]);
  });

  test("with durableIds, or where no approval is needed, is not", async () => {
    expect(await warningsOf(asks(true, true))).toEqual([[], []]);
    expect(await warningsOf(asks(false, () => false))).toEqual([[], []]);
  });
});
