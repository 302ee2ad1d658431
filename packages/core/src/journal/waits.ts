/**
 * The suspend points of a run, computed from its journal, and what its head says about them.
 *
 * waits.1. The first valid answer settles a suspend point. Answers wait for their verdict in the order in which they came.
 * waits.2. A head counts the waits that have no answer. Its time and its question are of the waits that are not settled, so
 *     that an answer, which may be recorded by a caller that has not read the others, changes the count alone.
 */

import type { Json } from "../values/codec/tags.ts";
import { shortText } from "../values/scrub.ts";
import type { RunHead } from "../ports/storage.ts";
import type { Entry, Fact } from "./entry.ts";
import { nameOf } from "./keys.ts";

/** The recorded state of one suspend point. */
export interface WaitState {
  readonly wait: string;
  opened: (Entry & { kind: "suspend.opened" }) | null;
  /** Answers without a verdict yet, the earliest first: they were only recorded (`drive: false`), or came before their wait. */
  answers: (Entry & { kind: "suspend.answered" })[];
  settled: "resolved" | "expired" | "closed" | null;
  /** The id of the answer that settled it. */
  answerId: string | null;
}

/** A wait whose opening is recorded. */
export type OpenWait = WaitState & { opened: NonNullable<WaitState["opened"]> };

/** All suspend points of one run. */
export class Waits {
  readonly #all = new Map<string, WaitState>();
  /** Waits that are open, in the order in which they were opened: a long run has few of them. */
  readonly #open = new Set<OpenWait>();
  /** Waits that have an answer and are not open yet. */
  readonly #early = new Set<WaitState>();

  /** An entry whose position is not known has `seq` 0. */
  learn(entry: Entry & { wait: string }): void {
    const state = this.wait(entry.wait);
    this.#all.set(entry.wait, state);
    switch (entry.kind) {
      case "suspend.opened":
        state.opened = entry;
        // The code reaches the wait again: the race around it is gone, or had another winner.
        if (state.settled === "closed") state.settled = null;
        break;
      case "suspend.answered":
        if (state.settled === null) state.answers.push(entry);
        break;
      case "suspend.rejected":
        if (isJudged(state, entry)) state.answers.shift();
        break;
      case "suspend.resolved":
        if (state.settled === null) {
          const { answerId } = isJudged(state, entry) ? (state.answers[0] ?? entry) : entry;
          state.answerId = answerId ?? null;
        }
        settle(state, "resolved");
        break;
      case "suspend.expired":
        // Earlier answers are validated first; the timeout counts only if all of them are invalid.
        if (state.answers.length === 0) settle(state, "expired");
        break;
      case "suspend.closed":
        settle(state, "closed");
        break;
      default:
    }
    keepIf(this.#open, state as OpenWait, state.opened !== null && state.settled === null);
    keepIf(this.#early, state, state.opened === null && state.answers.length > 0);
  }

  /** How many waits have answers that came before them. */
  get early(): number {
    return this.#early.size;
  }

  /** The state of a wait, also of one without any entry yet. */
  wait(wait: string): WaitState {
    return this.#all.get(wait) ?? { wait, opened: null, answers: [], settled: null, answerId: null };
  }

  /** Suspend points that are durable and not settled, in the order in which they were opened. */
  open(): OpenWait[] {
    return [...this.#open];
  }

  /** The same after these facts, which are not recorded yet. Waits that they concern come last. */
  openAfter(facts: readonly Fact<Json>[]): OpenWait[] {
    const next = new Waits();
    for (const fact of facts) {
      if (!("wait" in fact)) continue;
      const { answers, ...state } = this.wait(fact.wait);
      if (!next.#all.has(fact.wait)) next.#all.set(fact.wait, { ...state, answers: [...answers] });
      next.learn({ ...fact, at: 0, seq: 0, outside: false });
    }
    return [...this.#open].filter(({ wait }) => !next.#all.has(wait)).concat(...next.#open);
  }
}

/** What the head of a run says about its waits and its error, with texts as they are. */
export type Marks = Pick<RunHead, "waits" | "mark" | "error">;

/** What a head says about the waits of a run that goes on. A wait that has an answer is not asked about any more. */
export function marksOf(open: readonly OpenWait[]): Marks {
  const asked = open.filter(({ opened }) => opened.topic === undefined);
  const count = asked.filter(({ answers }) => answers.length === 0).length;
  if (count === 0) return {};
  const times = asked.flatMap(({ opened }) => opened.expiresAt ?? []);
  const first = asked.reduce((a, b) => (orderOf(b) < orderOf(a) ? b : a));
  const expiresAt = times.length === 0 ? null : times.reduce((a, b) => Math.min(a, b));
  return { waits: { count, expiresAt, question: questionOf(first.opened) } };
}

/** A wait that is not recorded yet has no position. */
function orderOf({ opened }: OpenWait): number {
  return opened.seq || Infinity;
}

/** A note that is a text, or has one, is the question. */
function questionOf({ note, key }: OpenWait["opened"]): string {
  const { question, title, summary, message } = Object(note) as Readonly<Record<string, unknown>>;
  const text = [note, question, title, summary, message].find((one) => typeof one === "string");
  return shortText(text ?? nameOf(key));
}

function keepIf<T>(set: Set<T>, item: T, keep: boolean): void {
  if (keep) set.add(item);
  else set.delete(item);
}

function settle(state: WaitState, how: NonNullable<WaitState["settled"]>): void {
  state.settled ??= how;
  state.answers = [];
}

/** True when the verdict is on the first answer: answers are judged in their order. */
function isJudged({ answers }: WaitState, { answer }: { readonly answer?: number }): boolean {
  return answer !== undefined && [0, answer].includes(answers[0]?.seq ?? -1);
}
