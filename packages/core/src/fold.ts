/**
 * What a journal adds up to (law 2): pure folds over entries, shared by engine, resumers and lists.
 *
 * F1. `summarize` alone decides a run's status and head; nothing else stores them.
 * F2. An end is final: entries after it change nothing.
 * F3. The first answer that stands settles a suspend point; what comes later is a duplicate.
 */

import type { Entry, Fact } from "./entry.ts";
import type { Json } from "./codec/tags.ts";
import { locatorOf, waitOf } from "./keys.ts";
import type { RunHead } from "./storage.ts";

export type Summary = Omit<RunHead, "locator">;

const empty: Summary = {
  runId: "",
  workflow: "",
  status: "running",
  wakeAt: null,
  createdAt: 0,
  updatedAt: 0,
  steps: 0,
  label: null,
  parent: null,
  ancestors: [],
};

export function isEnd(kind: Fact<unknown>["kind"]): boolean {
  return kind === "run.completed" || kind === "run.failed" || kind === "run.cancelled";
}

/** One entry further. */
export function summarize(before: Summary, { fact, at }: { fact: Fact<Json>; at: number }): Summary {
  if (before.status !== "running" && before.status !== "suspended") return before;
  const now = {
    ...before,
    updatedAt: Math.max(before.updatedAt, at),
    status: "running" as const,
    wakeAt: at,
  };
  switch (fact.kind) {
    case "run.started":
      return { ...now, runId: fact.runId, workflow: fact.workflow, createdAt: at };
    case "run.forked": {
      const { runId, workflow, parent, label } = fact;
      const ancestors = fact.ancestry.map((ancestor) => locatorOf(ancestor.runId));
      return { ...now, runId, workflow, parent, label, ancestors, createdAt: at };
    }
    case "step.completed":
    case "step.failed":
      return { ...now, steps: before.steps + 1 };
    case "run.suspended":
      return { ...now, status: "suspended", wakeAt: fact.wakeAt };
    case "run.completed":
      return { ...now, status: "completed", wakeAt: null };
    case "run.failed":
      return { ...now, status: "failed", wakeAt: null };
    case "run.cancelled":
      return { ...now, status: "cancelled", wakeAt: null };
    case "attempt.failed":
    case "sleep.opened":
    case "sleep.fired":
    case "suspend.opened":
    case "suspend.answered":
    case "suspend.resolved":
    case "suspend.rejected":
    case "suspend.expired":
    case "suspend.closed":
    case "parallel.opened":
    case "race.opened":
      return now;
  }
}

/** One suspend point, as far as the journal knows it. */
export interface WaitState {
  readonly wait: string;
  opened: (Entry & { kind: "suspend.opened" }) | null;
  /** An answer nobody has judged yet: it came through `deliver`, or before its wait. */
  answer: (Entry & { kind: "suspend.answered" }) | null;
  settled: "resolved" | "expired" | "closed" | null;
  answerId: string | null;
}

/** The fold of one run's journal, grown entry by entry. */
export class RunState {
  summary: Summary = empty;
  readonly waits = new Map<string, WaitState>();
  /** The terminal entry, once there is one. */
  end: Entry | null = null;

  learn(entry: Entry): void {
    if (this.end !== null) return;
    this.summary = summarize(this.summary, { fact: entry, at: entry.at });
    if (isEnd(entry.kind)) this.end = entry;
    if (entry.kind.startsWith("suspend.") && "wait" in entry) this.#learnWait(entry);
  }

  #learnWait(entry: Entry & { wait: string }): void {
    const state = this.wait(entry.wait);
    this.waits.set(entry.wait, state);
    switch (entry.kind) {
      case "suspend.opened":
        state.opened = entry;
        // The code reaches it again: a race around it is gone, or was decided otherwise.
        if (state.settled === "closed") state.settled = null;
        break;
      case "suspend.answered":
        if (state.settled === null && state.answer === null) {
          state.answer = entry;
          state.answerId = entry.answerId ?? null;
        }
        break;
      case "suspend.rejected":
        if (state.answer?.seq === entry.answer) state.answer = null;
        break;
      case "suspend.resolved":
        state.answerId ??= entry.answerId ?? null;
        settle(state, "resolved");
        break;
      case "suspend.expired":
        settle(state, "expired");
        break;
      case "suspend.closed":
        settle(state, "closed");
        break;
      default:
    }
  }

  /** The state of a wait the journal may not know yet. */
  wait(wait: string): WaitState {
    return this.waits.get(wait) ?? { wait, opened: null, answer: null, settled: null, answerId: null };
  }

  waitOfKey(key: string): WaitState {
    return this.wait(waitOf(key));
  }

  /** Suspend points that are open: durable, and not answered. */
  openWaits(): (WaitState & { opened: NonNullable<WaitState["opened"]> })[] {
    const open = [...this.waits.values()].filter(
      (w) => w.opened !== null && w.settled === null && w.answer === null,
    );
    return open as ReturnType<RunState["openWaits"]>;
  }
}

function settle(state: WaitState, how: NonNullable<WaitState["settled"]>): void {
  state.settled ??= how;
  state.answer = null;
}
