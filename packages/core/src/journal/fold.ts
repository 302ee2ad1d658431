/**
 * The state of a run, computed from its journal (law 2): pure folds over entries, for engine, resume and lists.
 *
 * fold.1. `summarize` alone decides a run's status and head.
 * fold.2. An end is final: entries after it change nothing. The exceptions are scores, and `run.retried` after
 *     `run.failed` or after the cancellation of a run that the one above did not need.
 * fold.4. A paused run stays paused, and is never due, until it is unpaused or ends.
 * fold.5. The first entry that begins to undo the run decides how it ends; what comes after it adds nothing to undo.
 * fold.6. An append that changes no report passes none to the storage.
 * fold.7. A run that goes on keeps the time since when it is due, so that a step changes nothing by which due runs are
 *     ordered. Neither a message nor a pause begins a run before its time.
 * fold.8. A run that is moved has the tags and the deadline of the start that moved it, as it has its input.
 * fold.9. The run that used tokens counts them, once: also those of attempts that failed and of calls that a retry struck. A
 *     fork has apart what it inherited.
 * fold.10. A score changes nothing but the scores: neither when the run is due, nor when it ended. A fork has none of its parent.
 */

import type { Entry, Fact } from "./entry.ts";
import type { Json } from "../values/codec/tags.ts";
import { traitsOf } from "./kinds.ts";
import { locatorOf, nameOf } from "./keys.ts";
import { addUsage, dayOf } from "../values/usage.ts";
import { Mailbox } from "./mailbox.ts";
import type { RunFlow, RunHead } from "../ports/storage.ts";
import { hasEnded } from "../ports/storage-kit.ts";
import { marksOf, Waits, type Marks, type OpenWait, type WaitState } from "./waits.ts";

type Summarized = Omit<RunHead, "locator" | "report" | keyof Marks | "blocked" | "driven">;

export type Summary = { -readonly [K in keyof Summarized]: Summarized[K] };

function emptySummary(): Summary {
  const none = { label: null, parent: null, ancestors: [], wakeAt: null, dueSince: null };
  return { ...none, runId: "", workflow: "", status: "running", createdAt: 0, updatedAt: 0, steps: 0 };
}

/** Adds one fact of the batch at `position` to a summary, in place, because a long replay folds many. */
export function summarize(summary: Summary, fact: Fact<Json>, at: number, position: number): void {
  if (fact.kind === "run.scored") return addScore(summary, fact);
  const { status } = summary;
  if (status === "completed") return;
  if ((status === "failed" || status === "cancelled") && fact.kind !== "run.retried") return;
  if (fact.kind === "run.started" || fact.kind === "run.continued") summary.workflow = fact.workflow;
  const { flow, begun } = fact as { readonly flow?: RunFlow; readonly begun?: true };
  if (flow !== undefined) summary.flow = flow;
  const waits = !begun && staysDelayed(summary, fact, at);
  const goesOn = fact.kind === "run.unpaused" || fact.kind === "run.cancelling";
  const isPaused = fact.kind === "run.paused" || (status === "paused" && !goesOn);
  // A journal without a workflow is never due.
  const isNever =
    isPaused || isOfEval(summary, fact) || (summary.workflow === "" && fact.kind !== "run.forked");
  wake(summary, isNever ? null : waits ? (summary.flow?.startAt ?? 0) : 0, at);
  summary.status = isPaused ? "paused" : waits ? "suspended" : "running";
  summary.updatedAt = Math.max(summary.updatedAt, at);
  if ("usage" in fact && fact.usage !== undefined)
    summary.usage = addUsage(summary.usage, fact.usage, { day: dayOf(at), step: nameOf(fact.key) });
  switch (fact.kind) {
    case "run.started":
    case "run.forked":
      return begin(summary, fact, at);
    case "run.continued":
      summary.runId = fact.runId;
      Object.assign(summary, fact.head, { chapter: position, dueSince: at });
      keepVersion(summary, fact);
      return;
    case "run.queued":
      if (fact.input === undefined) return;
      if (fact.tags === undefined) delete summary.tags;
      else summary.tags = fact.tags;
      return;
    case "tag.set":
      summary.tags = withTags(summary.tags, fact.tags);
      return;
    case "step.completed":
    case "step.failed":
    case "stream.completed":
    case "stream.failed":
      summary.steps += 1;
      return;
    case "run.suspended":
      if (isPaused) return;
      summary.status = "suspended";
      if (summary.eval !== undefined) return;
      wake(
        summary,
        fact.look === undefined ? fact.wakeAt : Math.min(fact.look, fact.wakeAt ?? fact.look),
        at,
      );
      return;
    case "run.completed":
    case "run.failed":
    case "run.cancelled":
      // The kind of an end is `run.` and the status it gives.
      summary.status = fact.kind.slice(4) as Summary["status"];
      wake(summary, null, at);
      return;
    default:
  }
}

