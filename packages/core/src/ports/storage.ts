/**
 * The port of a storage. Every adapter passes `storageConformance` of @durable/testing.
 * Safety rests on `append` alone, a compare-and-swap on the number of batches. A lease only saves work.
 * Adapters store texts and heads; encoding happens once, in core. Runs are named by their locator.
 */

import type { SpentRow, UsageRow } from "../values/usage.ts";
import type { ScheduleStore } from "./schedules.ts";

/** The status of a run in lists. `blocked` is not recorded in the journal: it comes from a note beside the head. */
export type RunStatus = "running" | "suspended" | "paused" | "blocked" | "completed" | "failed" | "cancelled";

/** Why a run cannot continue now, and since when. Kept beside its head, never in its journal. */
export interface BlockedNote {
  /** The code of the error. */
  readonly code: string;
  /** The message of the error: what to do. */
  readonly message: string;
  /** When the run became blocked, in milliseconds since the epoch. */
  readonly since: number;
  /** How many batches the journal had. The note is void once the journal has more. */
  readonly length: number;
}

/** When a run may begin, and beside which others. Recorded when the run is created. */
export interface RunFlow {
  /** The slots that the run takes one of while it is driven: the key of the `concurrency` of its workflow. */
  readonly slot?: string;
  /** The run is taken as if it had become due this many seconds earlier; 0 when it is missing. */
  readonly priority?: number;
  /** Due runs of the workflow with different texts are taken in turn; empty when it is missing. */
  readonly fair?: string;
  /** How many runs of its `fair` text are taken in one turn; 1 when it is missing. */
  readonly weight?: number;
  /** The run does not begin before this time. */
  readonly startAt?: number;
  /** While the run has not ended, the storage refuses another run of the workflow with the same text. */
  readonly singleton?: string;
}

/**
 * A summary of a run for lists and timers, computed from its journal and written in the same operation as
 * each batch.
 */
export interface RunHead {
  /** Under which the storage keeps the run: part of a hash of its id. */
  readonly locator: string;
  readonly runId: string;
  readonly workflow: string;
  readonly status: RunStatus;
  /**
   * When the run wants a driver: at once while running (0), its next deadline while suspended, `null` while
   * paused and after its end.
   */
  readonly wakeAt: number | null;
  /**
   * Since when the run wants a driver: `wakeAt` where that is a time, otherwise when the run began to want one.
   * It decides only in which order due runs are taken.
   */
  readonly dueSince: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Steps and streams that have settled. */
  readonly steps: number;
  readonly label: string | null;
  /** The run that was forked, or whose child this is. */
  readonly parent: string | null;
  /** Locators of runs whose batches this run reads: they are kept until it is gone. The first batch sets them. */
  readonly ancestors: readonly string[];
  /** From which position this run reads each of its ancestors; all zero when it is missing. Set with them. */
  readonly readsFrom?: readonly number[];
  /** The position of the batch that begins the current chapter; 0 when it is missing. */
  readonly chapter?: number;
  /** Missing for a run that begins at once, without limits. Appends change it only where it has a `startAt`. */
  readonly flow?: RunFlow;
  /** The tags of the run, by name. Missing when it never had one. */
  readonly tags?: Readonly<Record<string, string>>;
  /** The version of the code that began the current chapter; missing when it had none. */
  readonly version?: string;
  /**
   * What the run shows of itself (`ctx.report`); missing when it has shown nothing. Storages keep a text, which
   * is encrypted where values are; `list` of a workflow or an app gives the value.
   */
  readonly report?: unknown;
  /** Its open waits that an answer settles; missing when there is none without an answer. */
  readonly waits?: OpenWaits;
  /**
   * What the status does not say: the run undoes its work before it ends, as `cancelling` or `failing`; or it is
   * suspended until a time, and `waiting` for a message or a child as well.
   */
  readonly mark?: "cancelling" | "failing" | "waiting";
  /** What its own attempts used, also those that a retry struck; missing when nothing was metered. */
  readonly usage?: readonly UsageRow[];
  /** What the work used that a fork inherited: it was not paid for again. */
  readonly inherited?: readonly UsageRow[];
  /** Why the run fails or has failed; missing otherwise. */
  readonly error?: RootError;
  /** Whose run it is, where a policy says so; forks and children have that of their parent. */
  readonly scope?: string;
  /**
   * The eval that the run is, or that made this fork. Such a run is never due: the eval drives it. Lists and sums leave it out
   * unless they are asked for it.
   */
  readonly eval?: string;
  /** Its scores (`run.score`), by name; missing when it has none. */
  readonly scores?: Readonly<Record<string, number>>;
  /** In lists only: the note of a run whose status is `blocked`. */
  readonly blocked?: BlockedNote;
  /** In lists only: whether a live driver has the run. Missing where the storage does not know. */
  readonly driven?: boolean;
}

