/** One life of a workflow function: what it was given, and which of its branches are lost. */

import type { RunLog } from "./run-log.ts";

export interface ReplayPassParts {
  /** Absent when the run's first batch was forgotten by the storage. */
  readonly run: RunLog | undefined;
  /** The version of the code it ran. */
  readonly code: "first" | "changed";
  readonly process: string;
  /** Its process is a worker, which is asked to end before it is stopped. */
  readonly worker: boolean;
}

/** One life of a workflow function. */
export class ReplayPass {
  readonly run: RunLog | undefined;
  readonly code: "first" | "changed";
  readonly process: string;
  readonly worker: boolean;
  /** All it was given, in order. */
  readonly seen: string[] = [];
  /** All keys it was given something under. */
  readonly keys = new Set<string>();
  /** Branches that have not returned, by what their keys begin with. */
  readonly #open = new Set<string>();
  readonly #lost = new Set<string>();

  constructor(parts: ReplayPassParts) {
    this.run = parts.run;
    this.code = parts.code;
    this.process = parts.process;
    this.worker = parts.worker;
  }

  /** Runs a branch and notes when it has returned. */
  async branch(work: () => unknown, path: string): Promise<unknown> {
    this.#open.add(path);
    try {
      return await work();
    } finally {
      this.#open.delete(path);
    }
  }

  /** A group is decided: what has not returned of it is lost. */
  close(group: string): void {
    for (const path of this.#open) {
      // What a branch that returned left behind goes on: nobody decided against it.
      const branch = path.slice(0, path.indexOf("]/", group.length) + 2);
      if (path.startsWith(`${group}[`) && this.#open.has(branch)) this.#lost.add(path);
    }
  }

  isLost(key: string): boolean {
    for (const path of this.#lost) if (key.startsWith(path)) return true;
    return false;
  }
}
