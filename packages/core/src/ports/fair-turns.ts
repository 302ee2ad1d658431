/** Whose turn it is among keys that share the places of a workflow. Proven by the conformance suite. */

import type { RunFlow } from "./storage.ts";

/** Whose turn it is among the keys of `fair`, by workflow. Each process has turns of its own. */
export class FairTurns {
  readonly #turns = new Map<string, { fair: string; left: number }>();
  /** By workflow, the slot after which the next search by slots begins. */
  readonly slots = new Map<string, string>();

  /** The key that was served last, and how many more of its runs belong to its turn. */
  of(workflow: string): { readonly fair: string; readonly left: number } | undefined {
    return this.#turns.get(workflow);
  }

  /** Keys up to this one had nothing to take. */
  pass(workflow: string, fair: string): void {
    this.#turns.set(workflow, { fair, left: 0 });
  }

  /** A run with this key was taken. */
  took(workflow: string, { fair = "", weight = 1 }: Pick<RunFlow, "fair" | "weight">): void {
    const turn = this.#turns.get(workflow);
    if (turn?.fair === fair && turn.left > 0) turn.left -= 1;
    else this.#turns.set(workflow, { fair, left: weight - 1 });
  }
}
