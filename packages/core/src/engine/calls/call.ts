/** What steps, sleeps and suspend points have in common: a key, a place, and a promise the journal settles. */

import type { DurableError } from "../../values/errors.ts";
import type { Call, Entered } from "../registry.ts";
import type { Engine } from "../engine.ts";
import { deferred, type Deferred } from "../promise.ts";
import type { CallKind, Settlement } from "../replay.ts";
import type { Closing, Scope } from "../scope.ts";

export interface CallParts {
  readonly scope: Scope;
  readonly name: string;
  readonly entered: Entered;
}

export abstract class KeyedCall<P extends CallParts, T> implements Call {
  readonly key: string;
  readonly kind: CallKind;
  readonly scope: Scope;
  /** Highest position delivered when the call was made. */
  readonly after: number;
  protected readonly engine: Engine;
  protected readonly parts: P;
  protected readonly outcome: Deferred<T> = deferred();
  /** How messages name it: `step "draft" of run r-17`. */
  protected readonly where: string;
  #stopListening: () => void = () => {};

  constructor(engine: Engine, kind: CallKind, parts: P) {
    this.kind = kind;
    this.engine = engine;
    this.parts = parts;
    this.key = parts.entered.key;
    this.after = parts.entered.after;
    this.scope = parts.scope;
    const what = kind === "suspend" ? "suspend point" : kind;
    this.where = `${what} "${this.key}" of run ${engine.journal.runId}`;
    engine.add(this, parts.name);
  }

  get promise(): Promise<T> {
    return this.outcome.promise;
  }

  settle(settlement: Settlement): void {
    this.#stopListening();
    this.engine.calls.landed(this, this.parts.name);
    try {
      this.answer(settlement);
    } catch (error) {
      // The record cannot be read: that is no outcome of the call, so the workflow must not see one.
      this.engine.block(error as DurableError);
    }
  }

  /** Tells of the end of its scope, once, for as long as the call is open. */
  protected whenClosed(closer: (how: Closing) => void): void {
    this.#stopListening();
    this.#stopListening = this.scope.whenClosed(closer);
  }

  /** Hands the recorded outcome to the workflow. */
  protected abstract answer(settlement: Settlement): void;
  abstract begin(): void;
  abstract due(): void;
}
