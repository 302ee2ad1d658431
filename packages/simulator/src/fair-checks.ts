/**
 * Keys that take turns.
 *
 * I39. While a key of `fair` has a due run, the claims of a storage give no other key more than two turns.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { ListPage, ListQuery, RunHead } from "@durable/core";
import type { ClaimRequest } from "@durable/core/storage";
import type { History } from "./history.ts";

/** A key that was left with a run which wanted a driver from this time on, and how many runs each other key has got since. */
interface Waiting {
  readonly wakeAt: number;
  readonly got: Map<string, number>;
}

/** What the keys of one storage have waited for. Another storage has turns of its own. */
export class FairNotes {
  readonly #history: History;
  /** By workflow, then by key. */
  readonly #waiting = new Map<string, Map<string, Waiting>>();

  constructor(history: History) {
    this.#history = history;
  }

  /** Runs after a claim; `list` is that of the storage. */
  async judge(
    request: ClaimRequest,
    taken: readonly RunHead[],
    list: (query: ListQuery) => Promise<ListPage>,
  ): Promise<void> {
    const { workflow, dueAt, slots, version } = request;
    // Runs of other versions, and of slots that are taken, are left out of a claim.
    if (version !== undefined) return;
    const shared = new Set(taken.filter(isShared).map((head) => head.workflow));
    for (const name of shared) {
      if (!workflow.includes(name) || slots?.[name] !== undefined) continue;
      for (const head of taken) if (head.workflow === name && isShared(head)) this.#took(head, dueAt);
      const { runs } = await list({ workflow: [name], dueAt });
      this.#left(name, runs.filter(isShared));
    }
  }

  /** The clock of a worker may be behind that of the one before it: then fewer runs are due. */
  #took(head: RunHead, dueAt: number): void {
    const { workflow, runId, flow } = head;
    const key = fairOf(head);
    const waiting = this.#waiting.get(workflow) ?? new Map<string, Waiting>();
    this.#waiting.set(workflow, waiting);
    if (waiting.delete(key)) this.#history.meet("a key that waited for its turn");
    for (const [other, { wakeAt, got }] of waiting) {
      if (wakeAt > dueAt) continue;
      const runs = (got.get(key) ?? 0) + 1;
      got.set(key, runs);
      if (runs > 2 * (flow?.weight ?? 1))
        this.#history.violate("I39", `run ${runId}: ${key} gets run ${runs} while ${other} has one due`);
    }
  }

  /** Only the keys of these runs still have due ones. */
  #left(workflow: string, runs: readonly RunHead[]): void {
    const waiting = this.#waiting.get(workflow);
    if (waiting === undefined) return;
    const wakes = new Map<string, number>();
    for (const head of runs)
      wakes.set(fairOf(head), Math.min(wakes.get(fairOf(head)) ?? Infinity, head.wakeAt ?? Infinity));
    for (const key of waiting.keys()) if (!wakes.has(key)) waiting.delete(key);
    for (const [key, wakeAt] of wakes) waiting.set(key, { wakeAt, got: waiting.get(key)?.got ?? new Map() });
  }
}

function isShared({ flow }: RunHead): boolean {
  return flow?.fair !== undefined;
}

function fairOf({ flow }: RunHead): string {
  return flow?.fair ?? "";
}