/** The error that a failed run began to fail with, as its head has it. */
export interface RootError {
  /** The code of the error of the run: `step-failed`, `deadline`; `thrown` when its code threw another error. */
  readonly code: string;
  /** The key of the step, stream or child that failed first. */
  readonly key?: string;
  /** The same for failures that differ only in numbers and ids. With encryption it tells nothing without the key. */
  readonly group: string;
  /**
   * Name and message of the first error, of at most 200 characters. Storages keep a text, which is encrypted where values are;
   * `list` of a workflow or an app gives the message, or nothing where it cannot be opened.
   */
  readonly message?: string;
}

/** The open waits of a run, as its head has them. */
export interface OpenWaits {
  /** How many have no answer. */
  readonly count: number;
  /** When the first of them expires, in milliseconds since the epoch; `null` when none does. */
  readonly expiresAt: number | null;
  /**
   * The first question, of at most 200 characters: a text of its note, or the name of the wait. Storages keep a text, which
   * is encrypted where values are; `list` of a workflow or an app gives the question, or nothing where it cannot be opened.
   */
  readonly question?: string;
}

/**
 * Content that batches refer to by a name made from it. Stored once, and kept as long as a run refers to it.
 */
export interface NamedBlob {
  readonly name: string;
  /**
   * Missing when this run, or one that it reads, has referred to it before, in a batch that was not dropped. A
   * chapter names its blobs anew.
   */
  readonly body?: string;
}

/** What `storage.append` writes, all or nothing. */
export interface AppendRequest {
  readonly locator: string;
  /** How many batches the journal must have. */
  readonly position: number;
  /** The text of the batch. */
  readonly batch: string;
  /** Blobs that the batch refers to, written in the same operation. */
  readonly blobs?: readonly NamedBlob[];
  /** The summary of the run after this batch. */
  readonly head: RunHead;
  /**
   * True when the tags of the head differ from those of the head before. A first batch, or one that begins a chapter, does
   * not say so: their tags and versions are always new.
   */
  readonly newTags?: true;
  /**
   * True when the marks of the head (`marksText`) may differ from those of the head before. A first batch does not say so:
   * what it has is always new.
   */
  readonly newMarks?: true;
  /** True when the run had ended, and this batch lets it continue: its singleton may belong to another run by now. */
  readonly revives?: true;
  /** The report of the run, if this batch changes it: a text to keep with the head, and to give back as `head.report`. */
  readonly report?: string;
  /** Extends the lease of the driver; `null` releases it; if missing, the lease is not changed. */
  readonly lease?: { readonly owner: string; readonly ttlMs: number } | null;
}

/** The right to drive a run for a limited time. */
export interface Lease {
  /** How often the run was leased since its journal last grew or a lease was released, this time included. */
  readonly starts: number;
  /** How many batches the journal had when the lease was granted: a driver that has read fewer reads on. */
  readonly length: number;
  /** The note that this lease made void, if there was one. */
  readonly blocked?: BlockedNote;
  /** Another owner had it and did not give it back: it died, or was silent until its lease ended. */
  readonly tookOver?: true;
  /** All slots of the run are taken: nothing was granted, and a claim of the run is over. */
  readonly full?: true;
}

/** How many runs of a workflow may be driven at the same time, per slot (`flow.slot`), by workflow. */
export type SlotLimits = Readonly<Record<string, number>>;

