/**
 * A run that this one starts and does not wait for.
 *
 * spawn.1. The entry of this run is durable before the spawned run exists, so that the end of this run finds each one
 *     that ends with it.
 * spawn.2. The id is derived from run and key, or given: begun twice, it is still one run.
 * spawn.3. The workflow gets the id once the spawned run is durable. From then on, neither waits for the other.
 */

import { decode } from "../../values/codec/decode.ts";
import { encodeThrown } from "../../values/codec/encode.ts";
import { isGone } from "../../journal/errors.ts";
import { assertRunId, childIdOf } from "../../journal/keys.ts";
import { DurableError, describeError, recordedError, show } from "../../values/errors.ts";
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
   * What happens to the run when this one ends, in any way, or is deleted: `leave` lets it go on, `cancel` ends it.
   * `leave` by default.
   */
  readonly onParentEnd?: "leave" | "cancel" | undefined;
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
  { definition, input, fingerprint }: Given,
  options: SpawnOptions,
): Promise<SpawnedRun> {
  assertOptions(options, "name id onParentEnd", "ctx.spawn");
  const { name = definition.name, id, onParentEnd = "leave" } = options;
  if (id !== undefined) assertRunId(id);
  const ends = onParentEnd === "cancel";
  if (!ends && onParentEnd !== "leave")
    throw new DurableError(
      "invalid-options",
      `ctx.spawn got onParentEnd: ${show(onParentEnd)}. Use "leave" or "cancel".`,
    );
  const declared = `workflow ${definition.name}, input ${fingerprint}`;
  const entered = engine.enter({ scope, kind: "spawn", name, input: declared });
  if (entered === null) return pending();
  const { runId, nonce, state } = engine.journal;
  // What was recorded counts, also when the code gives another id by now.
  const child = state.spawned.get(entered.key)?.child ?? id ?? childIdOf(runId, entered.key, nonce);
  return new SpawnCall(engine, "spawn", { scope, name, entered, definition, input, declared, child, ends })
    .promise;
}

interface SpawnParts extends CallParts, Pick<ChildRun, "definition" | "input"> {
  readonly declared: string;
  readonly child: string;
  /** The run is cancelled when this one ends. */
  readonly ends: boolean;
}

/** Errors that a further try would meet again. */
const final = [
  "invalid-input",
  "input-mismatch",
  "run-exists",
  "not-serializable",
  "invalid-options",
  "limit",
] as const;

class SpawnCall extends KeyedCall<SpawnParts, SpawnedRun> {
  #begun = false;

  protected answer(settlement: Settlement): void {
    if (settlement.kind === "spawn.started") this.outcome.resolve({ runId: settlement.child });
    if (settlement.kind !== "spawn.failed") return;
    const cause = decode(settlement.error, `error of ${this.where}`);
    const { key } = this;
    const message = `Could not start the run of ${this.where}: ${describeError(cause)}`;
    this.reject(recordedError("step-failed", message, { cause, details: { key, runId: this.parts.child } }));
  }

  begin(): void {
    this.#begun = true;
    if (this.record?.opened === true) return this.#start();
    const { key, after } = this;
    const { child, definition, declared: input, ends } = this.parts;
    const policy = ends ? ({ onParentEnd: "cancel" } as const) : {};
    this.engine.write({
      kind: "spawn.opened",
      key,
      after,
      child,
      workflow: definition.name,
      input,
      ...policy,
    });
  }

  /** `spawn.opened` became durable. */
  recheck(): void {
    if (this.#begun) this.due();
  }

  due(): void {
    if (!this.engine.ceasing && !this.scope.closed) this.#start();
  }

  #start(): void {
    const { engine, key, after } = this;
    const { child: runId, definition, input, ends } = this.parts;
    const spawnedBy = { runId: engine.journal.runId, key, ...(ends && ({ onParentEnd: "cancel" } as const)) };
    const over = engine.inFlight.begin();
    void engine.options.children
      .spawn({ runId, definition, input, spawnedBy })
      .then(() => engine.write({ kind: "spawn.started", key, after, child: runId }))
      .catch((error: unknown) => this.#failed(error))
      .finally(over);
  }

  /** A storage error is retried. */
  #failed(error: unknown): void {
    const { engine, key, after } = this;
    if (!isGone(error) && !final.some((code) => DurableError.is(error, code)))
      return this.waitUntil(engine.world.now() + 1_000);
    engine.write({ kind: "spawn.failed", key, after, error: encodeThrown(error, `error of ${this.where}`) });
  }
}
