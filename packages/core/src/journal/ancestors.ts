/**
 * Reads the runs that a fork continues. Loaded with the first fork.
 *
 * The batches that a fork reads of an ancestor never change, because a journal only grows and its nonce names one
 * incarnation. So they may be kept in memory, and a line of forks reads each of its runs once.
 */

import { corrupt, readBatch } from "./batch.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Ancestor, Cut, Entry, Fact } from "./entry.ts";
import type { Envelope } from "./envelope.ts";
import { incomplete, misplaced } from "./errors.ts";
import { locatorOf, waitOf } from "./keys.ts";
import { inherit, type Inherited } from "./lineage.ts";
import type { ReadReply, Storage } from "../ports/storage.ts";

/** All ancestors of a line, oldest first, and the entries of each. */
interface Line {
  readonly ancestry: readonly Ancestor[];
  readonly journals: readonly (readonly Entry[])[];
}

/** Where ancestors are read, and what is kept of them. */
interface Source {
  readonly storage: Storage;
  readonly envelope: Envelope;
  readonly known: KnownAncestors | undefined;
}

/** What a fork begins with. */
export async function inheritedBy(
  forked: Fact<Json> & { kind: "run.forked" },
  at: number,
  from: Source,
): Promise<Inherited> {
  const { ancestry, journals } = await readLine(forked.ancestry, from);
  return inherit(ancestry, journals, { ...forked, at, seq: forked.base + 1, outside: false });
}

/** Ancestors that are named together are read concurrently; one that stands for those before it costs one more round. */
async function readLine(forked: readonly Ancestor[], from: Source): Promise<Line> {
  const ancestry: Ancestor[][] = [];
  const journals: (readonly Entry[])[][] = [];
  /** The cuts of ancestors that stand for others: they apply to all ancestors before them. */
  let cuts: readonly Cut[] = [];
  for (let named = forked; ;) {
    const kept = named.flatMap((ancestor) => {
      const entries = from.known?.get(partOf(ancestor));
      return entries === undefined ? [] : [entries];
    });
    const read =
      kept.length === named.length
        ? kept
        : await Promise.all(named.map((ancestor) => entriesOf(ancestor, from)));
    const below = cuts;
    const cut = (one: Ancestor): Ancestor => ({ ...one, cuts: strictest([...one.cuts, ...below]) });
    ancestry.unshift(below.length === 0 ? [...named] : named.map(cut));
    journals.unshift(read);
    const [anchor] = named;
    const first = read[0]?.[0];
    if (anchor?.above !== true || first?.kind !== "run.forked")
      return { ancestry: ancestry.flat(), journals: journals.flat() };
    cuts = strictest([...anchor.cuts, ...cuts]);
    named = first.ancestry;
  }
}

/** Of cuts at one key, the earliest decides: a long line of forks from one place has one cut. */
function strictest(cuts: readonly Cut[]): readonly Cut[] {
  if (cuts.length < 2) return cuts;
  const first = new Map<string, Cut>();
  for (const cut of cuts) {
    const name = `${cut.keep} ${cut.key}`;
    if (cut.at < (first.get(name)?.at ?? Infinity)) first.set(name, cut);
  }
  return [...first.values()];
}

async function entriesOf(ancestor: Ancestor, source: Source): Promise<readonly Entry[]> {
  const { storage, envelope, known } = source;
  const kept = known?.get(partOf(ancestor));
  if (kept !== undefined) return kept;
  const { batches, blobs } = await readAncestor(storage, ancestor);
  const entries = await readEntries(ancestor, envelope, { batches, blobs });
  // The envelope of each fork must know its blobs, so as not to send them again.
  if (blobs === undefined) known?.keep(partOf(ancestor), entries, batches);
  return entries;
}

/** Names a part of one incarnation of a run. */
function partOf({ runId, nonce, base, length, from = 0 }: Ancestor): string {
  return `${nonce} ${from} ${length} ${base} ${runId}`;
}

async function readEntries(
  ancestor: Ancestor,
  envelope: Envelope,
  { batches, blobs }: Pick<ReadReply, "batches"> & { readonly blobs: ReadReply["blobs"] | undefined },
): Promise<Entry[]> {
  const { runId, base, length, from = 0 } = ancestor;
  await envelope.chain()?.check(batches, { runId, position: from });
  await envelope.learn(blobs, { runId, own: false });
  let seq = base;
  let nonce = "";
  const entries: Entry[] = [];
  // Seals after the part that was forked may cover batches in it that have none.
  for (const [i, text] of batches.slice(0, length - from).entries()) {
    const position = from + i;
    const where = `Batch ${position} of run ${runId}`;
    const read = readBatch(text, where);
    const { facts, outside } = await envelope.unwrap(read, text, { runId, position });
    for (const { fact, at } of facts) {
      if ("runId" in fact && fact.runId !== runId) throw misplaced(fact.runId);
      if ("nonce" in fact) nonce = fact.nonce;
      if ("key" in fact && "wait" in fact && fact.wait !== waitOf(fact.key, nonce)) throw corrupt(where);
      entries.push({ ...fact, at, seq: ++seq, outside });
    }
  }
  // The run was deleted before the fork was recorded, and its id was used again.
  if ((entries[0] as { nonce?: string } | undefined)?.nonce !== ancestor.nonce)
    throw incomplete(runId, 0, length);
  return entries;
}

async function readAncestor(
  storage: Storage,
  { runId, length, from = 0 }: Ancestor,
): Promise<Pick<ReadReply, "batches" | "blobs">> {
  const { batches, blobs, from: first = from } = await storage.read(locatorOf(runId), from);
  if (first !== from || from + batches.length < length)
    throw incomplete(runId, first !== from ? 0 : from + batches.length, length);
  return { batches, ...(blobs === undefined ? {} : { blobs }) };
}

/** Characters of the batches that are kept, as a measure of memory. */
const mostText = 16 * 1024 * 1024;

interface Known {
  readonly entries: readonly Entry[];
  readonly text: number;
}

export class KnownAncestors {
  readonly #known = new Map<string, Known>();
  #text = 0;

  /** What is kept under a name that says run, incarnation and part. */
  get(part: string): readonly Entry[] | undefined {
    return this.#known.get(part)?.entries;
  }

  /** The part that was read first is dropped first. */
  keep(part: string, entries: readonly Entry[], batches: readonly string[]): void {
    this.#text -= this.#known.get(part)?.text ?? 0;
    const text = batches.reduce((length, batch) => length + batch.length, 0);
    this.#known.set(part, { entries, text });
    this.#text += text;
    for (const [oldest, { text: less }] of this.#known) {
      if (this.#text <= mostText) return;
      this.#known.delete(oldest);
      this.#text -= less;
    }
  }
}
