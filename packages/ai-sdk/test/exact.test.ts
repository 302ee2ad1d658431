import { durable, FatalError, Journal, MemoryStorage, type Context } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import * as ai6 from "ai-6";
import * as ai7 from "ai";
import { isStepCount, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { durableIds, durableModel, durableTools, partsOf, type PartChunk } from "../src/index.ts";
import { scriptedModel } from "./differential/scripted.ts";
import { Lab, secret, waitOf } from "./support/lab.ts";

const prompt = "?";
const isError = (error: unknown): boolean =>
  (Error as unknown as { isError(value: unknown): boolean }).isError(error);

describe("a tool ends the run, and the model is not told", () => {
  const asks = [{ calls: [{ id: "c1", tool: "act" }] }, { text: "told" }];
  const run = async (execute: () => unknown, streams: boolean) => {
    const asked = { calls: 0 };
    const talker = scriptedModel(7, asks, () => void (asked.calls += 1));
    const act = tool({ inputSchema: z.object({}), execute: execute as () => string });
    const flow = durable(
      "flow",
      async (ctx) => {
        const given = {
          model: durableModel(ctx, talker),
          prompt,
          tools: durableTools(ctx, { act }),
          stopWhen: isStepCount(3),
        };
        return streams ? streamText(given).text : (await ai7.generateText(given)).text;
      },
      { storage: new MemoryStorage(), secret },
    );
    return { outcome: await flow.run(undefined, { id: "r" }), asked };
  };

  test.each([false, true])("a FatalError, streaming %s", async (streams) => {
    const { outcome, asked } = await run(() => {
      throw new FatalError("the account is closed");
    }, streams);
    expect(outcome).toMatchObject({
      status: "failed",
      error: { cause: { name: "FatalError", message: "the account is closed" } },
    });
    expect(asked.calls).toBe(1);
  });

  test.each([false, true])("a result that has no JSON, streaming %s", async (streams) => {
    const cycle: { self?: unknown; run: () => void } = { run: () => {} };
    cycle.self = cycle;
    const { outcome, asked } = await run(() => cycle, streams);
    expect(outcome).toMatchObject({
      status: "failed",
      error: { code: "not-serializable", details: { tool: "act", toolCallId: "c1" } },
    });
    const { message } = (outcome as { error: Error }).error;
    expect(message).toContain(
      'Run r stops, because call "c1" of tool "act" returned a value that cannot be recorded.',
    );
    expect(asked.calls).toBe(1);
  });
});

describe.each([
  ["ai 6", 6, ai6 as unknown as typeof ai7],
  ["ai 7", 7, ai7],
] as const)("%s: ids of approvals", (_, major, sdk) => {
  test.each([false, true])(
    "an answer that names the approval fits in the next life, streaming %s",
    async (streams) => {
      const lab = new Lab();
      const counts = { calls: 0, paid: 0 };
      const turns = [{ calls: [{ id: "c1", tool: "pay", input: {} }] }, { text: "Done." }];
      const ids: string[] = [];
      const body = async (ctx: Context): Promise<string> => {
        const model = durableModel(
          ctx,
          scriptedModel(major, turns, () => void (counts.calls += 1)),
        );
        const pay = {
          inputSchema: z.object({}),
          needsApproval: true,
          execute: () => ((counts.paid += 1), "paid"),
        };
        const tools = durableTools(ctx, { pay });
        const user = { role: "user", content: "Pay." };
        const ask = async (messages: readonly unknown[]) => {
          const given = { ...durableIds(ctx), model, messages, tools, stopWhen: sdk.stepCountIs(3) } as never;
          const result = streams ? sdk.streamText(given) : await sdk.generateText(given);
          const { messages: said } = (await result.response) as { messages: unknown[] };
          return { content: (await result.content) as readonly object[], said, text: await result.text };
        };
        const { content, said } = await ask([user]);
        const request = content.find((part) => "approvalId" in part) as { approvalId: string };
        ids.push(request.approvalId);
        const answer = await ctx.suspend<{ approvalId: string }>("approve", { note: request.approvalId });
        const response = { type: "tool-approval-response", approvalId: answer.approvalId, approved: true };
        return (await ask([user, ...said, { role: "tool", content: [response] }])).text;
      };
      const parked = await lab.drive(body);
      const { token, note } = waitOf(parked, "approve");
      await lab.resume(body, token, { approvalId: note });
      expect((await lab.drive(body)).value).toBe("Done.");
      expect(new Set(ids).size).toBe(1);
      expect(ids.length).toBeGreaterThan(1);
      expect(counts).toEqual({ calls: 2, paid: 1 });
    },
  );
});

describe("retryAfterPartial", () => {
  const half = {
    parts: [
      { type: "stream-start", warnings: [] },
      { type: "text-start", id: "a" },
      { type: "text-delta", id: "a", delta: "It" },
    ],
    cut: new TypeError("terminated"),
  };

  test("a stream that breaks off after words is asked again, and the caller gets one answer", async () => {
    const storage = new MemoryStorage();
    let calls = 0;
    const talker = scriptedModel(7, [[half, { text: "It is warm." }]], () => void (calls += 1));
    const retry = { delay: 1 };
    const flow = durable(
      "flow",
      async (ctx) => {
        const recorded = durableModel(ctx, talker, { retry, retryAfterPartial: true });
        const texts: string[] = [];
        for await (const text of streamText({ model: recorded, prompt }).textStream) texts.push(text);
        return texts;
      },
      { storage, secret },
    );
    const outcome = await flow.run(undefined, { id: "r" });
    expect(outcome).toMatchObject({ status: "completed", output: ["It", " is", " warm."] });
    expect(calls).toBe(2);
    const entries = await flow.get("r").entries();
    const key = entries.flatMap((entry) => (entry.kind === "stream.completed" ? entry.key : []))[0] ?? "";
    const seen: string[] = [];
    for await (const event of flow.get("r").stream<PartChunk>(key)) {
      if (event.type === "reset") seen.push("reset");
      else for (const { delta } of partsOf(event.value)) if (typeof delta === "string") seen.push(delta);
    }
    expect(seen.join("|")).toBe("reset|It| is| warm.");
  });

  test("without it, the caller gets the words and the error, and there is one call", async () => {
    const lab = new Lab();
    let calls = 0;
    const talker = scriptedModel(7, [[half, { text: "It is warm." }]], () => void (calls += 1));
    const body = async (ctx: Context) => {
      const texts: string[] = [];
      const result = streamText({ model: durableModel(ctx, talker), prompt, onError: () => {} });
      try {
        for await (const text of result.textStream) texts.push(text);
      } catch (error) {
        texts.push(String(error));
      }
      return texts;
    };
    expect((await lab.drive(body)).value).toEqual(["It", "TypeError: terminated"]);
    expect(calls).toBe(1);
  });
});

test("a later turn that fails unseen is named when the run ends with the text of the turn before", async () => {
  const warnings: string[] = [];
  const world = { ...systemWorld, warn: (message: string) => void warnings.push(message) };
  const look = tool({ inputSchema: z.object({}), execute: () => "found" });
  const refused = { throws: new ai7.LoadAPIKeyError({ message: "no key" }) };
  const turns = [{ text: "Let me look.", calls: [{ id: "c1", tool: "look" }] }, refused];
  const flow = durable(
    "flow",
    async (ctx) => {
      const model = durableModel(
        ctx,
        scriptedModel(7, turns, () => {}),
      );
      const tools = durableTools(ctx, { look });
      return streamText({ model, prompt, tools, stopWhen: isStepCount(3), onError: () => {} }).text;
    },
    { storage: new MemoryStorage(), secret, world },
  );
  const outcome = await flow.run(undefined, { id: "r" });
  // As without a run: this is what the SDK gives.
  expect(outcome).toMatchObject({ status: "completed", output: "Let me look." });
  const entries = await flow.get("r").entries();
  const failed = entries.flatMap((entry) => (entry.kind === "stream.failed" ? entry.key : []));
  expect(failed).toHaveLength(1);
  expect(entries.at(-1)).toMatchObject({ kind: "run.completed", unawaited: failed });
  expect(warnings.join()).toContain(`its code never looked at the failure of: ${failed[0]}`);
});

test("errors over a journal are real, and known to the SDK", async () => {
  const error = new ai7.APICallError({
    message: "bad",
    url: "https://example.com/v1?key=canary",
    requestBodyValues: { prompt },
    statusCode: 400,
    cause: new RangeError("deeper"),
  });
  const journal = await Journal.open("j", { storage: new MemoryStorage() });
  const model = durableModel(
    journal,
    scriptedModel(7, [{ throws: error }], () => {}),
  );
  const thrown: unknown = await ai7.generateText({ model, prompt }).catch((caught: unknown) => caught);
  expect(isError(thrown)).toBe(true);
  expect(thrown).toBeInstanceOf(ai7.APICallError);
  expect(ai7.APICallError.isInstance(thrown)).toBe(true);
  expect((thrown as Error).stack).toBe(error.stack);
  expect((thrown as Error).cause).toBeInstanceOf(RangeError);
  expect(JSON.stringify(thrown)).not.toContain("canary");
  expect(Object.keys(thrown as object)).not.toContain("aiSdkMarks");
});
