/** Finds the keys in the parent's journal that the options of a fork mean. */

import { callKind, isSettlement } from "../journal/kinds.ts";
import { encode } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { CallKind, Cut, Edit, Entry } from "../journal/entry.ts";
import { DurableError } from "../values/errors.ts";
import type { RunJournal } from "../journal/journal.ts";
import { isWithin, nameOf } from "../journal/keys.ts";
import { beforeUndo, isKept } from "../journal/lineage.ts";
import { turnKeys, type TurnPlace } from "../journal/turns.ts";
import { nearest } from "../values/options.ts";

export type CalledEntry = Extract<Entry, { key: string }>;

/** An output to replace: the value as given and encoded, how the call was made, and what is cut. */
export interface Edited {
  readonly key: string;
  readonly value: unknown;
  readonly json: Json;
  readonly open: NonNullable<Edit<Json>["open"]>;
  readonly cut: readonly Cut[];
}

/** A call whose output an edit replaces. */
export interface EditedCall {
  readonly key: string;
  /**
   * Set where the edit answers for others: the call is a suspend point, a child, which may wait for answers itself, or has
   * one of these in it.
   */
  readonly answers?: true;
  /** The topics, if the edit stands for messages alone. */
  readonly topics?: readonly string[];
}

/** A call by its key, or by its name where that is unique; a turn of an agent also by its number. */
export type ForkPlace = string | TurnPlace;

/** Where a fork goes back to. */
export interface Places {
  /** Runs this step again, and what came after it, except in sibling branches. `{ turn: -1 }` is the last answer of a language model. */
  readonly from?: ForkPlace | readonly ForkPlace[] | undefined;
  /** Keeps this step, and runs again what came after it, except in sibling branches. */
  readonly after?: ForkPlace | readonly ForkPlace[] | undefined;
}

/** The keys of the parent. */
export class Keys {
  readonly #parent: RunJournal;
  readonly #recorded: readonly CalledEntry[];
  readonly #paths = new Set<string>();
  readonly #settled = new Map<string, number>();

