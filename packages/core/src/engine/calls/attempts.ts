/**
 * Attempts of a step or stream: work that is retried until it succeeds or its policy gives up.
 *
 * attempts.1. The workflow gets the decoded record, on the first execution as on replay.
 * attempts.2. Every attempt that ends is one entry. An attempt that a crash interrupted has no entry and is not counted.
 * attempts.3. A failure reaches the workflow as `step-failed`, with the user's error as its cause.
 */

import { decode } from "../../values/codec/decode.ts";
import { encodeThrown } from "../../values/codec/encode.ts";
import type { Json } from "../../values/codec/tags.ts";
import type { Fact } from "../../journal/entry.ts";
import { DurableError, describeError, recordedError } from "../../values/errors.ts";
import { runAs, snapshot, type InContext } from "../../ports/async-context.ts";
import type { Usage } from "../../values/usage.ts";
import type { Observer } from "../hooks.ts";
import type { CallEngine } from "./call.ts";
import { Beats } from "./beats.ts";
import { Clearance, type Limited } from "./clearance.ts";
import { Info } from "./info.ts";
import type { Permit } from "../definition.ts";
import { deferred } from "../promise.ts";
import { sourceOf } from "../renames.ts";
import type { Call } from "../registry.ts";
import { nextAttemptAt, type RetryPolicy } from "./retry.ts";

/** The step or stream that the attempts belong to. */
interface AttemptedCall extends Pick<Call, "key" | "kind" | "scope" | "entered" | "announced"> {
  readonly after: number;
  readonly where: string;
  /** Schedules a call of `due`, unless the scope is closed before. */
  waitUntil(at: number): void;
  /** Does the work of one attempt, and returns the fact to record. */
  perform(info: Info, attempted: Attempted): Promise<Fact<Json>>;
}

export interface AttemptParts extends Limited {
  readonly policy: RetryPolicy;
  readonly timeoutMs: number | null;
  /** How long a step may be silent. */
  readonly silenceMs?: number | null;
  readonly input: string | null;
}

/** The fields of every entry about an attempt. */
export interface Attempted {
  readonly key: string;
  readonly after: number;
  readonly startedAt: number;
  readonly attempt: number;
  readonly input?: string;
  readonly usage?: readonly Usage[];
  readonly assumed?: number;
}

/** The attempts of one step or stream: when they start, their time limit, and the fact that each one records. */
export class Attempts {
  readonly #engine: CallEngine;
  readonly #call: AttemptedCall;
  readonly #parts: AttemptParts;
  /** Runs work in the async context of its call. Not kept for a recorded call, because replay must be quick. */
  readonly #inContext: InContext | null;
  /** Made for the first attempt: a recorded call needs none. */
  #clearance: Clearance | null = null;

  constructor(engine: CallEngine, call: AttemptedCall, parts: AttemptParts) {
    this.#inContext = engine.replay.record(call.key)?.settled === true ? null : snapshot();
    this.#engine = engine;
    this.#call = call;
    this.#parts = parts;
  }

