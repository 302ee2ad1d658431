/** Reads what a run has recorded, and drops what it no longer needs. */

import { decodeEntry, type RunEntry } from "../journal/run-entry.ts";
import { DurableError } from "../values/errors.ts";
import { assertOptions } from "../values/options.ts";
import { Keys } from "./fork-keys.ts";
import type { Host } from "./host.ts";
import { openRun } from "./lookup.ts";

/** Which part of a run to read. */
export interface ChapterOptions {
  /** The number of the chapter, from 1; the current one by default. */
  readonly chapter?: number | undefined;
}

/** Which entries of a run to read. */
export interface EntriesOptions extends ChapterOptions {
  /** Only entries with a higher `seq`; 0 by default. */
  readonly after?: number | undefined;
  /** How many entries at most; all by default. Only these are decoded. */
  readonly limit?: number | undefined;
}

/** What the edits of a fork would replace. */
export interface EditedCalls {
  /** The chapter that has these calls. */
  readonly chapter: number;
  /** In the order of the names. A call with `wait` is a suspend point, and an edit answers it. */
  readonly calls: readonly { readonly key: string; readonly open: { readonly wait?: string } }[];
}

export async function entriesOf(host: Host, runId: string, options: EntriesOptions): Promise<RunEntry[]> {
  assertOptions(options, "chapter after limit", "run.entries");
  const { after = 0, limit } = options;
  const { entries } = await openRun(host, runId, options.chapter);
  const page = entries.filter((entry) => entry.seq > after).slice(0, limit);
  return page.map((entry) => decodeEntry(entry, runId));
}

export async function editedCalls(host: Host, runId: string, names: readonly string[]): Promise<EditedCalls> {
  const journal = await openRun(host, runId);
  const keys = new Keys(journal);
  return { chapter: journal.chapter, calls: names.map((name) => keys.edit(name, [])) };
}

export async function dropChapters(host: Host, runId: string): Promise<void> {
  const { locator, state } = await openRun(host, runId);
  const storage = await host.storage();
  if (storage.dropChapters === undefined)
    throw new DurableError("invalid-options", "This storage keeps all chapters.");
  await storage.dropChapters(locator, state.summary.chapter ?? 0);
}