/** Which runs to list. */
export interface ListQuery {
  /** Only runs of this workflow, or of one of these. */
  readonly workflow?: string | readonly string[] | undefined;
  readonly status?: RunStatus | undefined;
  /** Only forks and children of this run or of one of these, and runs that they have spawned. */
  readonly parent?: string | readonly string[] | undefined;
  /** Only runs with all of these tags. Needs a storage that `finds`, like the filters below. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Only runs whose current chapter began with this version of the code, or with one of these. */
  readonly version?: string | readonly string[] | undefined;
  /** Only runs that were created at this time or later, in milliseconds since the epoch. */
  readonly createdAfter?: number | undefined;
  /** Only runs that were created before this time. */
  readonly createdBefore?: number | undefined;
  /** Only runs whose id, label or value of a tag begins with this text. */
  readonly q?: string | undefined;
  /**
   * Only runs with open waits that have no answer, whatever else they do. Runs whose waits expire first come first, then
   * runs whose waits do not expire, the oldest first.
   */
  readonly waiting?: true | undefined;
  /** Only runs that want a driver at this time and have no live one. */
  readonly dueAt?: number | undefined;
  /**
   * Only runs that have ended, before this time. Runs that ended first come first, where the storage has them
   * in that order.
   */
  readonly endedBefore?: number | undefined;
  /** Runs per page. */
  readonly limit?: number | undefined;
  /** `next` of the previous page; `null` begins at the first page. */
  readonly cursor?: string | null | undefined;
  /** On abort the page ends with the runs that were found, and `next` goes on from there. Only buckets know it. */
  readonly signal?: AbortSignal | undefined;
}

/** A page of runs. */
export interface ListPage<Head extends RunHead = RunHead> {
  readonly runs: readonly Head[];
  /** The cursor of the next page; `null` on the last page. */
  readonly next: string | null;
  /** The search for `q` stopped early, because very many runs fit: the page may be short, and `next` goes on from there. */
  readonly partial?: true;
}

/** Which due runs a worker takes, and for how long it keeps them from others. */
export interface ClaimRequest {
  /**
   * Only runs of these workflows. They take turns, so that a workflow with many due runs does not keep the
   * others waiting. Within a workflow, the texts of `flow.fair` take turns.
   */
  readonly workflow: readonly string[];
  /** Only runs of these versions; of any version when it is missing. Only a storage that `finds` is asked for it. */
  readonly version?: readonly string[] | undefined;
  /** Runs that want a driver at this time and have no live one. */
  readonly dueAt: number;
  /** At most this many runs. */
  readonly limit: number;
  /** For how long due lists and other claims leave these runs out. An append or a release ends it. */
  readonly quietMs: number;
  /** Runs of these workflows are taken only while they have a free slot. A claimed run counts as driven. */
  readonly slots?: SlotLimits | undefined;
}

/** Runs that have not ended and do the same, as `tally` counts them. */
export interface RunTally extends Pick<RunHead, "workflow" | "status" | "mark"> {
  /** How many they are. */
  readonly runs: number;
  /** They have open waits. */
  readonly waits: boolean;
  /** A live driver has each of them. */
  readonly driven: boolean;
  /** A list of due runs has them. */
  readonly due: boolean;
  /** When the first of them wants a driver, as in a head. */
  readonly wakeAt: number | null;
  /** Since when the first of them is due; `null` where they are not. */
  readonly dueSince: number | null;
}

/** Runs of a time, for sums and charts. */
export interface DuringQuery {
  /** The time that counts: when runs were created, or when they ended. */
  readonly by: "created" | "ended";
  /** Only runs of this time or later, in milliseconds since the epoch. */
  readonly after: number;
  /** Only runs before this time. */
  readonly before: number;
  /** Where ends count: only runs that ended so. */
  readonly status?: "completed" | "failed" | "cancelled" | undefined;
  /** At most this many, the newest of them. */
  readonly limit: number;
}

/** What sums and charts need of a run. The status is that of the journal, also where the run is blocked. */
export type RunDuring = Pick<
  RunHead,
  | "runId"
  | "workflow"
  | "status"
  | "createdAt"
  | "updatedAt"
  | "steps"
  | "tags"
  | "version"
  | "usage"
  | "inherited"
  | "error"
  | "eval"
>;

/** The slots of one workflow and key. */
export interface SlotUse {
  readonly workflow: string;
  readonly slot: string;
  /** Runs that are driven now. */
  readonly taken: number;
  /** Runs that are due and have no driver. */
  readonly waiting: number;
}

/**
 * Limits that hold across processes. A storage that has this member obeys `slots` in `lease` and `claim`, and
 * keeps runs with a `singleton` unique.
 */
