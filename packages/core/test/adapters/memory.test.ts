import { storageConformance } from "@durable/testing/conformance";
import { MemoryStorage } from "../../src/index.ts";

storageConformance("MemoryStorage", ({ now }) => {
  const storage = new MemoryStorage({ now });
  return Promise.resolve({
    storage,
    // All handles on one memory are one object.
    reopen: () => Promise.resolve(storage),
    close: () => Promise.resolve(),
  });
});
