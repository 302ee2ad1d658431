/**
 * A run that another run waits for.
 *
 * child.1. The parent's entry is durable before the child exists, so that a cancellation of the parent finds every
 *     child.
 * child.2. The id of a child is derived from its parent and its key: begun twice, it is still one run. The recorded
 *     id counts, because after a retry of the parent, a child that cannot go on is opened again, under another id.
 * child.3. A child reports its end to the parent before it ends. If that report is lost, the parent checks later.
 */

import { decode } from "../../values/codec/decode.ts";
import { encode, encodeThrown } from "../../values/codec/encode.ts";
import type { Json } from "../../values/codec/tags.ts";
import type { Definition } from "../definition.ts";
import { isGone } from "../../journal/errors.ts";
import { DurableError, describeError, recordedError } from "../../values/errors.ts";
import { childIdOf } from "../../journal/keys.ts";
import { backOff, pause } from "../../ports/world.ts";
import type { ChildState } from "../../journal/fold.ts";
import type { ChildRun, ChildEnd } from "../child-runs.ts";
import { deadlineOf } from "../deadline.ts";
import type { Duration } from "../../values/duration.ts";
import { KeyedCall, type CallEngine, type CallParts } from "./call.ts";
import { deferred, pending } from "../promise.ts";
import type { Settlement } from "../replay.ts";
import type { Scope } from "../scope.ts";

/** If a child never reports its end, a parked parent checks after this delay, then at growing intervals. */
const lookMs = 600_000;
/** The first check is earlier when the child has a driver, because that driver may be dead. */
const driverMs = 30_000;
/** How long a cancellation may take from the first of the children to the run itself. */
const endingMs = 60_000;
const cancelTries = 12;

export function child(
  engine: CallEngine,
  place: { readonly scope: Scope; readonly name: string },
  given: {
    readonly definition: Definition;
    readonly input: Json;
    readonly fingerprint: string;
    readonly deadline?: Duration | undefined;
    readonly was?: string | null | undefined;
  },
): Promise<unknown> {
  const { scope, name } = place;
  const input = `workflow ${given.definition.name}, input ${given.fingerprint}`;
  const entered = engine.enter({ scope, kind: "child", name, input, was: given.was });
  if (entered === null) return pending();
  const call = new ChildCall(engine, "child", { scope, name, entered, declared: input, ...given });
  call.closeWithScope();
  const called = { scope, key: call.key, what: call.where };
  call.landed = deadlineOf(engine, called, given.deadline, (error) => call.expire(error));
  return call.promise;
}

interface ChildParts extends CallParts {
  readonly definition: Definition;
  readonly input: Json;
  readonly declared: string;
}

export class ChildCall extends KeyedCall<ChildParts, unknown> {
  #begun = false;
  /** The end of the child is queued or recorded. A cancellation may report a second one before the first is durable. */
  #ended = false;
  readonly #reported = deferred<true>();
  /** Ends the deadline of the call. */
  landed: () => void = () => {};

  get definition(): Definition {
    return this.parts.definition;
  }

  get runId(): string {
    return this.#child.runId;
  }

