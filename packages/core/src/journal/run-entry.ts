/** Entries as users see them, with decoded values. */

import { valueFields } from "./kinds.ts";
import { decode } from "../values/codec/decode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Entry } from "./entry.ts";

/**
 * One entry of a journal, with decoded values: a fact, its time, its position, and whether it came from
 * outside.
 */
export type RunEntry<V = unknown> = Entry<V>;

export function decodeEntry(entry: Entry, runId: string): RunEntry {
  const decoded: Record<string, unknown> = { ...entry };
  const read = (json: Json): unknown => decode(json, `${entry.kind} of run ${runId}`);
  for (const field of valueFields(entry))
    if (decoded[field] !== undefined) decoded[field] = read(decoded[field] as Json);
  if (entry.kind === "stream.chunks") decoded["chunks"] = entry.chunks.map(read);
  if (entry.kind === "run.forked")
    decoded["edits"] = entry.edits.map((edit) => ({ ...edit, value: read(edit.value) }));
  return decoded as unknown as RunEntry;
}
