/**
 * Budgets: how much a run, a branch, or a run with all runs below it may spend.
 *
 * budget.1. Only a call without a record is checked, before each of its attempts. Replayed, reused and inherited work costs
 *     nothing.
 * budget.2. Sums are read from the journal: the run's own work, every attempt. A call whose usage is not known counts as
 *     it was estimated. So every life of the run comes to the same sum.
 * budget.3. Calls at the limit share one question. It belongs to the budget, and not to the code, which asks for nothing.
 * budget.4. A call that has begun goes on. So the limit is passed by the calls that are under way at most; a step counts as one
 *     call, whatever is called inside of it.
 * budget.5. Nothing is checked while a run undoes its work.
 */

import type { Entry, TreeBudget } from "../journal/entry.ts";
import { isWithin } from "../journal/keys.ts";
import { decode } from "../values/codec/decode.ts";
import { encode } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError, show } from "../values/errors.ts";
import type { CallEngine } from "./calls/call.ts";
import { suspend } from "./calls/suspend.ts";
import { logOf } from "./log.ts";
import type { Scope } from "./scope.ts";
import { failure } from "./stop.ts";
import {
  answerSchema,
  fits,
  invalid,
  moreOf,
  type Budget,
  type BudgetOptions,
  type BudgetsOfRun,
  type Checked,
  type OverBudget,
  type ScopeBudget,
} from "./budgeting.ts";

/** The budgets of one execution, by scope. */
export class Budgets implements BudgetsOfRun {
  readonly #engine: CallEngine;
  readonly #byScope = new Map<Scope, OwnBudget[]>();

  constructor(engine: CallEngine) {
    this.#engine = engine;
  }