  /** The journal has no outcome: the next attempt is prepared, now or when its time has come. */
  begin(prepare: () => void): void {
    const { key, scope } = this.#call;
    const record = this.#engine.replay.record(key);
    if (scope.closed || record?.settled === true) return;
    const retryAt = record?.retryAt ?? null;
    if (retryAt === null) prepare();
    else if (this.#engine.mayStart) this.#call.waitUntil(retryAt);
  }

  /** True when the next attempt may start. Otherwise `due` is called once it may. */
  ready(): boolean {
    this.#clearance ??= new Clearance(this.#engine, this.#call, this.#parts);
    const asked = this.#clearance.ask();
    if (asked === null) return true;
    // A branch may handle that its budget is used up.
    const failed = (error: unknown): void =>
      DurableError.is(error, "over-budget")
        ? this.#failed(this.attempted(this.#failures + 1), error)
        : this.#engine.block(error as DurableError);
    this.inBackground(asked.catch(failed));
    return false;
  }

  /** The next attempt does not start. */
  drop(): void {
    void this.#clearance?.drop();
  }

  /** The permit that the work needs is settled with what the attempt has used. */
  start(attempt: number): void {
    const permit = this.#clearance?.take() ?? null;
    const ended = this.#attempt(attempt);
    // If it cannot be settled now, it ends by its time.
    const settled = ({ used, thrown }: Ended): Promise<void> =>
      (permit as Permit).settle(used?.usage, thrown).catch(() => {});
    this.inBackground(permit === null ? ended : ended.then(settled));
  }

  /** Work that the run waits for before it stops. */
  inBackground(work: Promise<unknown>): void {
    const over = this.#engine.inFlight.begin();
    // The run does not wait for the loser of a race, however long its work takes to notice.
    const keep = this.#call.scope.whenClosed((how) => how === "abandoned" && over());
    const ended = (): void => {
      keep();
      over();
    };
    work.then(ended, (error: unknown) => {
      this.#engine.block(unexpected(this.#call.where, error));
      ended();
    });
  }

  /** Runs user code: in the async context of its call, and in the name of the run. */
  inContext<R>(work: () => R, info?: Info, observer?: Observer, open?: object): R {
    const owner = { ...this.#engine.options.owner, step: this.#call.key, info };
    const named = (): R => runAs(owner, work);
    const surrounded = open === undefined ? named : (): R => (observer as Observer).surround(open, named);
    return this.#inContext === null ? surrounded() : this.#inContext(surrounded);
  }

  /** The fields that every entry of this attempt has. */
  attempted(attempt: number): Attempted {
    const { key, after } = this.#call;
    const { input } = this.#parts;
    const startedAt = this.#engine.world.now();
    return { key, after, startedAt, attempt, ...(input === null ? {} : { input }) };
  }

  async #attempt(attempt: number): Promise<Ended> {
    const { scope } = this.#call;
    const attempted = this.attempted(attempt);
    const info = new Info(this.#engine, this.#call, attempt);
    const { quota } = this.#parts;
    info.beats = this.#beats(attempted);
    info.quota = typeof quota === "object" ? quota.name : quota;
    let failed: unknown;
    info.shown = this.#engine.options.shows?.(this.#ofStream ? "stream" : "step", attempted, () => info.said);
    try {
      const fact = await (this.#isBounded
        ? this.#bounded(info, attempted)
        : this.#performed(info, attempted));
      if (!this.#isBounded) info.leave();
      info.beats?.end({ failed: false });
      const assumed = this.#clearance?.isPaid === true ? await this.#clearance.spent(info.used?.usage) : {};
      this.#engine.write({ ...fact, ...info.used, ...assumed, ...this.#known(info) });
    } catch (thrown) {
      if (!this.#isBounded) info.leave();
      info.beats?.end({ failed: true });
      failed = thrown;
      const assumed = this.#clearance?.isPaid === true ? await this.#clearance.spent(info.used?.usage) : {};
      // Aborted on purpose: the driver has stopped, or a race was lost. The step has not failed.
      if (!scope.aborted) this.#failed({ ...attempted, ...info.used, ...assumed }, thrown);
    }
    info.shown?.();
    return { used: info.used, thrown: failed };
  }

  /** What a rename of the call is known by, unless its start or its usage says that it was paid for. */
  #known({ keyed, used }: Info): { readonly work?: string } {
    const { byContent, work } = this.#call.entered.asked ?? {};
    if (byContent !== undefined) return { work: "content" };
    if (used !== undefined || this.#call.announced === true) return {};
    if (keyed) return { work: "key" };
    const source = work === undefined ? null : sourceOf(work);
    return source === null ? {} : { work: source };
  }

  #performed(info: Info, attempted: Attempted): Promise<Fact<Json>> {
    const work = (): Promise<Fact<Json>> => this.#call.perform(info, attempted);
    const { observer } = this.#engine.options.watch;
    return this.inContext(work, info, observer, observer?.attempt(this.#call.kind, attempted));
  }

  /** A stream records its chunks instead. */
  #beats({ key, after, attempt }: Attempted): Beats | null {
    if (this.#ofStream) return null;
    const record = (value: Json): void =>
      this.#engine.write({ kind: "step.progress", key, after, attempt, value });
    return new Beats(this.#engine.world, record);
  }

  get #isBounded(): boolean {
    const { timeoutMs, silenceMs = null } = this.#parts;
    return timeoutMs !== null || silenceMs !== null;
  }

  /** The work under its time limits. A result that comes after a limit is dropped: the journal has the timeout. */
  async #bounded(info: Info, attempted: Attempted): Promise<Fact<Json>> {
    const { world } = this.#engine;
    const { timeoutMs, silenceMs = null } = this.#parts;
    const limit = deferred<never>();
    const exceed = (how: string): void => {
      const message = `Attempt ${attempted.attempt} of ${this.#call.where} ${how}.`;
      const error = new DurableError("step-timeout", message);
      limit.reject(error);
      info.abort(error);
    };
    const listen = (ms: number): (() => void) =>
      world.timer(ms, () => exceed(`gave no heartbeat for ${ms} ms`));
    let deaf = silenceMs === null ? (): void => {} : listen(silenceMs);
    if (info.beats !== null && silenceMs !== null)
      info.beats.heard = () => {
        deaf();
        deaf = listen(silenceMs);
      };
    const begun = world.now();
    const work = this.#performed(info, attempted).finally(() => info.leave());
    const blockedMs = world.now() - begun;
    if (timeoutMs !== null && blockedMs > timeoutMs)
      world.warn(blockedWarning(this.#call.where, blockedMs, timeoutMs));
    const cancel =
      timeoutMs === null
        ? (): void => {}
        : world.timer(timeoutMs, () => exceed(`took longer than ${timeoutMs} ms`));
    try {
      return await Promise.race([work, limit.promise]);
    } finally {
      cancel();
      deaf();
    }
  }

  /** Records a failure: as final, or with the time of the next attempt. */
  #failed(attempted: Attempted, thrown: unknown): void {
    const { world } = this.#engine;
    const now = world.now();
    const failure = { error: thrown, attempt: this.#failures + 1 };
    const retryAt = nextAttemptAt(this.#parts.policy, failure, { now, random: world.random() });
    const error = encodeThrown(thrown, `error of ${this.#call.where}`);
    const ofStream = this.#ofStream;
    const failed = ofStream ? "stream.failed" : "step.failed";
    if (retryAt === null) return this.#engine.write({ kind: failed, ...attempted, error });
    const of = ofStream ? ({ stream: true } as const) : {};
    this.#engine.write({ kind: "attempt.failed", ...attempted, ...of, error, retryAt });
  }

  get #ofStream(): boolean {
    return this.#call.kind === "stream";
  }

  get #failures(): number {
    return this.#engine.replay.record(this.#call.key)?.failures ?? 0;
  }

  /** The recorded failure, as the workflow gets it. It names the run that failed, so that forks get the same error. */
  failure({ error, seq }: { readonly error: Json; readonly seq: number }): DurableError {
    const { key, kind, where } = this.#call;
    const cause = decode(error, `error of ${where}`);
    const attempts = this.#failures + 1;
    const what = kind === "step" ? "Step" : "Stream";
    const tries = attempts === 1 ? "" : ` after ${attempts} attempts`;
    return recordedError(
      "step-failed",
      `${what} "${key}" of run ${this.#engine.journal.runAt(seq)} failed${tries}: ${describeError(cause)}`,
      { cause, details: { key, attempts } },
    );
  }
}

/** How an attempt ended. */
interface Ended {
  readonly used: Info["used"];
  /** What it failed with; `undefined` when it did not. */
  readonly thrown: unknown;
}

/** The work ran without giving the event loop a turn, so no timer could end it. */
function blockedWarning(where: string, tookMs: number, timeoutMs: number): string {
  return `the ${where} blocked the process for ${tookMs} ms, longer than its timeout of ${timeoutMs} ms, which could not fire. Use an asynchronous call, or move the work to a worker thread.`;
}

function unexpected(where: string, error: unknown): DurableError {
  return new DurableError(
    "storage-failed",
    `Could not record the outcome of ${where}: ${describeError(error)}`,
    { cause: error },
  );
}
