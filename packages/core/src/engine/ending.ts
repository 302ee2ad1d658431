/**
 * How a run comes to its end: its code ends or is cancelled, running work gets a bounded time, and then what the run
 * began may be undone (`undo.ts`).
 *
 * ending.1. The code sees no entry after the one that ended or cancelled it, live and on replay.
 * ending.2. Nothing is undone while work of the code still runs: it gets a bounded time, then its result is dropped.
 *     But children that are no longer needed are cancelled first, however long that takes.
 * ending.3. From the first undone step on, only facts of the undoing are written.
 * ending.4. Code that awaits something other than ctx gets a bounded time to say how its steps are undone.
 */

import type { Fact } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { World } from "../ports/world.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError } from "../values/errors.ts";
import { Scope } from "./scope.ts";
import { missedBy } from "./deadline.ts";
import type { InFlight } from "./verdicts.ts";
import type { CallRegistry } from "./registry.ts";
import type { Replay } from "./replay.ts";
import { endOf, failure, toUndo, type EndFact, type Finish, type Undo, type Undoable } from "./stop.ts";

type Failed = Extract<Fact<Json>, { kind: "run.failed" }>;
type Failing = Extract<Fact<Json>, { kind: "run.failing" }>;

interface Run {
  readonly journal: RunJournal;
  readonly world: World;
  readonly options: { readonly lingerMs: number };
  wake(): void;
}

/** What the code has done in this drive. */
interface Replayed {
  readonly undoables: ReadonlyMap<string, Undoable>;
  readonly calls: Pick<CallRegistry, "unfinished">;
  readonly replay: Pick<Replay, "record" | "orphans">;
}

export class Ending {
  /** The code runs in this scope, and what undoes it runs in another. */
  readonly code = new Scope();
  readonly undoing = new Scope();
  undo: Undo | null = null;
  /** Work that still runs is no longer waited for. */
  abandoned = false;
  readonly #run: Run;
  #settled: Finish | null = null;
  #cancelLinger: (() => void) | null = null;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The workflow function has settled. */
  settle(finish: Finish): void {
    this.#settled ??= finish;
  }

  /** What the run ends with, once that is known. */
  get finish(): Finish | null {
    return this.undo === null ? this.#settled : this.undo.finish;
  }

  /** The code is over, and nothing is undone yet: nothing begins. */
  get frozen(): boolean {
    return this.undo === null && this.#run.journal.state.undoing !== null;
  }

  /** Nothing of the code begins any more. */
  get over(): boolean {
    return this.#run.journal.state.end !== null || this.frozen || this.isPaused;
  }

  get isPaused(): boolean {
    return this.#run.journal.state.paused !== null;
  }

  /** The code sees what was recorded up to here. */
  get codeEnd(): number {
    return (this.undo === null ? this.#run.journal.state.undoing?.seq : null) ?? Infinity;
  }

  /** The fact that ends the run, or the one before it if something has to be undone first; an error refuses the end. */
  factOf(finish: Finish, run: Parameters<typeof endOf>[1]): EndFact | Failing | DurableError {
    if (this.undo !== null) return finish.fact({});
    const end = endOf(finish, run);
    const undoes =
      !(end instanceof DurableError) && end.kind === "run.failed" && run.journal.state.compensates;
    return undoes ? { ...end, kind: "run.failing" } : end;
  }

  /** No work is under way that the run waits for. */
  isIdle({ idle, abandonable }: InFlight): boolean {
    return idle || (this.abandoned && abandonable && this.undo === null && !this.isLate);
  }

  /** The deadline has ended the run. */
  get isLate(): boolean {
    return this.#settled?.abandoned !== undefined;
  }

  /** The deadline of the run has passed. Returns the fact to append first if something has to be undone. */
  expire(deadline: number, calls: Pick<CallRegistry, "unfinished">): Failing | null {
    const { runId, state } = this.#run.journal;
    const error = missedBy(runId, deadline);
    const failed = failure(error, runId);
    // Work under way is waited for, so that nothing is undone beside it.
    if (state.compensates) return { ...(failed.fact({}) as Failed), kind: "run.failing" };
    this.settle({ ...failed, abandoned: calls.unfinished("step", "stream", "child") });
    this.abandoned = true;
    // Children are cancelled, and the end waits for that.
    this.code.close("abandoned");
    this.code.abort(error);
    return null;
  }

  accepts(fact: Fact<Json>): boolean {
    return !this.abandoned || this.undo?.owns(fact) === true;
  }

  /** Work that still runs gets a bounded time. Then its signal aborts and its result is dropped. */
  linger(): void {
    this.#cancelLinger ??= this.#run.world.timer(this.#run.options.lingerMs, () => {
      this.abandoned = true;
      this.#abortCode();
      this.#run.wake();
    });
  }

  /**
   * The code has yet to say how something is undone, and awaits something other than ctx: no call of it is open, or
   * results are there that it has not asked for. It gets the time that running work gets.
   */
  isBehind({ undoables, calls, replay }: Replayed): boolean {
    if (this.abandoned || this.#settled !== null) return false;
    const unsaid = toUndo(this.#run.journal.state).filter(({ key }) => !undoables.has(key));
    if (unsaid.every(({ by }) => replay.record(by)?.settled)) return false;
    const isOpen = calls.unfinished("step", "stream", "child", "spawn", "sleep", "suspend").length > 0;
    if (isOpen && replay.orphans().length === 0) return false;
    this.linger();
    return true;
  }

  /** The code gets nothing more. Returns true once its work is over, or was waited for long enough. */
  close(isIdle: boolean): boolean {
    this.#abortCode();
    if (!isIdle) {
      this.linger();
      return false;
    }
    this.stop();
    this.abandoned = true;
    this.code.close("abandoned");
    return true;
  }

  #abortCode(): void {
    this.code.abort(new DurableError("cancelled", `Run ${this.#run.journal.runId} has ended.`));
  }

  abort(reason: DurableError): void {
    this.code.abort(reason);
    this.undoing.abort(reason);
  }

  stop(): void {
    this.#cancelLinger?.();
    this.#cancelLinger = null;
  }
}
