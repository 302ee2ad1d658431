/**
 * A whole simulation as data: workflows, processes, faults and actions. A plan is made from a seed, can be
 * saved, shrunk and run again, and always gives the same history. Proven in test/sim.test.ts.
 */

import type { Rates } from "./faults.ts";
import type { Tree } from "./tree.ts";

export interface FlowPlan {
  readonly name: string;
  readonly tree: Tree;
  /** The same workflow in a later version of the code. */
  readonly changed: Tree;
  /** The later version differs only in the names of waits, and gives the old names. */
  readonly compatible?: boolean;
}

export interface RunPlan {
  readonly id: string;
  readonly flow: number;
  readonly at: number;
  /** How many callers start this run at the same time. */
  readonly starters: number;
  /** The deadline of the run; none if missing. */
  readonly deadlineMs?: number;
  /** True when its caller leaves it to workers. */
  readonly left?: boolean;
}

export const actionKinds = [
  "kill",
  "pause",
  "terminate",
  "set-clock",
  "deploy",
  "rotate",
  "fill-disk",
  "cancel",
  "fork",
  "delete",
  "advance",
  "storm",
  "reuse",
  "drop-chapters",
  "purge",
  "pause-run",
  "retry-run",
  "pause-workflow",
  "pause-schedule",
  "delete-schedule",
  "trigger-schedule",
] as const;
export type ActionKind = (typeof actionKinds)[number];

/** An action at a time, on the process or run with this number. */
export interface Action {
  readonly kind: ActionKind;
  readonly at: number;
  readonly target: number;
  readonly ms: number;
  /** Only runs of this workflow are meant. */
  readonly of?: string;
}

/** A schedule of a plan. */
export interface SchedulePlan {
  readonly name: string;
  /** The number of its workflow. */
  readonly flow: number;
  readonly everyMs: number;
  readonly overlap: "skip" | "allow" | "queue" | "cancel";
  readonly missed: "latest" | "skip" | "all";
}

/** One start of a run of the queue. */
export interface QueuedStart {
  readonly name: string;
  readonly at: number;
  /** It gives the run its id. */
  readonly named: boolean;
  readonly delayMs?: number;
  readonly atMs?: number;
  /** The key of a debounced start, which waits for `delayMs`. */
  readonly debounce?: string;
  readonly singleton?: string;
  readonly priority?: number;
}

/** A workflow whose runs wait for their time, their rate, and the limit of a service. */
export interface QueuePlan {
  /** The number of the workflow. */
  readonly flow: number;
  readonly rate?: { readonly limit: number; readonly perMs: number };
  readonly limit?: {
    readonly calls: number;
    readonly perMs: number;
    readonly concurrent: number;
    /** Calls are counted by their tokens. */
    readonly tokens: boolean;
  };
  /** How many keys take turns, and how many runs each has in a turn. */
  readonly fair?: { readonly keys: number; readonly weight: number };
  readonly starts: readonly QueuedStart[];
}

/** What the workers of a plan are kept to: some of the workflows each, or the version of their code. */
export type Share = "workflows" | "versions";

/** Everything that a simulation does, drawn from a seed. */
export interface Plan {
  readonly seed: number;
  /**
   * True when nothing in the workflows depends on time or order, so that their output is known beforehand.
   */
  readonly calm: boolean;
  /** Some workflows await timers that are not from `ctx`. */
  readonly foreign?: boolean;
  readonly flows: readonly FlowPlan[];
  readonly runs: readonly RunPlan[];
  readonly workers: number;
  /** Due runs are found by sweeps instead of workers. */
  readonly sweeps: boolean;
  readonly intervalMs: number;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly patienceMs: number;
  /** True when the storage reports changes; otherwise drivers poll. */
  readonly notifies: boolean;
  /** True when the storage shares due runs between workers; if missing, they list due runs and compete. */
  readonly claims?: boolean;
  /** True when the storage announces due runs to workers; if missing, they poll. */
  readonly announces?: boolean;
  /** The share of these notices that is lost; none if missing. */
  readonly lostNotices?: number;
  /** Who goes first: chosen at random, or by priorities that change a few times. */
  readonly schedule: "random" | "priorities";
  /** The longest time that a message takes, in milliseconds. */
  readonly latencyMs: number;
  /** By how much the clock of each process is wrong. */
  readonly skews: readonly number[];
  /** Time passes while processes compute, and sometimes more than a lease lasts; if missing, it stands still. */
  readonly busy?: boolean;
  readonly rates: Rates;
  readonly actions: readonly Action[];
  readonly healAt: number;
  /** The deployed code stays when faults end; runs that do not fit it stay blocked. */
  readonly keepsCode: boolean;
  /** True when runs are encrypted. */
  readonly encrypted?: boolean;
  /** How many parked runs a process keeps in memory; none if missing. */
  readonly warm?: number;
  /** Processes that send messages; none if missing. */
  readonly senders?: number;
  /** Processes that read streams; none if missing. */
  readonly readers?: number;
  /** Keys of a journal without a workflow, into which two processes record; no such journal if missing. */
  readonly records?: number;
  /** Runs of a workflow that no worker has; none if missing. */
  readonly strangers?: number;
  /** True when a purge deletes runs together, each only if it is unchanged; if missing, one by one. */
  readonly deletesTogether?: boolean;
  /**
   * True when apps do not have the workflows of children, so that only their parents' drivers can drive them.
   */
  readonly privateChildren?: boolean;
  /** How many runs of a workflow are driven at the same time; no limit if missing. */
  readonly slots?: number;
  /** True when some answers are failures. */
  readonly failures?: boolean;
  /** True when processes have hooks, some of which fail; none if missing. */
  readonly hooks?: boolean;
  /** Schedules, which start runs of workflows of their own; none if missing. */
  readonly schedules?: readonly SchedulePlan[];
  /** True when code logs a line before each step. */
  readonly logs?: boolean;
  /** True when workflows say how their steps are tried again, and not the steps. */
  readonly defaults?: boolean;
  /** Runs with limits, delays and keys; none if missing. */
  readonly queue?: QueuePlan;
  /** What workers are kept to; each takes all runs if missing. */
  readonly share?: Share;
  /** True when an operator pauses workflows. */
  readonly pauses?: boolean;
  /** Only these network faults happen, by name; if missing, all that are drawn. */
  readonly only?: readonly string[];
}

/** Workflows that are spawned have such a name, and every app has them. */
export const spawnedPrefix = "spawned-";
