/** Bugs in copies between storages. No simulation copies runs, so tests must catch them. */
import type { PlantedBug } from "./patch.ts";

const because = "no simulation copies runs";

function seenBy(test: string): { readonly test: string; readonly because: string } {
  return { test: `packages/core/test/copy/${test}.test.ts`, because };
}

export const plantedInCopies: readonly PlantedBug[] = [
  {
    name: "fork-before-its-parent",
    breaks: "copy.1",
    find: "  for (const ancestor of read.head.ancestors) await parts.ancestor(ancestor, read);\n",
    replace: "",
    why: "A fork arrives without the runs that it reads, or before them.",
    seenBy: seenBy("copy-runs"),
  },
  {
    name: "deleted-run-shown",
    breaks: "copy.1",
    find: "    if (exposed) this.#exposed.add(source.locator);\n",
    replace: "",
    why: "The target lists a run that was deleted in the source and is kept only for its forks.",
    seenBy: seenBy("moves"),
  },
  {
    name: "copied-newest-first",
    breaks: "copy.2",
    find: "for (const page of pages.toReversed())",
    replace: "for (const page of pages)",
    why: "Lists of the target have the pages of the source in another order.",
    seenBy: seenBy("copy-runs"),
  },
  {
    name: "created-out-of-turn",
    breaks: "copy.2",
    find: "  if (start === 0) await turn();\n",
    replace: "",
    why: "Runs that are copied at the same time are created as their reads end.",
    seenBy: seenBy("copy-runs"),
  },
  {
    name: "shown-run-deleted",
    breaks: "copy.3",
    find: "exposed: source.deleted && before.deleted !== true && !shows,",
    replace: "exposed: source.deleted && before.deleted !== true,",
    why: "A run that the target shows under its name is deleted there, because it was deleted in the source.",
    seenBy: seenBy("copy-runs"),
  },
  {
    name: "one-refusal-stops-all",
    breaks: "copy.4",
    find: "if (!DurableError.is(error) || !isOfRun(error)) throw error;",
    replace: "throw error;",
    why: "One run that differs in the target keeps all others from being copied.",
    seenBy: seenBy("copy-runs"),
  },
  {
    name: "note-left-behind",
    breaks: "copy-run.1",
    find: "if (blocked !== undefined) return to.note?.(locator, blocked);",
    replace: "if (blocked !== undefined) return;",
    why: "A blocked run is listed as running in the target.",
    seenBy: seenBy("crash"),
  },
  {
    name: "other-batch-continued",
    breaks: "copy-run.2",
    find: "if (position >= source.first && text !== source.batchAt(position))\n      throw refusal",
    replace: "if (position < source.first && text !== source.batchAt(position))\n      throw refusal",
    why: "Batches are appended to a journal that has another batch before them.",
    seenBy: seenBy("copy-runs"),
  },
  {
    name: "part-of-a-run-is-due",
    breaks: "copy-run.3",
    find: "return { ...head, wakeAt: null, ",
    replace: "return { ...head, ",
    also: [
      {
        find: "lease: isLast ? null : { owner, ttlMs: leaseMs },",
        replace: "lease: null,",
      },
    ],
    why: "A worker of the target drives a run of which only the first batches have arrived.",
    seenBy: seenBy("crash"),
  },
  {
    name: "not-read-back",
    breaks: "copy-run.4",
    find: "  assertCopied(source, after);\n",
    replace: "",
    why: "A run counts as copied although the target returns something else.",
    seenBy: seenBy("copy-runs"),
  },
  {
    name: "fillers-kept",
    breaks: "copy-run.5",
    find: "if (fills && position >= first && (position === first || position === start))",
    replace: "if (fills && position < 0)",
    why: "The target has texts where the source has dropped batches.",
    seenBy: seenBy("moves"),
  },
  {
    name: "lost-reply-counts-as-failure",
    breaks: "copy-run.6",
    find: "    if (batches[0] === request.batch) return;\n",
    replace: "",
    why: "A copy fails although its append has landed.",
    seenBy: seenBy("crash"),
  },
  {
    name: "blobs-of-all-chapters-first",
    breaks: "copy-blobs.1",
    find: "if (inside.length > 0) return inside[inside.length >> 1] ?? null;",
    replace: "if (inside.length < 0) return null;",
    why: "A chapter is read without the blobs that its batches name.",
    seenBy: seenBy("random"),
  },
];
