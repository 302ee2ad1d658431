/**
 * What a call asks, part by part, as short fingerprints. They are recorded with the answer, so that a later change of the
 * code can be named.
 *
 * Q1. No part of a prompt is recorded, only fingerprints, and no more than a few hundred bytes, however long it is.
 * Q2. The first difference is named in the words of the SDK: model, system prompt, tool, setting, message.
 *
 * Proven in test/changes.test.ts.
 */

import { plain } from "@durable/core/clients";
import { fingerprint } from "@durable/core/storage";
import { byDigest } from "./plain-data.ts";
import type { ModelId, Params } from "./params.ts";
import { promptHash } from "./prompt-hash.ts";

/** The parts of a question, as they are recorded. */
export interface Question {
  readonly model: string;
  readonly system?: string;
  /** One fingerprint per tool, in a row. */
  readonly tools?: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** How many messages, without system prompts. */
  readonly messages?: number;
  /** One fingerprint per message, in a row, of the last ones. */
  readonly last?: string;
  /** All messages before them. */
  readonly early?: string;
}

/** Characters of a fingerprint: two parts that differ look equal once in 4 billion. */
const width = 7;
/** Messages with a fingerprint of their own. */
const most = 16;

interface Message {
  readonly role?: unknown;
}

interface Tool {
  readonly name?: unknown;
}

export function questionOf({ provider, modelId }: ModelId, params: Params): Question {
  const { prompt, tools, ...settings } = asked(params);
  const messages = list(prompt).filter((message) => !isSystem(message));
  const system = list(prompt).filter(isSystem);
  // A prompt that is not a list belongs to another kind of model.
  const other = prompt === undefined || Array.isArray(prompt) ? {} : { prompt };
  const names = Object.entries({ ...settings, ...other }).filter(([, value]) => value !== undefined);
  return {
    model: short([provider, modelId]),
    ...(system.length === 0 ? {} : { system: short(system) }),
    ...(list(tools).length === 0 ? {} : { tools: list(tools).map(short).join("") }),
    ...(names.length === 0
      ? {}
      : { settings: Object.fromEntries(names.map(([name, v]) => [name, short(v)])) }),
    ...(Array.isArray(prompt) ? { messages: messages.length } : {}),
    ...(messages.length === 0 ? {} : { last: messages.slice(-most).map(short).join("") }),
    ...(messages.length <= most ? {} : { early: promptHash(messages.slice(0, -most)).slice(0, width) }),
  };
}

/** The parameters that belong to the question: others differ in every process, or do not reach the model. */
export function asked(params: Params): Params {
  const { abortSignal: _, headers: __, includeRawChunks: ___, ...question } = params;
  return question;
}

/** The same kind of model, with the same messages, or with the same system prompt and tools. */
export function isSameTalk(before: Question, now: Question): boolean {
  if ((before.messages === undefined) !== (now.messages === undefined)) return false;
  return (
    messageDifference(before, now) === null || (before.system === now.system && before.tools === now.tools)
  );
}

/** The first difference, in words; `null` when there is none. */
export function difference(before: Question, now: Question, params: Params): string | null {
  if (before.model !== now.model) return "the model";
  if (before.system !== now.system) return "the system prompt";
  return (
    toolDifference(before.tools ?? "", now.tools ?? "", params) ??
    settingDifference(before.settings ?? {}, now.settings ?? {}) ??
    messageDifference(before, now)
  );
}

function toolDifference(before: string, now: string, { tools }: Params): string | null {
  if (before === now) return null;
  const [old, fresh] = [pieces(before), pieces(now)];
  const at = fresh.findIndex((tool) => !old.includes(tool));
  if (at === -1) return fresh.length < old.length ? "a tool that was removed" : "the order of the tools";
  const { name } = (tools as readonly Tool[])[at] ?? {};
  return `tool ${JSON.stringify(name)}${fresh.length > old.length ? ", which was added" : ""}`;
}

function settingDifference(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): string | null {
  const name = Object.keys({ ...before, ...now }).find((key) => before[key] !== now[key]);
  return name === undefined ? null : `setting "${name}"`;
}

function messageDifference(before: Question, now: Question): string | null {
  const [old, fresh] = [numbered(before), numbered(now)];
  const at = [...new Set([...old.keys(), ...fresh.keys()])]
    .toSorted((a, b) => a - b)
    .find((n) => old.has(n) && fresh.has(n) && old.get(n) !== fresh.get(n));
  if (at !== undefined) return `message ${at}`;
  if (before.messages !== now.messages)
    return `the number of messages: ${now.messages ?? 0} instead of ${before.messages ?? 0}`;
  return before.early === now.early ? null : "a message before the last 16";
}

/** Fingerprints by the number of their message, counted from 1. */
function numbered({ messages = 0, last = "" }: Question): ReadonlyMap<number, string> {
  const parts = pieces(last);
  return new Map(parts.map((part, i) => [messages - parts.length + i + 1, part]));
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

function isSystem(message: unknown): boolean {
  return (message as Message | null)?.role === "system";
}

function pieces(text: string): string[] {
  return text.match(new RegExp(`.{${width}}`, "g")) ?? [];
}

function short(part: unknown): string {
  return fingerprint(byDigest(plain(part)) ?? null, "part of a question").slice(0, width);
}
