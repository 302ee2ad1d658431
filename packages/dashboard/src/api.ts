/** What the page and the server say to each other. Types only. */

import type { ListedRun, RunStateName, RunStatus, ScheduleInfo } from "@durable/core";
import type { Purged } from "@durable/core/types";
import type { ChildSum, DeclaredLimit, ForkPlan, Lineage, Spend } from "@durable/core/inspect";
import type { WorkflowPause } from "@durable/core/storage";
import type { Costs, Doing, FailureGroup, Fleet, LimitUse, Pulse, QuotaUse } from "@durable/core/inspect";
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
  | "version"
  | "error"
  | "scores"
> {
  /** What the run shows of itself, in one line; missing when it shows nothing. */
  readonly report?: string;
  /** Calls that have been under way for a second or longer; missing when there are none. */
  readonly doing?: readonly Pick<Doing, "key" | "attempt" | "since" | "words">[];
  /** What it cost by itself; missing where nothing was used, `null` where that is not known. */
  readonly cost?: number | null;
  /** What it used by itself; missing when that is nothing. */
  readonly tokens?: number;
  /** What a fork did not have to pay again; missing when that is nothing, or not known. */
  readonly saved?: number;
  /** True for a fork; a run with a parent that is not a fork is a child. */
  readonly isFork: boolean;
}

export interface RunList {
  readonly runs: readonly RunItem[];
  /** The cursor of the next page; `null` on the last page. */
  readonly next: string | null;
  /** How many of the newest runs were sorted, where there are more of them. */
  readonly sorted?: number;
}

/**
 * How many runs have a status, and how many have an open wait, whatever else they do; `more` when there are even more. An open
 * journal does not run.
 */
export type Counts = Readonly<
  Record<RunStatus | "waiting", { readonly count: number; readonly more: boolean }>
>;

export type { Pulse } from "@durable/core/inspect";

/** The figures at the head of the page; `null` where the storage cannot find the runs of a time. */
export interface PulseReply {
  readonly pulse: Pulse | null;
  readonly since: number;
  readonly until: number;
}

/** Failures of one kind. */
export interface FailedGroup extends Omit<FailureGroup, "runs"> {
  readonly id: string;
  /** That of the newest; empty where it cannot be read. */
  readonly message: string;
  /** All of them, where one kind was asked for. */
  readonly runs?: readonly string[];
}

/** Blocked runs of one workflow and reason. */
export interface BlockedGroup {
  readonly id: string;
  readonly workflow: string;
  readonly count: number;
  /** One of them. */
  readonly runId: string;
  readonly code: string;
  readonly message: string;
  /** Since when the newest is blocked. */
  readonly since: number;
  readonly version?: string;
}

/** Runs of a workflow that are due, and have had no driver for a while. */
export interface DueWork {
  readonly workflow: string;
  readonly due: number;
  readonly since: number;
  /** Whether a worker has said that it takes this workflow; `null` where that is not known. */
  readonly hasWorker: boolean | null;
}

/** A wait that expires. */
export interface Expiring {
  readonly runId: string;
  readonly question: string;
  readonly expiresAt: number;
}

/** What needs somebody. */
export interface Attention {
  /** The most frequent kinds; `null` where the storage cannot find the runs of a time. */
  readonly failures: readonly FailedGroup[] | null;
  readonly moreFailures: number;
  readonly blocked: readonly BlockedGroup[];
  readonly waits: Inbox["open"] & {
    /** The first that is late, the first that expires soon, and the first of the others. */
    readonly first: Expiring | null;
    readonly next: Expiring | null;
    readonly other: Omit<Expiring, "expiresAt"> | null;
  };
  /** `null` for those who may not see it. */
  readonly due: readonly DueWork[] | null;
  readonly now: number;
}

/** `r` ran here, `h` came from the journal, `x` failed, `w` waits. */
export type Mark = "r" | "h" | "x" | "w";

/** A row of the waterfall, without values. */
export type Row = Omit<
  RowView,
  "value" | "error" | "note" | "schema" | "usage" | "attempts" | "fromJournal" | "edited" | "progress"
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
  /** What a step said last that it has reached, in one line. */
  readonly progress?: string;
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

export type { ChildSum } from "@durable/core/inspect";

/** What children have used, by run, with all below them. */
export type ChildSums = Readonly<Record<string, ChildSum>>;

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
  /** The run whose input it is: a fork that keeps that of an ancestor. */
  readonly inputOf?: string;
  /** System prompts that this fork replaces: that of the code or of its parent, and what is asked instead. */
  readonly prompts?: readonly (readonly [code: string, asked: string])[];
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
  /** Why a retry would be refused, for a run that failed. */
  readonly retryRefusal?: string;
  /** The id of its trace, as @durable/otel derives it. */
  readonly trace: string;
  /** Where the trace is shown; missing where the server was not told. */
  readonly traceUrl?: string;
  /** How many entries the journal has, with struck ones. */
  readonly entries: number;
  /** The time of the server. */
  readonly now: number;
}

