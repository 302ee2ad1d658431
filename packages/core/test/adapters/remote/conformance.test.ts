import { MemoryBucket } from "@durable/core";
import {
  bucketConformance,
  remoteConformance,
  remoteFeatures,
  type OpenBucket,
} from "@durable/testing/conformance";

const open: OpenBucket = () =>
  Promise.resolve({ bucket: new MemoryBucket(), close: () => Promise.resolve() });

bucketConformance("MemoryBucket", open);
remoteConformance("MemoryBucket", open);
// H15: one winner, one's own write known again, refusals that mean nothing.
remoteConformance("MemoryBucket", open, { faults: ["lose-request", "lose-reply", "apply-late"] });
remoteConformance("MemoryBucket", open, { faults: ["busy", "busy-after", "own-412"] });
remoteConformance("MemoryBucket", open, { faults: ["stale-list", "short-list"] });
remoteFeatures("MemoryBucket", open);
