/**
 * Where journals live. Every adapter passes `storageConformance` of @durable/testing.
 * Safety rests on `append` alone: a compare-and-swap on the number of batches. A lease only saves work.
 * Adapters move texts and heads; encoding happens once, in core. Runs are named by their locator.
 */

export type RunStatus = "running" | "suspended" | "completed" | "failed" | "cancelled";

/** What lists and timers need of a run: a fold of its journal, written in the same operation as the batch. */
export interface RunHead {
  readonly locator: string;
  readonly runId: string;
  readonly workflow: string;
  readonly status: RunStatus;
  /** When the run wants a driver: 0, at once, while running; its next deadline while suspended; never after its end. */
  readonly wakeAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly steps: number;
  readonly label: string | null;
  /** Run id of the parent of a fork. */
  readonly parent: string | null;
  /** Locators whose batches this run reads: they stay until it has gone. */
  readonly ancestors: readonly string[];
}

/** Content that batches point at by a name made from it: kept once, for as long as a run that names it. */
export interface NamedBlob {
  readonly name: string;
  /** Absent when this run, or one that it reads, has named it before. */
  readonly body?: string;
}

export interface AppendRequest {
  readonly locator: string;
  /** The number of batches the journal must have. */
  readonly position: number;
  readonly batch: string;
  /** What the batch names, written in the same operation: a batch never points at what is not there. */
  readonly blobs?: readonly NamedBlob[];
  readonly head: RunHead;
  /** A driver extends its lease with its own appends; `null` gives it back; absent leaves it alone. */
  readonly lease?: { readonly owner: string; readonly ttlMs: number } | null;
}

export interface Lease {
  /** Times the run was leased since its journal last grew or a lease was given back, this one included. */
  readonly starts: number;
  /** Batches in the journal when the lease was given: a driver that has read fewer reads on. */
  readonly length: number;
}

export interface ListQuery {
  readonly workflow?: string;
  readonly status?: RunStatus;
  readonly parent?: string;
  /** Only runs that want a driver at this time and have no live one. */
  readonly dueAt?: number;
  readonly limit?: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

export interface ListPage {
  readonly runs: readonly RunHead[];
  readonly next: string | null;
}

export interface ReadReply {
  readonly batches: readonly string[];
  readonly length: number;
  /** Bodies of the blobs that these batches were the first of their run to name. */
  readonly blobs?: Readonly<Record<string, string>>;
  /** True for a run that was deleted and is kept only for the forks that read it. */
  readonly deleted?: boolean;
}

export interface Storage {
  /**
   * Adds one batch, its blobs, its head and its lease, all or none. Rejects with code `conflict` when the journal has moved,
   * and with `details.deleted` when the run is hidden, or a new one reads an ancestor that has gone.
   */
  append(request: AppendRequest): Promise<void>;
  /** Batches from `from` on, and how many there are in all. Nothing and 0 when the run is unknown. */
  read(locator: string, from?: number): Promise<ReadReply>;
  /** Newest first; with `dueAt`, longest due first. */
  list(query?: ListQuery): Promise<ListPage>;
  /** Takes or extends the right to drive; `null` while another live owner has it, or the run is unknown. */
  lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null>;
  /** Gives it back; `quietMs` keeps the run out of `dueAt` lists for a while (it is blocked). */
  release(locator: string, owner: string, quietMs?: number): Promise<void>;
  /** Hides a run at once; its batches go when the last fork that reads them has gone, its blobs when no run names them. */
  delete(locator: string): Promise<void>;
  /** Settles when the journal has more than `length` batches, or on abort. Without it, drivers poll. */
  changed?(locator: string, length: number, signal: AbortSignal): Promise<void>;
  /** A secret for tokens that lives beside the journals. Without it, users pass one. */
  secret?(): Promise<string>;
  close?(): Promise<void>;
}
