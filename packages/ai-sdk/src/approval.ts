/** Approvals as the AI SDK asks for them. Proven in test/tools.test.ts. */

import type { Context } from "@durable/core";
import { approvalOptions, askApproval, type ApprovalOptions } from "@durable/core/clients";
import { assertOptions } from "@durable/core/storage";
import { noteIds } from "./traps.ts";

/**
 * For `toolApproval` of the AI SDK 7: `toolApproval: { pay: durableApproval(ctx, "pay") }`. Waits for a
 * person; the SDK reports a denial to the model.
 */
export function durableApproval(
  ctx: Context,
  tool: string,
  options: ApprovalOptions = {},
): (
  input: unknown,
  call: { readonly toolCallId: string },
) => Promise<{ type: "approved" | "denied"; reason?: string }> {
  assertOptions(options, approvalOptions, "durableApproval");
  return async (input, { toolCallId }) => {
    const { approved, reason } = await askApproval(ctx, { tool, toolCallId, input }, options);
    return { type: approved ? "approved" : "denied", ...(reason === undefined ? {} : { reason }) };
  };
}

/**
 * For the calls of the AI SDK 6 and 7 whose tools have `needsApproval`: `generateText({ ...durableIds(ctx), ... })`.
 * The ids that the SDK draws, those of approvals among them, are then equal in every life of the run, so that an
 * answer that names one still fits.
 */
export function durableIds(ctx: Context): { readonly _internal: { readonly generateId: () => string } } {
  const drawn = ctx.uuid("ids of the AI SDK");
  noteIds(ctx);
  let count = 0;
  return { _internal: { generateId: () => `${drawn}-${++count}` } };
}
