/**
 * A run's journal as plain JSON, to be kept in a repository: recorded once, replayed against every later build.
 * Nothing is interpreted here but the frame: what a batch says is for @durable/core to judge.
 */

import { createApp, MemoryStorage, type ReadReply, type Storage } from "@durable/core";
import { loadJournal } from "../load.ts";

/** The frame below; batches carry a format version of their own. */
export const goldenFormat = 1;

/** One batch, as an object for people to read; a text that is no plain JSON is kept as it is. */
export type GoldenBatch = string | { readonly [field: string]: unknown };

/** The batches of a run that a fork reads. */
export interface GoldenAncestor {
  readonly runId: string;
  readonly batches: readonly GoldenBatch[];
}

export interface GoldenJournal {
  readonly format: number;
  readonly runId: string;
  readonly workflow: string;
  readonly batches: readonly GoldenBatch[];
  /** For a fork: what it has from its ancestors, oldest first. */
  readonly ancestors?: readonly GoldenAncestor[];
}

interface RawEntry {
  readonly kind?: string;
  readonly at?: number;
  readonly workflow?: string;
  readonly ancestry?: readonly { readonly runId: string; readonly length: number }[];
  readonly [field: string]: unknown;
}

/**
 * Records a run's journal for `replayGolden`. What it returns is plain JSON: write it to a file.
 * It holds what the run's steps returned: look at it before you commit it.
 */
export async function recordGolden(storage: Storage, runId: string): Promise<GoldenJournal> {
  const reads: Promise<ReadReply>[] = [];
  const watched: Storage = {
    ...refusing,
    read: (locator, from) => {
      const reply = storage.read(locator, from);
      reads.push(reply);
      return reply;
    },
  };
  // Opening the run reads all that it is made of: its own journal first, then its ancestors, oldest first.
  await createApp({ storage: watched, workflows: [] }).get(runId).entries();
  const [own, ...others] = (await Promise.all(reads)).map(({ batches }) => batches.map(readable));
  const [first] = entriesOf(own?.slice(0, 1) ?? []);
  const ancestors = (first?.ancestry ?? []).map((ancestor, index) => ({
    runId: ancestor.runId,
    batches: (others[index] ?? []).slice(0, ancestor.length),
  }));
  return {
    format: goldenFormat,
    runId,
    workflow: first?.workflow ?? "",
    batches: own ?? [],
    ...(ancestors.length === 0 ? {} : { ancestors }),
  };
}

/** The object where it stands for exactly this text: batches are byte strings, and stay what they were. */
function readable(text: string): GoldenBatch {
  try {
    const batch: unknown = JSON.parse(text);
    if (typeof batch === "object" && batch !== null && JSON.stringify(batch) === text)
      return batch as GoldenBatch;
  } catch {
    // Kept as text, for the library to say what is wrong with it.
  }
  return text;
}

function textOf(batch: GoldenBatch): string {
  return typeof batch === "string" ? batch : JSON.stringify(batch);
}

/** The entries of batches, as far as they are any. */
export function entriesOf(batches: readonly GoldenBatch[]): readonly RawEntry[] {
  return batches.flatMap((batch) => {
    const entries = typeof batch === "string" ? null : batch["entries"];
    return Array.isArray(entries) ? (entries as RawEntry[]) : [];
  });
}

const isEnd = ({ kind }: RawEntry): boolean => /^run\.(completed|failed|cancelled)$/.test(kind ?? "");

/** The journal as it was just before the run's end, and the end. */
export function withoutEnd(batches: readonly GoldenBatch[]): {
  readonly batches: readonly GoldenBatch[];
  readonly end: RawEntry | null;
} {
  const last = batches.findIndex((batch) => entriesOf([batch]).some(isEnd));
  const ending = batches[last];
  if (ending === undefined || typeof ending === "string") return { batches, end: null };
  const entries = entriesOf([ending]);
  const at = entries.findIndex(isEnd);
  const before = at === 0 ? [] : [{ ...ending, entries: entries.slice(0, at) }];
  return { batches: [...batches.slice(0, last), ...before], end: entries[at] ?? null };
}

/** A fresh storage that holds these journals and nothing else. */
export async function load(journals: readonly GoldenAncestor[], now: () => number): Promise<MemoryStorage> {
  const storage = new MemoryStorage({ now });
  for (const { runId, batches } of journals) {
    const locator = await locatorOf(runId);
    // A storage tells two lives of one id apart by when they began.
    const createdAt = Number(entriesOf(batches.slice(0, 1))[0]?.at ?? 0);
    await loadJournal(storage, { locator, runId, createdAt, batches: batches.map(textOf) });
  }
  return storage;
}

/** Where core keeps a run is its own affair: it is asked by letting it look. */
async function locatorOf(runId: string): Promise<string> {
  let asked = "";
  const storage: Storage = {
    ...refusing,
    read: (locator) => {
      asked = locator;
      return Promise.resolve({ batches: [], length: 0 });
    },
  };
  // It finds nothing, or refuses the id: either way it has said what there is to say.
  await createApp({ storage, workflows: [] })
    .get(runId)
    .entries()
    .catch(() => {});
  return asked;
}

const refuse = (): Promise<never> => Promise.reject(new Error("This storage is only read from."));
const refusing: Storage = {
  append: refuse,
  read: refuse,
  list: refuse,
  lease: refuse,
  release: refuse,
  delete: refuse,
};
