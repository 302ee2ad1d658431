/** Finds calls that are made in the wrong place, from the async context in which they are made. */

import { isWithin } from "../journal/keys.ts";
import { ownerNow } from "../ports/async-context.ts";
import type { World } from "../ports/world.ts";
import { DurableError } from "../values/errors.ts";
import type { Asked } from "./registry.ts";

/** The place of the calls of one run. A call that is only doubtful is warned about once. */
export class Placement {
  readonly #runId: string;
  readonly #world: World;
  #warned = false;
  /** Refuses what is not possible while the run is undone; `null` before. */
  undoing: ((what: string) => void) | null = null;

  constructor(runId: string, world: World) {
    this.#runId = runId;
    this.#world = world;
  }

  /** Throws for a call in the work of a step, and for one that could never settle; warns of another branch's ctx. */
  check({ scope, kind, name, input, own }: Asked): void {
    if (own === true) return;
    // A receive declares its topic.
    if ((kind === "suspend" || kind === "cleanup") && !scope.closed)
      this.undoing?.(kind === "suspend" && input !== null ? "receive" : kind);
    const owner = ownerNow();
    if (owner?.step !== null) this.assertOutsideSteps(`ctx.${kind}("${name}")`);
    // A branch that lost a race runs until its next ctx call, then stays pending. That is expected.
    const below = (scope.path === "" && this.undoing === null) || isWithin(owner?.path ?? "", scope.path);
    if (owner === undefined || owner.runId !== this.#runId || below) return;
    const message = `Run ${this.#runId} called ctx.${kind}("${name}") with the ctx of branch "${scope.path}" from ${owner.path === "" ? "the workflow" : `branch "${owner.path}"`}. Use the ctx that the function at hand was given.`;
    if (scope.closed) throw new DurableError("wrong-context", message, { details: { name } });
    this.#warn(message);
  }

  /** A ctx belongs to the workflow, not to the work of a step: on replay that work does not run. */
  assertOutsideSteps(what: string): void {
    const owner = ownerNow();
    if (owner === undefined || owner.step === null || owner.runId !== this.#runId) return;
    throw new DurableError(
      "wrong-context",
      `${what} was called inside "${owner.step}" of run ${this.#runId}. On replay that work does not run: move the call out of the step.`,
      { details: { step: owner.step } },
    );
  }

  /** A call that nothing can answer any more, of code that its run did not wait for. */
  afterEnd({ kind, name }: Asked): void {
    this.#warn(
      `run ${this.#runId} called ctx.${kind}("${name}") after its end, so nothing happens. Await it before the workflow returns.`,
    );
  }

  #warn(message: string): void {
    if (!this.#warned) this.#world.warn(message);
    this.#warned = true;
  }
}
