/** The suites of a storage with pages of three runs, batches of two entries, and lines of two ancestors. */

import { storageConformance, storageFeatures } from "@durable/testing/conformance";
import { inject } from "vitest";
import { makeSmall } from "../support/small-sizes.ts";
import { openMemory } from "./support/open-memory.ts";

makeSmall();

// They have nothing to do with the small numbers, and take long.
const reason = "in `npm run test:full`";
const skip = [
  "a blob of 32 MiB, in bytes and in characters",
  "2,000 blobs in one append, and all of them again without their bodies",
].map((test) => ({ test, reason }));
storageConformance("MemoryStorage", openMemory, inject("full") ? {} : { skip });
storageFeatures("MemoryStorage", openMemory);
