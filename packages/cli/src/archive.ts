/**
 * Runs as one JSON document, and back. Batches are kept as the storage has them, byte by byte, so an export needs no code
 * and no key, and an import gives the same journal.
 */

import { copyRuns, MemoryStorage, type ListPage, type RunHead, type Storage } from "@durable/core";
import type { ArchivedRun } from "@durable/core/storage";
import { problemIn } from "./archive-checks.ts";
import { CliError, exit } from "./exit.ts";

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
  const runs = document.runs.map(withTexts);
  const problem = problemIn(runs);
  if (problem !== null)
    throw new CliError(`${name} does not fit: ${problem}. Nothing was imported.`, {
      exit: exit.refused,
      code: "corrupt",
    });
  return { ...(document as Archive), runs };
}

/** A dataset has batches as objects, so that people can read them. */
function withTexts(run: ArchivedRun): ArchivedRun {
  const { batches } = Object(run) as { readonly batches?: unknown };
  if (!Array.isArray(batches)) return run;
  const texts = batches.map((batch: unknown) =>
    typeof batch === "object" && batch !== null ? JSON.stringify(batch) : (batch as string),
  );
  return { ...run, batches: texts };
}
