/** The suites of a storage with pages of three runs, batches of two entries, and lines of two ancestors. */

import { storageConformance, storageFeatures } from "@durable/testing/conformance";
import { makeSmall } from "../support/small-sizes.ts";
import { openMemory } from "./support/open-memory.ts";

makeSmall();

storageConformance("MemoryStorage", openMemory);
storageFeatures("MemoryStorage", openMemory);
