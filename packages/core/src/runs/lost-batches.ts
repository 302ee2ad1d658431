/**
 * Runs whose last batches the storage has lost, as after a failover to a replica that was behind. Proven in
 * test/runs/lost-batches.test.ts.
 *
 * lost-batches.1. A process that has seen the batches knows of the loss. Before it drives the run again, it appends
 *     `run.regressed`, once: from how many batches to how many. Nobody else can know, so a run whose driver died goes on as after any
 *     crash.
 * lost-batches.2. Steps that had begun in the lost batches, and whose start was recorded because of `onUncertain` or
 *     `compensate`, have their start recorded again: their effect may have happened.
 */

import { writeFact } from "../journal/batch.ts";
import type { Entry, Fact } from "../journal/entry.ts";
import { isRegression } from "../journal/errors.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Json } from "../values/codec/tags.ts";
import type { World } from "../ports/world.ts";
import type { LeasedRun } from "./create.ts";

/** Runs that are noticed at the same time. Of further ones, the loss is not recorded. */
const most = 1_000;

export class LostBatches {
  readonly #host: { readonly world: World };
  /** The journals as they were: of each run, the one that has seen most. */
  readonly #known = new Map<string, RunJournal>();

  constructor(host: { readonly world: World }) {
    this.#host = host;
  }

  /** True when the error says that the storage has lost batches of this journal. */
  note(journal: RunJournal, error: unknown): boolean {
    if (!isRegression(error)) return false;
    const known = this.#known.get(journal.locator);
    const isMore = known === undefined ? this.#known.size < most : hasSeenMore(journal, known);
    if (isMore) this.#known.set(journal.locator, journal);
    return true;
  }

  /** Records the loss, if there was one; the caller has the lease. A loss that could not be recorded is still known. */
  async record({ journal, lease }: LeasedRun): Promise<void> {
    const { locator } = journal;
    const before = this.#known.get(locator);
    if (before === undefined) return;
    while (isShorter(journal, before)) {
      const starts = startsIn(before, journal);
      const steps = starts.map(({ key }) => key);
      const fact: Fact<Json> = { kind: "run.regressed", from: before.position, to: journal.position, steps };
      const now = this.#host.world.now();
      const facts = [writeFact(fact, now), ...starts.map((start) => writeFact(start, now))];
      const { kind } = await journal.append(facts, { lease: lease.extend(false) });
      if (kind === "lost") return;
      if (kind !== "landed") continue;
      this.#host.world.warn(
        `run ${journal.runId} goes on from ${fact.to} of ${fact.from} batches: its storage has lost the others. What they recorded is done again.`,
      );
      // Not checked again: an earlier loss may have been recorded alike, in the same millisecond.
      break;
    }
    this.#known.delete(locator);
  }
}

/** The same run, another driver has not recorded as much again, and the loss is not recorded. */
function isShorter(journal: RunJournal, before: RunJournal): boolean {
  const isSame = journal.state.summary.createdAt === before.state.summary.createdAt;
  return (
    isSame && journal.state.end === null && journal.position < before.position && !isRecorded(journal, before)
  );
}

/** Journals of one process may be behind each other, or come from before and after an earlier loss. */
function hasSeenMore(journal: RunJournal, known: RunJournal): boolean {
  return isRecorded(journal, known) || (known.position < journal.position && !isRecorded(known, journal));
}

/** Another journal of this process noticed the same loss: an older one, which has not seen that it was recorded. */
function isRecorded({ entries }: RunJournal, before: RunJournal): boolean {
  return entries.some(
    (entry) =>
      entry.kind === "run.regressed" &&
      before.position <= entry.from &&
      !before.entries.some(
        ({ kind, seq, at }) => kind === entry.kind && seq === entry.seq && at === entry.at,
      ),
  );
}

type Start = Fact<Json> & { readonly kind: "step.started" };

/** The starts that were lost of steps that had begun, and had not failed. Their declared input may be another one by now. */
function startsIn(before: RunJournal, journal: RunJournal): Start[] {
  const starts = new Map<string, Start>();
  // Keys of another chapter mean other steps.
  const isSame = before.chapter === journal.chapter;
  for (const entry of isSame ? before.entries : []) {
    if (entry.seq <= journal.seq || !("key" in entry)) continue;
    if (entry.kind === "step.started" && entry.attempt > 0)
      starts.set(entry.key, startOf(entry, journal.seq));
    else if (entry.kind === "step.started" || entry.kind === "attempt.failed" || entry.kind === "step.failed")
      starts.delete(entry.key);
  }
  return [...starts.values()];
}

function startOf(entry: Entry & { readonly kind: "step.started" }, seq: number): Start {
  const { kind, key, attempt, after, compensate } = entry;
  return { kind, key, attempt, after: Math.min(after, seq), ...(compensate && { compensate }) };
}
