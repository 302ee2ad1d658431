/** An agent whose every effect on the world is counted. */

import { createApp, durable, MemoryStorage, type App, type Context } from "@durable/core";
import { durableModel, durableTools } from "@durable/ai-sdk";
import { scriptedModel, type ModelCall } from "@durable/testing";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";

export const prices = { scripted: { input: 1, output: 2 } };

/** Effects by what they are: a name and what it was given. */
export class World {
  readonly effects: string[] = [];
  /** Prompts that reached the provider. */
  readonly asked: ModelCall[] = [];

  did(what: string, about: unknown = ""): void {
    this.effects.push(`${what} ${JSON.stringify(about)}`);
  }
}

/** A system prompt is the last word that the model hears of it. */
export function systemOf({ prompt }: ModelCall): string {
  return prompt
    .flatMap((message) => (message.role === "system" ? [JSON.stringify(message.content).slice(1, -1)] : []))
    .join("\n");
}

/** An agent that looks something up in each turn but the last, with steps, messages, spawned runs and webhooks beside it. */
export function agentOn(
  world: World,
  turns: number,
): { app: App; storage: MemoryStorage; runs: (n: number) => Promise<string[]> } {
  let calls = 0;
  const model = scriptedModel((_, call) => {
    world.asked.push(call);
    const system = systemOf(call);
    if (call.turn < turns)
      return { calls: [{ tool: "look", id: `id-${++calls}`, input: { at: call.turn } }] };
    return `${system} answer about ${call.question}`;
  });
  const tools = {
    look: tool({
      description: "Looks something up.",
      inputSchema: jsonSchema<{ at: number }>({ type: "object", properties: { at: { type: "number" } } }),
      execute: (input) => {
        world.did("tool look", input);
        return { found: input.at };
      },
    }),
  };
  const note = durable("note", async (ctx: Context, text: string) =>
    ctx.step("note", () => world.did("spawned", text)),
  );
  const child = durable("child", async (ctx: Context, text: string) =>
    ctx.step("child", () => (world.did("child", text), text)),
  );
  const agent = durable("agent", async (ctx: Context, question: string) => {
    await ctx.step("webhook before", () => world.did("webhook before"));
    ctx.onCancel((c) => c.step("undo", () => world.did("undo")));
    const { text } = await generateText({
      model: durableModel(ctx, model),
      tools: durableTools(ctx, tools),
      stopWhen: stepCountIs(turns + 2),
      system: "old",
      prompt: question,
    });
    await ctx.step("webhook after", () => world.did("webhook after"), {
      compensate: () => world.did("compensated"),
    });
    await ctx.spawn(note, question, { onParentEnd: "cancel" });
    await ctx.child(child, question);
    await ctx.sleep("20 ms");
    await ctx.step("send", () => world.did("send"));
    return text;
  });
  const storage = new MemoryStorage();
  const app = createApp({
    storage,
    workflows: [agent, note, child],
    bind: false,
    prices,
    secret: "0123456789abcdef-eval",
  });
  const runs = async (n: number): Promise<string[]> => {
    const ids = Array.from({ length: n }, (_, i) => `run-${i + 1}`);
    for (const id of ids) await app.run(agent, `question ${id}`, { id });
    return ids;
  };
  return { app, storage, runs };
}
