/**
 * A person decides whether a tool may run. The wait is named after tool, call and arguments: an answer to one call is
 * no answer to another, nor to the same one with other arguments.
 */

import {
  fingerprint,
  type Context,
  type Duration,
  type SchemaResult,
  type StandardSchema,
} from "@durable/core";
import { nameOf } from "./names.ts";
import { plain } from "./plain.ts";

/** The answer of a person: `true`, `false`, or this object with a reason that the model is told. */
export interface Approval {
  readonly approved: boolean;
  readonly reason?: string;
}

/** Options of an approval. */
export interface ApprovalOptions {
  /** After this time the call counts as denied. */
  readonly timeout?: Duration | undefined;
}

/** The call that somebody is asked about; shown to them as the note of the wait. */
export interface ApprovalCall {
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
}

export function askApproval(
  ctx: Context,
  { tool, toolCallId, input }: ApprovalCall,
  { timeout }: ApprovalOptions,
): Promise<Approval> {
  const given = plain(input);
  const name = nameOf("approval", tool, toolCallId, fingerprint(given, `arguments of ${tool}`).slice(0, 8));
  const note = { tool, toolCallId, input: given };
  const fallback: Approval = { approved: false, reason: "nobody answered in time" };
  return timeout === undefined
    ? ctx.suspend(name, { note, schema: approvalSchema })
    : ctx.suspend(name, { note, schema: approvalSchema, timeout, fallback });
}

/**
 * For `toolApproval` of the AI SDK 7: `toolApproval: { pay: durableApproval(ctx, "pay") }`. Waits for a
 * person; the SDK tells the model about a denial.
 */
export function durableApproval(
  ctx: Context,
  tool: string,
  options: ApprovalOptions = {},
): (
  input: unknown,
  call: { readonly toolCallId: string },
) => Promise<{ type: "approved" | "denied"; reason?: string }> {
  return async (input, { toolCallId }) => {
    const { approved, reason } = await askApproval(ctx, { tool, toolCallId, input }, options);
    return { type: approved ? "approved" : "denied", ...(reason === undefined ? {} : { reason }) };
  };
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