function addScore(summary: Summary, { name, score }: Fact<Json> & { kind: "run.scored" }): void {
  const { [name]: _, ...scores } = summary.scores ?? {};
  if (score !== null) summary.scores = { ...scores, [name]: score };
  else if (Object.keys(scores).length > 0) summary.scores = scores;
  else delete summary.scores;
}

/** A run of an eval is never due: the eval drives it. */
function isOfEval(summary: Summary, fact: Fact<Json>): boolean {
  return summary.eval !== undefined || ("eval" in fact && fact.eval !== undefined);
}

/** 0 is due at once, whatever the clock of the last writer was. */
function wake(summary: Summary, wakeAt: number | null, at: number): void {
  const { status, dueSince } = summary;
  const goesOn = status === "running" && summary.wakeAt === 0;
  if (wakeAt !== 0) summary.dueSince = wakeAt;
  else if (dueSince === null || !goesOn) summary.dueSince = Math.min(dueSince ?? at, at);
  summary.wakeAt = wakeAt;
}

/**
 * True when a run has a time to begin, and this fact does not begin it. A message does not ask the clock of its sender, which
 * may be wrong. When a pause ends, only the clock tells: if it is ahead, the driver waits; if it is behind, the run does.
 */
function staysDelayed({ flow, status, wakeAt }: Summary, fact: Fact<Json>, at: number): boolean {
  const { startAt } = flow ?? {};
  if (startAt === undefined || fact.kind === "run.continued") return false;
  if (fact.kind === "run.unpaused") return startAt > at;
  const isTold = fact.kind === "message.sent" || fact.kind === "suspend.answered";
  return "flow" in fact || (isTold && status === "suspended" && wakeAt === startAt);
}

function begin(
  summary: Summary,
  fact: Fact<Json> & { kind: "run.started" | "run.forked" },
  at: number,
): void {
  summary.runId = fact.runId;
  summary.workflow = fact.workflow;
  summary.createdAt = at;
  keepVersion(summary, fact);
  if (fact.tags !== undefined) summary.tags = fact.tags;
  if (fact.scope !== undefined) summary.scope = fact.scope;
  if (fact.eval !== undefined) summary.eval = fact.eval;
  if (fact.kind === "run.started") {
    summary.parent = (fact.childOf ?? fact.spawnedBy)?.runId ?? null;
    return;
  }
  // The sums so far are those of inherited work.
  if (summary.usage !== undefined) summary.inherited = summary.usage;
  delete summary.usage;
  summary.parent = fact.parent;
  summary.label = fact.label;
  summary.ancestors = fact.ancestry.map((ancestor) => locatorOf(ancestor.runId));
  if (fact.ancestry.some(({ from }) => from !== undefined))
    summary.readsFrom = fact.ancestry.map(({ from = 0 }) => from);
}

function keepVersion(summary: Summary, { version }: { readonly version: string | null }): void {
  if (version === null) delete summary.version;
  else summary.version = version;
}

/** The tags after a change; `null` removes one. */
export function withTags(
  tags: RunHead["tags"],
  changes: Readonly<Record<string, string | null>>,
): Readonly<Record<string, string>> {
  const all = Object.entries({ ...tags, ...changes });
  return Object.fromEntries(all.filter((tag): tag is [string, string] => tag[1] !== null));
}

/** The recorded state of one child; `over` once its end, or the end of its scope, is recorded. */
export interface ChildState {
  readonly opened: Entry & { kind: "child.opened" };
  over: boolean;
}

