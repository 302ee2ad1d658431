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
