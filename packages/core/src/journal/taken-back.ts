/**
 * What `run.retried` takes back: the end of the run, and the record of the call whose failure caused it.
 *
 * taken-back.1. Only the failed call begins anew. Chunks of a stream, the opening of a child and of a group stay, so that
 *     a new attempt has a new number, and a child and the branches keep their recorded work.
 */

import type { Entry } from "./entry.ts";
import { traitsOf } from "./kinds.ts";

const kept: ReadonlySet<string> = new Set(["stream.chunks", "child.opened", "parallel.opened", "race.opened"]);

/** The entries that count after a retry. */
export function withoutFailure(entries: readonly Entry[], { failed }: { readonly failed?: string }): Entry[] {
  const isTaken = (entry: Entry): boolean =>
    failed !== undefined &&
    "key" in entry &&
    (entry.key === failed
      ? !kept.has(entry.kind)
      : // Questions about the step, and the deadline of the call.
        entry.key.startsWith(`${failed}/`) || entry.key.startsWith(`${failed}[]/`));
  const waits = new Set(entries.flatMap((entry) => ("wait" in entry && isTaken(entry) ? [entry.wait] : [])));
  return entries.filter(
    (entry) => traitsOf(entry).ends !== true && !isTaken(entry) && !("wait" in entry && waits.has(entry.wait)),
  );
}

/** The entries of a whole journal that count, after all its retries. */
export function afterRetries(entries: readonly Entry[]): readonly Entry[] {
  if (!entries.some(({ kind }) => kind === "run.retried")) return entries;
  let counted: Entry[] = [];
  for (const entry of entries) {
    if (entry.kind === "run.retried" && counted.find((one) => traitsOf(one).ends)?.kind === "run.failed")
      counted = withoutFailure(counted, entry);
    counted.push(entry);
  }
  return counted;
}