  /** Equal options are the same budget. */
  add(scope: Scope, given: number | BudgetOptions, tree?: TreeBudget): Budget {
    const budgets = this.#byScope.get(scope) ?? [];
    const options = typeof given === "number" ? { most: given } : given;
    const same = budgets.find((one) => one.inherited === tree && areEqual(one.options, options));
    if (same !== undefined) return same;
    const budget = new OwnBudget(this.#engine, scope, { options, tree, order: budgets.length + 1 });
    this.#byScope.set(scope, [...budgets, budget]);
    return budget;
  }

  /** The budgets that a call in this scope spends from. Budgets of trees come last, because they reserve. */
  over(scope: Scope): OwnBudget[] {
    if (this.#byScope.size === 0) return [];
    const found: OwnBudget[] = [];
    for (let at: Scope | null = scope; at !== null; at = at.parent)
      found.push(...(this.#byScope.get(at) ?? []));
    return found.toSorted((a, b) => Number(a.tree !== null) - Number(b.tree !== null));
  }

  /** The budgets that runs below a call in this scope spend from. */
  trees(scope: Scope): TreeBudget[] {
    return this.over(scope).flatMap(({ tree }) => tree ?? []);
  }

  /** What people have added to each budget of the run itself. Of a tree, its sums have it. */
  raised(scope: Scope): readonly number[] {
    return (this.#byScope.get(scope) ?? []).map(({ tree, raised }) => (tree === null ? raised : 0));
  }
}

/** The most rows that a question shows. */
const shownRows = 5;

/** A run of a tree that asks checks by itself whether an answer to another one has made room. */
const [soonestMs, latestMs] = [120_000, 3_600_000];

/** What is asked, and the calls that wait for the answer. */
interface Question {
  readonly scope: Scope;
  readonly waiting: Set<Checked>;
}

class OwnBudget implements ScopeBudget {
  readonly options: BudgetOptions;
  readonly tree: TreeBudget | null;
  /** The tree of a run above this one. */
  readonly inherited: TreeBudget | undefined;
  readonly #engine: CallEngine;
  readonly #scope: Scope;
  readonly #path: string;
  readonly #name: string;
  /** Its place among the budgets of its scope. */
  readonly #order: number;
  /** Entries that were read, and what they say. */
  #seen = 0;
  #assumed = 0;
  #used = 0;
  #unpriced: string | null = null;
  #asked = 0;
  #raises: Record<string, number> = {};
  #last: { readonly seq: number; readonly more: number } | null = null;
  /** The limit that a function has set. */
  #most: number;
  #question: Question | null = null;
  #warned = 0;

  constructor(
    engine: CallEngine,
    scope: Scope,
    { options, tree, order }: { options: BudgetOptions; tree: TreeBudget | undefined; order: number },
  ) {
    this.#engine = engine;
    this.#scope = scope;
    this.options = options;
    const { runId, nonce, state } = engine.journal;
    this.#path = scope.path === "" ? "budget" : `${scope.path}/budget`;
    this.#order = order;
    this.#name = order === 1 ? "limit" : `limit ${order}`;
    this.inherited = tree;
    // The budget of a run holds for all of its chapters, each of which has a nonce of its own.
    const since = scope.path === "" ? state.summary.createdAt : nonce;
    const own =
      options.tree === true ? treeOf(options, `${runId}:${since}:${this.#path}/${this.#name}`) : null;
    this.tree = tree ?? own;
    this.#most = options.most;
    // Its questions and answers are not asked for by the code.
    engine.calls.close(this.#path);
    // Asked at once, so that an answer to it is checked where it is given.
    if (this.#openQuestion() !== undefined) this.#question = this.#ask(this.#over(0), "");
  }

  get spent(): number {
    this.#learn();
    const { summary } = this.#engine.journal.state;
    // Sums of a run have also what an earlier chapter used, and what a retry has struck.
    const used =
      this.#scope.path === ""
        ? (summary.usage ?? []).reduce((sum, { cost = 0 }) => sum + cost, 0)
        : this.#used;
    return used + this.#assumed;
  }

  get most(): number {
    return this.#most + this.raised;
  }

  get raised(): number {
    this.#learn();
    const { first } = this.#engine.journal;
    const isLater = this.#scope.path === "" && first.kind === "run.continued";
    const before = isLater ? (first.raised?.[this.#order - 1] ?? 0) : 0;
    return Object.values(this.#raises).reduce((sum, more) => sum + more, before);
  }

  /** True when the call may be made. Otherwise it is checked again later, or never. */
  async admit(call: Checked, next: number): Promise<boolean> {
    this.#learn();
    if (this.#unpriced !== null)
      throw invalid(
        `Run ${this.#engine.journal.runId} has a budget, and the price of ${show(this.#unpriced)} is not known. Add it to createApp({ prices }).`,
      );
    const open = this.#openQuestion();
    // Its verdict comes first.
    if (open !== undefined && open.answers.length > 0) return this.#wait(call, this.#over(next));
    const { granted, ...sums } = await this.#take(call, next);
    this.#warn(sums);
    if (granted) {
      // There may be room for this call, and none for the one that asks.
      if (open !== undefined && fits(sums.spent, nextOf(open.opened.note), sums.most)) this.#closeQuestion();
      return true;
    }
    const over = { ...this.#over(next), ...sums };
    const { onLimit = "suspend" } = this.options;
    const ended =
      this.#last !== null && this.#last.more === 0 && this.#last.seq > this.#engine.journal.state.life;
    if (onLimit === "fail" || ended) return this.#fail(over);
    if (onLimit === "suspend") return this.#wait(call, over);
    const most = await onLimit(over);
    if (most === false || !(most > sums.most)) return this.#fail(over);
    this.#most += most - sums.most;
    return this.admit(call, next);
  }

  /** The call has ended, or is not made. */
  async settle({ key, token }: Pick<Checked, "key" | "token">, cost: number | null): Promise<void> {
    if (this.tree !== null)
      await this.#engine.options.trees.settle(this.tree, { id: this.#idOf(key), token }, cost);
  }

  #idOf(key: string): string {
    return `${this.#engine.journal.runId}/${key}`;
  }

  async #take(
    { key, token }: Checked,
    next: number,
  ): Promise<{ spent: number; most: number; granted: boolean }> {
    if (this.tree !== null)
      return this.#engine.options.trees.take(
        { ...this.tree, most: this.#most },
        { id: this.#idOf(key), token },
        next,
        { raises: this.#raises, own: this.#used + this.#assumed },
      );
    const { spent, most } = this;
    return { spent, most, granted: fits(spent, next, most) };
  }

  /** Reads what the journal has said since: what was used, and what was answered. */
  #learn(): void {
    const { journal, replay } = this.#engine;
    const { entries, first } = journal;
    if (entries.length < this.#seen) {
      [this.#seen, this.#assumed, this.#used, this.#asked] = [0, 0, 0, 0];
      this.#raises = {};
    }
    const base = first.kind === "run.forked" ? first.base : 0;
    for (; this.#seen < entries.length; this.#seen++) {
      const entry = entries[this.#seen] as Entry;
      if (!("key" in entry)) continue;
      if (entry.seq > base && "startedAt" in entry && this.#covers(entry.key)) {
        this.#assumed += entry.assumed ?? 0;
        for (const { cost, model } of entry.usage ?? []) {
          this.#used += cost ?? 0;
          if (cost === undefined) this.#unpriced = model;
        }
      }
      if (!this.#isQuestion(entry.key)) continue;
      if (/\.(resolved|closed|expired)$/.test(entry.kind)) this.#asked += 1;
      // The answer to another run adds nothing to its fork.
      if (entry.kind !== "suspend.resolved" || entry.seq <= base) continue;
      const more =
        entry.rejects === true ? 0 : moreOf(decode(replay.answer(entry), `answer to ${entry.key}`));
      this.#raises = { ...this.#raises, [entry.wait]: more };
      this.#last = { seq: entry.seq, more };
    }
  }

  #covers(key: string): boolean {
    return this.#scope.path === "" || isWithin(key, this.#scope.path);
  }

  #isQuestion(key: string): boolean {
    const first = `${this.#path}/${this.#name}`;
    return key === first || key.startsWith(`${first}#`);
  }

  #openQuestion() {
    const { state } = this.#engine.journal;
    return state.openWaits({ answered: true }).find(({ opened }) => this.#isQuestion(opened.key));
  }

  /** The sums, by the journal of this run alone. */
  #over(next: number): OverBudget {
    const { runId, state } = this.#engine.journal;
    const by = (state.summary.usage ?? [])
      .map(({ label, model, cost = 0 }) => ({ label, model, cost: money(cost) }))
      .toSorted((a, b) => b.cost - a.cost)
      .slice(0, shownRows);
    return { runId, spent: this.spent, most: this.most, next, by };
  }

  /** The call waits for the answer that is asked for, or for one that is recorded. */
  #wait(call: Checked, over: OverBudget): false {
    const question = (this.#question ??= this.#ask(over, call.label));
    question.waiting.add(call);
    if (this.tree === null) return false;
    const { world } = this.#engine;
    const asking = world.now() - (this.#openQuestion()?.opened.at ?? world.now());
    call.again(world.now() + Math.min(Math.max(asking / 2, soonestMs), latestMs));
    return false;
  }

  #ask(over: OverBudget, label: string): Question {
    this.#learn();
    const scope = this.#scope.inner(this.#path);
    for (let i = 0; i < this.#asked; i++) scope.count(this.#name);
    const question = { scope, waiting: new Set<Checked>() };
    const note = {
      question: questionOf(over, label),
      ...over,
      spent: money(over.spent),
      next: money(over.next),
    };
    const asked = suspend(
      this.#engine,
      { scope, name: this.#name, own: true },
      { note, schema: answerSchema },
    );
    const answered = (): void => {
      this.#question = null;
      for (const call of question.waiting) call.again(0);
    };
    asked.then(answered, answered);
    return question;
  }

  /** There is room again, without an answer. */
  #closeQuestion(): void {
    const { scope, waiting } = this.#question ?? this.#ask(this.#over(0), "");
    this.#question = null;
    scope.close("closed");
    for (const call of waiting) call.again(0);
  }

  #fail(over: OverBudget): false {
    const { runId, spent, most, next, by } = over;
    const on = by.map(({ label, model, cost }) => `${cost} for ${label} (${model})`).join(", ");
    const error = new DurableError(
      "over-budget",
      `Run ${runId} has spent ${money(spent)} of its budget of ${money(most)}${on === "" ? "" : `: ${on}`}.${next > 0 ? ` The next call would cost about ${money(next)}.` : ""} Raise the budget, and retry the run.`,
      { details: { spent, most, next, by } },
    );
    if (this.#scope.path !== "") throw error;
    this.#engine.finish(failure(error, runId));
    return false;
  }

  /** Near the limit, once for each limit in each life of the run. */
  #warn({ spent, most }: { readonly spent: number; readonly most: number }): void {
    const { warnAt = 0.8 * most } = this.options;
    if (spent < warnAt || spent === 0 || this.#warned === most) return;
    this.#warned = most;
    const sums = { spent: money(spent), most: money(most) };
    const { journal, options } = this.#engine;
    logOf(this.#engine, this.#scope.path).warn(
      `the budget is nearly used up: ${sums.spent} of ${sums.most}`,
      sums,
    );
    options.watch.observer?.budget(sums);
    if (journal.state.report !== null) return;
    const value = encode({ budget: sums }, `report of run ${journal.runId}`);
    const after = this.#engine.replay.delivered;
    this.#engine.writeWithNext({ kind: "report.set", key: `${this.#path}/report`, after, value });
  }
}

function areEqual(a: BudgetOptions, b: BudgetOptions): boolean {
  return (
    a.most === b.most &&
    (a.onLimit ?? "suspend") === (b.onLimit ?? "suspend") &&
    a.warnAt === b.warnAt &&
    (a.tree ?? false) === (b.tree ?? false)
  );
}

function treeOf({ most, onLimit }: BudgetOptions, id: string): TreeBudget {
  return { id, most, ...(onLimit === "fail" && { onLimit }) };
}

function questionOf({ spent, most, next }: OverBudget, label: string): string {
  const about = next > 0 ? ` "${label}" would cost about ${money(next)}.` : ` Next is "${label}".`;
  return `The run has spent ${money(spent)} of its budget of ${money(most)}.${about} How much more may it spend? 0 ends it.`;
}

/** The cost of the call that asked, from the note of its question. */
function nextOf(note: Json): number {
  const { next } = Object(decode(note, "note of a budget")) as { readonly next?: unknown };
  return typeof next === "number" ? next : 0;
}

/** Without the digits that sums of fractions make up. */
function money(amount: number): number {
  return Number(amount.toPrecision(6));
}
