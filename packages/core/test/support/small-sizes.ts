/** Small numbers where the library has large ones, so that tests come to what lies beyond one page or one batch. */

import { atOnce, limits } from "../../src/values/limits.ts";

/** For the rest of the process: a file that calls it has one of its own. */
export function makeSmall(): void {
  Object.assign(limits, { messageIds: 3, batchEntries: 2, chunksPerEntry: 2 });
  Object.assign(atOnce, {
    listed: 2,
    purgePage: 2,
    purged: 2,
    purgeReads: 2,
    ancestors: 2,
    wakeUps: 1,
    bucketKeys: 2,
  });
}

/** Other limits until the function that it gives is called: a real limit of megabytes takes seconds to reach. */
export function setLimits(others: Partial<Record<keyof typeof limits, number>>): () => void {
  const real = { ...limits };
  Object.assign(limits, others);
  return () => void Object.assign(limits, real);
}
