/**
 * The port of a storage. Every adapter passes `storageConformance` of @durable/testing.
 * Safety rests on `append` alone, a compare-and-swap on the number of batches. A lease only saves work.
 * Adapters store texts and heads; encoding happens once, in core. Runs are named by their locator.
 */

/** The status of a run in lists. `blocked` is not one of them, because it is not recorded. */
export type RunStatus = "running" | "suspended" | "completed" | "failed" | "cancelled";

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
   * When the run wants a driver: 0 (at once) while running, its next deadline while suspended, `null` after
   * its end.
   */
  readonly wakeAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Steps and streams that have settled. */
  readonly steps: number;
  readonly label: string | null;
  /** The run that was forked, or whose child this is. */
  readonly parent: string | null;
  /** Locators of runs whose batches this run reads: they are kept until it is gone. */
  readonly ancestors: readonly string[];
}

/**
 * Content that batches refer to by a name made from it. Stored once, and kept as long as a run refers to it.
 */
export interface NamedBlob {
  readonly name: string;
  /** Missing when this run, or one that it reads, has referred to it before. */
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
  /** Extends the lease of the driver; `null` releases it; if missing, the lease is not changed. */
  readonly lease?: { readonly owner: string; readonly ttlMs: number } | null;
}

/** The right to drive a run for a limited time. */
export interface Lease {
  /** How often the run was leased since its journal last grew or a lease was released, this time included. */
  readonly starts: number;
  /** How many batches the journal had when the lease was granted: a driver that has read fewer reads on. */
  readonly length: number;
}

/** Which runs to list. */
export interface ListQuery {
  readonly workflow?: string;
  readonly status?: RunStatus;
  /** Only forks and children of this run. */
  readonly parent?: string;
  /** Only runs that want a driver at this time and have no live one. */
  readonly dueAt?: number;
  /** Runs per page. */
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly cursor?: string;
}

/** A page of runs. */
export interface ListPage {
  readonly runs: readonly RunHead[];
  /** The cursor of the next page; `null` on the last page. */
  readonly next: string | null;
}

/** Batches of a journal. */
export interface ReadReply {
  /** From the position that was asked for, without gaps. */
  readonly batches: readonly string[];
  /** How many batches the journal has. */
  readonly length: number;
  /** Bodies of the blobs that these batches were the first of their run to refer to. */
  readonly blobs?: Readonly<Record<string, string>>;
  /** True for a run that was deleted and is kept only for forks that read it. */
  readonly deleted?: boolean;
}

/**
 * The port of a storage: where journals are kept. Safety rests on `append` alone, which is a compare-and-swap
 * on the number of batches; a lease only saves work.
 */
export interface Storage {
  /**
   * Adds one batch, its blobs, its head and its lease, all or nothing. Rejects with code `conflict` when the
   * journal has moved, and with `details.deleted` when the run was deleted or a new fork reads a deleted
   * ancestor.
   */
  append(request: AppendRequest): Promise<void>;
  /** Batches from `from` on, and how many there are. An unknown run has none. */
  read(locator: string, from?: number): Promise<ReadReply>;
  /** Newest first; with `dueAt`, those that are due longest first. */
  list(query?: ListQuery): Promise<ListPage>;
  /** Grants or extends the right to drive; `null` while another live owner has it, or the run is unknown. */
  lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null>;
  /** Releases the lease; `quietMs` keeps a blocked run out of `dueAt` lists for that time. */
  release(locator: string, owner: string, quietMs?: number): Promise<void>;
  /**
   * Hides a run at once. Its batches are removed when no fork reads them, its blobs when no run refers to
   * them.
   */
  delete(locator: string): Promise<void>;
  /** Resolves when the journal has more than `length` batches, or on abort. Without it, drivers poll. */
  changed?(locator: string, length: number, signal: AbortSignal): Promise<void>;
  /** A secret for tokens that is kept beside the journals. Without it, users pass one. */
  secret?(): Promise<string>;
  /** Releases files and connections. */
  close?(): Promise<void>;
}
