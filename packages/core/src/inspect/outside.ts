/**
 * What is done to a run from outside: answers, forks, plans, steering, and reading what it has recorded. One part, because
 * each part that is loaded on its own costs a program a few hundred bytes.
 */

import { planFork, type ForkPlan, type PlanOptions } from "./plan.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Outcome } from "../journal/outcome.ts";
import { decodeEntry, type RunEntry } from "../journal/run-entry.ts";
import { createFork, type ForkOptions } from "../runs/fork.ts";
import { Keys } from "../runs/fork-keys.ts";
import { advance } from "../runs/drive.ts";
import type { Host } from "../runs/host.ts";
import { definitionOf, openRun, orUnknown } from "../runs/lookup.ts";
import { deliver as deliverAnswer, resume as resumeAnswer, type ResumeResult } from "../runs/resume.ts";
import { DurableError } from "../values/errors.ts";
import { assertOptions } from "../values/options.ts";

export { sweep } from "./sweep.ts";
export { readStream } from "../runs/reader.ts";
export { pauseRun, retryRun, unpauseRun } from "../runs/steer.ts";

type Answered = Parameters<typeof resumeAnswer>[2];

/** Answers a wait, and drives its run. */
export function resume(host: Host, token: string, answered: Answered): Promise<ResumeResult> {
  return orUnknown(
    host,
    () => locatorIn(host, token),
    () => resumeAnswer(host, token, answered),
  );
}

/** Answers a wait, without running code. */
export function deliver(host: Host, token: string, answered: Answered): Promise<ResumeResult> {
  return orUnknown(
    host,
    () => locatorIn(host, token),
    () => deliverAnswer(host, token, answered),
  );
}

async function locatorIn(host: Host, token: string): Promise<string | null> {
  const keyring = await host.keyring();
  return keyring instanceof DurableError ? null : (keyring.verify(token)?.locator ?? null);
}

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

/** Creates a fork, and drives it in the background. */
export async function forkRun(
  host: Host,
  runId: string,
  options: ForkOptions,
): Promise<{ id: string; driving: Promise<{ outcome: Outcome<unknown>; journal: RunJournal }> }> {
  const parent = await openRun(host, runId, options.chapter);
  const definition = definitionOf(host, parent);
  const id = await createFork(host, definition, parent, options);
  const driving = openRun(host, id).then(async (journal) => ({
    outcome: await advance(host, definition, journal),
    journal,
  }));
  host.background(`run ${id}`, driving);
  return { id, driving };
}

export async function planRun(
  host: Host,
  runId: string,
  options: ForkOptions & PlanOptions,
): Promise<ForkPlan> {
  const parent = await openRun(host, runId, options.chapter);
  return planFork(host, definitionOf(host, parent), parent, options);
}

export async function dropChapters(host: Host, runId: string): Promise<void> {
  const { locator, state } = await openRun(host, runId);
  const storage = await host.storage();
  if (storage.dropChapters === undefined)
    throw new DurableError("invalid-options", "This storage keeps all chapters.");
  await storage.dropChapters(locator, state.summary.chapter ?? 0);
}
