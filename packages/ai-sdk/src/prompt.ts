/**
 * What is asked of a model, for people who want to read it: recorded beside the answer where the app keeps prompts.
 *
 * P1. A prompt is recorded as what it adds to one that is recorded already, so a turn costs the same however long the conversation is.
 * P2. It begins only with a record that every reader of this one has: one that the workflow had seen when it made the call, in the same
 *     branch or one around it. A fork that keeps this call keeps that one, too.
 * P3. Files are recorded by their digest.
 *
 * Proven in test/prompts.test.ts.
 */

import type { StepInfo } from "@durable/core";
import { plain } from "@durable/core/clients";
import {
  fingerprint,
  type Asking,
  type KeepsPrompt,
  type PromptRecord,
  type PromptSettings,
} from "@durable/core/storage";
import type { Call } from "./call.ts";
import { promptHashes } from "./prompt-hash.ts";
import { asked } from "./question.ts";

/** Has the question of a call recorded with its outcome, if the app keeps prompts. */
export function keepPrompt(info: StepInfo, call: Call): void {
  (info as Partial<KeepsPrompt>).keepPrompt?.((asking) => recordOf(call, asking));
}

function recordOf({ model, params }: Call, asking: Asking): PromptRecord {
  const { prompt, tools, ...others } = asked(params);
  const messages = Array.isArray(prompt) ? (prompt as unknown[]) : [];
  // A prompt that is not a list belongs to another kind of model.
  const settings = Array.isArray(prompt) ? others : { prompt, ...others };
  const more: PromptSettings = {
    model: String(model.modelId),
    provider: String(model.provider),
    tools: (Array.isArray(tools) ? (tools as unknown[]) : []).map(nameOf),
    settings: withoutFiles(plain(settings)) as PromptSettings["settings"],
  };
  const about = fingerprint(more, "settings of a question");
  const hashes = promptHashes(messages);
  const places = new Map(hashes.map((hash, index) => [hash, index + 1]));
  let keep = 0;
  let isKnown = false;
  for (const record of recordsFor(asking)) {
    isKnown ||= record.about === about && record.with !== undefined;
    for (const hash of record.hashes) keep = Math.max(keep, places.get(hash) ?? 0);
  }
  const after = hashes[keep - 1];
  return {
    ...(after === undefined ? {} : { keep, after }),
    add: messages.slice(keep).map((message) => withoutFiles(plain(message)) ?? null),
    hashes: hashes.slice(keep),
    about,
    ...(isKnown ? {} : { with: more }),
  };
}

/** The records that a new one may begin with. The fields that are read have the same form encoded. */
function* recordsFor({ key, after, entries }: Asking): Generator<PromptRecord> {
  for (const entry of entries) {
    if (entry.seq > after || (entry.kind !== "step.completed" && entry.kind !== "stream.completed")) continue;
    if (entry.prompt !== undefined && key.startsWith(branchOf(entry.key)))
      yield entry.prompt as unknown as PromptRecord;
  }
}

/** The path of the branch that makes a call. */
function branchOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/") + 1);
}

function nameOf(tool: unknown): string {
  return String((tool as { readonly name?: unknown } | null)?.name);
}

/** A file in a text: base64, or an address that contains it. */
const dataAddress = /^data:[^,]{0,200};base64,/;

/** Plain data whose files are named by their digest. */
function withoutFiles(value: unknown): unknown {
  if (typeof value === "string") return dataAddress.test(value) ? fileOf(value) : value;
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (value instanceof URL) return value.protocol === "data:" ? fileOf(value.href) : value;
  if (value instanceof ArrayBuffer) return fileOf(new Uint8Array(value));
  if (ArrayBuffer.isView(value))
    return fileOf(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  if (Array.isArray(value)) return value.map(withoutFiles);
  const { type, mediaType, data } = value as Readonly<Record<string, unknown>>;
  const isFile = typeof data === "string" && (type === "data" || mediaType !== undefined);
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      isFile && name === "data" && !URL.canParse(data) ? fileOf(data) : withoutFiles(field),
    ]),
  );
}

/** A file as prompts show it. The same file has the same digest as bytes and as base64. */
function fileOf(content: Uint8Array | string): { readonly file: string; readonly bytes: number } {
  const bytes = typeof content === "string" ? bytesIn(content.replace(dataAddress, "")) : content;
  return { file: fingerprint(bytes, "file of a prompt"), bytes: bytes.length };
}

function bytesIn(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return new TextEncoder().encode(text);
  }
}
