/** What few runs need, and the engine loads at its first use. */

import type { World } from "../ports/world.ts";
import type { ChunkBuffer } from "./calls/chunks.ts";
import type { Resolution, Uncertain } from "./calls/on-uncertain.ts";
import type { RetryPolicy } from "./calls/retry.ts";

export interface EngineParts {
  readonly ChunkBuffer: typeof ChunkBuffer;
  readonly reconcile: (
    find: (uncertain: Uncertain) => Resolution | Promise<Resolution>,
    uncertain: Uncertain,
    how: { readonly world: World; readonly policy: RetryPolicy; readonly where: string },
  ) => Promise<Resolution>;
}
