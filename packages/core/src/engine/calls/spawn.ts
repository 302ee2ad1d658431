/**
 * A run that this one starts and does not wait for. runs/drive.ts says what it writes, and when.
 *
 * spawn.1. The entry of this run is durable before the spawned run exists, so that the end of this run finds each one
 *     that ends with it.
 * spawn.2. The id is derived from run and key, or given: begun twice, it is still one run.
 * spawn.3. The workflow gets the id once the spawned run is durable. From then on, neither waits for the other.
 * spawn.4. A run that this one has not spawned is never taken for its own: it is refused, or kept and not ended with it.
 */

import { decode } from "../../values/codec/decode.ts";
import { assertOptions } from "../../values/options.ts";
import type { ChildRun } from "../child-runs.ts";
import { KeyedCall, type CallEngine, type CallParts } from "./call.ts";
import { pending } from "../promise.ts";
import type { Settlement } from "../replay.ts";
import type { Scope } from "../scope.ts";

/** Options of `ctx.spawn`. */
export interface SpawnOptions {
  /** The name in keys; that of the workflow by default. */
  readonly name?: string | undefined;
  /** The id of the run; derived from this run and the key by default, so that every fork spawns its own. */
  readonly id?: string | undefined;
  /**
   * What happens when another run has the `id`: `fail` rejects the call with `run-exists` in its cause, `keep` returns that
   * run, if it is of the same workflow, whatever its input. `fail` by default.
   */
  readonly ifExists?: "fail" | "keep" | undefined;
  /**
   * What happens to the run when this one ends, in any way, or is deleted: `leave` lets it go on, `cancel` ends it.
   * `leave` by default.
   */
  readonly onParentEnd?: "leave" | "cancel" | undefined;
  /** The name of the call in an earlier version of the code: the run that it spawned is kept. `null`: it is new. */
  readonly was?: string | null | undefined;
}

/** A run that was spawned. */
export interface SpawnedRun {
  /** The id of the run, for `app.get`. */
  readonly runId: string;
}

type Given = Pick<ChildRun, "definition" | "input"> & { readonly fingerprint: string };

export function spawn(
  engine: CallEngine,
  scope: Scope,
  given: Given,
  options: SpawnOptions,
): Promise<SpawnedRun> {
  assertOptions(options, "name id ifExists onParentEnd was", "ctx.spawn");
  const { name = given.definition.name, was } = options;
  const declared = `workflow ${given.definition.name}, input ${given.fingerprint}`;
  const entered = engine.enter({ scope, kind: "spawn", name, input: declared, was });
  if (entered === null) return pending();
  return new SpawnCall(engine, "spawn", { scope, name, entered, ...given, declared, options }).promise;
}

interface SpawnParts extends CallParts, Pick<ChildRun, "definition" | "input"> {
  readonly declared: string;
  readonly options: SpawnOptions;
}

class SpawnCall extends KeyedCall<SpawnParts, SpawnedRun> {
  #begun = false;

  protected answer(settlement: Settlement): void {
    if (settlement.kind === "spawn.started") this.outcome.resolve({ runId: settlement.child });
    else if ("error" in settlement) this.reject(decode(settlement.error, `error of ${this.where}`));
  }

  begin(): void {
    const { engine, key, after, where, parts } = this;
    this.#begun = true;
    const { runId } = engine.journal;
    const opened = this.record?.opened === true;
    const over = engine.inFlight.begin();
    void engine.options.children
      .spawn({ ...parts, opened, by: runId, key, after, where, budgets: engine.budgets.trees(this.scope) })
      // A storage error is retried.
      .then(
        (fact) => engine.write(fact),
        () => this.waitUntil(engine.world.now() + 1_000),
      )
      .finally(over);
  }

  /** `spawn.opened` became durable. Another driver may have written it: then nothing begins here. */
  recheck(): void {
    if (this.#begun) this.due();
  }

  due(): void {
    if (this.engine.mayBegin && !this.scope.closed) this.begin();
  }
}
