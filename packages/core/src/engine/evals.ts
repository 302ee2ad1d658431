/**
 * A fork of an eval: after its cut only calls of models run.
 *
 * evals.1. A model call runs, and so does a stub. Groups, tags and reports have no effects. Every other call gets the outcome that
 *     the original recorded, or the fork ends.
 * evals.2. A call is answered by its key, if it declares the same input; a call of a tool, and its approval, also by the tool and
 *     equal arguments, because a model gives its calls new ids. Of several, the first that was not used.
 * evals.3. Time does not pass: a sleep ends at once.
 * evals.4. An answer is an entry of the fork, so a fork that was killed goes on without the original's help.
 * evals.5. Where the original waits itself, the fork has come as far as the original.
 */

import type { Entry, Fact } from "../journal/entry.ts";
import { callKind, isSettlement, type Settlement } from "../journal/kinds.ts";
import { beforeUndo, materialize } from "../journal/lineage.ts";
import type { RunJournal } from "../journal/journal.ts";
import { nameOf } from "../journal/keys.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError, show } from "../values/errors.ts";
import { defined } from "../values/options.ts";
import type { Call } from "./registry.ts";
import type { Replay } from "./replay.ts";

/** What an eval, or a fork with other prompts, changes in calls of models. */
export interface EvalVariant {
  /** A model of the AI SDK that is asked in place of the one in the code. */
  readonly model?: object | undefined;
  /** Another system prompt, or a function of the one in the code. The label is that of the model, if it has one. */
  readonly prompt?:
    | string
    | ((system: string, call: { readonly label: string | undefined }) => string)
    | undefined;
}

/** Where a context has what is changed. */
export const varied = Symbol();

export interface Varied {
  readonly variant: EvalVariant | undefined;
  readonly isEval: boolean;
}

const variedIn = (ctx: { readonly runId: string }): Varied | undefined =>
  (ctx as unknown as Record<typeof varied, Varied | undefined>)[varied];

/** What is changed in calls of models of this run; `undefined` in most runs. */
export function variantOf(ctx: { readonly runId: string }): EvalVariant | undefined {
  return variedIn(ctx)?.variant;
}

/** True in a fork of an eval, which has no effects. */
export function isOfEval(ctx: { readonly runId: string }): boolean {
  return variedIn(ctx)?.isEval === true;
}

/** What a run asks otherwise than its code: as its eval says, or as the fork says that it is. */
export function variedBy(
  off: EvalFork | undefined,
  { otherPrompts }: Pick<RunJournal, "otherPrompts">,
): Varied {
  if (otherPrompts.size === 0) return { variant: off?.variant, isEval: off !== undefined };
  const prompt = (system: string): string => otherPrompts.get(system) ?? system;
  return { variant: { prompt, ...defined(off?.variant ?? {}) }, isEval: off !== undefined };
}

/** Replaces the work of a tool or a step. It gets the declared input: the arguments of a tool. */
export type Stub = (input: unknown) => unknown;

/** What an eval gives to the drives of one of its forks. */
export interface EvalFork {
  readonly eval: string;
  readonly variant: EvalVariant;
  /** By the name of a tool, or of a step. */
  readonly stubs: Readonly<Record<string, Stub>>;
  /** No call of a tool is answered from the original. */
  readonly refuse: boolean;
  readonly original: Original;
}

type Called = Extract<Entry, { key: string }>;
type Answer = Fact<Json> & { readonly key: string };

/** The record of the original, up to where the fork was made. */
export class Original {
  readonly runId: string;
  readonly #settled = new Map<string, Settlement>();
  readonly #opened = new Map<string, Called>();
  readonly #chunks = new Map<string, Json[]>();
  readonly #inputs = new Map<string, string>();

  constructor(runId: string, entries: readonly Entry[]) {
    this.runId = runId;
    for (const entry of beforeUndo(materialize(entries))) {
      if (!("key" in entry)) continue;
      const { key } = entry;
      if (entry.kind === "stream.chunks") this.#addChunks(entry);
      if (entry.kind.endsWith(".opened")) this.#opened.set(key, entry);
      if ("input" in entry && entry.input !== undefined) this.#inputs.set(key, entry.input);
      if (isSettlement(entry) && !this.#settled.has(key)) this.#settled.set(key, entry);
    }
  }

  /** The chunks of the last attempt. */
  #addChunks({ key, from, chunks }: Called & { kind: "stream.chunks" }): void {
    const known = from === 0 ? [] : (this.#chunks.get(key) ?? []);
    this.#chunks.set(key, [...known, ...chunks]);
  }

  /** True for a call that had begun to wait, and had no outcome. */
  waitsAt(key: string): boolean {
    return this.#opened.has(key) && !this.#settled.has(key);
  }

  /** The outcome of the call with this key, of this kind and with this declared input. */
  at(key: string, kind: Call["kind"], input: string | null): Settlement | null {
    const settled = this.#settled.get(key);
    if (settled === undefined || callKind(settled) !== kind) return null;
    return input === null || this.#inputOf(settled, kind) === input ? settled : null;
  }

  #inputOf({ key }: Settlement, kind: Call["kind"]): string | null {
    const opened = this.#opened.get(key);
    return kind === "suspend"
      ? opened?.kind === "suspend.opened"
        ? (opened.topic ?? null)
        : null
      : (this.#inputs.get(key) ?? null);
  }

  /** The outcomes of calls of a tool with these arguments, in the order in which they were recorded. */
  ofTool(tool: string, input: string): Settlement[] {
    return [...this.#settled.values()].filter(
      ({ key, kind }) => kind.startsWith("step.") && isOfTool(key, tool) && this.#inputs.get(key) === input,
    );
  }

  /** The outcomes of waits that asked about the same call of a tool. */
  about(note: Json): Settlement[] {
    const asked = withoutId(note);
    if (asked === null) return [];
    return [...this.#settled.values()].filter(({ key }) => {
      const opened = this.#opened.get(key);
      return opened?.kind === "suspend.opened" && withoutId(opened.note) === asked;
    });
  }