export interface StorageLimits {
  /** What is taken and waits, of all runs that have a slot. */
  slots(): Promise<readonly SlotUse[]>;
  /** A small text under a name, and the time by the clock of the storage. `null` when there is none. */
  read(name: string): Promise<{ readonly value: string | null; readonly now: number }>;
  /**
   * Replaces the text under a name if it is still `before`; false when it is not. The storage may forget it
   * after `keepMs`.
   */
  swap(name: string, before: string | null, after: string, keepMs: number): Promise<boolean>;
  /**
   * Sets the text under a name, whatever it was. It need not be durable: a power cut may lose it. Without it, nobody sees
   * what is under way.
   */
  put?(name: string, value: string, keepMs: number): Promise<void>;
  /** All texts whose name begins with this. */
  texts(prefix: string): Promise<readonly { readonly name: string; readonly value: string }[]>;
}

/** A workflow whose runs are not driven. */
export interface WorkflowPause {
  readonly workflow: string;
  readonly reason: string | null;
  /** When it was paused, in milliseconds since the epoch. */
  readonly since: number;
}

/** Batches of a journal. */
export interface ReadReply {
  /** From the position that was asked for, without gaps. */
  readonly batches: readonly string[];
  /** How many batches the journal has. */
  readonly length: number;
  /** Bodies of the blobs that these batches were the first of their chapter to refer to. */
  readonly blobs?: Readonly<Record<string, string>>;
  /** True for a run that was deleted and is kept only for forks that read it. */
  readonly deleted?: boolean;
  /** The head that the latest batch was appended with. Without it, an answer has to decode the whole chapter. */
  readonly head?: RunHead;
  /** The position of the first batch, where it is not the one that was asked for: earlier ones were dropped. */
  readonly from?: number;
  /** The note of the run, unless it is void. */
  readonly blocked?: BlockedNote;
  /** Whether a live driver has the run. Missing where the storage does not know. */
  readonly driven?: boolean;
}

/**
 * The port of a storage: where journals are kept. Safety rests on `append` alone, which is a compare-and-swap
 * on the number of batches; a lease only saves work.
 */
