/**
 * Calls that have not begun yet.
 *
 * fresh-calls.1. No work begins before the clean-ups that were registered before it are durable.
 */

import type { Call } from "./registry.ts";
import type { Replay } from "./replay.ts";

export class FreshCalls {
  readonly #replay: Pick<Replay, "record">;
  readonly #begin: (call: Call) => void;
  /** In the order in which they were made. */
  list: Call[] = [];
  /** The key of the latest registration of a clean-up. */
  registered: string | null = null;

  constructor(replay: Pick<Replay, "record">, begin: (call: Call) => void) {
    this.#replay = replay;
    this.#begin = begin;
  }

  /** The code is over: none of its calls begins, and a clean-up that it registered after that is ignored. */
  drop(): void {
    this.list = [];
    this.registered = null;
  }

  /** Begins waits that are open in the journal, and nothing else: they may have an answer. */
  beginAsked(isBlocked: () => boolean): void {
    this.begin(
      this.list.filter(({ kind, key }) => kind === "suspend" && this.#replay.record(key)?.opened === true),
      isBlocked,
    );
  }

  /** Begins calls without a record, in the order they were made. Beginning one may add another. */
  begin(judged: Call[], isBlocked: () => boolean): void {
    this.list = judged;
    const held: Call[] = [];
    const holds = this.registered !== null && this.#replay.record(this.registered) === undefined;
    // By index, because taking the first of a long list moves all others.
    for (let i = 0; i < this.list.length && !isBlocked(); i++) {
      const call = this.list[i] as Call;
      if (holds && beginsWork(call)) held.push(call);
      else if (!call.scope.closed && this.#replay.record(call.key)?.settled !== true) this.#begin(call);
    }
    this.list = held;
  }
}

/** A call whose start is recorded first begins no work yet. */
function beginsWork({ kind, announced }: Call): boolean {
  return (kind === "step" || kind === "stream") && announced !== true;
}
