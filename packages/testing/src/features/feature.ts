/** A feature: programs that show what its users are promised, and what a storage says that does not have it. */

import type { Storage } from "@durable/core";
import type { FeatureLab } from "./lab.ts";

/** One program: rejects when the promise is not kept. */
export type Program = (lab: FeatureLab) => Promise<void>;

/** Members of the port that features need. A storage without one of them refuses the feature. */
export type Need = "schedules" | "limits" | "finds" | "pause" | "note" | "dropChapters";

export interface Feature {
  /** The row of the table. */
  readonly name: string;
  /** The page that describes it, from `docs`. */
  readonly page: string;
  /** What a storage needs for it; nothing when it works on every storage. */
  readonly needs?: Need;
  readonly programs: Readonly<Record<string, Program>>;
  /** Shows what happens on a storage without it. */
  readonly without?: Program;
  /** What happens there, in the table; `refused` by default. */
  readonly otherwise?: string;
}

/** True when a storage has what a feature needs. */
export function claims(storage: Storage, { needs }: Feature): boolean {
  return needs === undefined || storage[needs] !== undefined;
}
