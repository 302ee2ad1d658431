/**
 * Warnings of mistakes that show only in a later life of the run. They go by the latest answers that this process has seen: a
 * tool is called soon after the answer that asks for it.
 *
 * W1. A call of a tool is warned of when its turn has left no record: neither a recorded answer of this process nor the
 *     conversation that was passed in has its id.
 *
 * Proven in test/traps.test.ts.
 */

import type { Context } from "@durable/core";
import type { Part } from "./chunks.ts";

/** How many are remembered, at least. */
const most = 10_000;

/** Remembers the latest texts. */
class Latest {
  #young = new Set<string>();
  #old: ReadonlySet<string> = new Set();

  add(text: string): void {
    if (this.#young.size >= most) [this.#old, this.#young] = [this.#young, new Set()];
    this.#young.add(text);
  }

  has(text: string): boolean {
    return this.#young.has(text) || this.#old.has(text);
  }
}

/** Ids of tool calls in recorded answers, runs whose ids are drawn by `durableIds`, and what was warned of. */
const recordedCalls = new Latest();
const ownIds = new Latest();
const warned = new Latest();

/** An answer, or a part of one, passes on its way from the journal or the provider. */
export function noteCalls(parts: unknown): void {
  if (!Array.isArray(parts)) return;
  for (const { type, toolCallId } of parts as readonly Part[])
    if (type === "tool-call" && typeof toolCallId === "string") recordedCalls.add(toolCallId);
}

export function noteIds({ runId }: Context): void {
  ownIds.add(runId);
}

interface Message {
  readonly content?: unknown;
}

/** W1. The SDK passes the messages before the turn; a call that was approved since is among them. */
export function warnOfUnrecorded(ctx: Context, tool: string, call: object): void {
  const { toolCallId, messages } = call as { readonly toolCallId: string; readonly messages?: unknown };
  // A program that calls its tools by hand has no turns of the SDK.
  if (!Array.isArray(messages) || messages.length === 0) return;
  const isGiven = (messages as readonly Message[]).some(
    ({ content }) =>
      Array.isArray(content) &&
      (content as readonly Part[]).some((part) => part["toolCallId"] === toolCallId),
  );
  if (isGiven || recordedCalls.has(toolCallId)) return;
  once(
    ctx,
    "turns",
    `The call "${toolCallId}" of tool "${tool}" in run ${ctx.runId} comes from a model call without a record, so the next life of the run asks again and runs the tool again. Wrap the model with durableModel, also one that prepareStep returns.`,
  );
}

/** The SDK draws the id of an approval, which the answer of a person may name. */
export function warnOfDrawnIds(ctx: Context, tool: string): void {
  if (ownIds.has(ctx.runId)) return;
  once(
    ctx,
    "ids",
    `Tool "${tool}" in run ${ctx.runId} has needsApproval, and the AI SDK draws the id of its approval anew in every life, so an answer that names it fits only in this one. Pass ...durableIds(ctx) to the call, or use approve of durableTools instead.`,
  );
}

/** Once per run and process. */
function once(ctx: Context, what: string, message: string): void {
  const id = `${what} ${ctx.runId}`;
  if (warned.has(id)) return;
  warned.add(id);
  ctx.log.warn(message);
}