/** True for an end that a retry may take back. */
export function isRetriable(end: Entry | null | undefined): boolean {
  return end?.kind === "run.failed" || (end?.kind === "run.cancelled" && end.unneeded !== undefined);
}

/** The entry that begins to undo a run. */
export type Undoing = Extract<Entry, { kind: "run.failing" | "run.cancelling" }>;

/** The fold of one run's journal, updated entry by entry. */
export class RunState {
  readonly summary: Readonly<Summary> = emptySummary();
  readonly waits = new Waits();
  /** What the head said of a run that was read only in part: its other waits are not known. */
  skimmed: Marks | null = null;
  readonly children = new Map<string, ChildState>();
  /** The run has spawned some that are cancelled when it ends, in this chapter or an earlier one. */
  endsSpawned = false;
  readonly mailbox = new Mailbox();
  /** What `ctx.report` was last given, and where that is recorded. */
  report: { readonly value: Json; readonly seq: number } | null = null;
  /** The deadline that the run was parked for, without the checks of its children. */
  deadline: number | null = null;
  /** Clean-ups that are registered, and steps with a compensation that have begun, in this order, by key. */
  readonly undoable = new Map<string, { readonly call: "cleanup" | "step"; readonly begun: number }>();
  /** The run has begun to undo what it did. */
  undoing: Undoing | null = null;
  /** The deadline of the run itself. */
  endsBy: number | null = null;
  /** Each retry begins another life: the position of the last one, 0 without one. */
  life = 0;
  /** The position of the last retry that allows the code to differ from what was recorded before. */
  loose = 0;
  paused: (Entry & { kind: "run.paused" }) | null = null;
  /** The terminal entry, once there is one. */
  end: Entry | null = null;

  learn(entry: Entry, position: number): void {
    if (entry.kind === "run.scored") return summarize(this.summary, entry, entry.at, position);
    if (this.end !== null && (entry.kind !== "run.retried" || !isRetriable(this.end))) return;
    summarize(this.summary, entry, entry.at, position);
    this.#fold(entry);
  }

  /** The same state without the entries that a retry takes back: `kept` are all others. */
  retaken(kept: readonly Entry[]): RunState {
    const state = new RunState();
    for (const entry of kept) state.#fold(entry);
    Object.assign(state.summary, this.summary);
    return state;
  }

