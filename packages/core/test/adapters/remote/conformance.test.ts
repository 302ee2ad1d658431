import { MemoryBucket } from "@durable/core/remote";
import {
  bucketConformance,
  remoteConformance,
  remoteFeatures,
  type OpenBucket,
} from "@durable/testing/conformance";
import { inject } from "vitest";

const open: OpenBucket = () =>
  Promise.resolve({ bucket: new MemoryBucket(), close: () => Promise.resolve() });

bucketConformance("MemoryBucket", open);
remoteConformance("MemoryBucket", open);
const sample = inject("full") ? 1 : 12;
// H15: one winner, one's own write known again, refusals that mean nothing.
remoteConformance("MemoryBucket", open, { faults: ["lose-request", "lose-reply", "apply-late"], sample });
remoteConformance("MemoryBucket", open, { faults: ["busy", "busy-after", "own-412"], sample });
remoteConformance("MemoryBucket", open, { faults: ["stale-list", "short-list"], sample });
remoteFeatures("MemoryBucket", open);
