/**
 * What a fork sees of its ancestors: a pure function of their batches and the fork's first entry.
 *
 * lineage.1. Nothing is copied and no ancestor is changed (law 9): the fork names its ancestors, their lengths and the cuts.
 * lineage.2. Positions continue across ancestors: each run counts on from the position where it was forked.
 * lineage.3. A fork inherits settled calls and open sleeps. Open waits open again, with tokens of the fork.
 * lineage.4. A fork inherits nothing that was recorded after its ancestor began to undo its work.
 * lineage.5. A message that no inherited call has read is unread in the fork, whatever the parent did with it.
 * lineage.6. A fork without an input of its own has the one with which its ancestor began.
 */

import type { Json } from "../values/codec/tags.ts";
import type { Ancestor, Cut, Edit, Entry, Fact } from "./entry.ts";
import { decode } from "../values/codec/decode.ts";
import { inputIn, isBeginning, isSettlement, traitsOf } from "./kinds.ts";
import { afterRetries, withoutFailure } from "./taken-back.ts";
import { areSiblings, isWithin, stepAsked, waitOf } from "./keys.ts";
import { unreadOf, type Message } from "./mailbox.ts";

export interface Inherited {
  readonly entries: Entry[];
  readonly input: Json;
  /** System prompts that this run and its ancestors replace, by those that the code gives. */
  readonly prompts: ReadonlyMap<string, string>;
  /** The ancestors, and what seeds their random values, up to which position. */
  readonly seeds: readonly { readonly runId: string; readonly seed: string; readonly upTo: number }[];
  /** The time at which the history begins. */
  readonly clock: number;
  /** Up to here the history was made by another input, other outputs or other code: the code need not ask for all of it. */
  readonly loose: number;
  /** Keys that ancestors recorded and the fork leaves out: their calls are made again, and are not new. */
  readonly left: ReadonlySet<string>;
}

/** True when a fork with these cuts keeps an entry of a call that was made at `after`. */
export function isKept(entry: { key: string; after: number }, cuts: readonly Cut[]): boolean {
  return cuts.every((cut) =>
    isWithin(entry.key, cut.key) ? cut.keep : entry.after < cut.at || areSiblings(entry.key, cut.key),
  );
}

/** Computes what a fork begins with from its ancestors, oldest first. `journals` are their own entries. */
export function inherit(
  ancestry: readonly Ancestor[],
  journals: readonly (readonly Entry[])[],
  forked: Entry & { kind: "run.forked" },
): Inherited {
  let view: Entry[] = [];
  let input: Json = null;
  let prompts: ReadonlyMap<string, string> = new Map();
  let clock = 0;
  let loose = 0;
  const seeds: { runId: string; seed: string; upTo: number }[] = [];
  const messages = new Map<number, Message>();
  const read = new Set<number>();
  let settled = new Set<string>();
  const left = new Set<string>();
  ancestry.forEach((ancestor, index) => {
    const own = journals[index] as readonly Entry[];
    const first = own.find(isBeginning);
    const given = inputIn(own);
    if (given !== undefined) input = given;
    // A fork has no time of its own before its own entries.
    if (first?.kind !== "run.forked") clock = Math.max(clock, first?.at ?? 0);
    for (const entry of own) if ("key" in entry && !isKept(entry, ancestor.cuts)) left.add(entry.key);
    const counted = beforeUndo(afterRetries(own));
    const retries = counted.filter((entry) => entry.kind === "run.retried");
    const isChanged = retries.length > 0 || (first?.kind === "run.forked" && first.edits.length > 0);
    if (first?.kind === "run.forked") {
      view = applyEdits(view, first, ancestor.cuts);
      if (isEdited(first)) loose = first.base;
      prompts = withPrompts(prompts, first);
    }
    for (const entry of own)
      for (const message of entry.kind === "message.sent" ? [entry] : unreadOf(entry))
        messages.set(message.seq, message);
    for (const entry of retries) view = withoutFailure(view, entry);
    let added = materialize(counted, messages).filter(
      (entry) => "key" in entry && isKept(entry, ancestor.cuts),
    );
    if (isChanged) {
      added = view.concat(added);
      view = [];
      settled = new Set();
    }
    // The next run in the line started unsettled calls again, under the same keys. Entries kept of earlier runs stay.
    for (const entry of added) if (isSettlement(entry)) settled.add(entry.key);
    for (const entry of added) {
      if (!isInherited(entry, settled)) continue;
      view.push(entry);
      if ("answer" in entry && entry.answer !== undefined) read.add(entry.answer);
    }
    const { runId, base } = ancestor;
    seeds.push({ runId, seed: first?.nonce ?? runId, upTo: base + own.length });
  });
  if (forked.input !== undefined) input = forked.input;
  // A wait is known by its id in this run, so that a token of the fork finds what was inherited.
  const entries = applyEdits(view, forked, []).map((entry) =>
    "key" in entry && "wait" in entry ? { ...entry, wait: waitOf(entry.key, forked.nonce) } : entry,
  );
  if (isEdited(forked)) loose = forked.base;
  for (const message of messages.values()) if (!read.has(message.seq)) entries.push(message);
  return { entries, input, prompts: withPrompts(prompts, forked), seeds, clock, loose, left };
}

