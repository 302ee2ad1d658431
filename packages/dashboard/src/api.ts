/** What the page and the server say to each other. Types only. */

import type { ListedRun, RunStateName, RunStatus, ScheduleInfo } from "@durable/core";
import type { Purged } from "@durable/core/types";
import type { ForkPlan, Lineage, Spend } from "@durable/core/inspect";
import type { WorkflowPause } from "@durable/core/storage";
import type { Fleet, LimitUse } from "@durable/core/inspect";
import type { Plain, RowView, RunTotals, RunView, WaitView } from "@durable/core/inspect";

/** Runs that one connection for changes is about. */
export const mostWatched = 50;

/** Names the session of a page. A page of another origin cannot send it without asking for permission first. */
export const sessionHeader = "x-durable-session";

/** The session of a page that has shown the token. */
export interface OpenedSession {
  readonly session: string;
}

/** What the page learns first. */
export interface Session {
  readonly title: string;
  readonly readOnly: boolean;
  /** Workflows whose code is here: their runs can be forked and retried. */
  readonly code: readonly string[];
  readonly now: number;
  /** How often lists are read anew where the storage tells of no change; `null` where it does. */
  readonly everyMs: number | null;
}

/** A run in a list. */
export interface RunItem extends Pick<
  ListedRun,
  | "runId"
  | "workflow"
  | "status"
  | "state"
  | "waits"
  | "wakeAt"
  | "createdAt"
  | "updatedAt"
  | "steps"
  | "label"
  | "parent"
  | "blocked"
  | "tags"
> {
  /** What the run shows of itself, in one line; missing when it shows nothing. */
  readonly report?: string;
  /** Calls that have been under way for a second or longer; missing when there are none. */
  readonly doing?: readonly { readonly key: string; readonly since: number }[];
  /** True for a fork; a run with a parent that is not a fork is a child. */
  readonly isFork: boolean;
}

export interface RunList {
  readonly runs: readonly RunItem[];
  /** The cursor of the next page; `null` on the last page. */
  readonly next: string | null;
}

/** How many runs have a status; `more` when there are even more. */
export type Counts = Readonly<Record<RunStatus, { readonly count: number; readonly more: boolean }>>;

/** `r` ran here, `h` came from the journal, `x` failed, `w` waits. */
export type Mark = "r" | "h" | "x" | "w";

/** What a line of the list shows besides the head of the run. */
export interface Summary {
  readonly marks: readonly Mark[];
  /** The names of open waits. */
  readonly waits: readonly {
    readonly name: string;
    readonly since: number;
    readonly expiresAt: number | null;
  }[];
  readonly sleepsUntil: number | null;
  /** The failed call and its message, in one line. */
  readonly error: string | null;
  /** The call that runs now. */
  readonly running: string | null;
  readonly settled: number;
  readonly fromJournal: number;
  /** Where a fork went back to. */
  readonly at: string | null;
  readonly tokens: number;
  readonly cost: number | null;
  readonly endedAt: number | null;
}

/** A row of the waterfall, without values. */
export type Row = Omit<
  RowView,
  "value" | "error" | "note" | "schema" | "usage" | "attempts" | "fromJournal" | "edited"
> & {
  readonly fromJournal?: true;
  readonly edited?: true;
  readonly attempts: readonly {
    readonly number: number;
    readonly startedAt: number;
    readonly endedAt: number | null;
    readonly failed?: string;
    readonly retryAt?: number;
  }[];
  readonly tokens?: number;
  readonly cost?: number;
  /** Of a turn of an agent: the model that answered. */
  readonly model?: string;
  /** The error in one line. */
  readonly problem?: string;
};

/** An open wait, with values for people. */
export type Wait = Omit<WaitView, "wait" | "note" | "schema"> & {
  readonly note: Plain;
  readonly schema: Plain;
};

/** A retry of a run. */
export interface Retry {
  readonly at: number;
  /** The error that the run had ended with, in one line. */
  readonly problem?: string;
  /** The key of the first row that it struck; `null` when it struck none. */
  readonly row: string | null;
}

/** A run as its page shows it. */
export interface RunPage extends Omit<
  RunView,
  "rows" | "waits" | "input" | "output" | "error" | "childOf" | "totals" | "lineage" | "retries"
