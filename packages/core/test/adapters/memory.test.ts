import { storageConformance, storageFeatures, type Open } from "@durable/testing/conformance";
import { MemoryStorage, systemWorld } from "../../src/index.ts";

const open: Open = ({ now }) => {
  const storage = new MemoryStorage({ now, timer: (ms, fire) => systemWorld.timer(ms, fire) });
  return Promise.resolve({
    storage,
    // All handles on one memory are one object.
    reopen: () => Promise.resolve(storage),
    close: () => Promise.resolve(),
  });
};

storageConformance("MemoryStorage", open);
storageFeatures("MemoryStorage", open);
