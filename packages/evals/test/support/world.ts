/** An agent whose every effect on the world is counted. */

import { createApp, durable, MemoryStorage, type App, type Context } from "@durable/core";
import { durableModel, durableTools } from "@durable/ai-sdk";
import { scriptedModel, type ModelCall } from "@durable/testing";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { Loopback, textOf } from "../../../ai-sdk/test/support/loopback.ts";

export const prices = { scripted: { input: 1, output: 2 } };

/** Effects by what they are: a name and what it was given. Requests come over HTTP to a server on loopback. */
export class World {
  readonly effects: string[] = [];
  /** Prompts that reached the provider. */
  readonly asked: ModelCall[] = [];
  readonly #server = new Loopback((request, response) => {
    void textOf(request).then((body) => {
      this.did(`${request.method} ${request.url}`, body);
      response.end("{}");
    });
  });

  async open(): Promise<this> {
    await this.#server.listen();
    return this;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  did(what: string, about: unknown = ""): void {
    this.effects.push(`${what} ${JSON.stringify(about)}`);
  }

  /** A webhook of another service. */
  async post(path: string, body: string): Promise<void> {
    const { ok } = await fetch(`${this.#server.origin}/${path}`, { method: "POST", body });
    if (!ok) throw new Error(`No ${path}`);
  }

  /** How often each effect happened since it was last asked. */
  taken(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const effect of this.effects.splice(0)) {
      const what = effect.slice(0, effect.search(/ ["{]/));
      counts[what] = (counts[what] ?? 0) + 1;
    }
    return counts;
  }
}

/** A system prompt is the last word that the model hears of it. */
export function systemOf({ prompt }: ModelCall): string {
  return prompt
    .flatMap((message) => (message.role === "system" ? [JSON.stringify(message.content).slice(1, -1)] : []))
    .join("\n");
}

/** A run that waits for messages, and notes each. */
const listener = "listener";

/** An agent that looks something up in each turn but the last, with webhooks, messages to another run, spawned runs and children. */
export function agentOn(world: World, turns: number): { app: App; runs: (n: number) => Promise<string[]> } {
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
  const listens = durable("listens", async (ctx: Context) => {
    for await (const news of ctx.messages("news")) await ctx.step("note", () => world.did("message", news));
  });
  const agent = durable("agent", async (ctx: Context, question: string) => {
    await ctx.step("webhook before", () => world.post("before", question));
    ctx.onCancel((c) => c.step("undo", () => world.did("undo")));
    const { text } = await generateText({
      model: durableModel(ctx, model),
      tools: durableTools(ctx, tools),
      stopWhen: stepCountIs(turns + 2),
      system: "old",
      prompt: question,
    });
    await ctx.step("webhook after", () => world.post("after", question), {
      compensate: () => world.did("compensated"),
    });
    await ctx.spawn(note, question, { onParentEnd: "leave" });
    await ctx.child(child, question);
    await ctx.sleep("20 ms");
    // Without an id of its own, a message that is sent again is another one.
    await ctx.step("send", () => app.send(listener, "news", question));
    return text;
  });
  const app: App = createApp({
    storage: new MemoryStorage(),
    workflows: [agent, note, child, listens],
    bind: false,
    prices,
    secret: "0123456789abcdef-eval",
  });
  const runs = async (n: number): Promise<string[]> => {
    await app.run(listens, undefined, { id: listener });
    const ids = Array.from({ length: n }, (_, i) => `run-${i + 1}`);
    for (const id of ids) await app.run(agent, `question ${id}`, { id });
    return ids;
  };
  return { app, runs };
}
