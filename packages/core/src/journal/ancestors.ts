/** Reads the runs that a fork continues. Loaded with the first fork. */

import { corrupt, readBatch } from "./batch.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Ancestor, Entry, Fact } from "./entry.ts";
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

/** What a fork begins with. */
export async function inheritedBy(
  forked: Fact<Json> & { kind: "run.forked" },
  at: number,
  from: readonly [Storage, Envelope],
): Promise<Inherited> {
  const { ancestry, journals } = await readLine(forked.ancestry, ...from);
  return inherit(ancestry, journals, { ...forked, at, seq: forked.base + 1, outside: false });
}

/** Ancestors that are named together are read concurrently; one that stands for those before it costs one more round. */
async function readLine(named: readonly Ancestor[], storage: Storage, envelope: Envelope): Promise<Line> {
  const journals = await Promise.all(named.map((ancestor) => entriesOf(ancestor, storage, envelope)));
  const [anchor] = named;
  const first = journals[0]?.[0];
  if (anchor?.above !== true || first?.kind !== "run.forked") return { ancestry: named, journals };
  const above = await readLine(first.ancestry, storage, envelope);
  const cut = above.ancestry.map((ancestor) => ({ ...ancestor, cuts: [...ancestor.cuts, ...anchor.cuts] }));
  return { ancestry: [...cut, ...named], journals: [...above.journals, ...journals] };
}

async function entriesOf(ancestor: Ancestor, storage: Storage, envelope: Envelope): Promise<Entry[]> {
  const { runId, base, length, from = 0 } = ancestor;
  const { batches, blobs } = await readAncestor(storage, ancestor);
  await envelope.chain()?.check(batches, { runId, position: from });
  await envelope.learn(blobs, { runId, own: false });
  let seq = base;
  let nonce: string | null = null;
  const entries: Entry[] = [];
  // Seals after the part that was forked may cover batches in it that have none.
  for (const [i, text] of batches.slice(0, length - from).entries()) {
    const position = from + i;
    const where = `Batch ${position} of run ${runId}`;
    const read = readBatch(text, where);
    const { facts, outside } = await envelope.unwrap(read, text, { runId, position });
    for (const { fact, at } of facts) {
      if ("runId" in fact && fact.runId !== runId) throw misplaced(fact.runId);
      if ("nonce" in fact) nonce = fact.nonce ?? null;
      if ("key" in fact && "wait" in fact && fact.wait !== waitOf(fact.key, nonce)) throw corrupt(where);
      entries.push({ ...fact, at, seq: ++seq, outside });
    }
  }
  // The run was deleted before the fork was recorded, and its id was used again.
  if (
    ancestor.nonce !== undefined &&
    (entries[0] as { nonce?: string } | undefined)?.nonce !== ancestor.nonce
  )
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