  constructor(parent: RunJournal) {
    this.#parent = parent;
    this.#recorded = beforeUndo(parent.entries).filter((entry) => "key" in entry && entry.kind !== "tag.set");
    for (const entry of this.#recorded) {
      this.#paths.add(entry.key);
      for (let end = entry.key.length; (end = entry.key.lastIndexOf("/", end - 1)) > 0;)
        this.#paths.add(entry.key.slice(0, end));
      if (isSettlement(entry) && !this.#settled.has(entry.key)) this.#settled.set(entry.key, entry.seq);
    }
  }

  cuts(options: Places): Cut[] {
    const from = [options.from ?? []].flat().map((name): Cut => {
      const key = this.#find(name);
      return { key, at: this.#positions(key).reduce(lower, Number.MAX_SAFE_INTEGER), keep: false };
    });
    const after = [options.after ?? []].flat().map((name): Cut => {
      const key = this.#find(name);
      const positions = this.#positions(key);
      if (positions.length > 0) return { key, at: positions.reduce(higher), keep: true };
      throw new DurableError(
        "unknown-step",
        `"${key}" of run ${this.#parent.runId} has not settled, so a fork cannot begin after it. Use { from } or { edit }.`,
      );
    });
    return [...from, ...after];
  }

  edit(name: string, value: unknown): Edited {
    const key = this.#find(name);
    const recorded = this.#recorded.filter((entry) => entry.key === key);
    const editable = recorded.find((entry) => hasOutput(callKind(entry)));
    if (editable === undefined) {
      throw new DurableError(
        "unknown-step",
        `"${key}" of run ${this.#parent.runId} has no output to edit. Edit a step, a stream, a suspend point or a child.`,
      );
    }
    const kind = callKind(editable);
    if (kind === "stream" && !Array.isArray(value)) {
      throw new DurableError(
        "invalid-options",
        `"${key}" of run ${this.#parent.runId} is a stream. Edit it with an array of its chunks.`,
      );
    }
    const json = encode(value, `edited output of "${key}"`);
    const at = this.#settled.get(key);
    const wait = "wait" in editable ? { wait: editable.wait } : {};
    const open = {
      after: editable.after,
      ...wait,
      ...(kind === "stream" || kind === "child" ? { kind } : {}),
    };
    return { key, value, json, open, cut: at === undefined ? [] : [{ key, at, keep: true }] };
  }

  /** What an edit of this name would replace, and whether it answers for others. */
  edited(name: string): EditedCall {
    const { key } = this.edit(name, []);
    const waits = this.#recorded.filter(
      (entry) => isWithin(entry.key, key) && ["suspend", "child"].includes(callKind(entry)),
    );
    if (waits.length === 0) return { key };
    const opened = waits.filter((entry) => entry.kind === "suspend.opened" || callKind(entry) === "child");
    const topics = opened.flatMap((entry) => (entry.kind === "suspend.opened" ? (entry.topic ?? []) : []));
    const isMessage = topics.length > 0 && topics.length === opened.length;
    return { key, answers: true, ...(isMessage && { topics: [...new Set(topics)] }) };
  }

  /**
   * The edits as the fork records them. An edit that is cut off by another edit still applies, as the outcome of a call
   * that had not settled, because the caller asked for that output.
   */
  edits(edited: readonly Edited[], cuts: readonly Cut[]): Edit<Json>[] {
    return edited.map(({ key, json, open, cut }): Edit<Json> => {
      if (cuts.some((other) => !other.keep && isWithin(key, other.key))) {
        throw new DurableError(
          "invalid-options",
          `"${key}" of run ${this.#parent.runId} cannot both run again and be edited. Remove it from { from } or from { edit }.`,
        );
      }
      const stays = cut.length > 0 && isKept({ key, after: open.after }, cuts);
      return { key, value: json, ...(stays ? {} : { open }) };
    });
  }

  #positions(path: string): number[] {
    return [...this.#settled].filter(([key]) => isWithin(key, path)).map(([, seq]) => seq);
  }

  #turn({ turn }: TurnPlace): string {
    const keys = turnKeys(this.#recorded);
    const key = keys[turn < 0 ? keys.length + turn : turn - 1];
    if (key !== undefined) return key;
    throw new DurableError(
      "unknown-step",
      `Run ${this.#parent.runId} has no turn ${turn}. It has ${keys.length} turns: 1 is the first, -1 the last.`,
      { details: { turn, turns: keys.length } },
    );
  }

  #find(name: ForkPlace): string {
    if (typeof name === "object") return this.#turn(name);
    if (this.#paths.has(name)) return name;
    if ([...this.#paths].some((path) => path.startsWith(`${name}[`))) return name;
    const matches = [...this.#paths].filter((path) => nameOf(path) === name);
    const [only] = matches;
    if (matches.length === 1 && only !== undefined) return only;
    const { runId } = this.#parent;
    const near = matches.length > 1 ? matches : nearest(name, this.#paths, nameOf);
    const hint =
      near.length === 0
        ? "It has recorded no steps yet."
        : matches.length > 1
          ? `Use one of these keys: ${near.slice(0, 5).join(", ")}.`
          : `Did you mean: ${near.slice(0, 5).join(", ")}?`;
    throw new DurableError(
      "unknown-step",
      `Run ${runId} has ${matches.length > 1 ? "several steps" : "no step"} "${name}". ${hint}`,
      { details: { name, near } },
    );
  }
}

/** Time, groups and spawned runs give nothing that could be edited. */
function hasOutput(kind: CallKind): boolean {
  return !["sleep", "parallel", "race", "spawn", "report"].includes(kind);
}

const lower = (a: number, b: number): number => Math.min(a, b);
const higher = (a: number, b: number): number => Math.max(a, b);
