/**
 * Work that is attempted until it succeeds or its policy gives up: what steps and streams have in common.
 *
 * attempts.1. The workflow sees the decoded record, on the first run as on replay.
 * attempts.2. Every attempt that ends is one entry. An attempt cut off by a crash is none, and counts as none.
 * attempts.3. A failure reaches the workflow as `step-failed`, with the user's error as its cause.
 */

import { decode } from "../../values/codec/decode.ts";
import { encodeThrown } from "../../values/codec/encode.ts";
import type { Json } from "../../values/codec/tags.ts";
import type { Fact } from "../../journal/entry.ts";
import { DurableError, describeError } from "../../values/errors.ts";
import { idempotencyKeyOf } from "../../journal/keys.ts";
import { Meter, type Usage } from "../../journal/usage.ts";
import { KeyedCall, type CallParts } from "./call.ts";
import { deferred } from "../promise.ts";
import { nextAttemptAt, type RetryPolicy } from "./retry.ts";
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
}

export interface AttemptParts extends CallParts {
  readonly policy: RetryPolicy;
  readonly timeoutMs: number | null;
  readonly input: string | null;
}

/** What every entry about an attempt says. */
export interface Attempted {
  readonly key: string;
  readonly after: number;
  readonly startedAt: number;
  readonly attempt: number;
  readonly input?: string;
  readonly usage?: readonly Usage[];
}

export abstract class AttemptedCall<P extends AttemptParts, T> extends KeyedCall<P, T> {
  /** The number of the attempt that comes next. */
  protected abstract nextAttempt(): number;

  /** Does the work and says what is to be recorded of it. */
  protected abstract perform(info: Info, attempted: Attempted): Promise<Fact<Json>>;

  begin(): void {
    const record = this.engine.replay.record(this.key);
    if (this.scope.closed || record?.settled === true) return;
    const retryAt = record?.retryAt ?? null;
    if (retryAt === null) return this.prepare();
    if (this.engine.closing) return;
    this.engine.timers.wait(this, retryAt);
    this.whenClosed(() => this.engine.timers.cancel(this));
  }

  due(): void {
    if (!this.engine.closing) this.prepare();
  }

  /** The next attempt may begin. */
  protected prepare(): void {
    this.start(this.nextAttempt());
  }

  protected start(attempt: number): void {
    this.inBackground(this.#attempt(attempt));
  }

  /** Work that the run waits for before it stops. */
  protected inBackground(work: Promise<void>): void {
    const over = this.engine.inFlight.begin("work");
    // Nobody waits for the loser of a race, however long it takes to notice.
    const keep = this.scope.whenClosed((how) => how === "abandoned" && over());
    void work
      .catch((error: unknown) => this.engine.block(unexpected(this.where, error)))
      .finally(() => {
        keep();
        over();
      });
  }

  protected attempted(attempt: number): Attempted {
    const { input } = this.parts;
    const { key, after } = this;
    const startedAt = this.engine.world.now();
    return { key, after, startedAt, attempt, ...(input === null ? {} : { input }) };
  }

  async #attempt(attempt: number): Promise<void> {
    const attempted = this.attempted(attempt);
    const info = new Info(this.engine.journal.runId, this.key, attempt, this.scope);
    try {
      const fact = await this.#bounded(info, attempted);
      this.engine.write(info.used === undefined ? fact : { ...fact, ...info.used });
    } catch (thrown) {
      // Given up on purpose: the driver has let go, or a race was lost. That is no failure of the step.
      if (!this.scope.aborted) this.failed({ ...attempted, ...info.used }, thrown);
    }
  }

  /** Records a failure: for good, or with the time of the next attempt. */
  protected failed(attempted: Attempted, thrown: unknown): void {
    const { world, replay } = this.engine;
    const attempt = (replay.record(this.key)?.failures ?? 0) + 1;
    const now = world.now();
    const retryAt = nextAttemptAt(
      this.parts.policy,
      { error: thrown, attempt },
      { now, random: world.random() },
    );
    const error = encodeThrown(thrown, `error of ${this.where}`);
    const ofStream = this.kind === "stream";
    const failed = ofStream ? "stream.failed" : "step.failed";
    if (retryAt === null) return this.engine.write({ kind: failed, ...attempted, error });
    const of = ofStream ? ({ stream: true } as const) : {};
    this.engine.write({ kind: "attempt.failed", ...attempted, ...of, error, retryAt });
  }

  /** The work under its time limit. What comes after the limit is dropped: the journal has the time-out. */
  async #bounded(info: Info, attempted: Attempted): Promise<Fact<Json>> {
    const { timeoutMs } = this.parts;
    const { attempt } = attempted;
    const work = this.perform(info, attempted).finally(() => info.leave());
    if (timeoutMs === null) return work;
    const limit = deferred<never>();
    const cancel = this.engine.world.timer(timeoutMs, () => {
      const error = new DurableError(
        "step-timeout",
        `Attempt ${attempt} of ${this.where} took longer than ${timeoutMs} ms.`,
      );
      limit.reject(error);
      info.abort(error);
    });
    try {
      return await Promise.race([work, limit.promise]);
    } finally {
      cancel();
    }
  }

  /** Gives the workflow the recorded failure. */
  protected reject(error: Json): void {
    const { journal, replay } = this.engine;
    const cause = decode(error, `error of ${this.where}`);
    const attempts = (replay.record(this.key)?.failures ?? 0) + 1;
    const what = this.kind === "step" ? "Step" : "Stream";
    const tries = attempts === 1 ? "" : ` after ${attempts} attempts`;
    this.outcome.reject(
      new DurableError(
        "step-failed",
        `${what} "${this.key}" of run ${journal.runId} failed${tries}: ${describeError(cause)}`,
        { cause, details: { key: this.key, attempts } },
      ),
    );
  }
}

/** Key and signal are made when the work asks for them: most work does not. */
export class Info implements StepInfo {
  readonly attempt: number;
  readonly key: string;
  readonly #runId: string;
  readonly #scope: Scope;
  #own: Scope | null = null;
  #meter: Meter | null = null;
  /** The attempt is over: what it still does reaches nobody. */
  over = false;

  constructor(runId: string, key: string, attempt: number, scope: Scope) {
    this.#runId = runId;
    this.key = key;
    this.attempt = attempt;
    this.#scope = scope;
  }

  get signal(): AbortSignal {
    return this.#ownScope().signal;
  }

  get idempotencyKey(): string {
    return idempotencyKeyOf(this.#runId, this.key);
  }

  get meter(): (usage: Usage) => void {
    this.#meter ??= new Meter(`"${this.key}" of run ${this.#runId}`);
    return this.#meter.add.bind(this.#meter);
  }

  /** What was metered, as entries hold it. */
  get used(): { readonly usage?: readonly Usage[] } | undefined {
    return this.#meter?.noted;
  }

  abort(reason: unknown): void {
    this.over = true;
    this.#ownScope().abort(reason);
  }

  /** A scope of the attempt's own: its time-out ends it alone, and what ends the branch ends it too. */
  #ownScope(): Scope {
    return (this.#own ??= this.#scope.branch(this.key, String(this.attempt)));
  }

  /** Nothing is left to abort. */
  leave(): void {
    this.over = true;
    this.#own?.leave();
  }
}

function unexpected(where: string, error: unknown): DurableError {
  return new DurableError(
    "storage-failed",
    `The outcome of ${where} could not be written down: ${describeError(error)}`,
    { cause: error },
  );
}
