/** Named work whose outcome is recorded. */

import {
  reconcile,
  openQuestion,
  checkedMode,
  uncertainOf,
  undecided,
  type OnUncertain,
  type Resolution,
} from "./uncertain.ts";
import { KeyedCall, type CallEngine, type CallParts } from "./call.ts";
import { decode } from "../../values/codec/decode.ts";
import { encode, encodeThrown } from "../../values/codec/encode.ts";
import { fingerprint } from "../../values/codec/fingerprint.ts";
import type { Json } from "../../values/codec/tags.ts";
import { toMs, type Duration } from "../../values/duration.ts";
import type { Fact } from "../../journal/entry.ts";
import { DurableError } from "../../values/errors.ts";
import { fits, type StandardSchema } from "../../values/schema.ts";
import type { Compensate } from "./cleanup.ts";
import { Attempts, type Attempted, type AttemptParts } from "./attempts.ts";
import { Info, type StepInfo } from "./info.ts";
import { assertOptions } from "../../values/options.ts";
import type { StepQuota, ByContent, Estimate } from "../definition.ts";
import { pending } from "../promise.ts";
import type { KeyRecord, Settlement } from "../replay.ts";
import { retryPolicy, type RetryOptions } from "./retry.ts";
import type { Scope } from "../scope.ts";

export interface StepOptions {
  /** When a failed attempt is repeated; `false` means one attempt. */
  readonly retry?: RetryOptions | false | undefined;
  /** For each attempt. When it passes, `signal` aborts and the attempt has failed. */
  readonly timeout?: Duration | undefined;
  /**
   * How long the work may be silent: without a call of `info.heartbeat` for this time, `signal` aborts and the attempt has
   * failed, as with `timeout`.
   */
  readonly heartbeat?: Duration | undefined;
  /**
   * What the result depends on. If the recorded input differs, the run is blocked instead of reusing the
   * result.
   */
  readonly input?: unknown;
  /** Checks, and may transform, what the work returns. */
  readonly schema?: StandardSchema | undefined;
  /**
   * The name of the step in an earlier version of the code: its recorded result is kept. `null` says that the step is
   * new work, and no recorded step under another name.
   */
  readonly was?: string | null | undefined;
  /** For a name that comes from the content of the work: what to do when the content was changed. */
  readonly byContent?: ByContent | undefined;
  /**
   * For effects that must not be repeated blindly: what to do when an attempt began and its end was not
   * recorded.
   */
  readonly onUncertain?: OnUncertain | undefined;
  /**
   * Undoes the effect of the step when the run fails or is cancelled. The start of the step is recorded first, and what
   * has started is undone in reverse order, whether it has settled or not.
   */
  readonly compensate?: Compensate<never> | undefined;
  /**
   * The quota of the service that the work calls, by its name in `quotas` of the app. The step waits until the
   * quota has room. Each attempt counts.
   */
  readonly quota?: StepQuota | undefined;
  /** What an attempt uses, about, for quotas and budgets. A function is called only when the work is done. */
  readonly estimate?: Estimate | undefined;
  /** `false` for work that costs nothing: no budget stops it. */
  readonly budget?: false | undefined;
  /** For what its usage is, in sums of many calls (`app.spend`): for names that contain an id. The name by default. */
  readonly label?: string | undefined;
  /**
   * The work asks a model and has no other effect. An eval runs it again; it answers all other steps from the record.
   * `durableModel` sets it.
   */
  readonly model?: true | undefined;
  /** Set by an adapter whose work has no effect in this fork of an eval. */
  readonly stub?: true | undefined;
}

export type Work = (info: StepInfo) => unknown;

const known =
  "retry timeout heartbeat input schema was onUncertain byContent compensate quota estimate budget label model stub";

export function step(
  engine: CallEngine,
  place: { readonly scope: Scope; readonly name: string },
  given: Work,
  options: StepOptions,
): Promise<unknown> {
  const { scope, name } = place;
  const where = `step "${name}" of run ${engine.journal.runId}`;
  assertOptions(options, known, `The ${where}`);
  const { defaults } = engine.options;
  const {
    retry = defaults.retry,
    timeout = defaults.timeout,
    // A compensation is a step that never asks: while a run is undone, no answer is accepted.
    onUncertain: mode = engine.placement.undoing === null ? defaults.onUncertain : undefined,
  } = options;
  const policy = retryPolicy(retry, `The ${where}`);
  const timeoutMs = timeout === undefined ? null : toMs(timeout, `The timeout of ${where}`);
  const { heartbeat } = options;
  const silenceMs = heartbeat === undefined ? null : toMs(heartbeat, `The heartbeat of ${where}`);
  const input = options.input === undefined ? null : fingerprint(options.input, `declared input of ${where}`);
  const { schema, byContent, compensate, was, label, model } = options;
  const stubbed = engine.options.off?.stubs[label ?? name];
  const stub = stubbed === undefined ? options.stub : true;
  const work: Work = stubbed === undefined ? given : () => stubbed(options.input);
  if (compensate !== undefined && !scope.closed) engine.placement.undoing?.("compensate");
  // Without a rule of its own, an interrupted attempt is repeated, like that of any step.
  const onUncertain = checkedMode(mode ?? (compensate && "retry"), where);
  const entered = engine.enter({
    scope,
    kind: "step",
    name,
    input,
    was,
    byContent,
    work: given,
    label,
    model,
    stub,
  });
  if (entered === null) return pending();
  if (compensate !== undefined) engine.undoables.set(entered.key, { fn: compensate });
  const { quota, estimate, budget } = options;
  const parts = {
    scope,
    name,
    work,
    entered,
    policy,
    timeoutMs,
    silenceMs,
    input,
    schema,
    onUncertain,
    quota,
    estimate,
    budget,
  };
  return new StepCall(engine, parts).promise;
}