> {
  /** With those that a retry struck; the key of such a row says which retry. */
  readonly rows: readonly Row[];
  readonly retries: readonly Retry[];
  readonly waits: readonly Wait[];
  readonly totals: RunTotals;
  readonly lineage: Lineage | null;
  readonly input?: Plain;
  readonly output?: Plain;
  readonly error?: Plain;
  readonly parentRun: string | null;
  /** What the run does, in one word. */
  readonly state: RunStateName;
  readonly tags: Readonly<Record<string, string>>;
  /** What the run shows of itself; missing when it shows nothing. */
  readonly report?: Plain;
  /** Forks and children that were made from this run; at most some. */
  readonly below: readonly RunItem[];
  /** True when the code of the workflow is here. */
  readonly hasCode: boolean;
  /** True when the run failed and a retry of it would be accepted. */
  readonly retriable: boolean;
  /** How many entries the journal has, with struck ones. */
  readonly entries: number;
  /** The time of the server. */
  readonly now: number;
}

/** One call in detail. */
export interface StepDetail {
  readonly key: string;
  readonly value?: Plain;
  readonly error?: Plain;
  /** True when the value contains what JSON cannot express, such as dates: an edit would lose it. */
  readonly lossy: boolean;
  readonly attempts: readonly { readonly number: number; readonly error?: Plain }[];
  readonly note?: Plain;
  readonly schema?: Plain;
  readonly spend: Spend;
  /** What was asked of a model: a `PromptView` without `change.added`; missing when that was not recorded. */
  readonly prompt?: Plain;
  /** Chunks that are recorded so far, for a stream. */
  readonly chunks?: readonly Plain[];
}

/** A page of a journal. */
export interface EntryPage {
  readonly entries: readonly JournalEntry[];
  readonly total: number;
}

export interface JournalEntry {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly key: string;
  readonly outside: boolean;
  readonly inherited: boolean;
  /** The position of the retry that struck it. */
  readonly struck?: number;
  /** All other fields. */
  readonly rest: Plain;
}

/** A run in the tree of forks. */
export interface TreeNode {
  readonly runId: string;
  readonly workflow: string;
  readonly parent: string | null;
  readonly label: string | null;
  readonly status: RunStatus;
  readonly isFork: boolean;
  /** Where it left its parent. */
  readonly at: readonly string[];
  readonly edited: readonly string[];
  readonly steps: readonly { readonly key: string; readonly name: string; readonly mark: Mark }[];
  /** True when the line has more steps than are sent. */
  readonly more: boolean;
  readonly cost: number | null;
  readonly tokens: number;
}

export interface Tree {
  readonly nodes: readonly TreeNode[];
  /** True when there are more runs than are sent. */
  readonly more: boolean;
}

/** A call that differs, or not, between two runs. */
export interface DiffCall {
  readonly key: string;
  readonly change: "same" | "edited" | "re-run" | "new" | "gone";
  readonly equal: boolean;
  readonly before: Plain | null;
  readonly after: Plain | null;
}

export interface DiffPage {
  readonly before: { readonly runId: string; readonly label: string | null };
  readonly after: { readonly runId: string; readonly label: string | null };
  readonly calls: readonly DiffCall[];
  readonly end: Omit<DiffCall, "key" | "change">;
}

/** An open wait in the inbox. */
export interface InboxItem {
  readonly runId: string;
  readonly workflow: string;
  readonly wait: Wait;
}

/** A run that waits, and whose journal cannot be read. */
export interface Unreadable {
  readonly runId: string;
  readonly workflow: string;
  readonly problem: string;
}

export interface Inbox {
  readonly items: readonly InboxItem[];
  readonly unreadable: readonly Unreadable[];
  /** How many waits are open in all runs; `more` when they were not all counted. */
  readonly open: { readonly count: number; readonly more: boolean };
  readonly next: string | null;
}

/** What a fork would do. */
export type PlanReply = Omit<ForkPlan, "blocked"> & { readonly blocked: string | null };

/** What is not about single runs. A part is `null` where the storage does not keep it. */
export interface Operations {
  readonly schedules: readonly ScheduleInfo[] | null;
  readonly fleet: Fleet;
  readonly limits: LimitUse | null;
  readonly paused: readonly WorkflowPause[];
  readonly now: number;
}

/** What was removed, or with `dryRun` what would be. */
export type Purge = Purged & { readonly dryRun: boolean };

/** What an action did. */
export interface ActionReply {
  /** In one sentence, for people. */
  readonly message: string;
  /** The run to open now: a fork, the same run, or "" when it is about none. */
  readonly runId: string;
}
