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
import { scheduleChecks } from "./schedules.ts";
import { whenDueChecks } from "./when-due.ts";
import { Subject, type Check, type ConformanceHandle } from "./subject.ts";

/** What `open` of an adapter gets. */
export interface OpenOptions {
  /** The clock of leases and quiet times; the suite advances it. */
  readonly now: () => number;
}

/** Opens a fresh, empty storage. */
export type Open = (options: OpenOptions) => Promise<ConformanceHandle>;

export const checks: ReadonlyMap<string, Check> = new Map(
  [
    appendChecks,
    readChecks,
    headChecks,
    dueChecks,
    claimChecks,
    orderChecks,
    findingChecks,
    waitsChecks,
    leaseChecks,
    limitChecks,
    noteChecks,
    reportChecks,
    pauseChecks,
    chapterChecks,
    dropChecks,
    deleteChecks,
    endedChecks,
    blobChecks,
    blobBodyChecks,
    changedChecks,
    whenDueChecks,
    scheduleChecks,
    handleChecks,
    hostileChecks,
  ].flatMap((group) => Object.entries(group)),
);

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
