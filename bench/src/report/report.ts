/** The results of a benchmark, as they are stored in JSON. */

import type { WorkloadId } from "../workloads.ts";
import type { Machine } from "./machine.ts";
import type { Weight } from "./weight.ts";

/** All measurements of a subject in a workload. */
export interface Cell {
  readonly workload: WorkloadId;
  readonly subject: string;
  /** One entry per round. */
  readonly rounds: (Readonly<Record<string, number>> & { readonly value: number })[];
  /** Why there are no further rounds. */
  skipped?: string;
}

export interface Report {
  readonly date: string;
  readonly command: string;
  readonly rounds: number;
  /** 1 for full sizes. */
  readonly divide: number;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  /** What an install of each package brings. */
  readonly weights: Readonly<Record<string, Weight>>;
  readonly cells: readonly Cell[];
}
