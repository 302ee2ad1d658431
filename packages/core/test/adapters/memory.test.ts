import { storageConformance } from "@durable/testing/conformance";
import { MemoryStorage, systemWorld } from "../../src/index.ts";

storageConformance("MemoryStorage", ({ now }) => {
  const storage = new MemoryStorage({ now, timer: (ms, fire) => systemWorld.timer(ms, fire) });
  return Promise.resolve({
    storage,
    // All handles on one memory are one object.
    reopen: () => Promise.resolve(storage),
    close: () => Promise.resolve(),
  });
});
