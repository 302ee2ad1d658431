/** What an append to a journal is given, and what becomes of it. */

import type { AppendRequest } from "../ports/storage.ts";
import type { Entry } from "./entry.ts";

/**
 * The result of an append. `absorbed`: others appended first and nothing was written; the caller decides again with the
 * new entries. `lost`: another driver has the run, or it has ended.
 */
export type Appended =
  | { readonly kind: "landed"; readonly entries: readonly Entry[] }
  | { readonly kind: "absorbed"; readonly entries: readonly Entry[] }
  | { readonly kind: "lost" };

export interface AppendOptions {
  readonly outside?: boolean;
  readonly lease?: AppendRequest["lease"];
  /** False if the batch need not be added to this object, because the driver of the run will read it. */
  readonly learn?: boolean;
}
