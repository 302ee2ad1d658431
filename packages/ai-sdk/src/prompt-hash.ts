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

import { plain } from "@durable/core/clients";
import { fingerprint } from "@durable/core/storage";
import { byDigest } from "./plain-data.ts";

interface Said {
  readonly message: unknown;
  /** Set for a message of one text alone, as most are. */
  readonly line: Line | null;
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
    talk.push({ message: remembered(message), line: lineOf(message), hash });
  }
  const at = talks.indexOf(talk);
  if (at !== -1) talks.splice(at, 1);
  talks.push(talk);
  if (talks.length > mostTalks) talks.shift();
  return talk;
}

function commonLength(talk: readonly Said[], prompt: readonly unknown[]): number {
  const most = Math.min(talk.length, prompt.length);
  for (let i = 0; i < most; i++) {
    const said = talk[i];
    const isLine = said !== undefined && said.line !== null && isSameLine(said.line, prompt[i] as Message);
    if (!isLine && !isSame(said?.message, prompt[i])) return i;
  }
  return most;
}

/** The message `{ role, content: [{ type: "text", text }] }`. */
interface Line {
  readonly role: unknown;
  /** Exchanged for an equal text: of one and the same text no character is compared. */
  text: string;
}

interface Message {
  readonly role?: unknown;
  readonly content?: unknown;
}

function lineOf(message: unknown): Line | null {
  const { role, content } = (message ?? {}) as Message;
  const text = Array.isArray(content)
    ? (content[0] as { text?: unknown } | null | undefined)?.text
    : undefined;
  if (typeof text !== "string" || typeof role !== "string") return null;
  const line = { role, text };
  return isSameLine(line, message as Message) ? line : null;
}

/** As `isSame`, for such a message: a long replay compares hardly anything else. */
function isSameLine(line: Line, value: Message): boolean {
  if (typeof value !== "object" || value === null || value.role !== line.role) return false;
  const { content } = value;
  if (!Array.isArray(content) || content.length !== 1) return false;
  const part = content[0] as { type?: unknown; text?: unknown } | null;
  if (typeof part !== "object" || part === null || part.type !== "text" || part.text !== line.text)
    return false;
  line.text = part.text;
  return hasTwoFields(value) && hasTwoFields(part);
}

function hasTwoFields(value: object): boolean {
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  let count = 0;
  for (const key in value) if ((value as Fields)[key] !== undefined) count += 1;
  return count === 2;
}

/** An object as it is remembered: comparing lists is several times as fast as looking up fields. */
class Remembered {
  readonly keys: readonly string[];
  readonly fields: readonly unknown[];

  constructor(value: object) {
    this.keys = Object.keys(value);
    this.fields = Object.values(value).map(remembered);
  }
}

/** Of plain data. Dates, addresses and bytes are never the same, because they can change: they are hashed anew. */
function remembered(value: unknown): unknown {
  if (typeof value !== "object" || value === null || isOpaque(value)) return value;
  return Array.isArray(value) ? value.map(remembered) : new Remembered(value);
}

/**
 * True only when `plain` would make an equal copy. A long replay spends its time here, so nothing is allocated, and fields in
 * another order count as different.
 */
function isSame(copy: unknown, value: unknown): boolean {
  if (typeof value === "string") return copy === value;
  if (typeof value === "function" || typeof value === "symbol") return copy === undefined;
  if (typeof value !== "object" || value === null) return Object.is(copy, value);
  if (Array.isArray(value)) return Array.isArray(copy) && isSameList(copy, value);
  if (!(copy instanceof Remembered)) return false;
  if (Object.getPrototypeOf(value) === Object.prototype) return isSameObject(copy, value as Fields);
  return !isOpaque(value) && isSameObject(copy, { ...value });
}

function isSameList(copy: readonly unknown[], value: readonly unknown[]): boolean {
  if (value.length !== copy.length) return false;
  for (let i = 0; i < value.length; i++) if (!isSame(copy[i], value[i])) return false;
  return true;
}

type Fields = Readonly<Record<string, unknown>>;

function isSameObject({ keys, fields }: Remembered, value: Fields): boolean {
  let count = 0;
  for (const key in value) {
    const field = value[key];
    if (field === undefined || typeof field === "function" || typeof field === "symbol") continue;
    if (keys[count] !== key || !isSame(fields[count], field)) return false;
    count += 1;
  }
  return count === keys.length;
}

function isOpaque(value: object): boolean {
  return (
    value instanceof Date || value instanceof URL || value instanceof ArrayBuffer || ArrayBuffer.isView(value)
  );
}
