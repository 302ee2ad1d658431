/**
 * Approval of tool calls by a person. The wait is named after tool, call and arguments, so that an answer to one call does not
 * approve another call, nor the same one with other arguments.
 */

import type { Context, StepOptions } from "../engine/context.ts";
import { isOfEval } from "../engine/evals.ts";
import { fingerprint } from "../values/codec/fingerprint.ts";
import type { Duration } from "../values/duration.ts";
import type { SchemaResult, StandardSchema } from "../values/schema.ts";
import { plain, stepName } from "./names.ts";

/** The answer of a person: `true`, `false`, or this object with a reason for the model. */
export interface Approval {
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/** Options of an approval. */
export interface ApprovalOptions {
  /** After this time the call counts as denied. */
  readonly timeout?: Duration | undefined;
  /**
   * Tells the person, with the token that answers the wait: a step beside the wait, which is open by then. It is retried like any
   * step; if it fails for good, the call fails.
   */
  readonly notify?: ((call: ApprovalRequest) => unknown) | undefined;
}

/** The names of these options. */
export const approvalOptions = "timeout notify";

/** The call to approve. The note of the wait has these fields, and a `question` for lists. */
export interface ApprovalCall {
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
}

/** What `notify` gets: the call, and the token that answers it. */
export interface ApprovalRequest extends ApprovalCall {
  /** Answers the wait: `app.resume(token, true)`. */
  readonly token: string;
}

/** A name for one call with these arguments. */
export function approvalName({ tool, toolCallId, input }: ApprovalCall, what: string): string {
  return stepName(what, tool, toolCallId, fingerprint(plain(input), `arguments of ${tool}`).slice(0, 8));
}

/** Lists show the beginning of a question alone. */
const longestShown = 150;

function shown(input: unknown): string {
  const text = JSON.stringify(input) ?? "nothing";
  return text.length > longestShown ? `${text.slice(0, longestShown)}...` : text;
}

/** Asks a person about a call: a wait of the run, with a question for lists. */
export async function askApproval(
  ctx: Context,
  { tool, toolCallId, input }: ApprovalCall,
  { timeout, notify }: ApprovalOptions,
): Promise<Approval> {
  const given = plain(input);
  const name = approvalName({ tool, toolCallId, input }, "approval");
  const note = { question: `Call ${tool} with ${shown(given)}?`, tool, toolCallId, input: given };
  const fallback: Approval = { approved: false, reason: "no answer in time" };
  const answer =
    timeout === undefined
      ? ctx.suspend(name, { note, schema: approvalSchema })
      : ctx.suspend(name, { note, schema: approvalSchema, timeout, fallback });
  if (notify !== undefined) {
    const told = approvalName({ tool, toolCallId, input }, "notify");
    // An eval asks no person.
    const isEval = isOfEval(ctx);
    const tell = async (): Promise<void> => {
      if (!isEval) await notify({ tool, toolCallId, input: given, token: answer.token });
    };
    await ctx.step(told, tell, (isEval ? { stub: true } : {}) as StepOptions);
  }
  return answer;
}

const jsonSchema = {
  anyOf: [
    { type: "boolean" },
    {
      type: "object",
      properties: { approved: { type: "boolean" }, reason: { type: "string" } },
      required: ["approved"],
    },
  ],
};

const approvalSchema: StandardSchema<Approval | boolean, Approval> = {
  "~standard": {
    version: 1,
    vendor: "durable",
    validate: approvalFrom,
    jsonSchema: { input: () => jsonSchema },
  },
};

function approvalFrom(value: unknown): SchemaResult<Approval> {
  if (typeof value === "boolean") return { value: { approved: value } };
  const { approved, reason } = (value ?? {}) as Partial<Record<keyof Approval, unknown>>;
  if (typeof approved !== "boolean" || (reason !== undefined && typeof reason !== "string"))
    return { issues: [{ message: "expected true, false, or { approved, reason? }" }] };
  return { value: reason === undefined ? { approved } : { approved, reason } };
}
