/**
 * The hash of a prompt, message by message: the hash of n messages is made from that of n - 1 and the last one. The prompts
 * of a conversation begin with those before them, so each costs what it adds, and not its whole length again.
 *
 * H1. Equal prompts have equal hashes, whatever was hashed before: what is remembered only saves work.
 * H2. A message counts as remembered if its content is equal, because the SDK makes new objects for each call. It is
 *     compared with a copy, so a change in place is noticed.
 *
 * Proven in test/long-chat.test.ts.
 */

import { fingerprint } from "@durable/core/storage";
import { byDigest, plain } from "./plain-data.ts";

interface Said {
  readonly message: unknown;
  /** The hash of the prompt up to this message. */
  readonly hash: string;
}

/** The latest prompts, the newest last. */
const talks: Said[][] = [];
/** Runs that a process replays side by side, and branches of one. */
const mostTalks = 8;

export function promptHash(prompt: readonly unknown[]): string {
  return talkOf(prompt)[prompt.length - 1]?.hash ?? "";
}

/** For each message the hash of the prompt up to it. */
export function promptHashes(prompt: readonly unknown[]): string[] {
  return talkOf(prompt)
    .slice(0, prompt.length)
    .map(({ hash }) => hash);
}

/** A talk that begins with the prompt. */
function talkOf(prompt: readonly unknown[]): readonly Said[] {
  let known: Said[] = [];
  let common = 0;
  for (const talk of talks.toReversed()) {
    if (common === prompt.length) break;
    const length = commonLength(talk, prompt);
    if (length > common) [known, common] = [talk, length];
  }
  // A prompt that goes on otherwise leaves the known one to those that follow it.
  const isNew = common < known.length && common < prompt.length;
  const talk = isNew ? known.slice(0, common) : known;
  for (const given of prompt.slice(common)) {
    const message = plain(given);
    const hash = fingerprint([talk.at(-1)?.hash ?? "", byDigest(message) ?? null], "message of a question");
    talk.push({ message, hash });
  }
  const at = talks.indexOf(talk);
  if (at !== -1) talks.splice(at, 1);
  talks.push(talk);
  if (talks.length > mostTalks) talks.shift();
  return talk;
}

function commonLength(talk: readonly Said[], prompt: readonly unknown[]): number {
  const most = Math.min(talk.length, prompt.length);
  for (let i = 0; i < most; i++) if (!isSame(talk[i]?.message, prompt[i])) return i;
  return most;
}

/** True when `plain` would make an equal copy. Dates, addresses and bytes are hashed anew, because they can change. */
function isSame(copy: unknown, value: unknown): boolean {
  if (typeof value === "function" || typeof value === "symbol") return copy === undefined;
  if (typeof value !== "object" || value === null) return Object.is(copy, value);
  if (typeof copy !== "object" || copy === null || Array.isArray(value) !== Array.isArray(copy)) return false;
  if (isOpaque(value) || isOpaque(copy)) return false;
  if (Array.isArray(value))
    return (
      value.length === (copy as unknown[]).length &&
      value.every((item, i) => isSame((copy as unknown[])[i], item))
    );
  const fields = copy as Readonly<Record<string, unknown>>;
  let count = 0;
  for (const key of Object.keys(value)) {
    const field = (value as Readonly<Record<string, unknown>>)[key];
    if (field === undefined || typeof field === "function" || typeof field === "symbol") continue;
    if (!Object.hasOwn(fields, key) || !isSame(fields[key], field)) return false;
    count += 1;
  }
  return count === Object.keys(fields).length;
}

function isOpaque(value: object): boolean {
  return (
    value instanceof Date || value instanceof URL || value instanceof ArrayBuffer || ArrayBuffer.isView(value)
  );
}
