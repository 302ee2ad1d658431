/**
 * Undoes what a run did, after its code has failed or was cancelled: clean-ups and compensations, one after the other.
 *
 * undo.1. The latest is undone first: registrations of clean-ups and first starts of steps are one line.
 * undo.2. The journal says what is undone, and the code says how. If the code lacks it, the run is blocked.
 * undo.3. Each compensation is a step, `<step>/compensate`, so that no crash makes one run again that is recorded.
 * undo.4. A compensation or clean-up that fails for good stops no other; the end of the run names it.
 */

import type { Entry, Fact } from "../journal/entry.ts";
import type { Undoing } from "../journal/fold.ts";
import { idempotencyKeyOf, isWithin } from "../journal/keys.ts";
import { reasonOf } from "../journal/outcome.ts";
import { runAs } from "../ports/async-context.ts";
import { decode } from "../values/codec/decode.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError, describeError } from "../values/errors.ts";
import type { StepInfo } from "./calls/info.ts";
import type { CleanUp } from "./context.ts";
import { KeyedCall, type CallParts } from "./calls/call.ts";
import { step } from "./calls/step.ts";
import type { Compensate, CompensateInfo } from "./calls/cleanup.ts";
import { type ContextParts, createContext } from "./create-context.ts";
import type { Engine } from "./engine.ts";
import type { Settlement } from "./replay.ts";
import type { Scope } from "./scope.ts";
import { toUndo, undoSuffix, type EndFact, type Finish, type Undo, type Undoable } from "./stop.ts";

/** Begins to undo a run, or continues after a crash. */
export function beginUndo(engine: Engine, parts: Omit<ContextParts, "continueAs" | "fail">): Undo {
  const { journal } = engine;
  const { undoing } = journal.state;
  if (undoing === null) throw new TypeError("Nothing is to be undone.");
  engine.placement.undoing = (what) => refuse(names[what] ?? what);
  const undo = new Unwinding(engine, undoing, {
    ...parts,
    continueAs: () => refuse("ctx.continueAs()"),
    fail: () => refuse("ctx.fail()"),
  });
  void runAs({ ...parts.owner }, () => undo.run());
  return undo;
}

class Unwinding implements Undo {
  readonly #engine: Engine;
  readonly #undoing: Undoing;
  readonly #parts: ContextParts;
  finish: Finish | null = null;
  readonly #cleanUps: string[] = [];
  readonly #uncompensated: string[] = [];
  #error: DurableError | null = null;
  readonly #parked: boolean;

  constructor(engine: Engine, undoing: Undoing, parts: ContextParts) {
    this.#engine = engine;
    this.#undoing = undoing;
    this.#parts = parts;
    this.#parked = engine.journal.entries.at(-1)?.kind === "run.suspended";
  }

  owns(fact: Fact<Json>): boolean {
    if (!("key" in fact)) return false;
    const { key } = fact;
    return (
      fact.kind === "child.closed" ||
      this.#engine.journal.state.undoable.get(undoneBy(key))?.call === "step" ||
      this.#cleanUps.some((path) => isWithin(key, path))
    );
  }

