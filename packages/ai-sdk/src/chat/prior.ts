/**
 * The parts of a message, as the stream that makes it. A client that loads the continuation of a message begins it anew,
 * so it needs what was there before. Proven in test/chat-message.test.ts.
 */

import type { Part } from "../chunks.ts";
import type { Message } from "./asked.ts";

type Fields = Readonly<Record<string, unknown>>;

/** `knowsApprovals` is false for clients whose protocol has no answer to an approval. */
export function priorParts({ parts }: Message, knowsApprovals: boolean): readonly Part[] {
  if (!Array.isArray(parts)) return [];
  return (parts as unknown[]).flatMap((part, index) => {
    if (typeof part !== "object" || part === null) return [];
    const fields = part as Fields;
    const { type } = fields;
    if (typeof type !== "string") return [];
    if (type === "step-start") return [{ type: "start-step" }];
    if (type === "text" || type === "reasoning") return textParts(type, fields, index);
    if (type === "dynamic-tool" || type.startsWith("tool-")) return toolParts(type, fields, knowsApprovals);
    if (type.startsWith("data-")) return [picked(type, fields, ["id", "data"])];
    const names = plain.get(type);
    return names === undefined ? [] : [picked(type, fields, names)];
  });
}

/** The parts that are the same in a stream and in a message. Clients refuse fields that the protocol does not have. */
export const plain: ReadonlyMap<string, readonly string[]> = new Map([
  ["source-url", ["sourceId", "url", "title", "providerMetadata"]],
  ["source-document", ["sourceId", "mediaType", "title", "filename", "providerMetadata"]],
  ["file", ["url", "mediaType", "providerMetadata"]],
  ["reasoning-file", ["url", "mediaType", "providerMetadata"]],
  ["custom", ["kind", "providerMetadata"]],
  ["steering-message", ["id", "parts"]],
]);

function picked(type: string, fields: Fields, names: readonly string[]): Part {
  const chosen = names.filter((name) => fields[name] !== undefined && fields[name] !== null);
  return { type, ...Object.fromEntries(chosen.map((name) => [name, fields[name]])) };
}

function textParts(type: string, fields: Fields, index: number): Part[] {
  const id = typeof fields["id"] === "string" ? fields["id"] : `prior-${index}`;
  const delta = typeof fields["text"] === "string" ? fields["text"] : "";
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta },
    { ...picked(`${type}-end`, fields, ["providerMetadata", "citations"]), id },
  ];
}

function toolParts(type: string, fields: Fields, knowsApprovals: boolean): Part[] {
  const { toolCallId, state, input, rawInput } = fields;
  const isDynamic = type === "dynamic-tool";
  const call = {
    ...picked("", fields, ["title", "providerExecuted", "toolMetadata"]),
    toolCallId,
    toolName: isDynamic ? fields["toolName"] : type.slice("tool-".length),
    ...(isDynamic ? { dynamic: true } : {}),
    ...(isSet(fields["callProviderMetadata"]) ? { providerMetadata: fields["callProviderMetadata"] } : {}),
  };
  if (state === "input-streaming") return [{ ...call, type: "tool-input-start" }];
  if (state === "output-error" && input === undefined && rawInput !== undefined)
    return [{ ...call, type: "tool-input-error", input: rawInput, errorText: fields["errorText"] }];
  const made = { ...call, type: "tool-input-available", input: input ?? null };
  return [made, ...approvalParts(fields, knowsApprovals), ...outcomeParts(fields, isDynamic)];
}

function approvalParts({ toolCallId, approval, state }: Fields, knowsApprovals: boolean): Part[] {
  if (!isSet(approval)) return [];
  const { id: approvalId, approved, reason, ...rest } = approval as Fields;
  const request: Part = {
    ...picked("tool-approval-request", rest, ["inputSchemaInput", "isAutomatic", "signature"]),
    ...(isSet(rest["descriptor"]) ? { approvalDescriptor: rest["descriptor"] } : {}),
    ...(isSet(rest["requestReason"]) ? { reason: rest["requestReason"] } : {}),
    approvalId,
    toolCallId,
  };
  if (typeof approved !== "boolean") return [request];
  const answer = { type: "tool-approval-response", approvalId, approved };
  if (knowsApprovals) return [request, isSet(reason) ? { ...answer, reason } : answer];
  // A question that was answered must not look open.
  return state === "output-denied" ? [request] : [];
}

function outcomeParts(fields: Fields, isDynamic: boolean): Part[] {
  const outcome = {
    ...picked("", fields, ["toolCallId", "providerExecuted", "toolMetadata"]),
    ...(isDynamic ? { dynamic: true } : {}),
    ...(isSet(fields["resultProviderMetadata"])
      ? { providerMetadata: fields["resultProviderMetadata"] }
      : {}),
  };
  switch (fields["state"]) {
    case "output-available":
      return [{ ...outcome, type: "tool-output-available", output: fields["output"] ?? null }];
    case "output-error":
      return [{ ...outcome, type: "tool-output-error", errorText: fields["errorText"] ?? "" }];
    case "output-denied":
      return [{ type: "tool-output-denied", toolCallId: fields["toolCallId"] }];
    default:
      return [];
  }
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
