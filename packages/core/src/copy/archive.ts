/** Runs as data, outside of any storage: what `durable export` writes, and datasets hold. */

import { hostOf } from "../runs/host.ts";
import { readBatch, writeBatch, writeText } from "../journal/batch.ts";
import type { Fact } from "../journal/entry.ts";
import { Envelope } from "../journal/envelope.ts";
import { endedBefore, parentsOf, workflowsOf } from "../ports/storage-kit.ts";
import type { ListPage, ListQuery, ReadReply, RunHead, Storage } from "../ports/storage.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError } from "../values/errors.ts";

/** One run of an archive, as a storage has it. */
export interface ArchivedRun {
  readonly head: RunHead;
  readonly batches: readonly string[];
  readonly blobs: Readonly<Record<string, string>>;
  /** The position of the first batch, where earlier chapters were dropped. */
  readonly from?: number;
  /** The run was deleted, and forks still read it. */
  readonly deleted?: true;
}

/** Some runs as a storage that can only be read, so that `copyRuns` can copy them. */
export class ArchiveStorage implements Storage {
  readonly #runs: ReadonlyMap<string, ArchivedRun>;

  constructor(runs: readonly ArchivedRun[]) {
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

/** Nothing drives a run of an archive, so whatever wants a driver is due. */
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

/**
 * An archived run with its values decrypted and without blobs, and each of its facts as `change` gives it. Nothing seals such a
 * run: it is for people to read, and for storages without encryption.
 */
export async function plainRun(
  app: object,
  run: ArchivedRun,
  change: (fact: Fact<Json>) => Fact<Json>,
): Promise<ArchivedRun> {
  const { cipher } = await hostOf(app).journals();
  const envelope = new Envelope(cipher ?? null);
  const { runId } = run.head;
  await envelope.learn(run.blobs, { runId, own: true });
  const batches: string[] = [];
  for (const [i, text] of run.batches.entries()) {
    const position = (run.from ?? 0) + i;
    const read = readBatch(text, `Batch ${position} of run ${runId}`);
    const { writeId, outside, facts } = await envelope.unwrap(read, text, { runId, position });
    const texts = facts.map(({ fact, at }) => writeText(change(withoutTimes(fact)), at));
    batches.push(writeBatch(writeId, outside, texts));
  }
  return { ...run, batches, blobs: {} };
}

/** A fact that was read has these of its text, too. */
function withoutTimes(fact: Fact<Json>): Fact<Json> {
  const { at: _, took: __, ...rest } = fact as Fact<Json> & { readonly at?: number; readonly took?: number };
  return rest;
}