/** A fork names a prompt as the code gives it, or as its parent asked with it. */
function withPrompts(
  above: ReadonlyMap<string, string>,
  { prompts = {} }: Fact<Json> & { kind: "run.forked" },
): ReadonlyMap<string, string> {
  const given = Object(decode(prompts, "the prompts of a fork")) as Readonly<Record<string, string>>;
  const own = new Map(Object.entries(given).filter(([, text]) => typeof text === "string"));
  return new Map([...[...above].map(([code, asked]) => [code, own.get(asked) ?? asked] as const), ...own]);
}

/** What was recorded before the run began to undo its work. */
export function beforeUndo<V>(entries: readonly Entry<V>[]): readonly Entry<V>[] {
  const end = entries.findIndex(({ kind }) => kind === "run.failing" || kind === "run.cancelling");
  return end === -1 ? entries : entries.slice(0, end);
}

function isEdited({ edits, input, changes }: Fact<Json> & { kind: "run.forked" }): boolean {
  return edits.length > 0 || input !== undefined || changes !== undefined;
}

function isInherited(entry: Entry, settled: ReadonlySet<string>): boolean {
  // A step that runs again makes new attempts, and answers about the old attempts do not apply to them.
  if (!("key" in entry)) return false;
  const step = stepAsked(entry.key);
  if (step !== null && !settled.has(step)) return false;
  const { settles, inherited } = traitsOf(entry);
  return settles === true || inherited === "always" || (inherited === "settled" && settled.has(entry.key));
}

/**
 * Replaces references to answers by their values, because the entries they refer to are not inherited. `messages` are those
 * that other runs and chapters have left.
 */
export function materialize<V>(
  entries: readonly Entry<V>[],
  messages: ReadonlyMap<number, { readonly value: V }> = new Map(),
): Entry<V>[] {
  const answers = new Map<number, Extract<Entry<V>, { kind: "suspend.answered" | "message.sent" }>>();
  return entries.map((entry) => {
    if (entry.kind === "suspend.answered" || entry.kind === "message.sent") answers.set(entry.seq, entry);
    if (entry.kind !== "suspend.resolved" || entry.value !== undefined) return entry;
    const seq = entry.answer ?? 0;
    const answer = answers.get(seq);
    const found =
      answer === undefined
        ? messages.get(seq)
        : "wait" in answer && answer.wait !== entry.wait
          ? null
          : answer;
    return found ? { ...entry, value: found.value } : entry;
  });
}

function applyEdits(view: Entry[], forked: Entry & { kind: "run.forked" }, cuts: readonly Cut[]): Entry[] {
  if (forked.edits.length === 0) return view;
  const edits = new Map(forked.edits.map((edit) => [edit.key, edit]));
  // The chunks of an edited stream are in its end entry.
  const kept = view.filter((entry) => entry.kind !== "stream.chunks" || !edits.has(entry.key));
  const edited = kept.map((entry): Entry => {
    const edit = isSettlement(entry) ? edits.get(entry.key) : undefined;
    if (edit === undefined) return entry;
    return editedEntry(edit, entry as Entry & { after: number; wait?: string }, entry.kind);
  });
  // An edited call that had not settled in the parent settles where the fork begins.
  for (const edit of forked.edits) {
    const { at, seq, outside } = forked;
    if (edit.open !== undefined && isKept({ key: edit.key, after: edit.open.after }, cuts)) {
      edited.push(editedEntry(edit, { at, seq, outside, ...edit.open }, edit.open.kind ?? ""));
    }
  }
  return edited;
}

/** The settlement of a call of the given kind, with the edited value. */
function editedEntry(
  { key, value }: Edit<Json>,
  place: { after: number; at: number; seq: number; outside: boolean; wait?: string; prompt?: Json },
  kind: string,
): Entry {
  const { after, at, seq, outside, wait, prompt } = place;
  const called = { key, value, after, at, seq, outside };
  const attempted = { ...called, attempt: 1, startedAt: at, ...(prompt && { prompt }) };
  if (wait !== undefined) return { kind: "suspend.resolved", ...called, wait };
  if (kind.startsWith("child")) return { kind: "child.completed", ...called };
  if (kind.startsWith("stream"))
    return { kind: "stream.completed", ...attempted, count: Array.isArray(value) ? value.length : 0 };
  return { kind: "step.completed", ...attempted };
}
