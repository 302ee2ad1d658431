/**
 * Interruptions of the OpenAI Agents SDK as waits of the run: tools with `needsApproval` are answered by people, after days, in another
 * process. Proven in test/model.test.ts.
 */

import { currentContext, DurableError, type Context } from "@durable/core";
import { approvalOptions, askApproval, placed, type ApprovalOptions } from "@durable/core/clients";
import { assertOptions } from "@durable/core/storage";
import type { RunToolApprovalItem } from "@openai/agents";

/** The state of a run of agents, as far as it takes answers. */
export interface Answerable {
  approve(item: RunToolApprovalItem): void;
  reject(item: RunToolApprovalItem, options?: { readonly message?: string }): void;
}

/** What the runner gives, streamed or not: the calls that wait, and the state that takes the answers. */
export interface Interrupted<S extends Answerable> {
  readonly interruptions?: readonly RunToolApprovalItem[] | undefined;
  readonly state: S;
}

/**
 * Asks a person about every call that waits for approval, all at once, and returns the state with the answers: run it on.
 * @example while (result.interruptions?.length) result = await run(agent, await durableApprovals(result));
 */
export function durableApprovals<S extends Answerable>(
  ctx: Context,
  result: Interrupted<S>,
  options?: ApprovalOptions,
): Promise<S>;
export function durableApprovals<S extends Answerable>(
  result: Interrupted<S>,
  options?: ApprovalOptions,
): Promise<S>;
export async function durableApprovals<S extends Answerable>(...args: readonly unknown[]): Promise<S> {
  const { ctx: given, rest } = placed(args);
  const [result, options = {}] = rest as readonly [Interrupted<S>, ApprovalOptions?];
  const { interruptions = [], state } = result;
  assertOptions(options, approvalOptions, "durableApprovals");
  const ctx = given ?? currentContext();
  if (ctx === undefined)
    throw new DurableError(
      "invalid-options",
      "durableApprovals was called outside of a workflow, where nothing can wait for a person. Call it in a workflow, outside of its steps.",
    );
  const answers = await Promise.all(interruptions.map((item) => askApproval(ctx, callOf(item), options)));
  for (const [index, item] of interruptions.entries()) {
    const { approved, reason } = answers[index] as (typeof answers)[number];
    if (approved) state.approve(item);
    else state.reject(item, reason === undefined ? {} : { message: reason });
  }
  return state;
}

function callOf(item: RunToolApprovalItem) {
  const { callId, id } = item.rawItem as { readonly callId?: string; readonly id?: string };
  return { tool: item.name ?? "tool", toolCallId: callId ?? id ?? "", input: inputOf(item.arguments) };
}

/** Arguments are JSON, unless the model wrote something else. */
function inputOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return text;
  }
}
