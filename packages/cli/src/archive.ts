/**
 * Runs as one JSON document, and back. Batches are kept as the storage has them, byte by byte, so an export needs no code
 * and no key, and an import gives the same journal.
 */

import {
  copyRuns,
  DurableError,
  MemoryStorage,
  type ListPage,
  type ListQuery,
  type RunHead,
  type Storage,
} from "@durable/core";
import type { ReadReply } from "@durable/core/storage";
import { endedBefore, parentsOf, workflowsOf } from "@durable/core/storage";
import { problemIn } from "./archive-checks.ts";
import { CliError, exit } from "./exit.ts";

/** One run of an export. */
interface ArchivedRun {
  readonly head: RunHead;
  readonly batches: readonly string[];
  readonly blobs: Readonly<Record<string, string>>;
  /** The position of the first batch, where earlier chapters were dropped. */
  readonly from?: number;
  /** The run was deleted, and forks still read it. */
  readonly deleted?: true;
}

export interface Archive {
  readonly format: "durable-export";
  readonly v: 1;
  readonly runs: readonly ArchivedRun[];
}

/** The chosen runs and all runs that they read. */
export async function archive(storage: Storage, chosen: ReadonlySet<string>): Promise<Archive> {
  // copyRuns knows which runs a fork reads, and checks every batch.
  const memory = new MemoryStorage();
  const { refused } = await copyRuns(storage, memory, {
    filter: ({ runId }) => chosen.has(runId),
    concurrency: 1,
  });
  const [first] = refused;
  if (first !== undefined) throw first.error;
  const runs = new Map<string, ArchivedRun>();
  const add = async (locator: string): Promise<void> => {
    if (runs.has(locator)) return;
    const { batches, blobs = {}, head, from, deleted } = await memory.read(locator);
    if (head === undefined) return;
    for (const ancestor of head.ancestors) await add(ancestor);
    runs.set(locator, {
      head,
      batches,
      blobs,
      ...(from === undefined ? {} : { from }),
      ...(deleted === true ? { deleted: true } : {}),
    });
  };
  for (const { locator } of (await everyRun(memory)).toReversed()) await add(locator);
  return { format: "durable-export", v: 1, runs: [...runs.values()] };
}

async function everyRun(storage: Storage): Promise<RunHead[]> {
  const found: RunHead[] = [];
  for (let cursor: string | null = null; ;) {
    const { runs, next }: ListPage = await storage.list({ cursor });
    found.push(...runs);
    if (next === null) return found;
    cursor = next;
  }
}

/** Reads the text of an export. */
export function readArchive(text: string, name: string): Archive {
  let document: Partial<Archive> | null = null;
  try {
    document = JSON.parse(text) as Partial<Archive> | null;
  } catch {
    // Falls through: it is not an export.
  }
  if (document?.format !== "durable-export" || !Array.isArray(document.runs))
    throw new CliError(`${name} was not written by durable export.`);
  if (document.v !== 1) throw new CliError(`${name} was written by a newer version. Update @durable/cli.`);
  const problem = problemIn(document.runs);
  if (problem !== null)
    throw new CliError(`${name} does not fit: ${problem}. Nothing was imported.`, {
      exit: exit.refused,
      code: "corrupt",
    });
  return document as Archive;
}

/** An export as a storage that can only be read, so that copyRuns can import it. */
export class ArchiveStorage implements Storage {
  readonly #runs: ReadonlyMap<string, ArchivedRun>;

  constructor({ runs }: Archive) {
    this.#runs = new Map(runs.map((run) => [run.head.locator, run]));
  }

  async read(locator: string, from = 0): Promise<ReadReply> {
    const run = this.#runs.get(locator);
    if (run === undefined) return { batches: [], length: 0 };
    const first = run.from ?? 0;
    const start = Math.max(from, first);
    const { batches, blobs, head, deleted = false } = run;
    return {
      batches: batches.slice(start - first),
      length: first + batches.length,
      blobs,
      head,
      deleted,
      ...(start === from ? {} : { from: start }),
    };
  }

  async list(query: ListQuery = {}): Promise<ListPage> {
    const runs = [...this.#runs.values()]
      .filter(({ deleted, head }) => deleted !== true && isDue(head, query.dueAt) && fits(head, query))
      .map(({ head }) => head)
      .toReversed();
    return { runs, next: null };
  }

  append(): Promise<void> {
    return refuse();
  }

  lease(): Promise<null> {
    return refuse();
  }

  release(): Promise<void> {
    return refuse();
  }

  delete(): Promise<void> {
    return refuse();
  }
}

/** Nothing drives a run of an export, so whatever wants a driver is due. */
function isDue({ wakeAt }: RunHead, dueAt: number | undefined): boolean {
  return dueAt === undefined || (wakeAt !== null && wakeAt <= dueAt);
}

function fits(head: RunHead, query: ListQuery): boolean {
  const parents = parentsOf(query);
  return (
    (query.status === undefined || head.status === query.status) &&
    (parents === null || (head.parent !== null && parents.includes(head.parent))) &&
    workflowsOf(query)?.includes(head.workflow) !== false &&
    endedBefore(head, query)
  );
}

function refuse(): Promise<never> {
  return Promise.reject(
    new DurableError("storage-readonly", "An export cannot be written to. Import it first."),
  );
}
