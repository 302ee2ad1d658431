/** Three handles on one bucket, one per process, for the simulator. */

import type { Storage } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { virtualWorld } from "@durable/testing";

export function handles(now: () => number): Storage[] {
  const bucket = new MemoryBucket();
  return [1, 2, 3].map((seed) => new RemoteStorage(bucket, { world: { ...virtualWorld({ seed }), now } }));
}
