import type { Open } from "@durable/testing/conformance";
import { MemoryStorage } from "../../../src/index.ts";
import { systemWorld } from "../../../src/storage.ts";

/** A memory for the suites of a storage. */
export const openMemory: Open = ({ now }) => {
  const storage = new MemoryStorage({ now, timer: (ms, fire) => systemWorld.timer(ms, fire) });
  return Promise.resolve({
    storage,
    // All handles on one memory are one object.
    reopen: () => Promise.resolve(storage),
    close: () => Promise.resolve(),
  });
};
