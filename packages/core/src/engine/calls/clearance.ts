/** Whether an attempt may start: the quota of its service has room, and the budgets that it spends from allow it. */

import { knownCost, type Usage } from "../../values/usage.ts";
import type { ScopeBudget } from "../budgeting.ts";
import type { Estimate, Permit, QuotaRun, StepQuota } from "../definition.ts";
import type { Entered } from "../registry.ts";
import type { Scope } from "../scope.ts";
import type { CallEngine } from "./call.ts";

/** What limits a step or stream. */
export interface Limited {
  readonly quota: StepQuota | undefined;
  readonly estimate: Estimate | undefined;
  readonly budget: false | undefined;
}

interface LimitedCall {
  readonly key: string;
  readonly scope: Scope;
  readonly where: string;
  readonly entered: Entered;
  /** Schedules that the call is asked about again. */
  waitUntil(at: number): void;
}

type Engine = Pick<CallEngine, "budgets" | "journal" | "mayStart" | "options" | "world">;

export class Clearance {
  readonly #engine: Engine;
  readonly #call: LimitedCall;
  readonly #limited: Limited;
  #permit: Permit | null = null;
  #isCleared = false;
  /** The attempt has started, or will not: what ends its scope no longer matters here. */
  #ignore: () => void = () => {};
  /** The budgets that the next attempt, or the one under way, spends from, and what it is expected to cost. */
  #paid: {
    readonly from: readonly ScopeBudget[];
    readonly token: string;
    readonly next: number | null;
  } | null = null;

  constructor(engine: Engine, call: LimitedCall, limited: Limited) {
    this.#engine = engine;
    this.#call = call;
    this.#limited = limited;
  }

  /** `null` when the next attempt may start; otherwise the call is asked about again once it may. That it waits is not recorded. */
  ask(): Promise<void> | null {
    const { quota, budget } = this.#limited;
    if (this.#isCleared) return null;
    const budgets = budget === false ? [] : this.#engine.budgets.over(this.#call.scope);
    return quota === undefined && budgets.length === 0 ? null : this.#clear(quota, budgets);
  }

  /** The attempt starts, with its permit. */
  take(): Permit | null {
    const permit = this.#permit;
    this.#permit = null;
    this.#isCleared = false;
    this.#ignore();
    return permit;
  }

  /** The attempt under way spends from a budget. */
  get isPaid(): boolean {
    return this.#paid !== null;
  }

  async #clear(quota: StepQuota | undefined, budgets: readonly ScopeBudget[]): Promise<void> {
    if (quota !== undefined && !(await this.#permitted(quota))) return;
    try {
      this.#isCleared = await this.#affordable(budgets);
    } finally {
      if (!this.#isCleared)
        await this.take()
          ?.giveBack()
          .catch(() => {});
    }
    if (!this.#isCleared) return;
    const { signal } = this.#call.scope;
    const drop = (): void => void this.drop();
    signal.addEventListener("abort", drop);
    this.#ignore = () => signal.removeEventListener("abort", drop);
    if (signal.aborted) return this.drop();
    // Work starts when the loop comes to it.
    this.#call.waitUntil(0);
  }

  /** The attempt does not start: a race was decided meanwhile, or the run has ended or was handed over. */
  async drop(): Promise<void> {
    if (!this.#isCleared) return;
    const { from = [], token = "" } = this.#paid ?? {};
    this.#paid = null;
    await this.take()
      ?.giveBack()
      .catch(() => {});
    for (const budget of from) await budget.settle({ key: this.#call.key, token }, null).catch(() => {});
  }

  async #permitted(quota: StepQuota): Promise<boolean> {
    const { options, world } = this.#engine;
    const { where, scope } = this.#call;
    const { estimate } = this.#limited;
    const isOver = (): boolean => scope.closed || !this.#engine.mayStart;
    const permit = await options.permits({ quota, run: quotaRunOf(this.#engine), where, estimate, isOver });
    if (typeof permit === "number") this.#call.waitUntil(world.now() + permit);
    if (permit === null || typeof permit === "number") return false;
    this.#permit = permit;
    return true;
  }

  /** Asks each budget; if one refuses, the reservations of others are given back. */
  async #affordable(budgets: readonly ScopeBudget[]): Promise<boolean> {
    if (budgets.length === 0) return true;
    const { estimate } = this.#limited;
    const { key, where, entered } = this.#call;
    const usage = typeof estimate === "function" ? estimate() : estimate;
    const next = usage === undefined ? 0 : knownCost(usage, this.#engine.journal.prices, `The ${where}`);
    const token = this.#engine.world.id();
    const again = (at: number): void => this.#call.waitUntil(at);
    const label = entered.asked?.label ?? key;
    for (const [n, budget] of budgets.entries()) {
      if (await budget.admit({ key, label, token, again }, next)) continue;
      for (const asked of budgets.slice(0, n)) await asked.settle({ key, token }, null);
      return false;
    }
    this.#paid = { from: budgets, token, next: usage === undefined ? null : next };
    return true;
  }

  /** Tells the budgets the cost of the attempt, before it is recorded. Returns what is noted when the cost is not known. */
  async spent(usage: readonly Usage[] | undefined): Promise<{ readonly assumed?: number }> {
    if (this.#paid === null) return {};
    const { from, token, next } = this.#paid;
    this.#paid = null;
    const cost = usage?.reduce((sum, { cost: one = 0 }) => sum + one, 0);
    // A cost that cannot be told counts as it was reserved.
    for (const budget of from)
      await budget.settle({ key: this.#call.key, token }, cost ?? next ?? 0).catch(() => {});
    return cost === undefined && next !== null && next > 0 ? { assumed: next } : {};
  }
}

export function quotaRunOf({ journal }: Pick<CallEngine, "journal">): QuotaRun {
  const { runId, workflow, tags = {}, scope } = journal.state.summary;
  return { runId, workflow, tags, scope };
}
