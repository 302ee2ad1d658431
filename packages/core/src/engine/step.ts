/**
 * Named work whose outcome is kept.
 *
 * T1. The workflow sees the decoded record, on the first run as on replay.
 * T2. Every attempt that ends is one entry. An attempt cut off by a crash is none, and counts as none.
 * T3. A failure reaches the workflow as `step-failed`, with the user's error as its cause.
 */

import { decode } from "../codec/decode.ts";
import { encode, encodeThrown } from "../codec/encode.ts";
import { fingerprint } from "../codec/fingerprint.ts";
import { toMs, type Duration } from "../duration.ts";
import { DurableError, describeError } from "../errors.ts";
import { idempotencyKeyOf } from "../keys.ts";
import { validate, type StandardSchema } from "../schema.ts";
import { KeyedCall, type CallParts } from "./call.ts";
import type { Engine } from "./engine.ts";
import { deferred, pending } from "./promise.ts";
import type { Settlement } from "./replay.ts";
import { nextAttemptAt, retryPolicy, type RetryOptions, type RetryPolicy } from "./retry.ts";
import type { Scope } from "./scope.ts";

/** What a step's work is given. */
export interface StepInfo {
  /** The step's key in its run: `draft#2`, `parallel[credit]/pull`. */
  readonly key: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborts on time-out, on cancellation, and when a race is lost. */
  readonly signal: AbortSignal;
  /** Equal across the attempts of this step in this run, and nowhere else: hand it to the service you call. */
  readonly idempotencyKey: string;
}

export interface StepOptions {
  readonly retry?: RetryOptions | false | undefined;
  /** For each attempt. */
  readonly timeout?: Duration | undefined;
  /** What the result depends on. A record made with another input stops the run instead of being reused. */
  readonly input?: unknown;
  /** Checks, and may transform, what the work returns. */
  readonly schema?: StandardSchema | undefined;
  /** The step's name in an earlier version of the code: its recorded result is kept. */
  readonly was?: string | undefined;
}

export type Work = (info: StepInfo) => unknown;

export function step(
  engine: Engine,
  place: { readonly scope: Scope; readonly name: string },
  work: Work,
  options: StepOptions,
): Promise<unknown> {
  const { scope, name } = place;
  const where = `step "${name}" of run ${engine.journal.runId}`;
  const policy = retryPolicy(options.retry, `The ${where}`);
  const timeoutMs = options.timeout === undefined ? null : toMs(options.timeout, `The timeout of ${where}`);
  const input = options.input === undefined ? null : fingerprint(options.input, `declared input of ${where}`);
  const entered = engine.enter({ scope, kind: "step", name, input, was: options.was });
  if (entered === null) return pending();
  const call = new StepCall(engine, "step", {
    scope,
    name,
    work,
    entered,
    policy,
    timeoutMs,
    input,
    schema: options.schema,
  });
  return call.promise;
}

interface StepParts extends CallParts {
  readonly work: Work;
  readonly policy: RetryPolicy;
  readonly timeoutMs: number | null;
  readonly input: string | null;
  readonly schema: StandardSchema | undefined;
}

class StepCall extends KeyedCall<StepParts, unknown> {
  protected answer(settlement: Settlement): void {
    if (settlement.kind === "step.completed") {
      this.outcome.resolve(decode(settlement.value, `output of ${this.where}`));
    } else if (settlement.kind === "step.failed") {
      const cause = decode(settlement.error, `error of ${this.where}`);
      this.outcome.reject(stepFailed(this.engine.journal.runId, this.key, settlement.attempt, cause));
    }
  }

  begin(): void {
    const fact = this.engine.replay.fact(this.key);
    if (this.scope.closed || fact?.settled === true) return;
    const retryAt = fact?.retryAt ?? null;
    if (retryAt === null) return this.#start(1);
    if (this.engine.closing) return;
    this.engine.timers.wait(this, retryAt);
    this.whenClosed(() => this.engine.timers.cancel(this));
  }

  due(): void {
    if (!this.engine.closing) this.#start((this.engine.replay.fact(this.key)?.attempts ?? 0) + 1);
  }

  #start(attempt: number): void {
    const over = this.engine.busy.begin("work");
    // Nobody waits for the loser of a race, however long it takes to notice.
    const keep = this.scope.whenClosed((how) => how === "abandoned" && over());
    void this.#attempt(attempt)
      .catch((error: unknown) => this.engine.block(unexpected(this.where, error)))
      .finally(() => {
        keep();
        over();
      });
  }

  async #attempt(attempt: number): Promise<void> {
    const { world } = this.engine;
    const { policy, input } = this.parts;
    const startedAt = world.now();
    const called = {
      key: this.key,
      after: this.after,
      startedAt,
      attempt,
      ...(input === null ? {} : { input }),
    };
    try {
      const value = encode(await this.#checked(await this.#bounded(attempt)), `output of ${this.where}`);
      this.engine.write({ kind: "step.completed", ...called, value });
    } catch (thrown) {
      // Given up on purpose: the driver has let go, or a race was lost. That is no failure of the step.
      if (this.scope.aborted) return;
      const now = world.now();
      const retryAt = nextAttemptAt(policy, { error: thrown, attempt }, { now, random: world.random() });
      const error = encodeThrown(thrown, `error of ${this.where}`);
      this.engine.write(
        retryAt === null
          ? { kind: "step.failed", ...called, error }
          : { kind: "attempt.failed", ...called, error, retryAt },
      );
    }
  }

  /** The work under its time limit. What comes after the limit is dropped: the journal has the time-out. */
  async #bounded(attempt: number): Promise<unknown> {
    const { timeoutMs } = this.parts;
    const info = new Info(this.engine.journal.runId, this.key, attempt, this.scope);
    const work = (async () => this.parts.work(info))().finally(() => info.leave());
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

  async #checked(value: unknown): Promise<unknown> {
    const result = await validate(this.parts.schema, value);
    if (result.ok) return result.value;
    throw new DurableError(
      "invalid-output",
      `The output of ${this.where} does not fit its schema: ${result.issues}.`,
    );
  }
}

/** Key and signal are made when the work asks for them: most work does not. */
class Info implements StepInfo {
  readonly attempt: number;
  readonly key: string;
  readonly #runId: string;
  readonly #scope: Scope;
  #own: Scope | null = null;

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

  abort(reason: unknown): void {
    this.#ownScope().abort(reason);
  }

  /** A scope of the attempt's own: its time-out ends it alone, and what ends the branch ends it too. */
  #ownScope(): Scope {
    return (this.#own ??= this.#scope.branch(this.key, String(this.attempt)));
  }

  /** The attempt is over: nothing is left to abort. */
  leave(): void {
    this.#own?.leave();
  }
}

function stepFailed(runId: string, key: string, attempts: number, cause: unknown): DurableError {
  const tries = attempts === 1 ? "" : ` after ${attempts} attempts`;
  return new DurableError(
    "step-failed",
    `Step "${key}" of run ${runId} failed${tries}: ${describeError(cause)}`,
    {
      cause,
      details: { key, attempts },
    },
  );
}

function unexpected(where: string, error: unknown): DurableError {
  return new DurableError(
    "storage-failed",
    `The outcome of ${where} could not be written down: ${describeError(error)}`,
    {
      cause: error,
    },
  );
}
