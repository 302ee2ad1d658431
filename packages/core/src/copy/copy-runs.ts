/**
 * Copies runs from one storage to another. It decodes no values, so it needs no workflow, no secret and no key.
 *
 * copy.1. A run is created after all runs that it reads are complete. Those are copied even if the filter leaves them out
 *     or they were deleted; a deleted one is hidden as soon as a run that reads it is there.
 * copy.2. The appends that create runs are called in the order of the source, the oldest first, so that runs of one
 *     millisecond keep theirs in lists. Where the target changes the order of calls that are made together, or refuses one, they change
 *     places.
 * copy.3. The source does not change, and no run that the target shows under its name is changed in any way but by appends.
 * copy.4. A run that cannot be copied does not stop the others. An error that is not of one run stops the copy, and the next
 *     call continues it.
 */

import { DurableError } from "../values/errors.ts";
import { assertOptions } from "../values/options.ts";
import { atOnce } from "../values/limits.ts";
import { beyondEnd } from "../ports/storage-kit.ts";
import type { RunHead, Storage } from "../ports/storage.ts";
import { copyRun, type CopiedRun } from "./one-run.ts";
import type { SourceRun } from "./source.ts";

/** How far a copy is. */
export interface CopyProgress {
  /** Runs that are copied, skipped or refused, of those that the filter chose. */
  readonly done: number;
  /** Runs that the filter chose. */
  readonly total: number;
  /** Batches and bytes that were appended so far. */
  readonly batches: number;
  readonly bytes: number;
}

/** Options of `copyRuns`. */
export interface CopyOptions {
  /** Which runs to copy; all by default. The runs that a chosen fork reads are copied as well. */
  readonly filter?: ((run: RunHead) => boolean) | undefined;
  /** Called after each run. */
  readonly onProgress?: ((progress: CopyProgress) => void) | undefined;
  /** Stops the copy. The next call continues it. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Runs that are copied at the same time; 8 by default. Each is in memory as a whole. With 1, runs that
   * began in the same millisecond keep their order in lists of every storage; otherwise they may change places.
   */
  readonly concurrency?: number | undefined;
  /**
   * Reads back what was copied: a second storage object for the same place as the target. By default the target
   * itself, which may answer from its cache.
   */
  readonly readBack?: Storage | undefined;
}

/** What `copyRuns` did. */
export interface CopySummary {
  /** Runs that got at least one batch. */
  readonly runs: number;
  /** Batches that were appended. */
  readonly batches: number;
  /** Bytes of these batches and of their blobs. */
  readonly bytes: number;
  /** Runs that the target had already, as long as in the source or longer. */
  readonly skipped: number;
  /** Runs that were not copied, and why. */
  readonly refused: readonly { readonly runId: string; readonly error: DurableError }[];
  /** Ids of runs that had a driver or grew during the copy: copy again once their workers have stopped. */
  readonly active: readonly string[];
}

/**
 * Copies runs to another storage, verifies each by reading it back, and continues where an earlier copy
 * stopped. Runs that wait continue in the target with their old tokens, if it gets the same secret.
 */
export async function copyRuns(from: Storage, to: Storage, options: CopyOptions = {}): Promise<CopySummary> {
  assertOptions(options, "filter onProgress signal concurrency readBack", "copyRuns");
  const { concurrency = 8 } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new DurableError("invalid-options", "copyRuns needs a concurrency of at least 1.");
  return new Copy(from, to, options).run(concurrency);
}

/** What became of one run: `null` when the source no longer has it. Without the run itself, which may be large. */
type Result = { readonly error: DurableError | null } | null;

/** A copy that has begun. */
interface Started {
  readonly result: Promise<Result>;
  /** Resolves when the run exists in the target, or will not. */
  readonly created: Promise<void>;
  /** Lets it create its run before its turn, because a run that reads it waits. */
  readonly hurry: () => void;
}

class Copy {
  readonly #from: Storage;
  readonly #to: Storage;
  readonly #options: CopyOptions;
  /** Copies in progress, and all copies of runs that others read. */
  readonly #started = new Map<string, Started>();
  /** Locators of runs that others read. */
  readonly #ancestors = new Set<string>();
  /** Deleted runs that the target shows until a run that reads them is there. */
  readonly #exposed = new Set<string>();
  readonly #refused: { runId: string; error: DurableError }[] = [];
  readonly #active = new Set<string>();
  readonly #counts = { runs: 0, batches: 0, bytes: 0, skipped: 0 };
  #total = 0;

  constructor(from: Storage, to: Storage, options: CopyOptions) {
    this.#from = from;
    this.#to = to;
    this.#options = options;
  }