/** A page of a run, with the name under which its changes are asked for. */
export type SentRun = (RunPage & { readonly sent: string }) | RunPatch;

/** The changes of a page of a run since it was sent as `of`. */
export interface RunPatch {
  readonly sent: string;
  readonly of: string;
  readonly now: number;
  /** The rows: ranges of those before, from and up to, and rows that are new. */
  readonly rows: readonly (Row | readonly [from: number, to: number])[];
  /** Fields that have another value. */
  readonly set: Partial<RunPage>;
  /** Names of fields that are missing now. */
  readonly gone: readonly string[];
}

/** Which recorded value. */
export type ValueField = "value" | "chunks" | "error" | "note" | "input" | "output" | "report";

/**
 * Parts of a value that are not sent with it, by their path: names and numbers, each with a slash before it. `kept` items of a
 * list or characters of a text are sent; of `size` there are that many in all.
 */
export type Cuts = Readonly<Record<string, { readonly kept: number; readonly size: number }>>;

/** A page of a list or of a text, or a part that is small enough. */
export interface ValuePart {
  readonly path: string;
  readonly offset: number;
  readonly value: Plain;
  readonly cuts: Cuts;
  /** Where the next page begins; `null` at the end. */
  readonly next: number | null;
}

/** Where words were found in a value. */
export interface ValueHits {
  readonly hits: readonly { readonly path: string; readonly text: string }[];
  /** True when there are more. */
  readonly more: boolean;
}

/** One call in detail. */
export interface StepDetail {
  readonly key: string;
  readonly value?: Plain;
  /** What of the value, or of the chunks, is not here. */
  readonly cuts?: Cuts;
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
  readonly steps: readonly {
    readonly key: string;
    /** In a branch, with the name of the branch. */
    readonly name: string;
    readonly mark: Mark;
    /** True when a fork replaced the output. */
    readonly edited?: true;
  }[];
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

/** A run with open waits in the inbox, as its head says. */
export interface InboxItem extends Pick<RunItem, "runId" | "workflow" | "label"> {
  readonly tags: Readonly<Record<string, string>>;
  /** The first question; empty where it cannot be read. */
  readonly question: string;
  /** How many waits have no answer. */
  readonly count: number;
  /** When the run changed last. */
  readonly since: number;
  /** When the first of them expires; `null` when none does. */
  readonly expiresAt: number | null;
}

/** The open waits of one run. */
export interface RunWaits {
  readonly runId: string;
  readonly workflow: string;
  readonly waits: readonly Wait[];
}

/** A run that waits, and whose head is damaged. */
export interface Unreadable {
  readonly runId: string;
  readonly workflow: string;
  readonly problem: string;
}

export interface Inbox {
  readonly items: readonly InboxItem[];
  readonly unreadable: readonly Unreadable[];
  /**
   * How many waits are open in all runs; `more` when they were not all counted. `late` ones have expired, and their runs were not
   * driven since; `soon` are those that expire within a day.
   */
  readonly open: {
    readonly count: number;
    readonly more: boolean;
    readonly late: number;
    readonly soon: number;
  };
  readonly next: string | null;
}

/** What a fork would do. */
export type PlanReply = Omit<ForkPlan, "blocked"> & { readonly blocked: string | null };

/** A quota, or a budget of each run of a workflow, and how much of it is used. */
export interface LimitNear {
  readonly name: string;
  readonly what: "requests" | "tokens" | "cost" | "concurrent" | "budget";
  /** Of a budget, by the run that used most of it. */
  readonly used: number;
  readonly most: number;
}

/** The costs of some days; `null` where the storage cannot find the runs of a time. */
export interface CostReply {
  readonly costs: Omit<Costs, "dearest"> | null;
  /** The cost of as many days before. */
  readonly before: number | null;
  readonly dearest: readonly RunItem[];
  /** The nearest first. */
  readonly limits: readonly LimitNear[];
  readonly since: number;
  readonly until: number;
  readonly now: number;
}

/** What is not about single runs. A part is `null` where the storage does not keep it. */
export interface Operations {
  readonly schedules: readonly ScheduleInfo[] | null;
  readonly fleet: Fleet;
  readonly limits: LimitUse | null;
  readonly paused: readonly WorkflowPause[];
  /** What the code of the workflows declares; empty without code. */
  readonly declared: readonly DeclaredLimit[];
  /** How much of the quotas of the app is used. */
  readonly quotas: readonly QuotaUse[];
  /** Calls that have been under way for a second or longer. */
  readonly doing: readonly Doing[];
  /** All workflows that are known here: by code, work, workers and schedules. */
  readonly workflows: readonly string[];
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
