import { storageConformance, storageFeatures } from "@durable/testing/conformance";
import { openMemory } from "./support/open-memory.ts";

storageConformance("MemoryStorage", openMemory);
storageFeatures("MemoryStorage", openMemory);
