/** The suites of a storage with pages of three runs, batches of two entries, and lines of two ancestors. */

import { storageConformance, storageFeatures, type Open } from "@durable/testing/conformance";
import { MemoryStorage, systemWorld } from "../../src/index.ts";
import { makeSmall } from "../support/small-sizes.ts";

makeSmall();

const open: Open = ({ now }) => {
  const storage = new MemoryStorage({ now, timer: (ms, fire) => systemWorld.timer(ms, fire) });
  return Promise.resolve({
    storage,
    reopen: () => Promise.resolve(storage),
    close: () => Promise.resolve(),
  });
};

storageConformance("MemoryStorage", open);
storageFeatures("MemoryStorage", open);