  /** The chunks of a stream, which are in entries of their own. */
  valueOf(settled: Settlement): { readonly value?: Json } {
    if (settled.kind !== "stream.completed" || settled.value !== undefined) return {};
    return { value: this.#chunks.get(settled.key) ?? [] };
  }
}

/** Decides what becomes of a call that has no record. */
export class EffectsOff {
  readonly fork: EvalFork;
  /** Keys of the original whose outcomes were given out. */
  readonly #used: Set<string>;
  readonly #runId: string;
  readonly #replay: Pick<Replay, "record">;

  constructor(
    fork: EvalFork,
    journal: Pick<RunJournal, "runId" | "entries">,
    replay: Pick<Replay, "record">,
  ) {
    this.fork = fork;
    this.#runId = journal.runId;
    this.#replay = replay;
    this.#used = new Set(
      journal.entries.flatMap((entry) => ("answered" in entry ? (entry.answered ?? []) : [])),
    );
  }

  /** `null`: it may begin. */
  judge(call: Call, now: number): Answer | DurableError | null {
    const { kind, key, after, entered } = call;
    const { asked } = entered;
    if (asked?.model === true || asked?.stub === true) return null;
    if (kind === "sleep")
      return asked?.own === true ? null : { kind: "sleep.fired", key, after, answered: key };
    if (!["step", "stream", "child", "spawn", "suspend"].includes(kind)) return null;
    const settled = this.#outcomeFor(call);
    if (settled === null) return this.#offTheRecord(call);
    this.#used.add(settled.key);
    return this.#answer(call, settled, now);
  }

  #outcomeFor({ key, kind, entered, note }: Call): Settlement | null {
    const { original, refuse } = this.fork;
    const { input = null, label, name = "" } = entered.asked ?? {};
    const isTool = kind === "step" && label !== undefined && input !== null && isOfTool(name, label);
    if (isTool && refuse) return null;
    const same = original.at(key, kind, input);
    if (same !== null) return same;
    if (isTool) return this.#first(original.ofTool(label, input));
    return kind === "suspend" && note !== undefined ? this.#first(original.about(note)) : null;
  }

  /** The first that was not given out, or else the last. */
  #first(found: readonly Settlement[]): Settlement | null {
    const isFree = ({ key }: Settlement): boolean =>
      !this.#used.has(key) && this.#replay.record(key)?.settled !== true;
    return found.find(isFree) ?? found.at(-1) ?? null;
  }

  #answer({ key, after, wait }: Call, settled: Settlement, now: number): Answer {
    const { at: _, seq: __, outside: ___, ...fact } = settled;
    // Its usage was paid for, and recorded, once.
    const own = {
      key,
      after,
      answered: settled.key,
      inserted: undefined,
      usage: undefined,
      prompt: undefined,
    };
    const attempted =
      "attempt" in fact ? { startedAt: now, attempt: 1, kept: undefined, assumed: undefined } : {};
    const waits = wait === undefined ? {} : { wait, answer: undefined, answerId: undefined };
    return {
      ...fact,
      ...this.fork.original.valueOf(settled),
      ...own,
      ...attempted,
      ...waits,
    } as unknown as Answer;
  }

  #offTheRecord({ key, kind }: Call): DurableError {
    const { original, eval: name } = this.fork;
    if (original.waitsAt(key))
      return new DurableError(
        "off-the-record",
        `Run ${this.#runId} of eval ${show(name)} has come to ${kind} "${key}", where run ${original.runId} waits itself.`,
        { details: { key, kind, end: true } },
      );
    return new DurableError(
      "off-the-record",
      `Run ${this.#runId} of eval ${show(name)} stops at ${kind} "${key}": run ${original.runId} has no outcome of it, and an eval has no effects. Give a stub for it in \`tools\`, or leave the run out.`,
      { details: { key, kind, end: false } },
    );
  }

  /** A chapter that would begin: the turn is over. */
  chapterEnd(): DurableError {
    return new DurableError(
      "off-the-record",
      `Run ${this.#runId} of eval ${show(this.fork.eval)} has come to the end of its chapter.`,
      { details: { key: "", kind: "chapter", end: true } },
    );
  }
}

function isOfTool(key: string, tool: string): boolean {
  const name = nameOf(key);
  return name === tool || name.startsWith(`${tool} `);
}

/** The note of an approval without the id of its call; `null` for another note. */
function withoutId(note: Json): string | null {
  const { toolCallId, ...asked } = Object(note) as { toolCallId?: unknown };
  return toolCallId === undefined ? null : JSON.stringify(asked);
}
