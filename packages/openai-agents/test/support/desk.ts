/** Two agents: a desk that hands over to a clerk, who books, notes, pays after an approval, and reports. */

import { currentStep, type Context } from "@durable/core";
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { durableApprovals, durableModel, durableTools, type ModelOptions } from "../../src/index.ts";
import type { Heard, Said } from "./provider.ts";

setTracingDisabled(true);

/** Without a kill. */
export const ideal = { calls: 4, effects: 3 };

/** What the model of both agents says. */
export function clerk({ results, number }: Heard): Said {
  if (results.length === 0) return { calls: [{ id: "call_h", tool: "transfer_to_clerk", input: {} }] };
  const call = (id: string, name: string) => ({ id, tool: name, input: { what: `the ${name} of a train` } });
  if (results.length === 1)
    return { text: "I will book it.", calls: [call("call_b", "book"), call("call_n", "note")] };
  if (results.length === 3) return { text: "Now I pay.", calls: [call("call_p", "pay")] };
  return { text: `All is booked and ${results.at(-1)}, says answer ${number} of the model.` };
}

export type Effect = (name: string, key: string) => Promise<string>;

/** The agents, defined once, and the workflow that runs them. */
export function deskOf(baseURL: string, effect: Effect, options: ModelOptions = {}) {
  const client = new OpenAI({ apiKey: "key", baseURL, maxRetries: 0 });
  const model = durableModel(new OpenAIChatCompletionsModel(client, "m"), options);
  const acting = (name: string, needsApproval = false) =>
    tool({
      name,
      description: `to ${name}`,
      parameters: z.object({ what: z.string() }),
      needsApproval,
      execute: () => effect(name, currentStep()?.idempotencyKey ?? "none"),
    });
  const tools = durableTools([acting("book"), acting("note"), acting("pay", true)]);
  const handoffs = [new Agent({ name: "clerk", instructions: "Book and pay.", model, tools })];
  const desk = Agent.create({ name: "desk", instructions: "Hand over to the clerk.", model, handoffs });
  return async (
    _: Context,
    stream: boolean,
  ): Promise<{ readonly output: string; readonly words: string }> => {
    let words = "";
    const turn = async (input: Parameters<typeof run<typeof desk>>[1]) => {
      if (!stream) return run(desk, input);
      const result = await run(desk, input, { stream: true });
      for await (const text of result.toTextStream()) words += text;
      await result.completed;
      return result;
    };
    let result = await turn("Book the train.");
    while (result.interruptions !== undefined && result.interruptions.length > 0)
      result = await turn(await durableApprovals<typeof result.state>(result));
    return { output: String(result.finalOutput), words };
  };
}