interface StepParts extends CallParts, AttemptParts {
  readonly work: Work;
  readonly schema: StandardSchema | undefined;
  readonly onUncertain: OnUncertain | undefined;
}

export class StepCall extends KeyedCall<StepParts, unknown> {
  readonly #attempts: Attempts;
  /** The number of the start that this execution recorded. */
  #announced = 0;
  #begun = 0;

  constructor(engine: CallEngine, parts: StepParts) {
    super(engine, "step", parts);
    this.#attempts = new Attempts(engine, this, parts);
    const { onUncertain, entered } = parts;
    // Questions about an uncertain outcome belong to the step, so they are not orphans if it does not ask again.
    if (onUncertain !== undefined) engine.calls.close(this.key);
    // Asked at once, so that `resume` finds the question and can validate the answer.
    if (onUncertain === "suspend" && isUncertain(entered.record))
      this.#settleUncertain(entered.record, onUncertain);
  }

  get announced(): boolean {
    return this.parts.onUncertain !== undefined;
  }

  protected answer(settlement: Settlement): void {
    if (settlement.kind === "step.completed") {
      this.outcome.resolve(decode(settlement.value, `output of ${this.where}`));
    } else if (settlement.kind === "step.failed") {
      this.reject(this.#attempts.failure(settlement));
    }
  }

  begin(): void {
    const { record } = this;
    if (isUncertain(record)) this.#continueUncertain(record);
    else this.#attempts.begin(() => this.#prepare());
  }

  due(): void {
    if (isUncertain(this.record)) this.begin();
    else if (this.engine.mayStart) this.#prepare();
    else this.#attempts.drop();
  }

  get #nextAttempt(): number {
    return (this.record?.failures ?? 0) + 1;
  }

  /** Starts the next attempt. With `onUncertain` or `compensate` its start is recorded first. */
  #prepare(): void {
    if (!this.#attempts.ready()) return;
    if (this.parts.onUncertain === undefined) return this.#attempts.start(this.#nextAttempt);
    // Still to be done, even if the workflow does not wait for it: the run does not end without it.
    if (!this.engine.mayBegin) return this.engine.queue(this);
    this.#announced = (this.record?.starts ?? 0) + 1;
    this.#announce(this.#nextAttempt);
  }

  async perform(info: Info, attempted: Attempted): Promise<Fact<Json>> {
    const output = await this.parts.work(info);
    if (this.parts.schema !== undefined) return this.#completed(attempted, output);
    return { kind: "step.completed", ...attempted, value: encode(output, `output of ${this.where}`) };
  }

  async #completed(attempted: Attempted, output: unknown): Promise<Fact<Json>> {
    return { kind: "step.completed", ...attempted, value: await this.#checked(output) };
  }

  async check(value: unknown): Promise<{ readonly value: Json } | string> {
    const result = await fits(this.parts.schema, value);
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

  /** A start is recorded: this execution's own, whose work begins now, or one whose driver died. */
  #continueUncertain(record: KeyRecord): void {
    const { onUncertain } = this.parts;
    if (onUncertain === undefined) return this.engine.block(undecided(this.engine.journal.runId, this.key));
    if (this.scope.closed || this.#begun === record.starts) return;
    // The lease expired while the start was written: it is renewed first, and new entries are read.
    if (!this.engine.options.lease.valid && this.engine.mayBegin) return this.engine.timers.wait(this, 0);
    this.#begun = record.starts;
    if (this.#announced !== record.starts) return this.#settleUncertain(record, onUncertain);
    // The driver stops before the work began, so the start is called off.
    if (!this.engine.mayBegin) this.#announce(0);
    else this.#attempts.start(this.#nextAttempt);
  }

  /** The work begins once this is durable; attempt 0 calls it off. */
  #announce(attempt: number): void {
    const { startedAt: _, ...started } = this.#attempts.attempted(attempt);
    const undoes = this.engine.undoables.has(this.key) ? { compensate: true as const } : {};
    this.engine.write({ kind: "step.started", ...started, ...undoes });
  }

  /** An attempt began and its end is not recorded. */
  #settleUncertain({ starts, started }: KeyRecord, mode: OnUncertain): void {
    this.#begun = starts;
    if (mode === "retry") return this.#prepare();
    const info = new Info(this.engine, this, this.#nextAttempt);
    const uncertain = uncertainOf(info, started ?? 0);
    if (mode === "suspend") {
      const asked = openQuestion(this.engine, this.scope, {
        uncertain,
        starts,
        check: (v) => this.#checked(v),
      });
      void asked.then((resolution) => this.#attempts.inBackground(this.#resolve(resolution)));
      return;
    }
    const { world } = this.engine;
    const found = this.#attempts.inContext(() =>
      reconcile(mode, uncertain, { world, policy: this.parts.policy, where: this.where }),
    );
    this.#attempts.inBackground(
      found.finally(() => info.leave()).then((resolution) => this.#resolve(resolution)),
    );
  }

  async #resolve(resolution: Resolution): Promise<void> {
    if (this.scope.aborted) return;
    if (resolution.status === "retry") return this.#prepare();
    const attempted = this.#attempts.attempted(this.#nextAttempt);
    try {
      if (resolution.status === "failed") throw new Error(resolution.message);
      this.engine.write(await this.#completed(attempted, resolution.value));
    } catch (thrown) {
      const error = encodeThrown(thrown, `error of ${this.where}`);
      this.engine.write({ kind: "step.failed", ...attempted, error });
    }
  }
}

/** The start of an attempt is recorded, and its end is not. */
function isUncertain(record: KeyRecord | undefined): record is KeyRecord {
  return record !== undefined && record.started !== null && !record.settled;
}
