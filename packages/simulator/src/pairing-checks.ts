/**
 * Checks on workflows that await something other than `ctx`.
 *
 * I1. A call never gets the value of another call, whatever the order in which foreign awaits end.
 * I8. The library warns about each pass that makes a call after a foreign await, or blocks its run; and about no other.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Pairs } from "./environment.ts";
import type { History } from "./history.ts";
import type { Process } from "./process.ts";

/**
 * A name that several strands call after foreign awaits goes to the strand that is first, in each pass anew.
 * The library warns, and blocks the run only where both calls are open (decision 0014).
 */
const judgesSharedNames = false;

/** Which place in its tree made each value. */
export class PairNotes {
  readonly #history: History;
  readonly #places = new Map<string, string>();
  /** Processes and runs that the library has warned about. */
  readonly #warned = new Set<string>();
  readonly #isClean: boolean;

  /** `isClean`: no code awaits anything but its ctx, so the library has nothing to warn about. */
  constructor(history: History, isClean: boolean) {
    this.#history = history;
    this.#isClean = isClean;
  }

  warned(process: string, message: string): void {
    const [, runId] = /run (\S+) called .* after awaiting something other than ctx/.exec(message) ?? [];
    if (runId === undefined) return;
    this.#history.meet("a foreign await");
    if (this.#isClean) this.#history.violate("I8", `run ${runId}: a warning without a cause: ${message}`);
    this.#warned.add(`${process} ${runId}`);
  }

  /** What the work of one process may note. */
  of({ name }: Process): Pairs {
    return {
      made: (place, value) => void this.#places.set(String(value), place),
      got: (runId, place, { name: key, value }) => {
        if (judgesSharedNames || key.startsWith("later ")) this.#judge(runId, place, value);
      },
      afterForeign: (runId, key) => {
        if (!this.#warned.has(`${name} ${runId}`))
          this.#history.violate("I8", `run ${runId}: ${key} was called after a foreign await, unnoticed`);
      },
    };
  }

  #judge(runId: string, place: string, value: unknown): void {
    const [nonce = ""] = /nonce \d+/.exec(JSON.stringify(value) ?? "") ?? [];
    const made = this.#places.get(nonce);
    // In changed code a place means another node.
    if (made !== undefined && made !== place && !this.#history.codeChanges)
      this.#history.violate("I1", `run ${runId}: the call at ${place} gets ${nonce}, made at ${made}`);
  }
}