  get #known(): ChildState | undefined {
    return this.engine.journal.state.children.get(this.key);
  }

  get #child(): ChildRun {
    const { journal } = this.engine;
    const { key, after } = this;
    const { definition, input } = this.parts;
    const { life } = journal.state;
    const runId = this.#known?.opened.child ?? childIdOf(journal.runId, key, journal.nonce);
    const childOf = { runId: journal.runId, key, after };
    const budgets = this.engine.budgets.trees(this.scope);
    return { runId, definition, input, childOf, life, budgets };
  }

  /** Its deadline has passed: the child is cancelled. */
  expire(error: DurableError): void {
    if (this.settled) return;
    this.settled = true;
    this.engine.calls.landed(this, this.parts.name);
    this.reject(error);
    this.#close();
  }

  protected answer(settlement: Settlement): void {
    this.landed();
    const { name: workflow } = this.parts.definition;
    const { runId } = this.#child;
    if (settlement.kind === "child.completed") {
      this.outcome.resolve(decode(settlement.value, `output of ${this.where}`));
    } else if (settlement.kind === "child.failed") {
      const cause = decode(settlement.error, `error of ${this.where}`);
      const code = DurableError.is(cause, "cancelled") ? "cancelled" : "step-failed";
      const message = `Child "${this.key}" (run ${runId} of workflow "${workflow}") failed: ${describeError(cause)}`;
      this.reject(recordedError(code, message, { cause, details: { key: this.key, runId } }));
    }
  }

  begin(): void {
    if (this.engine.finished || this.scope.closed) return;
    this.#begun = true;
    // A branch of an earlier life may have closed it.
    if (this.#opened && this.#known?.over !== true) return this.#drive(true);
    this.#open(this.#child.runId);
  }

  #open(child: string): void {
    const { definition, declared: input } = this.parts;
    const { key, after } = this;
    this.engine.write({ kind: "child.opened", key, after, child, workflow: definition.name, input });
  }

  get #opened(): boolean {
    return this.record?.opened === true;
  }

  get #settled(): boolean {
    return this.record?.settled === true;
  }

  /** An entry of this call became durable: `child.opened`, or the end of the child. */
  recheck(): void {
    if (this.#settled) this.#reported.resolve(true);
    else if (this.#begun && this.#opened && this.engine.mayStart) this.#drive();
  }

  /** Records how the child is about to end; resolves when that is durable. */
  reportEnd(childEnd: ChildEnd): Promise<true> {
    if (this.#settled) this.#reported.resolve(true);
    else this.#end(childEnd);
    return this.#reported.promise;
  }

  #end(childEnd: ChildEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.engine.write(childEnd);
  }

  due(): void {
    if (this.engine.mayStart) this.#drive();
  }

  /** `again`: an earlier drive of the run has opened the child. */
  #drive(again = false): void {
    const over = this.engine.inFlight.begin();
    const keep = this.scope.whenClosed((how) => how === "abandoned" && over());
    void this.#driven(again)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        keep();
        over();
      });
  }

  async #driven(again: boolean): Promise<void> {
    const head = again ? await this.engine.options.children.headOf(this.#child.runId) : undefined;
    const { status, wakeAt = null } = head ?? {};
    // It waits, and reports its end by itself.
    if (status === "suspended" && (wakeAt ?? Infinity) > this.engine.world.now())
      return this.#await(wakeAt, lookMs);
    const isNeeded = async (): Promise<boolean> => !(await this.#isOver());
    const child = again ? { ...this.#child, isNeeded } : this.#child;
    const outcome = await this.engine.options.children.drive(child);
    if (!this.#settled) await this.engine.options.lease.pollNow();
    if (this.#settled || this.settled || this.scope.closed) return;
    if (outcome === "lost") {
      const { runId, nonce, state } = this.engine.journal;
      return this.#open(childIdOf(runId, this.key, nonce, state.life));
    }
    if (outcome === "ending") {
      if (await this.#endsToo()) return;
      return this.#fail(this.#cancelled());
    }
    switch (outcome.status) {
      // The child ended but could not report it, so its own journal decides.
      case "completed":
        return this.#end({
          kind: "child.completed",
          key: this.key,
          after: this.after,
          value: encode(outcome.output, `output of ${this.where}`),
        });
      case "failed":
        return this.#fail(outcome.error);
      case "cancelled":
        return this.#fail(this.#cancelled());
      case "running":
        return this.#await(null, driverMs);
      case "paused":
        return this.#await(null, lookMs);
      case "suspended":
        return this.#await(outcome.wakeAt, lookMs);
      case "blocked":
        // This process drives the child, so no other place reports that it is blocked.
        this.engine.world.warn(`${this.where} is blocked: ${outcome.error.message}`);
        return this.#await(null, lookMs);
    }
  }

  #cancelled(): DurableError {
    return new DurableError("cancelled", `The ${this.where} was cancelled.`);
  }

  /**
   * A child that was cancelled because of this run is part of a cancellation that ends this run next. The
   * workflow must not see a failed child, unless the canceller died before it reached this run.
   */
  async #endsToo(): Promise<boolean> {
    const { engine, scope } = this;
    for (const until = engine.world.now() + endingMs; engine.world.now() < until;) {
      await pause(engine.world, 1_000, scope.signal);
      if (await this.#isOver()) return true;
    }
    return false;
  }

  /** Reads whether the run still waits for the child. */
  async #isOver(): Promise<boolean> {
    const { engine, scope } = this;
    await engine.options.lease.pollNow();
    return !engine.mayStart || scope.closed || scope.aborted || this.#settled;
  }

  /** A storage error is retried. A refused input, another workflow under its id, or a deletion fails the child. */
  #failed(error: unknown): void {
    const gone = isGone(error);
    if (!gone && !DurableError.is(error, "invalid-input") && !DurableError.is(error, "workflow-mismatch"))
      return this.engine.timers.wait(this, this.engine.world.now() + 1_000);
    this.#fail(gone ? new DurableError("not-found", `The run of ${this.where} was deleted.`) : error);
  }

  #fail(thrown: unknown): void {
    const { key, after } = this;
    const error = encodeThrown(thrown, `error of ${this.where}`);
    this.#end({ kind: "child.failed", key, after, error });
  }

  #await(wakeAt: number | null, least: number): void {
    const now = this.engine.world.now();
    const openedAt = this.#known?.opened.at ?? now;
    const recheckAt = now + Math.max(least, now - openedAt);
    this.engine.timers.wait(this, wakeAt, { outside: true, recheckAt });
  }

  /** When its branch loses a race, the child is cancelled, because its result is not needed. */
  closeWithScope(): void {
    this.whenClosed(() => this.#close());
  }

  #close(): void {
    this.engine.timers.cancel(this);
    const known = this.#known;
    if (known?.over === true || (known === undefined && !this.#begun)) return;
    // Later on, nothing would cancel it.
    const over = this.engine.inFlight.begin("kept");
    void this.#cancel()
      .then(() => {
        const { key } = this;
        this.engine.write({ kind: "child.closed", key, after: this.engine.replay.delivered });
      })
      .catch((error: unknown) =>
        this.engine.world.warn(`could not cancel ${this.where}: ${describeError(error)}`),
      )
      .finally(over);
  }

  /** Retries at once, because the run may end before another driver could cancel the child. */
  async #cancel(): Promise<void> {
    const child = this.#child;
    for (let tries = 1; ; tries++) {
      try {
        return await this.engine.options.children.cancel(child);
      } catch (error) {
        if (tries >= cancelTries) throw error;
        await backOff(this.engine.world, tries);
      }
    }
  }
}
