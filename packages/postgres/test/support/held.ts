/** Postgres for tests in virtual time: the clock waits for the database. */

import type { Storage } from "@durable/core";
import { heldStorage } from "../../../testing/src/kit/held-storage.ts";
import { openSchema } from "./open.ts";

/** An empty storage by a virtual clock. Closing it empties the tables for the next one. */
export function openHeld(now: () => number): { storage: Storage; hold: () => Promise<boolean> } {
  const place = openSchema();
  const inner = place.open({ now, listen: false });
  const { storage, hold } = heldStorage(inner);
  return {
    storage: new Proxy(storage, {
      get: (target, name) =>
        name === "close" ? () => place.close() : (Reflect.get(target, name, target) as unknown),
    }),
    hold,
  };
}
