/**
 * What was asked of a model, from the entries of a run. Each record has what its prompt adds to an earlier one, so a prompt is put
 * together from several entries.
 *
 * asked.1. A prompt is whole, or says how many of its messages are missing. Parts are found by a hash of all messages up to them, and
 *     never by key or number, so a record of another conversation cannot stand in for a missing one.
 */

import type { RunEntry } from "../journal/outcome.ts";
import type { PromptRecord, PromptSettings } from "../journal/prompt.ts";

/** What was asked of a model in one call. */
export interface PromptView {
  /** The key of its step or stream. */
  readonly key: string;
  /** As the provider names it; `null` where that is missing. */
  readonly model: string | null;
  readonly provider: string | null;
  /** Names of the tools that it could call. */
  readonly tools: readonly string[];
  /** All else that was asked: temperature, format of the answer, and for other models than those of language their input. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** System prompts and messages, as the model got them, without those that are missing. A file is `{ file: digest, bytes }`. */
  readonly messages: readonly unknown[];
  /** How many messages before these cannot be shown, because the entries lack the record that has them. */
  readonly missing: number;
  /** What differs from the turn before; `null` for the first turn, and where that turn is missing. */
  readonly change: PromptChange | null;
}

/** What a call asked otherwise than the turn before it. */
export interface PromptChange {
  /** The key of the turn before. */
  readonly key: string;
  /** How many messages both begin with. */
  readonly kept: number;
  /** Messages of the turn before that follow these. */
  readonly removed: readonly unknown[];
  /** Messages of this turn that follow these. */
  readonly added: readonly unknown[];
  /** What else differs: `model`, `tools`, or the name of a setting. */
  readonly settings: readonly string[];
}

/** A record, and the earlier one that it begins with; `null` for one that begins anew, `undefined` where that one is missing. */
interface Asked extends PromptRecord {
  readonly key: string;
  readonly seq: number;
  readonly struck: boolean;
  readonly keep: number;
  readonly base: Asked | null | undefined;
  /** Records that begin with this one. */
  readonly next: Asked[];
}

/**
 * What was asked of a model in a call, by its key or by the position of its entry; `null` where that was not recorded. With
 * `run.entries({ struck: true })` nothing is missing that a retry has struck.
 * @example promptOf(await run.entries({ struck: true }), "generate 5xq3k2mdp6i4s7ae")?.messages
 */
export function promptOf(entries: readonly RunEntry[], call: string | number): PromptView | null {
  return promptsIn(entries)(call);
}

/** The same for many calls of the same entries. */
export function promptsIn(entries: readonly RunEntry[]): (call: string | number) => PromptView | null {
  const calls = new Map<string | number, Asked>();
  const settings = new Map<string, PromptSettings>();
  const owners = new Map<string, Asked>();
  for (const entry of entries.toSorted((a, b) => a.seq - b.seq)) {
    const asked = askedIn(entry, owners);
    if (asked === null) continue;
    asked.base?.next.push(asked);
    for (const hash of asked.hashes) owners.set(hash, asked);
    if (asked.with !== undefined) settings.set(asked.about, asked.with);
    calls.set(asked.seq, asked);
    if (!asked.struck || calls.get(asked.key)?.struck !== false) calls.set(asked.key, asked);
  }
  return (call) => {
    const asked = calls.get(call);
    return asked === undefined ? null : viewOf(asked, settings);
  };
}

/** Anything can stand in a journal: a record that is none counts as missing. */
function askedIn(entry: RunEntry, owners: ReadonlyMap<string, Asked>): Asked | null {
  const { key, seq, struck, prompt } = entry as Extract<RunEntry, { kind: "step.completed" }>;
  const record = (typeof prompt === "object" ? prompt : null) as PromptRecord | null;
  const { keep = 0, after = "", add, hashes } = record ?? {};
  const isList = Array.isArray(add) && Array.isArray(hashes) && add.length === hashes.length;
  if (record === null || !isList || !Number.isSafeInteger(keep) || keep < 0) return null;
  const owner = owners.get(after);
  const isOwner = owner?.hashes[keep - owner.keep - 1] === after;
  const base = keep === 0 ? null : isOwner ? owner : undefined;
  return { ...record, key, seq, struck: struck !== undefined, keep, base, next: [] };
}

function viewOf(asked: Asked, all: ReadonlyMap<string, PromptSettings>): PromptView {
  const { model = null, provider = null, tools = [], settings = {} } = all.get(asked.about) ?? {};
  const messages = messagesOf(asked);
  const missing = asked.keep + asked.add.length - messages.length;
  return {
    key: asked.key,
    model,
    provider,
    tools,
    settings,
    messages,
    missing,
    change: changeOf(asked, all),
  };
}

/** The messages of a prompt that are known. */
function messagesOf(asked: Asked): unknown[] {
  const parts: (readonly unknown[])[] = [];
  let length = Infinity;
  for (let one: Asked | null | undefined = asked; one; one = one.base) {
    parts.push(one.add.slice(0, length - one.keep));
    length = one.keep;
  }
  return parts.toReversed().flat();
}

function changeOf(asked: Asked, all: ReadonlyMap<string, PromptSettings>): PromptChange | null {
  const before = turnBefore(asked);
  if (before === null) return null;
  // Where the beginning is missing, it is missing in both.
  const [old, now] = [messagesOf(before), messagesOf(asked)];
  const known = now.length - asked.add.length;
  return {
    key: before.key,
    kept: asked.keep,
    removed: old.slice(known),
    added: asked.add,
    settings: changedSettings(all.get(before.about), all.get(asked.about)),
  };
}

/** The last earlier call whose prompt begins with the messages that this one keeps. */
function turnBefore({ base, keep, seq, key }: Asked): Asked | null {
  let last: Asked | null = null;
  const rest = base ? [base] : [];
  for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
    if (one.key !== key && one.seq > (last?.seq ?? 0)) last = one;
    for (const other of one.next) if (other.seq < seq && other.keep >= keep) rest.push(other);
  }
  return last;
}

function changedSettings(old: PromptSettings | undefined, now: PromptSettings | undefined): string[] {
  if (old === undefined || now === undefined) return [];
  const [a, b] = [old, now].map(({ settings, ...others }): Readonly<Record<string, unknown>> => ({
    ...settings,
    ...others,
  }));
  return Object.keys({ ...a, ...b }).filter(
    (name) => JSON.stringify(a?.[name]) !== JSON.stringify(b?.[name]),
  );
}