export interface Storage {
  /**
   * Adds one batch, its blobs, its head and its lease, all or nothing. Rejects with code `conflict` when the
   * journal has moved, with `details.deleted` when the run was deleted or a new fork reads a deleted
   * ancestor, or batches that its ancestor has dropped, and with `details.singleton`, the id of the other run,
   * when a new run has the `flow.singleton` of one that has not ended.
   */
  append(request: AppendRequest): Promise<void>;
  /** Batches from `from` on, and how many there are. An unknown run has none. */
  read(locator: string, from?: number): Promise<ReadReply>;
  /**
   * Newest first; with `dueAt`, those that are due longest first, a priority counted in; see also `waiting` and
   * `endedBefore`.
   */
  list(query?: ListQuery): Promise<ListPage>;
  /**
   * Grants or extends the right to drive; `null` while another live owner has it, or the run is unknown. With
   * `ttlMs` 0 the owner gives it back: the run is due again, and this start does not count. A caller that does
   * not have it then gets `null`, and nothing changes. With `slots`, a run that has a slot is granted only while
   * fewer live leases than that have the same one; a live lease is extended in any case.
   */
  lease(locator: string, owner: string, ttlMs: number, slots?: SlotLimits): Promise<Lease | null>;
  /** Releases the lease; `quietMs` keeps a blocked run out of `dueAt` lists for that time. */
  release(locator: string, owner: string, quietMs?: number): Promise<void>;
  /**
   * Hides a run at once. Its batches are removed when no fork reads them, its blobs when no run refers to
   * them.
   */
  delete(locator: string): Promise<void>;
  /**
   * Deletes runs, as `delete` does, in their order: those that are still as these heads say (status, creation,
   * time of the last batch). Returns the locators of those that it deleted. All of them go in one commit, where
   * the storage has such. Without it, runs are read and deleted one by one.
   */
  deleteUnchanged?(heads: readonly RunHead[]): Promise<readonly string[]>;
  /**
   * What deleted runs used: one sum per day, workflow, model and provider, which the commit that hides a run adds to.
   * Without it, what a run used is forgotten with the run.
   */
  spent?(): Promise<readonly SpentRow[]>;
  /**
   * The runs that were created in a time, or that ended in it, the newest first. It reads no runs of another time, so its cost
   * does not grow with their number, and many thousands are one reply. A row that cannot be read is left out. Without it, pages
   * show no sums over time.
   */
  during?(query: DuringQuery): Promise<readonly RunDuring[]>;
  /**
   * Gives the space of deleted runs back, as far as that is possible without keeping others from their work.
   * Without it, the storage uses that space again or needs none of this.
   */
  giveBackSpace?(signal?: AbortSignal): Promise<void>;
  /**
   * Takes the turn to do some work of the whole storage, for a time: true when no other owner has it. The owner
   * extends it by taking it again. It only saves work. Without it, every process does that work.
   */
  takeTurn?(name: string, owner: string, ttlMs: number): Promise<boolean>;
  /**
   * Batches from the beginning of the current chapter on; `from` is its position. Without it, a run is read
   * from its first batch. With `back`, those of the chapter this many before the current one, and the batch after
   * it; a storage that always returns the current chapter costs readers of earlier ones a read of all batches.
   */
  readChapter?(locator: string, back?: number): Promise<ReadReply & { readonly from: number }>;
  /**
   * Removes the batches before a position at which a chapter begins, and the blobs that no other batch refers
   * to. `length` stays. Rejects with code `conflict` while a fork reads one of them, and with
   * `invalid-options` for any other position. Nothing happens when they are gone already, or the run is
   * unknown. Without it, all chapters are kept.
   */
  dropChapters?(locator: string, before: number): Promise<void>;
  /**
   * Keeps a note beside the head of a run that is blocked. It is void once the journal has more than
   * `note.length` batches or the run is leased; giving a lease back does not change it. Nothing happens when
   * the journal has another length, or the run is unknown. Without it, a blocked run is listed under its
   * recorded status.
   */
  note?(locator: string, note: BlockedNote): Promise<void>;
  /**
   * Keeps a workflow as paused, or with `null` no longer. It changes no run and no due list: workers leave out
   * the workflows that `paused` names. Without it, only single runs can be paused.
   */
  pause?(workflow: string, pause: WorkflowPause | null): Promise<void>;
  /** The workflows that are paused, in any order. */
  paused?(): Promise<readonly WorkflowPause[]>;
  /**
   * A text that is another one after each change of what lists, notes, pauses and `limits` show, whoever wrote it. It may
   * change for less, and costs next to nothing: pages ask for it every second. Without it, they read their lists anew every few
   * seconds.
   */
  revision?(): Promise<string>;
  /**
   * All runs that have not ended, by what they do at a time, in one query. It costs with the runs that have not ended, and
   * nothing for those that have. Without it, lists are counted up to a number.
   */
  tally?(dueAt: number): Promise<readonly RunTally[]>;
  /** Resolves when the journal has more than `length` batches, or on abort. Without it, drivers poll. */
  changed?(locator: string, length: number, signal: AbortSignal): Promise<void>;
  /**
   * Takes due runs for one worker: each is left out of due lists and of other claims for `quietMs`, so that
   * the workers of a fleet do not compete for the same runs. Within a workflow and a `flow.fair`, those that
   * are due longest come first, a priority counted in. It gives no right to drive; a lease does. Without it, workers list due runs and compete for
   * their leases.
   */
  claim?(request: ClaimRequest): Promise<readonly RunHead[]>;
  /**
   * Resolves when a run of one of these workflows is due, or may be; or on abort. It may resolve too early,
   * never much too late. Without it, workers poll. With `version`, runs of other versions do not count; only a
   * storage that `finds` is asked for it.
   */
  whenDue?(workflow: readonly string[], signal: AbortSignal, version?: readonly string[]): Promise<void>;
  /**
   * True when it keeps the tags, versions and waits of heads, when lists know `tags`, `version`, `createdAfter`,
   * `createdBefore`, `q` and `waiting`, and claims and `whenDue` know versions. Without it, these filters are refused, and
   * workers of certain versions list all due runs of their workflows.
   */
  readonly finds?: true;
  /**
   * True when every request costs. To a caller without patience, a run that is parked and not due is then shown as its
   * journal has it, without a lease and without a replay.
   */
  readonly costs?: true;
  /** Keeps the schedules of an app. Without it, `app.schedule` rejects. */
  readonly schedules?: ScheduleStore;
  /** Without it, `concurrency`, `rate`, `quotas`, `singleton` and `debounce` are refused. */
  readonly limits?: StorageLimits;
  /** A secret for tokens that is kept beside the journals. Without it, users pass one. */
  secret?(): Promise<string>;
  /** Releases files and connections. */
  close?(): Promise<void>;
}
