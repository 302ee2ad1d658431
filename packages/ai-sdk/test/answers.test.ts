/** What a recorded call of a model said is text on every screen: page, command line and MCP. */

import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { answerText, plain, viewRun } from "@durable/core/inspect";
import { expect, test } from "vitest";
import { z } from "zod";
import { chatOf, chatOfChunks } from "../../dashboard/page/lib/chat.ts";
import { durableModel, durableTools } from "../src/index.ts";
import { secret } from "./support/lab.ts";
import { Provider } from "./support/provider.ts";
import { versions } from "./support/versions.ts";

test.each(versions)("$name: a recorded answer is text, streamed or not", async ({ ai, models }) => {
  const server = await Provider.open(({ question, results, number }) =>
    question === "Look." && results === 0
      ? { text: "", calls: [{ tool: "look", input: { at: "it" } }] }
      : { text: `Answer ${number} has words enough.` },
  );
  const flow = durable("flow", async (ctx: Context) => {
    const look = ai.tool({ inputSchema: z.object({ at: z.string() }), execute: () => "seen" });
    const model = durableModel(ctx, models.chat(server.url));
    const asked = { model, prompt: "Look.", tools: durableTools(ctx, { look }), stopWhen: ai.stepCountIs(3) };
    await ai.generateText(asked);
    return ai.streamText({ model, prompt: "Talk." }).text;
  });
  try {
    const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow] });
    await app.run(flow, undefined, { id: "r" });
    const entries = await app.get("r").entries();
    const turns = viewRun(entries).rows.filter(({ turn }) => turn !== undefined);
    expect(turns.map(({ value }) => answerText(value))).toEqual([
      '[calls look {"at":"it"}]',
      "Answer 2 has words enough.",
      "Answer 3 has words enough.",
    ]);
    const chunks = entries.flatMap((entry) => (entry.kind === "stream.chunks" ? entry.chunks : []));
    const words = { role: "assistant", parts: [{ type: "text", text: "Answer 3 has words enough." }] };
    expect(chatOfChunks(chunks.map((chunk) => plain(chunk)))).toMatchObject([words]);
    expect(chatOf(plain(turns[1]!.value))).toMatchObject([
      { parts: [{ text: "Answer 2 has words enough." }] },
    ]);
  } finally {
    await server.close();
  }
});

test("values of programs are not taken for answers", () => {
  expect(
    [[[1, { type: "text", text: "a" }, 3]], [[1, "text-delta", "id"]], 5, null, "x"].map(answerText),
  ).toEqual(["", "", "", "", ""]);
  expect(answerText([{ n: 1 }, [2, 3]])).toBe("");
});
