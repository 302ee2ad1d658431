/** Memory that can go back to what it had some appends ago, as a failover does. Leases are lost with them. */

import { MemoryStorage, type Storage } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";

export interface Losing {
  readonly storage: Storage;
  /** Goes back by this many appends, of whichever run. */
  readonly forget: (batches: number) => Promise<void>;
  /** How many appends it has. */
  readonly size: number;
}

export function losing(now: () => number = Date.now): Losing {
  let appends: AppendRequest[] = [];
  let inner = new MemoryStorage({ now });
  const storage = new Proxy(inner, {
    get: (_, name) => {
      if (name === "append")
        return async (request: AppendRequest) => {
          await inner.append(request);
          appends.push(request);
        };
      const value: unknown = Reflect.get(inner, name, inner);
      return typeof value === "function" ? (value.bind(inner) as unknown) : value;
    },
  });
  return {
    storage,
    get size() {
      return appends.length;
    },
    forget: async (batches) => {
      appends = appends.slice(0, -batches);
      inner = new MemoryStorage({ now });
      for (const { lease: _, ...request } of appends) await inner.append(request);
    },
  };
}
