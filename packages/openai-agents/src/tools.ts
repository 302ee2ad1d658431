/**
 * Function tools of the OpenAI Agents SDK whose calls are steps.
 *
 * T1. A call is named after its tool and its call id, which is part of the recorded answer of the model, so a recorded call does not
 *     run again.
 * T2. The model gets what is recorded, errors of the tool that its `errorFunction` has put into words included.
 * T3. The arguments are the declared input of the step: other arguments under a recorded id stop the run.
 *
 * Proven in test/model.test.ts.
 */

import { currentContext, DurableError, type Context, type StepOptions } from "@durable/core";
import { placed, plain, stepName } from "@durable/core/clients";
import { assertOptions } from "@durable/core/storage";
import type { FunctionTool, Tool } from "@openai/agents";

/** Options of one tool of `durableTools`. */
export interface ToolOptions extends Pick<StepOptions, "retry" | "timeout" | "onUncertain" | "quota"> {}

/** The options of a set of tools, by their names. */
export type ToolsOptions = Readonly<Record<string, ToolOptions | undefined>>;

/**
 * The same tools; calls of function tools are steps of the run in which they are made, or of this context. Other tools, such as those
 * that the provider runs, are returned unchanged. In `execute`, `currentStep()` has the idempotency key. Errors of a tool go to the
 * model; for `retry`, give the tool `errorFunction: null`. Leave tools out that wait or ask agents (`agent.asTool()`): their own calls are recorded.
 * @example const tools = durableTools([pay], { pay: { onUncertain: "suspend" } });
 */
export function durableTools<C>(ctx: Context, tools: readonly Tool<C>[], options?: ToolsOptions): Tool<C>[];
export function durableTools<C>(tools: readonly Tool<C>[], options?: ToolsOptions): Tool<C>[];
export function durableTools<C>(...args: readonly unknown[]): Tool<C>[] {
  const { ctx, rest } = placed(args);
  const [tools, options = {}] = rest as readonly [readonly Tool<C>[], ToolsOptions?];
  const names = tools.map(({ name }) => name).join(" ");
  // A misspelt name must not let a tool act without its options.
  assertOptions(options, names, "durableTools", "tool");
  return tools.map((tool) => {
    if (tool.type !== "function") return tool;
    const own = options[tool.name] ?? {};
    const where = `The tool "${tool.name}" of durableTools`;
    assertOptions(own, "retry timeout onUncertain quota", where);
    return recorded(tool as FunctionTool<C>, own, ctx) as Tool<C>;
  });
}

function recorded<C>(
  tool: FunctionTool<C>,
  { retry = false, ...options }: ToolOptions,
  given?: Context,
): FunctionTool<C> {
  const invoke: FunctionTool<C>["invoke"] = async (runContext, input, details) => {
    const ctx = given ?? currentContext();
    const callId = details?.toolCall?.callId;
    if (ctx === undefined || callId === undefined) return tool.invoke(runContext, input, details);
    const work = async ({ signal }: { readonly signal: AbortSignal }): Promise<unknown> => {
      const signals = [signal, details?.signal].filter((one) => one !== undefined);
      return plain(await tool.invoke(runContext, input, { ...details, signal: AbortSignal.any(signals) }));
    };
    try {
      const step = { ...options, retry, label: tool.name, input };
      return await ctx.step(stepName(tool.name, callId), work, step);
    } catch (error) {
      // The runner gets the tool's own error, without the step and the run.
      throw DurableError.is(error, "step-failed") ? error.cause : error;
    }
  };
  return { ...tool, invoke };
}
