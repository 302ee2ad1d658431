/**
 * Think, act, observe, until the model calls no more tools.
 *
 * A1. Each model call is one step, and each tool call is one step. A recorded step is never paid for again.
 * A2. A step records only the new messages, so the size of a turn does not grow with the conversation.
 * A3. The step does the retries: `metered` lets the AI SDK make one attempt.
 */

import { durable, DurableError, type Context, type StepInfo, type Workflow } from "@durable/core";
import {
  generateText,
  tool,
  type JSONValue,
  type LanguageModel,
  type ModelMessage,
  type ToolResultPart,
  type ToolSet,
} from "ai";
import { metered } from "example-llm";
import type { AgentTools, ToolOutput } from "./tools.ts";
import { answerOf, isLast, openCalls, type Answer, type ToolCall, type Turn } from "./turn.ts";

export interface AgentParts {
  readonly model: LanguageModel;
  readonly tools: AgentTools;
}

const instructions =
  "You answer questions about tides. Look things up, take numbers from the tide table, and calculate with the tool: never in your head. End with a short answer that cites the files it rests on, like [file.md].";

/** Stops a model that never gives an answer. */
const maxTurns = 12;

export function createAgent({ model, tools }: AgentParts): Workflow<string, Answer> {
  return durable("agent-loop", async (ctx, question: string) => {
    const messages: ModelMessage[] = [{ role: "user", content: question }];
    for (let turns = 1; turns <= maxTurns; turns++) {
      const turn = await ctx.step("think", (info) => think(model, tools, messages, info), { timeout: "2m" });
      messages.push(...turn);
      if (isLast(turn)) return answerOf(messages);
      const results = await Promise.all(openCalls(turn).map((call) => act(ctx, tools, call)));
      messages.push({ role: "tool", content: results });
    }
    throw new Error(`no answer after ${maxTurns} turns`);
  });
}

/**
 * One call of the model. The tools have no `execute`: the SDK only describes them, and the agent runs them.
 */
async function think(
  model: LanguageModel,
  tools: AgentTools,
  messages: ModelMessage[],
  info: StepInfo,
): Promise<Turn> {
  const described: ToolSet = {};
  for (const [name, { description, inputSchema }] of Object.entries(tools)) {
    described[name] = tool({ description, inputSchema });
  }
  const { responseMessages } = await metered(info, (settings) =>
    generateText({ model, instructions, messages, tools: described, ...settings }),
  );
  return responseMessages;
}

/** One tool call. If a tool fails for good, the model gets the error and the run goes on. */
async function act(ctx: Context, tools: AgentTools, call: ToolCall): Promise<ToolResultPart> {
  const { toolName, toolCallId, input } = call;
  const tool = tools[toolName];
  if (tool === undefined) throw new Error(`no tool ${toolName}`);
  const { retry } = tool;
  const work = ctx.step(toolName, (info) => tool.run(input, info), {
    input,
    timeout: "30s",
    ...(retry === undefined ? {} : { retry }),
  });
  const value: ToolOutput = await work.catch((error: unknown) => {
    if (!DurableError.is(error, "step-failed")) throw error;
    return { error: (error.cause as Error).message };
  });
  return { type: "tool-result", toolName, toolCallId, output: { type: "json", value: value as JSONValue } };
}
