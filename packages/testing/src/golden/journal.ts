/**
 * A run's journal as plain JSON for a repository: recorded once, replayed against every later build. Only the
 * frame is interpreted here; @durable/core reads the batches. Proven in test/golden.test.ts.
 */

import { createApp, MemoryStorage, type Storage } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { assertOptions } from "@durable/core/storage";
import type { Cipher, ReadReply } from "@durable/core/storage";
import { loadJournal } from "../journal-loader.ts";

/** The format of the frame; batches have their own format version. Those before it were never released. */
export const goldenFormat = 4;

/** One batch as a readable object; a text that is not plain JSON is kept as it is. */
export type GoldenBatch = string | { readonly [field: string]: unknown };

/** The batches of a run that belongs to another: one that a fork reads, or a child. */
export interface GoldenAncestor {
  readonly runId: string;
  readonly batches: readonly GoldenBatch[];
  /** The position of the first of these batches; 0 when it is missing. */
  readonly from?: number;
  /** The blobs that the batches refer to, by name. */
  readonly blobs?: Readonly<Record<string, string>>;
}

/** A recorded journal with everything that its replay needs. */
export interface GoldenJournal extends GoldenAncestor {
  readonly format: number;
  readonly workflow: string;
  /** For a fork: its ancestors, oldest first. */
  readonly ancestors?: readonly GoldenAncestor[];
  /** Children it waits for, and theirs. */
  readonly children?: readonly GoldenAncestor[];
}

/** Options of `recordGolden`. */
export interface RecordGoldenOptions {
  /** The cipher of the run. Encrypted values stay encrypted in the result. */
  readonly encryption?: Cipher | undefined;
}

interface RawEntry {
  readonly kind?: string;
  readonly at?: number;
  readonly head?: { readonly createdAt?: number };
  readonly abandoned?: readonly string[];
  readonly workflow?: string;
  readonly ancestry?: readonly {
    readonly runId: string;
    readonly length: number;
    readonly above?: boolean;
  }[];
  readonly [field: string]: unknown;
}

/**
 * Reads the journal of a run for `replayGolden`. The result is plain JSON: write it to a file. It contains
 * what the steps returned, so review it before you commit it.
 */
export async function recordGolden(
  storage: Storage,
  runId: string,
  options: RecordGoldenOptions = {},
): Promise<GoldenJournal> {
  assertOptions(options, "encryption", "recordGolden");
  const { own, ancestors, open } = await recorded(storage, runId, options);
  const children: GoldenAncestor[] = [];
  for (const child of open) children.push(...(await family(storage, child, options)));
  const [first] = entriesOf(own.batches.slice(0, 1));
  const { runId: _, ...rest } = own;
  return {
    format: goldenFormat,
    runId,
    workflow: first?.workflow ?? "",
    ...rest,
    ...(ancestors.length === 0 ? {} : { ancestors }),
    ...(children.length === 0 ? {} : { children }),
  };
}

/** A child and the children it waits for; empty when it has not begun. */
async function family(
  storage: Storage,
  runId: string,
  options: RecordGoldenOptions,
): Promise<GoldenAncestor[]> {
  const { locator, reply } = await readOf(storage, runId);
  if (locator === "" || reply.length === 0) return [];
  const { own, open } = await recorded(storage, runId, options);
  const below: GoldenAncestor[] = [];
  for (const child of open) below.push(...(await family(storage, child, options)));
  return [own, ...below];
}

interface Recorded {
  readonly own: GoldenAncestor;
  readonly ancestors: readonly GoldenAncestor[];
  /** Children that have not reported their end. */
  readonly open: readonly string[];
}

async function recorded(
  storage: Storage,
  runId: string,
  { encryption }: RecordGoldenOptions,
): Promise<Recorded> {
  const reads: Promise<ReadReply & { readonly from: number }>[] = [];
  const watched: Storage = {
    ...refusing,
    read: (locator, from = 0) => {
      const reply = storage.read(locator, from);
      reads.push(reply.then((found) => ({ from, ...found })));
      return reply;
    },
  };
  // Opening the run reads its own journal first, then those that it names, then those that the first of them names.
  const app = createApp({
    storage: watched,
    workflows: [],
    ...(encryption === undefined ? {} : { encryption }),
  });
  const entries = await app.get(runId).entries();
  const [first, ...others] = await Promise.all(reads);
  const own = part(runId, first);
  return { own, ancestors: ancestorsOf(own, others), open: openChildren(entries) };
}

/** The ancestors that a journal names, and those above them, oldest first. */
function ancestorsOf({ batches }: GoldenAncestor, reads: readonly ReadReply[]): GoldenAncestor[] {
  const [first] = entriesOf(batches.slice(0, 1));
  const named = first?.ancestry ?? [];
  const parts = named.map(({ runId, length }, index) => part(runId, reads[index], length));
  const [anchor] = parts;
  if (named[0]?.above !== true || anchor === undefined) return parts;
  return [...ancestorsOf(anchor, reads.slice(named.length)), ...parts];
}

function part(runId: string, reply: ReadReply | undefined, length = Infinity): GoldenAncestor {
  const { batches = [], blobs = {}, from = 0 } = reply ?? {};
  const named = Object.keys(blobs).length === 0 ? {} : { blobs };
  return {
    runId,
    batches: batches.slice(0, length - from).map(readable),
    ...(from === 0 ? {} : { from }),
    ...named,
  };
}

