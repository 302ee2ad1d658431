/**
 * One execution of a workflow function over its journal: the values it got, and which of its branches have
 * lost. Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { RunLog } from "./run-log.ts";

export interface ReplayPassParts {
  /** Absent when the storage forgot the run's first batch. */
  readonly run: RunLog | undefined;
  /** The version of the code it runs. */
  readonly code: "first" | "changed";
  readonly process: string;
  /** Its process is a worker, which is terminated before it is killed. */
  readonly worker: boolean;
}

/** One execution of a workflow function over its journal. */
export class ReplayPass {
  readonly run: RunLog | undefined;
  readonly code: "first" | "changed";
  readonly process: string;
  readonly worker: boolean;
  /** The values it got, in order. */
  readonly seen: string[] = [];
  /** The keys of those values. */
  readonly keys = new Set<string>();
  /** The keys of all its calls, and when each was made. */
  readonly called = new Map<string, number>();
  /** When its first body started under the lease that it has. */
  firstBodyAt = Number.NEGATIVE_INFINITY;
  /** The event in which its code left a rejection behind. */
  strayAt: number | null = null;
  /** Branches that have not returned, by key prefix. */
  readonly #open = new Set<string>();
  readonly #lost = new Set<string>();

  constructor(parts: ReplayPassParts) {
    this.run = parts.run;
    this.code = parts.code;
    this.process = parts.process;
    this.worker = parts.worker;
  }

  /** Runs a branch and notes when it returns. */
  async branch(work: () => unknown, path: string): Promise<unknown> {
    this.#open.add(path);
    try {
      return await work();
    } finally {
      this.#open.delete(path);
    }
  }

  /** Marks the open branches of a settled group as lost. */
  close(group: string): void {
    for (const path of this.#open) {
      // Work that a returned branch left behind is not lost, so only whole open branches count.
      const branch = path.slice(0, path.indexOf("]/", group.length) + 2);
      if (path.startsWith(`${group}[`) && this.#open.has(branch)) this.#lost.add(path);
    }
  }

  isLost(key: string): boolean {
    for (const path of this.#lost) if (key.startsWith(path)) return true;
    return false;
  }
}
