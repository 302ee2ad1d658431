/** What the work of a step or stream gets: who it is, signs of life, usage, and the signal that ends it. */

import { decode } from "../../values/codec/decode.ts";
import { encode } from "../../values/codec/encode.ts";
import { idempotencyKeyOf } from "../../journal/keys.ts";
import { promptField, type KeepsPrompt, type MakePrompt } from "../../journal/prompt.ts";
import { Meter, type Noted, type Usage } from "../../values/usage.ts";
import type { Logger } from "../../ports/world.ts";
import { inWords, type Beats } from "./beats.ts";
import type { CallEngine } from "./call.ts";
import { quotaRunOf } from "./clearance.ts";
import type { Estimate, Permit, StepQuota } from "../definition.ts";
import { logOf } from "../log.ts";
import type { Call } from "../registry.ts";
import type { Scope } from "../scope.ts";

/** What the work of a step or stream gets. */
export interface StepInfo {
  /** The key in the run: `draft#2`, `parallel[credit]/pull`. */
  readonly key: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborts on timeout, on cancellation, and when a race is lost. */
  readonly signal: AbortSignal;
  /**
   * Equal for all attempts of this step in this run, and different everywhere else: pass it to the service
   * you call.
   */
  readonly idempotencyKey: string;
  /**
   * Notes the tokens that a model call used. They are recorded with the outcome, also when the attempt fails.
   */
  readonly meter: (usage: Usage) => void;
  /**
   * Says that the work goes on, and what it has reached: any value that a step could return. The last one is recorded, at most
   * every 30 seconds, and the next attempt has it as `progress`. In a stream, whose chunks are recorded, it does nothing.
   */
  readonly heartbeat: (progress?: unknown) => void;
  /** What an earlier attempt of this step had reached, so that this one need not begin anew; `undefined` without one. */
  readonly progress: unknown;
  /** Writes lines to the `logger`, with run, workflow and key. */
  readonly log: Logger;
}

/** For a stream that shows what the code does: while it has nothing to show, the run may be parked. */
export interface Rests {
  /** The stream has nothing to show. The returned function is called before it goes on. */
  rest(): () => void;
}

/**
 * Waits for a permit of a call inside of a step; `null` when the step has one of this quota, or when there is no quota. The step
 * cannot be parked, so it waits as long as it takes.
 */
export async function permitIn(
  info: StepInfo,
  quota: StepQuota | undefined,
  estimate?: Estimate,
): Promise<Permit | null> {
  return quota === undefined || !(info instanceof Info) ? null : info.permit(quota, estimate);
}

/** The idempotency key and the signal are created on first use, because most work does not read them. */
export class Info implements StepInfo, KeepsPrompt {
  readonly attempt: number;
  readonly key: string;
  readonly #engine: Pick<CallEngine, "journal" | "world" | "options" | "replay">;
  readonly #scope: Scope;
  /** The quota of which the attempt has a permit. */
  quota: string | undefined;
  readonly #entered: Call["entered"];
  #own: Scope | null = null;
  #meter: Meter | null = null;
  /** The attempt is over: its later results are dropped. */
  over = false;
  /** The work has read its idempotency key. */
  keyed = false;
  /** The last words of a stream, or the progress of a step. */
  said = "";
  /** Signs of life; `null` for a stream. */
  beats: Beats | null = null;
  /** Ends what people see of it. */
  shown: (() => void) | undefined;
  rest: Rests["rest"] | undefined;

  constructor(
    engine: Pick<CallEngine, "journal" | "world" | "options" | "replay">,
    { key, scope, entered }: Pick<Call, "key" | "scope" | "entered">,
    attempt: number,
  ) {
    this.#engine = engine;
    this.key = key;
    this.attempt = attempt;
    this.#scope = scope;
    this.#entered = entered;
  }

  get signal(): AbortSignal {
    return this.#ownScope().signal;
  }

  get idempotencyKey(): string {
    const { runId, nonce } = this.#engine.journal;
    this.keyed = true;
    return idempotencyKeyOf(runId, this.key, nonce);
  }

  get meter(): (usage: Usage) => void {
    return this.#metering().add;
  }

  // As values, like `meter`: a program may wrap what it was given.
  get keepPrompt(): (make: MakePrompt) => void {
    return (make) => {
      this.#metering().asked = promptField(this.#engine.journal, make, this.#entered);
    };
  }

  #metering(): Meter {
    const { runId, prices } = this.#engine.journal;
    return (this.#meter ??= new Meter(`"${this.key}" of run ${runId}`, prices, this.#entered.asked?.label));
  }

  get heartbeat(): (progress?: unknown) => void {
    return (progress) => {
      if (this.beats === null) return;
      const where = `progress of "${this.key}" of run ${this.#engine.journal.runId}`;
      const json = progress === undefined ? undefined : encode(progress, where);
      if (json !== undefined) this.said = inWords(progress, json);
      this.beats.beat(json);
    };
  }

  get progress(): unknown {
    const found = this.#engine.replay.record(this.key)?.progress;
    return found === undefined ? undefined : decode(found, `progress of "${this.key}"`);
  }

  get log(): Logger {
    return logOf(this.#engine, this.key);
  }

  get permit(): (quota: StepQuota, estimate: Estimate | undefined) => Promise<Permit | null> {
    return async (quota, estimate) => {
      const name = typeof quota === "object" ? quota.name : quota;
      if (name === this.quota) return null;
      const where = `call in "${this.key}" of run ${this.#engine.journal.runId}`;
      const run = quotaRunOf(this.#engine);
      const isOver = (): boolean => this.over || this.signal.aborted;
      const asked = { quota, run, where, estimate, isOver, stays: true } as const;
      return (await this.#engine.options.permits(asked)) as Permit | null;
    };
  }

  /** The metered usage, and what was asked, as entries store it. */
  get used(): Noted | undefined {
    return this.#meter?.noted;
  }

  abort(reason: unknown): void {
    this.over = true;
    this.#ownScope().abort(reason);
  }

  /** A scope for this attempt alone: a timeout aborts only it, and an abort of the branch aborts it, too. */
  #ownScope(): Scope {
    return (this.#own ??= this.#scope.branch(this.key, String(this.attempt)));
  }

  /** Nothing is left to abort. */
  leave(): void {
    this.over = true;
    this.#own?.leave();
  }
}