function openChildren(entries: readonly Entry[]): string[] {
  const open = new Map<string, string>();
  for (const entry of entries) {
    if (entry.kind === "child.opened") open.set(entry.key, entry.child);
    else if (entry.kind.startsWith("child.") && "key" in entry) open.delete(entry.key);
  }
  return [...open.values()];
}

/** An object only if it serializes to exactly this text, because batches must not change. */
function readable(text: string): GoldenBatch {
  try {
    const batch: unknown = JSON.parse(text);
    if (typeof batch === "object" && batch !== null && JSON.stringify(batch) === text)
      return batch as GoldenBatch;
  } catch {
    // Kept as text, so that the library reports what is wrong with it.
  }
  return text;
}

function textOf(batch: GoldenBatch): string {
  return typeof batch === "string" ? batch : JSON.stringify(batch);
}

/** The entries of batches, as far as they can be read. */
export function entriesOf(batches: readonly GoldenBatch[]): readonly RawEntry[] {
  return batches.flatMap((batch) => {
    const entries = typeof batch === "string" ? null : batch["entries"];
    return Array.isArray(entries) ? (entries as RawEntry[]) : [];
  });
}

const isEnd = ({ kind }: RawEntry): boolean => /^run\.(completed|failed|cancelled)$/.test(kind ?? "");

/** Keys of work that was still running when the run ended. */
export function abandonedBy(batches: readonly GoldenBatch[]): ReadonlySet<string> {
  return new Set(
    entriesOf(batches)
      .filter(isEnd)
      .flatMap(({ abandoned = [] }) => abandoned),
  );
}

/** The journal as it was just before the run's end. */
export function withoutEnd(batches: readonly GoldenBatch[]): readonly GoldenBatch[] {
  const last = batches.findLastIndex((batch) => entriesOf([batch]).some(isEnd));
  // A retry has taken the last end back.
  if (entriesOf(batches.slice(last + 1)).some(({ kind }) => kind === "run.retried")) return batches;
  const ending = batches[last];
  if (ending === undefined || typeof ending === "string") return batches;
  const entries = entriesOf([ending]);
  const at = entries.findIndex(isEnd);
  const before = at === 0 ? [] : [{ ...ending, entries: entries.slice(0, at) }];
  return [...batches.slice(0, last), ...before];
}

/** What `durable export` writes of one run: the runs that it reads come before it. */
interface ExportedRuns {
  readonly format: "durable-export";
  readonly runs: readonly (GoldenAncestor & {
    readonly head: { readonly runId: string; readonly workflow: string };
  })[];
}

export function isExport(json: unknown): json is ExportedRuns {
  const { format, runs } = Object(json) as { readonly format?: unknown; readonly runs?: unknown };
  return format === "durable-export" && Array.isArray(runs) && runs.length > 0;
}

/** The journal of the last run of an export. */
export function ofExport({ runs }: ExportedRuns): GoldenJournal {
  const parts = runs.map(({ head, batches, from, blobs }) => ({
    head,
    part: {
      runId: head.runId,
      batches: batches.map((batch) => (typeof batch === "string" ? readable(batch) : batch)),
      ...(from !== undefined && { from }),
      ...(blobs !== undefined && { blobs }),
    },
  }));
  const { head, part: own } = parts.at(-1) as (typeof parts)[number];
  const ancestors = parts.slice(0, -1).map(({ part: one }) => one);
  return {
    format: goldenFormat,
    workflow: head.workflow,
    ...own,
    ...(ancestors.length > 0 && { ancestors }),
  };
}

/** A fresh storage that holds these journals and nothing else. */
export async function load(journals: readonly GoldenAncestor[], now: () => number): Promise<MemoryStorage> {
  const storage = new MemoryStorage({ now });
  for (const { runId, batches, blobs = {}, from = 0 } of journals) {
    const { locator } = await readOf(storage, runId);
    const [first] = entriesOf(batches.slice(0, 1));
    // A storage distinguishes runs of one id by the time they began. A chapter that begins repeats it.
    const createdAt = Number(first?.head?.createdAt ?? first?.at ?? 0);
    await loadJournal(storage, { locator, runId, createdAt, batches: batches.map(textOf), blobs, from });
  }
  return storage;
}

/** Only core knows the locator of a run, so this lets core look it up. */
async function readOf(storage: Storage, runId: string): Promise<{ locator: string; reply: ReadReply }> {
  let found = { locator: "", reply: nothing };
  const asked: Storage = {
    ...refusing,
    read: async (locator) => {
      found = { locator, reply: await storage.read(locator) };
      return nothing;
    },
  };
  // It finds nothing or refuses the id; either way its read has shown the locator.
  await createApp({ storage: asked, workflows: [] })
    .get(runId)
    .entries()
    .catch(() => {});
  return found;
}

const nothing: ReadReply = { batches: [], length: 0 };
const refuse = (): Promise<never> => Promise.reject(new Error("This storage is read-only."));
const refusing: Storage = {
  append: refuse,
  read: refuse,
  list: refuse,
  lease: refuse,
  release: refuse,
  delete: refuse,
};
