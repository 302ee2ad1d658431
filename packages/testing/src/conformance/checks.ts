/** Every test of the contract by its name, and how one is run. Proven in test/conformance.test.ts. */

import { appendChecks } from "./append.ts";
import { blobBodyChecks } from "./blob-bodies.ts";
import { blobChecks } from "./blobs.ts";
import { changedChecks } from "./changed.ts";
import { claimChecks } from "./claims.ts";
import { chapterChecks } from "./chapters.ts";
import { deleteChecks } from "./delete.ts";
import { dropChecks } from "./dropped-chapters.ts";
import { dueChecks } from "./due.ts";
import { duringChecks } from "./during.ts";
import { endedChecks } from "./ended.ts";
import { findingChecks } from "./finding.ts";
import { waitsChecks } from "./waits.ts";
import { handleChecks } from "./handles.ts";
import { headChecks } from "./heads.ts";
import { hostileChecks } from "./hostile.ts";
import { leaseChecks } from "./leases.ts";
import { limitChecks } from "./limits.ts";
import { noteChecks } from "./notes.ts";
import { orderChecks } from "./order.ts";
import { pauseChecks } from "./pauses.ts";
import { readChecks } from "./read.ts";
import { reportChecks } from "./reports.ts";
import { revisionChecks } from "./revision.ts";
import { scheduleChecks } from "./schedules.ts";
import { tallyChecks } from "./tally.ts";
import { whenDueChecks } from "./when-due.ts";
import { Subject, type Check, type Checks, type ConformanceHandle } from "./subject.ts";

/** What `open` of an adapter gets. */
export interface OpenOptions {
  /** The clock of leases and quiet times; the suite advances it. */
  readonly now: () => number;
}

/** Opens a fresh, empty storage. */
export type Open = (options: OpenOptions) => Promise<ConformanceHandle>;

/** The tests of one kind, and the sentence that a failure of any of them shows. */
const groups: readonly (readonly [why: string, tests: Checks])[] = [
  [
    "An append is a compare-and-swap on the number of batches, all or nothing: otherwise two drivers write one journal, or a crash leaves half a batch.",
    appendChecks,
  ],
  ["A driver replays what it reads: every batch, in order, and the true length.", readChecks],
  ["Lists show the head of the last append, newest first, and every run once over all pages.", headChecks],
  ["Workers find due runs by these lists: a run that is missing never goes on.", dueChecks],
  ["A claim gives each due run to one worker for a time.", claimChecks],
  [
    "Due runs come in the order of their time and priority, workflows in turn, so that none starves.",
    orderChecks,
  ],
  ["Filters of lists find what they say, alone and together.", findingChecks],
  ["Open waits and drivers are listed, so that people can answer them.", waitsChecks],
  ["A lease keeps a second driver away until it ends, and counts starts.", leaseChecks],
  ["Limits hold for all processes together: a text is swapped only if it is unchanged.", limitChecks],
  ["A note shows a blocked run in lists, until the journal grows or is leased.", noteChecks],
  ["The last report of a run is listed with it.", reportChecks],
  ["Pages hear of every change, and read nothing while there is none.", revisionChecks],
  ["A tally is true, however many runs there are, so that alerts fire when they should.", tallyChecks],
  ["A pause of a workflow is seen by every process.", pauseChecks],
  [
    "A driver reads a long run from the beginning of its chapter, with every blob that its batches name.",
    chapterChecks,
  ],
  ["Dropped chapters are gone, and no fork loses a batch that it reads.", dropChecks],
  [
    "A deleted run is gone at once, and what forks read of it stays until the last of them is deleted.",
    deleteChecks,
  ],
  ["Runs of a time are found for sums and charts.", duringChecks],
  ["A purge deletes runs that have ended and are unchanged, and nothing else.", endedChecks],
  ["Blobs are stored with the batch that names them first, and are read with it.", blobChecks],
  ["A blob comes back byte for byte, also if it is large or has an odd name.", blobBodyChecks],
  ["Drivers that wait for a journal are woken once it grows, and none is kept.", changedChecks],
  ["Workers that wait for work are woken when there is some.", whenDueChecks],
  [
    "A schedule changes only if it is as the writer read it, so that each tick starts one run.",
    scheduleChecks,
  ],
  ["All handles on the same data see the same, and close() refuses later calls.", handleChecks],
  ["Names and texts are data: none has a meaning for the storage.", hostileChecks],
];

export const checks: ReadonlyMap<string, Check> = new Map(
  groups.flatMap(([why, tests]) =>
    Object.entries(tests).map(([title, check]) => [title, explained(check, { title, why })] as const),
  ),
);

/** An assertion alone says which values differ, and not what is wrong with them. */
function explained(check: Check, { title, why }: { readonly title: string; readonly why: string }): Check {
  return async (subject) => {
    try {
      await check(subject);
    } catch (error) {
      if (error instanceof Error && error.name === "AssertionError")
        error.message = `This storage does not keep the rule "${title}". ${why}\n${error.message}`;
      throw error;
    }
  };
}

/** Runs one test on a storage of its own. */
export async function runCheck(check: Check, open: Open, skip: (reason: string) => never): Promise<void> {
  const clock = { now: 1_800_000_000_000 };
  const handle = await open({ now: () => clock.now });
  try {
    await check(new Subject({ handle, clock, skip }));
  } finally {
    await handle.close();
  }
}
