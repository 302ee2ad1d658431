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

/** What the keys of one storage have waited for. Another storage has turns of its own. */
export class FairNotes {
  readonly #history: History;
  /** By workflow, then by key with a due run: how many runs each other key has got meanwhile. */
  readonly #waiting = new Map<string, Map<string, Map<string, number>>>();

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
      for (const head of taken) if (head.workflow === name && isShared(head)) this.#took(head);
      const { runs } = await list({ workflow: [name], dueAt });
      this.#left(name, new Set(runs.filter(isShared).map(fairOf)));
    }
  }

  #took(head: RunHead): void {
    const { workflow, runId, flow } = head;
    const key = fairOf(head);
    const waiting = this.#waiting.get(workflow) ?? new Map<string, Map<string, number>>();
    this.#waiting.set(workflow, waiting);
    if (waiting.delete(key)) this.#history.meet("a key that waited for its turn");
    for (const [other, got] of waiting) {
      const runs = (got.get(key) ?? 0) + 1;
      got.set(key, runs);
      if (runs > 2 * (flow?.weight ?? 1))
        this.#history.violate("I39", `run ${runId}: ${key} gets run ${runs} while ${other} has one due`);
    }
  }

  /** Only these keys still have due runs. */
  #left(workflow: string, keys: ReadonlySet<string>): void {
    const waiting = this.#waiting.get(workflow);
    for (const key of waiting?.keys() ?? []) if (!keys.has(key)) waiting?.delete(key);
    for (const key of keys) if (waiting?.has(key) === false) waiting.set(key, new Map());
  }
}

function isShared({ flow }: RunHead): boolean {
  return flow?.fair !== undefined;
}

function fairOf({ flow }: RunHead): string {
  return flow?.fair ?? "";
}