  async run(): Promise<void> {
    for (const { key, by } of toUndo(this.#engine.journal.state)) {
      const known = this.#engine.undoables.get(key);
      const done = this.#engine.replay.record(by)?.settled === true;
      if (known === undefined && !done) return this.#engine.block(missing(this.#engine.journal.runId, key));
      if (by !== key) await this.#compensate(key, known);
      else await this.#cleanUp(key, known);
    }
    this.finish = { fact: () => this.#end() };
    this.#engine.wake();
  }

  async #compensate(key: string, known: Undoable | undefined): Promise<void> {
    const engine = this.#engine;
    const scope = engine.ending.undoing.inner(key);
    const { fn } = known ?? { fn: () => {} };
    const work = (info: StepInfo): unknown => (fn as Compensate)(compensateInfo(engine, key, info));
    try {
      await runAs({ ...this.#parts.owner, path: key }, () =>
        step(engine, { scope, name: "compensate" }, work, {}),
      );
    } catch (error) {
      this.#uncompensated.push(key);
      engine.world.warn(`run ${engine.journal.runId} could not undo "${key}": ${describeError(error)}`);
    }
  }

  async #cleanUp(key: string, known: Undoable | undefined): Promise<void> {
    const engine = this.#engine;
    const scope = engine.ending.undoing;
    const inner = scope.inner(key);
    this.#cleanUps.push(key);
    // Its end may be recorded although the code no longer registers it.
    engine.replay.call(key);
    const { fn, timeoutMs = 0 } = known ?? { fn: () => {} };
    const context = createContext(this.#parts, inner);
    const reason = this.#undoing.kind === "run.cancelling" ? reasonOf(this.#undoing.reason) : {};
    const owner = { ...this.#parts.owner, path: key, context };
    const run = (): unknown => {
      engine.enterTurn();
      return runAs(owner, () => (fn as CleanUp)(context, reason));
    };
    const entered = { key, after: engine.replay.delivered, record: undefined, foreign: false };
    const given = { scope, inner, name: key, entered, run, timeoutMs, parked: this.#parked };
    try {
      await new CleanUpCall(engine, "cleanup", given).promise;
    } catch (error) {
      this.#error ??= error as DurableError;
      engine.world.warn((error as DurableError).message);
    }
  }

  #end(): EndFact {
    const undoing = this.#undoing;
    const left = this.#uncompensated.length === 0 ? {} : { uncompensated: this.#uncompensated };
    if (undoing.kind === "run.failing") {
      const { at: _, seq: __, outside: ___, ...failing } = undoing;
      return { ...failing, kind: "run.failed", ...left };
    }
    const where = `clean-up of run ${this.#engine.journal.runId}`;
    const error = this.#error === null ? {} : { error: encodeThrown(this.#error, where) };
    const mark = undoing.unneeded === undefined ? {} : { unneeded: undoing.unneeded };
    return { kind: "run.cancelled", reason: undoing.reason, ...mark, ...error, ...left };
  }
}

interface CleanUpParts extends CallParts {
  /** The scope of its own calls, which is closed when its time is over. */
  readonly inner: Scope;
  readonly run: () => unknown;
  readonly timeoutMs: number;
  /** The run was parked before this driver took it. */
  readonly parked: boolean;
}

/** One clean-up: it runs like a branch, until it settles or its time is over. */
class CleanUpCall extends KeyedCall<CleanUpParts, void> {
  #over = false;

  protected answer(settlement: Settlement): void {
    if (settlement.kind !== "cleanup.failed") return this.outcome.resolve();
    const cause = decode(settlement.error, `error of ${this.where}`);
    const { key } = this;
    const { runId } = this.engine.journal;
    this.reject(
      new DurableError(
        "cleanup-failed",
        `The clean-up "${key}" of run ${runId} failed: ${describeError(cause)}`,
        {
          cause,
          details: { key },
        },
      ),
    );
  }

  begin(): void {
    const { key, after } = this;
    const { started = null } = this.record ?? {};
    if (started === null) this.engine.writeWithNext({ kind: "cleanup.started", key, after });
    // After a crash the next driver gives it the whole time again. Time in which the run was parked counts.
    const from = this.parts.parked ? started : null;
    this.engine.timers.wait(this, (from ?? this.engine.world.now()) + this.parts.timeoutMs);
    void this.#run();
  }

  async #run(): Promise<void> {
    try {
      await this.parts.run();
      this.#settle();
    } catch (error) {
      this.#settle({ error });
    }
  }

  due(): void {
    const error = new DurableError(
      "step-timeout",
      `The clean-up took longer than ${this.parts.timeoutMs} ms.`,
    );
    this.#settle({ error });
    this.parts.inner.abort(error);
    this.parts.inner.close("abandoned");
  }

  #settle(failed?: { readonly error: unknown }): void {
    if (this.#over) return;
    this.#over = true;
    const { key, after } = this;
    if (failed === undefined) this.engine.write({ kind: "cleanup.completed", key, after });
    else
      this.engine.write({
        kind: "cleanup.failed",
        key,
        after,
        error: encodeThrown(failed.error, `error of ${this.where}`),
      });
  }
}

/** The step that a compensation undoes; empty for any other key. */
function undoneBy(key: string): string {
  return key.endsWith(undoSuffix) ? key.slice(0, -undoSuffix.length) : "";
}

function compensateInfo(engine: Engine, key: string, info: StepInfo): CompensateInfo {
  const { journal } = engine;
  const of = journal.entries.filter((entry) => "key" in entry && entry.key === key);
  const first = of.find(({ kind }) => kind === "step.started") as Entry;
  const settled = of.find(({ kind }) => kind === "step.completed" || kind === "step.failed");
  const status =
    settled === undefined ? "unknown" : settled.kind === "step.completed" ? "completed" : "failed";
  return {
    key: info.key,
    attempt: info.attempt,
    get signal() {
      return info.signal;
    },
    get idempotencyKey() {
      return info.idempotencyKey;
    },
    get meter() {
      return info.meter;
    },
    get heartbeat() {
      return info.heartbeat;
    },
    get progress() {
      return info.progress;
    },
    get log() {
      return info.log;
    },
    status,
    value:
      settled?.kind === "step.completed"
        ? decode(settled.value, `output of step "${key}" of run ${journal.runId}`)
        : undefined,
    started: {
      at: first.at,
      get idempotencyKey() {
        return idempotencyKeyOf(journal.runId, key, journal.nonce);
      },
    },
  };
}

const names: Readonly<Record<string, string>> = {
  suspend: "ctx.suspend()",
  receive: "ctx.receive()",
  cleanup: "ctx.onCancel()",
  compensate: "A step with `compensate`",
};

function refuse(what: string): never {
  throw new DurableError(
    "wrong-context",
    `${what} is not possible in a clean-up. Use steps, groups, sleeps and children.`,
  );
}

/** The code no longer undoes what it did. */
function missing(runId: string, key: string): DurableError {
  return new DurableError(
    "diverged",
    `Run ${runId} does not fit this code: "${key}" is to be undone, and the code no longer says how. Restore its \`compensate\` or ctx.onCancel; then advance the run again. To end the run without it, cancel it with { force: true }.`,
    { details: { key } },
  );
}
