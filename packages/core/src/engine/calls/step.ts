/** Named work whose outcome is kept. */

import type { CallEngine } from "./call.ts";
import { decode } from "../../values/codec/decode.ts";
import { encode, encodeThrown } from "../../values/codec/encode.ts";
import { fingerprint } from "../../values/codec/fingerprint.ts";
import type { Json } from "../../values/codec/tags.ts";
import { toMs, type Duration } from "../../values/duration.ts";
import type { Fact } from "../../journal/entry.ts";
import { DurableError } from "../../values/errors.ts";
import { validate, type StandardSchema } from "../../values/schema.ts";
import { AttemptedCall, Info, type Attempted, type AttemptParts, type StepInfo } from "./attempts.ts";
import { pending } from "../promise.ts";
import type { KeyRecord, Settlement } from "../replay.ts";
import { retryPolicy, type RetryOptions } from "./retry.ts";
import type { Scope } from "../scope.ts";
import {
  askSomebody,
  checkedMode,
  reconcile,
  Uncertain,
  undecided,
  type OnUncertain,
  type Resolution,
} from "./uncertain.ts";

export interface StepOptions {
  /** When a failed attempt is repeated; `false` means one attempt. */
  readonly retry?: RetryOptions | false | undefined;
  /** For each attempt. When it passes, `signal` aborts and the attempt has failed. */
  readonly timeout?: Duration | undefined;
  /**
   * What the result depends on. If the recorded input differs, the run is blocked instead of reusing the
   * result.
   */
  readonly input?: unknown;
  /** Checks, and may transform, what the work returns. */
  readonly schema?: StandardSchema | undefined;
  /** The name of the step in an earlier version of the code: its recorded result is kept. */
  readonly was?: string | undefined;
  /**
   * For effects that must not be repeated blindly: what to do when an attempt began and its end was not
   * recorded.
   */
  readonly onUncertain?: OnUncertain | undefined;
}

export type Work = (info: StepInfo) => unknown;

export function step(
  engine: CallEngine,
  place: { readonly scope: Scope; readonly name: string },
  work: Work,
  options: StepOptions,
): Promise<unknown> {
  const { scope, name } = place;
  const where = `step "${name}" of run ${engine.journal.runId}`;
  const policy = retryPolicy(options.retry, `The ${where}`);
  const timeoutMs = options.timeout === undefined ? null : toMs(options.timeout, `The timeout of ${where}`);
  const input = options.input === undefined ? null : fingerprint(options.input, `declared input of ${where}`);
  const onUncertain = checkedMode(options.onUncertain, where);
  const entered = engine.enter({ scope, kind: "step", name, input, was: options.was });
  if (entered === null) return pending();
  const { schema } = options;
  const parts = { scope, name, work, entered, policy, timeoutMs, input, schema, onUncertain };
  return new StepCall(engine, parts).promise;
}

interface StepParts extends AttemptParts {
  readonly work: Work;
  readonly schema: StandardSchema | undefined;
  readonly onUncertain: OnUncertain | undefined;
}

export class StepCall extends AttemptedCall<StepParts, unknown> {
  /** The start that this life of the workflow announced, by its number. */
  #announced = 0;
  #begun = 0;

  constructor(engine: CallEngine, parts: StepParts) {
    super(engine, "step", parts);
    const { onUncertain, entered } = parts;
    // What was asked about an uncertain outcome belongs to the step, whether or not it is asked again.
    if (onUncertain !== undefined) engine.calls.close(this.key);
    // Asked at once, so that whoever brings the answer finds the question, and hears what is wrong with it.
    if (onUncertain === "suspend" && isUncertain(entered.record))
      this.#settleUncertain(entered.record, onUncertain);
  }

  protected answer(settlement: Settlement): void {
    if (settlement.kind === "step.completed") {
      this.outcome.resolve(decode(settlement.value, `output of ${this.where}`));
    } else if (settlement.kind === "step.failed") {
      this.reject(settlement.error);
    }
  }

  protected nextAttempt(): number {
    return (this.engine.replay.record(this.key)?.failures ?? 0) + 1;
  }

