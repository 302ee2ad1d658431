/** What `#default-storage` means where there is no file system: the first call asks for a storage. */

import { DurableError } from "../values/errors.ts";
import type { Storage } from "../ports/storage.ts";

export function defaultStorage(): Promise<Storage> {
  return Promise.reject(
    new DurableError(
      "no-storage",
      "There is no default storage on this platform. Pass { storage } to durable(), flow.with() or createApp().",
    ),
  );
}

/** No promise outlives its request here, so no run can stay in memory. */
export const warmRuns = 0;
