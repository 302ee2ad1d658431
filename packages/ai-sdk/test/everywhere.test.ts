/** Agents of the AI SDK, with a fault at every read and write. */

import { durable, type Context } from "@durable/core";
import { crashEverywhere, recorder, scriptedModel } from "@durable/testing";
import { generateText, isStepCount, streamText, tool } from "ai";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { durableCall, durableModel, durableTools } from "../src/index.ts";

// Every fault with and without streams in `npm run test:full`; here one, with a stream.
const full = inject("full");

test.each(full ? [false, true] : [true])(
  "H10 streaming %s: one answer, whatever happens; a crash costs one turn or one tool call at most",
  { timeout: 300_000 },
  async (stream) => {
    const desk = recorder();
    const model = scriptedModel([
      {
        text: "I will look.",
        calls: [
          { tool: "send", input: { what: "a letter" } },
          { tool: "send", input: { what: "a parcel" } },
        ],
      },
      { fail: "overloaded", status: 429, retryAfter: 3_600 },
      { text: "Once more.", calls: [{ tool: "send", input: { what: "a card" } }] },
      "All is sent.",
    ]);
    const send = tool({
      inputSchema: z.object({ what: z.string() }),
      execute: ({ what }, options) => {
        desk.record("send", { key: durableCall(options).idempotencyKey ?? "", payload: what });
        return "sent";
      },
    });
    const post = durable("post", async (ctx: Context) => {
      const asked = {
        model: durableModel(ctx, model),
        tools: durableTools(ctx, { send }),
        prompt: "Send them.",
        stopWhen: isStepCount(5),
      };
      const { text } = stream ? streamText(asked) : await generateText(asked);
      return text;
    });
    const report = await crashEverywhere(post, {
      effects: desk,
      reset: model,
      faults: full ? undefined : ["crash-after"],
    });
    expect(report.calm.outcome).toMatchObject({ output: "All is sent." });
    expect(Object.values(report.calm.ran).reduce((sum, count) => sum + count, 0)).toBe(7);
    expect(report.totals).toMatchObject({ wrong: 0 });
    expect(report.totals.cases).toBeGreaterThan(full ? 20 : 4);
    // The provider's retry-after is an hour.
    expect(report.totals.virtualMs).toBeGreaterThanOrEqual(3_600_000);
    for (const { ran } of report.cases)
      for (const [key, count] of Object.entries(ran))
        expect(count - (report.calm.ran[key] ?? 0), key).toBeLessThanOrEqual(1);
    expect(report.effects).toEqual([]);
  },
);