  async run(concurrency: number): Promise<CopySummary> {
    const chosen = await this.#choose();
    try {
      await this.#copyAll(oldestFirst(chosen), concurrency);
    } finally {
      // No run that reads one of these was copied, so the target removes them.
      await this.#hide([...this.#exposed]);
    }
    return { ...this.#counts, refused: this.#refused, active: [...this.#active] };
  }

  /** Locators of the chosen runs, newest first: one text for each page, because there may be millions. */
  async #choose(): Promise<string[]> {
    const { filter = () => true, signal } = this.#options;
    const now = Date.now();
    const wanting = new Map<string, string>();
    const pages: string[] = [];
    for await (const runs of pagesOf(this.#from)) {
      signal?.throwIfAborted();
      const chosen = runs.filter((run) => filter(run));
      for (const { locator, runId, wakeAt, blocked, ancestors } of chosen) {
        for (const ancestor of ancestors) this.#ancestors.add(ancestor);
        if (wakeAt !== null && wakeAt <= now && blocked === undefined) wanting.set(locator, runId);
      }
      this.#total += chosen.length;
      if (chosen.length > 0) pages.push(chosen.map(({ locator }) => locator).join(" "));
    }
    // A run that wants a driver and is not due has one.
    if (wanting.size > 0)
      for await (const runs of pagesOf(this.#from, now))
        for (const { locator } of runs) wanting.delete(locator);
    for (const runId of wanting.values()) this.#active.add(runId);
    return pages;
  }

  async #copyAll(locators: Iterable<string>, concurrency: number): Promise<void> {
    const { onProgress } = this.#options;
    let [turn, done, stopped] = [Promise.resolve(), 0, false];
    const work = async (): Promise<void> => {
      for (const locator of locators) {
        const { result, created } = this.#start(locator, turn);
        turn = Promise.all([turn, created]).then(() => {});
        await result;
        if (stopped) return;
        onProgress?.({ done: ++done, total: this.#total, ...this.#copied() });
      }
    };
    const stop = (error: unknown): never => {
      stopped = true;
      throw error;
    };
    // Waits for all of them, so that nothing is appended after the call has failed.
    const workers = await Promise.allSettled(Array.from({ length: concurrency }, () => work().catch(stop)));
    for (const worker of workers) if (worker.status === "rejected") throw worker.reason;
  }

  #copied(): Pick<CopyProgress, "batches" | "bytes"> {
    const { batches, bytes } = this.#counts;
    return { batches, bytes };
  }

  /** Begins to copy a run, once. Without a turn, the run is created as soon as possible. */
  #start(locator: string, turn?: Promise<void>): Started {
    const known = this.#started.get(locator);
    if (known !== undefined) return known;
    const [created, hurried] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { signal, readBack = this.#to } = this.#options;
    const result = copyRun(locator, {
      from: this.#from,
      to: this.#to,
      reader: readBack,
      signal,
      ancestor: (ancestor, source) => this.#ancestorOf(source, ancestor),
      turn: () => Promise.race([turn ?? hurried.promise, hurried.promise]),
      created: created.resolve,
    })
      .then((copied) => this.#count(copied))
      .catch((error: unknown) => this.#refuse(locator, error))
      .finally(created.resolve);
    const started = { result, created: created.promise, hurry: hurried.resolve };
    this.#started.set(locator, started);
    const forget = (): void => {
      if (!this.#ancestors.has(locator)) this.#started.delete(locator);
    };
    void result.then(forget, forget);
    return started;
  }

  async #count(copied: CopiedRun | null): Promise<Result> {
    if (copied === null) return null;
    const { source, batches, bytes, exposed, grown } = copied;
    if (batches === 0) this.#counts.skipped += 1;
    else this.#counts.runs += 1;
    this.#counts.batches += batches;
    this.#counts.bytes += bytes;
    if (grown) this.#active.add(source.head.runId);
    if (exposed) this.#exposed.add(source.locator);
    await this.#hide(source.head.ancestors.filter((ancestor) => this.#exposed.has(ancestor)));
    return { error: null };
  }

  /** Passes on an error that is not of this run alone. */
  async #refuse(locator: string, error: unknown): Promise<Result> {
    if (!DurableError.is(error) || !isOfRun(error)) throw error;
    const { head } = await this.#from.read(locator, beyondEnd).catch(() => ({ head: undefined }));
    this.#refused.push({ runId: head?.runId ?? locator, error });
    return { error };
  }

  /** Resolves when a run that another one reads is complete. */
  async #ancestorOf(reader: SourceRun, locator: string): Promise<void> {
    this.#ancestors.add(locator);
    const { result, hurry } = this.#start(locator);
    hurry();
    const copied = await result;
    if (copied?.error === null) return;
    const why = copied === null ? "the source does not have" : "could not be copied";
    throw new DurableError(
      copied?.error.code ?? "corrupt",
      `Run ${reader.title} was not copied, because it reads the journal ${locator}, which ${why}.`,
      { cause: copied?.error, details: { ancestor: locator } },
    );
  }

  /** Deletes runs in the target that the source has only for their forks. */
  async #hide(locators: readonly string[]): Promise<void> {
    for (const locator of locators) {
      this.#exposed.delete(locator);
      await this.#to.delete(locator);
    }
  }
}

const codesOfRun = new Set([
  "conflict",
  "corrupt",
  "newer-format",
  "pre-release",
  "tampered",
  "invalid-options",
  "invalid-id",
]);

/** True for an error that concerns one run alone. */
function isOfRun({ code, details }: DurableError): boolean {
  return codesOfRun.has(code) || (code === "storage-failed" && details["blob"] !== undefined);
}

async function* pagesOf(storage: Storage, dueAt?: number): AsyncGenerator<readonly RunHead[]> {
  for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
    const page = await storage.list({ limit: atOnce.listed, cursor, dueAt });
    yield page.runs;
    cursor = page.next;
  }
}

function* oldestFirst(pages: readonly string[]): Generator<string> {
  for (const page of pages.toReversed()) yield* page.split(" ").toReversed();
}