  #fold(entry: Entry): void {
    // Most entries of a long run. All that they change is in the summary.
    if (entry.kind === "step.completed") return;
    const { call, ends } = traitsOf(entry);
    if (ends) this.end = entry;
    if (entry.kind === "run.retried") this.life = entry.seq;
    if (entry.kind === "run.retried" && entry.changes !== undefined) this.loose = entry.seq;
    if ("deadline" in entry || (entry.kind === "run.queued" && entry.input !== undefined))
      this.endsBy = entry.deadline ?? null;
    if (entry.kind === "run.paused") this.paused ??= entry;
    if (entry.kind === "run.unpaused" || entry.kind === "run.cancelling") this.paused = null;
    if (entry.kind === "run.suspended") this.deadline = entry.wakeAt;
    else if (this.summary.status === "suspended") this.deadline = this.summary.wakeAt;
    if ("wait" in entry) this.waits.learn(entry);
    if (entry.kind === "report.set") this.report = { value: entry.value, seq: entry.seq };
    if (entry.kind === "run.continued" && entry.report !== undefined)
      this.report = { value: entry.report, seq: entry.seq };
    this.mailbox.learn(entry);
    if (call === "child" && "key" in entry) this.#learnChild(entry);
    // Runs that a fork has inherited were spawned by another run.
    if (entry.kind === "run.forked") this.endsSpawned = false;
    // A fork of an eval has no effects, so it undoes none.
    if (this.summary.eval !== undefined) this.undoable.clear();
    if ("onParentEnd" in entry || "endsSpawned" in entry) this.endsSpawned = true;
    if (this.undoing === null && this.summary.eval === undefined) this.#learnUndoable(entry);
  }

  #learnUndoable(entry: Entry): void {
    if (entry.kind === "run.failing" || entry.kind === "run.cancelling") this.undoing = entry;
    if (entry.kind === "cleanup.opened") this.undoable.set(entry.key, { call: "cleanup", begun: 1 });
    if (entry.kind !== "step.started" || entry.compensate !== true) return;
    const begun = (this.undoable.get(entry.key)?.begun ?? 0) + (entry.attempt === 0 ? -1 : 1);
    if (begun > 0) this.undoable.set(entry.key, { call: "step", begun });
    else this.undoable.delete(entry.key);
  }

  /** True when a failure has something to undo. */
  get compensates(): boolean {
    return [...this.undoable.values()].some(({ call }) => call === "step");
  }

  /** True once something may have been undone: the run can no longer go on. */
  get undone(): boolean {
    return this.undoing !== null;
  }

  /** The life of the run above that cancelled this one; `null` for one that was cancelled for itself, or not at all. */
  get unneeded(): number | null {
    const cancelled = this.end ?? this.undoing;
    return cancelled !== null && "unneeded" in cancelled ? (cancelled.unneeded ?? null) : null;
  }

  #learnChild(entry: Entry & { key: string }): void {
    const state = this.children.get(entry.key);
    if (entry.kind === "child.opened") this.children.set(entry.key, { opened: entry, over: false });
    else if (state !== undefined) state.over = true;
  }

  openChildren(): ChildState[] {
    return [...this.children.values()].filter(({ over }) => !over);
  }

  /** The state of a wait, also of one without any entry yet. */
  wait(wait: string): WaitState {
    return this.waits.wait(wait);
  }

  /** Suspend points that are durable and not settled; `answered` includes those with an answer that has no verdict yet. */
  openWaits({ answered = false } = {}): OpenWait[] {
    if (this.undoing !== null) return [];
    return this.waits.open().filter(({ answers }) => answered || answers.length === 0);
  }

  /** What the head says about waits after these facts, which may not be recorded yet. `summary` is the one after them. */
  marksAfter(facts: readonly Fact<Json>[], { status, wakeAt, flow }: Summary): Marks {
    if (hasEnded({ status })) return {};
    const undoing =
      this.undoing ?? facts.find(({ kind }) => kind === "run.failing" || kind === "run.cancelling");
    if (undoing !== null && undoing !== undefined)
      return { mark: undoing.kind === "run.failing" ? "failing" : "cancelling" };
    if (this.skimmed !== null) return this.#skimmedAfter(this.skimmed, facts);
    const open = this.waits.openAfter(facts);
    const marks = marksOf(open);
    if (marks.waits !== undefined || status !== "suspended" || wakeAt === null) return marks;
    const parked = facts.findLast((fact) => fact.kind === "run.suspended");
    const looks = parked === undefined ? this.openChildren().length > 0 : parked.look !== undefined;
    // A run with a time to begin sleeps, whatever it has inherited.
    const isDelayed = wakeAt === flow?.startAt;
    return !isDelayed && (open.length > 0 || looks) ? { mark: "waiting" } : {};
  }

  /** An answer, the one fact that is appended to a run that was not read as a whole, changes the count alone (waits.2). */
  #skimmedAfter({ waits, mark }: Marks, facts: readonly Fact<Json>[]): Marks {
    if (waits === undefined) return mark === undefined || mark === "waiting" ? {} : { mark };
    const answered = facts.filter((fact) => {
      const { opened, answers, settled } = "wait" in fact ? this.wait(fact.wait) : this.wait("");
      return opened !== null && settled === null && answers.length === 0;
    });
    const count = waits.count - answered.length;
    return count > 0 ? { waits: { ...waits, count } } : {};
  }
}

/** The report that the head gets with these facts. A fork shows the inherited one until it makes its own. */
export function reportMade(
  facts: readonly { readonly fact: Fact<Json> }[],
  report: RunState["report"],
  first: Entry | null,
): Json | undefined {
  const made = facts.findLast(({ fact }) => fact.kind === "report.set")?.fact;
  const isInherited = first?.kind === "run.forked" && report !== null && report.seq <= first.base;
  return made?.kind === "report.set" ? made.value : isInherited ? report.value : undefined;
}