  protected async perform(info: Info, attempted: Attempted): Promise<Fact<Json>> {
    return this.#completed(attempted, await this.parts.work(info));
  }

  async #completed(attempted: Attempted, output: unknown): Promise<Fact<Json>> {
    return { kind: "step.completed", ...attempted, value: await this.#checked(output) };
  }

  async check(value: unknown): Promise<{ readonly value: Json } | string> {
    const result = await validate(this.parts.schema, value);
    return result.ok ? { value: encode(result.value, `output of ${this.where}`) } : result.issues;
  }

  async #checked(value: unknown): Promise<Json> {
    const verdict = await this.check(value);
    if (typeof verdict !== "string") return verdict.value;
    throw new DurableError(
      "invalid-output",
      `The output of ${this.where} does not fit its schema: ${verdict}.`,
    );
  }

  // ---- steps whose start is recorded ----

  override begin(): void {
    const record = this.engine.replay.record(this.key);
    const { onUncertain } = this.parts;
    if (!isUncertain(record)) return super.begin();
    if (onUncertain === undefined) return this.engine.block(undecided(this.engine.journal.runId, this.key));
    if (this.scope.closed || this.#begun === record.starts) return;
    // The lease ran out while the start was written down: it is renewed first, and what came meanwhile is looked at.
    if (!this.engine.options.lease.valid && !this.engine.ceasing) return this.engine.timers.wait(this, 0);
    this.#begun = record.starts;
    if (this.#announced !== record.starts) return this.#settleUncertain(record, onUncertain);
    // Its time to begin has gone by: nobody need wonder what became of it.
    if (this.engine.ceasing) this.#announce(0);
    else this.start(this.nextAttempt());
  }

  override due(): void {
    if (isUncertain(this.engine.replay.record(this.key))) this.begin();
    else super.due();
  }

  protected override prepare(): void {
    if (this.parts.onUncertain === undefined) return super.prepare();
    // Still to be done, whether or not the workflow waits for it: the run does not end without it.
    if (this.engine.ceasing) return this.engine.queue(this);
    this.#announced = (this.engine.replay.record(this.key)?.starts ?? 0) + 1;
    this.#announce(this.nextAttempt());
  }

  /** The work begins once this is durable; attempt 0 calls it off. */
  #announce(attempt: number): void {
    const { startedAt: _, ...started } = this.attempted(attempt);
    this.engine.write({ kind: "step.started", ...started });
  }

  /** An attempt began and its end is not recorded. */
  #settleUncertain({ starts, started }: KeyRecord, mode: OnUncertain): void {
    this.#begun = starts;
    if (mode === "retry") return this.prepare();
    const info = new Info(this.engine.journal.runId, this.key, this.nextAttempt(), this.scope);
    const uncertain = new Uncertain(info, started ?? 0);
    if (mode === "suspend") {
      const asked = askSomebody(this.engine, this.scope, {
        uncertain,
        starts,
        check: (v) => this.#checked(v),
      });
      void asked.then((resolution) => this.inBackground(this.#resolve(resolution)));
      return;
    }
    const { world } = this.engine;
    const found = reconcile(mode, uncertain, { world, policy: this.parts.policy, where: this.where });
    this.inBackground(found.finally(() => info.leave()).then((resolution) => this.#resolve(resolution)));
  }

  async #resolve(resolution: Resolution): Promise<void> {
    if (this.scope.aborted) return;
    if (resolution.status === "retry") return this.prepare();
    const attempted = this.attempted(this.nextAttempt());
    try {
      if (resolution.status === "failed") throw new Error(resolution.message);
      this.engine.write(await this.#completed(attempted, resolution.value));
    } catch (thrown) {
      const error = encodeThrown(thrown, `error of ${this.where}`);
      this.engine.write({ kind: "step.failed", ...attempted, error });
    }
  }
}

/** An attempt was announced, and the journal does not say how it ended. */
function isUncertain(record: KeyRecord | undefined): record is KeyRecord {
  return record !== undefined && record.started !== null && !record.settled;
}
