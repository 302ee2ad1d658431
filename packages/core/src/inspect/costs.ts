/**
 * The cost of some days: by day and model, by workflow, label and tag, and what forks did not have to pay again. From heads alone,
 * those of these days and those of open runs. Proven in test/inspect/pulse.test.ts.
 *
 * costs.1. Usage counts on the day on which it was recorded, whatever the age of its run.
 * costs.2. Inherited usage of a fork is saved on the day on which the fork began.
 */

import type { RunDuring, RunHead, Storage } from "../ports/storage.ts";
import { duringOf, hasEnded } from "../ports/storage-kit.ts";
import { atOnce } from "../values/limits.ts";
import { costOf, dayOf, type Prices, type SpentRow, type UsageRow } from "../values/usage.ts";
import { mostDuring, rankOf } from "./pulse.ts";
import { evalOf, isOfProduction } from "./spend.ts";

/** Open runs of each status that are read at most. */
const mostOpen = 5_000;

/** A sum of usage. */
export interface CostSum {
  readonly cost: number;
  /** True when some usage has no price: it cost more. */
  readonly unpriced: boolean;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
}

/** A row of a table of costs. */
export interface CostRow extends CostSum {
  readonly key: string;
  /** Runs that used something, or saved it. */
  readonly runs: number;
  /** What runs inherited, and so did not pay again. */
  readonly saved: number;
  /** The cost of the dearest of them. */
  readonly top: number;
}

/** The sums that `costsOf` finds. */
export interface Costs {
  /** All days of the time, in UTC, in their order. */
  readonly days: readonly {
    readonly day: string;
    readonly cost: number;
    readonly saved: number;
    /** By model, those without a price left out. */
    readonly models: Readonly<Record<string, number>>;
  }[];
  readonly total: CostRow;
  /** What failed runs had cost. */
  readonly failed: { readonly cost: number; readonly runs: number };
  /** Per run that used something; `null` when none did. */
  readonly perRun: { readonly median: number; readonly p95: number } | null;
  readonly workflows: readonly CostRow[];
  readonly models: readonly CostRow[];
  readonly labels: readonly CostRow[];
  /** `name=value`; runs without a tag have the empty key. */
  readonly tags: readonly CostRow[];
  /** The runs that cost most, by id. */
  readonly dearest: readonly { readonly runId: string; readonly cost: number; readonly tokens: number }[];
  /** True when there were more runs than are read: the oldest are missing. */
  readonly more: boolean;
  /** False where the storage forgets what deleted runs used. */
  readonly keepsPurged: boolean;
}

/** Options of `costsOf`: whole days, in UTC. */
export interface CostsOptions {
  readonly since: number;
  readonly until: number;
  readonly prices?: Prices | undefined;
}

const dayMs = 86_400_000;
const mostRows = 200;
const mostDearest = 10;

/** Sums of the cost of some days; `null` where the storage cannot find the runs of a time. */
export async function costsIn(storage: Storage, options: CostsOptions): Promise<Costs | null> {
  if (storage.during === undefined) return null;
  const { runs, more } = await runsOf(storage, options);
  const sums = new Sums(options);
  for (const run of runs) if (isOfProduction(run)) sums.add(run);
  for (const row of (await storage.spent?.()) ?? []) if (evalOf(row) === undefined) sums.addPurged(row);
  return { ...sums.result(), more, keepsPurged: storage.spent !== undefined };
}

/** Runs that began then, that ended then, and that are open: no other can have used anything then. */
async function runsOf(
  storage: Storage,
  { since, until }: { readonly since: number; readonly until: number },
): Promise<{ readonly runs: readonly RunDuring[]; readonly more: boolean }> {
  const time = { after: since, before: until, limit: mostDuring };
  const created = (await storage.during?.({ ...time, by: "created" })) ?? [];
  // A run may have ended after the days that are asked for.
  const ended = (await storage.during?.({ ...time, by: "ended", before: Infinity })) ?? [];
  const open = await Promise.all(
    (["running", "suspended", "paused", "blocked"] as const).map((status) => openRuns(storage, status)),
  );
  const older = [...ended, ...open.flatMap(({ runs }) => runs)].filter(({ createdAt }) => createdAt < since);
  const more = [created, ended].some(({ length }) => length === mostDuring) || open.some((one) => one.more);
  return { runs: [...created, ...older], more };
}

async function openRuns(
  storage: Storage,
  status: "running" | "suspended" | "paused" | "blocked",
): Promise<{ readonly runs: RunDuring[]; readonly more: boolean }> {
  const heads: RunHead[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await storage.list({ status, limit: atOnce.listed, cursor });
    heads.push(...page.runs);
    cursor = page.next;
  } while (cursor !== null && heads.length < mostOpen);
  const runs = heads.filter((head) => head.blocked?.code !== "corrupt").map(duringOf);
  return { runs, more: cursor !== null };
}

interface Sum {
  cost: number;
  unpriced: boolean;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  saved: number;
  runs: number;
  top: number;
  /** The run that was counted last. */
  last: RunDuring | null;
}

const nothing = (): Sum => ({
  cost: 0,
  unpriced: false,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  saved: 0,
  runs: 0,
  top: 0,
  last: null,
});

type Table = Map<string, Sum>;
type Used = UsageRow | SpentRow;

class Sums {
  readonly #options: CostsOptions;
  readonly #total = nothing();
  readonly #days = new Map<string, Sum & { models: Map<string, number> }>();
  readonly #tables = { workflow: new Map(), model: new Map(), label: new Map(), tag: new Map() } as Record<
    "workflow" | "model" | "label" | "tag",
    Table
  >;
  readonly #runs: { runId: string; cost: number; tokens: number }[] = [];
  readonly #failed = { cost: 0, runs: 0 };

  constructor(options: CostsOptions) {
    this.#options = options;
    for (let at = options.since; at < options.until; at += dayMs)
      this.#days.set(dayOf(at), { ...nothing(), models: new Map() });
  }

  add(run: RunDuring): void {
    const { runId, usage = [], inherited = [], status } = run;
    let [cost, tokens] = [0, 0];
    for (const row of usage) {
      if (!this.#days.has(row.day)) continue;
      cost += this.#use(row, run, this.#keysOf(run, row)) ?? 0;
      tokens += row.inputTokens + row.outputTokens;
    }
    if (tokens > 0) this.#runs.push({ runId, cost, tokens });
    const own = this.#tables.workflow.get(run.workflow);
    if (own !== undefined) own.top = Math.max(own.top, cost);
    if (tokens > 0 && hasEnded(run) && status === "failed") {
      this.#failed.cost += cost;
      this.#failed.runs += 1;
    }
    const day = this.#days.get(dayOf(run.createdAt));
    if (day === undefined) return;
    for (const row of inherited) {
      const saved = this.#costOf(row) ?? 0;
      for (const sum of [this.#total, day, ...this.#keysOf(run, row)]) {
        sum.saved += saved;
        count(sum, run);
      }
    }
  }

  /** What a deleted run used: for what and with which tags is no longer known. */
  addPurged(row: SpentRow): void {
    if (!this.#days.has(row.day)) return;
    const { workflow, model, label, tag } = this.#tables;
    this.#use(row, null, [
      sumIn(workflow, row.workflow),
      sumIn(model, row.model),
      sumIn(label, "purged"),
      sumIn(tag, "purged"),
    ]);
  }

  #costOf(row: Used): number | null {
    return row.cost ?? costOf(row, this.#options.prices);
  }

  #use(row: Used, run: RunDuring | null, keyed: readonly Sum[]): number | null {
    const cost = this.#costOf(row);
    const day = this.#days.get(row.day);
    if (day === undefined) return null;
    if (cost !== null) day.models.set(row.model, (day.models.get(row.model) ?? 0) + cost);
    for (const sum of [this.#total, day, ...keyed]) {
      sum.cost += cost ?? 0;
      sum.unpriced ||= cost === null;
      sum.inputTokens += row.inputTokens;
      sum.cachedInputTokens += row.cachedInputTokens ?? 0;
      sum.outputTokens += row.outputTokens;
      if (run !== null) count(sum, run);
    }
    return cost;
  }

  #keysOf({ workflow, tags = {} }: RunDuring, row: UsageRow): Sum[] {
    const named = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
    return [
      sumIn(this.#tables.workflow, workflow),
      sumIn(this.#tables.model, row.model),
      sumIn(this.#tables.label, `${workflow} / ${row.label}`),
      ...(named.length === 0 ? [""] : named).map((tag) => sumIn(this.#tables.tag, tag)),
    ];
  }

  result(): Omit<Costs, "more" | "keepsPurged"> {
    const costs = this.#runs.map(({ cost }) => cost).toSorted((a, b) => a - b);
    const [median, p95] = [rankOf(costs, 0.5), rankOf(costs, 0.95)];
    const days = [...this.#days].map(([day, { cost, saved, models }]) => {
      return { day, cost, saved, models: Object.fromEntries(models) };
    });
    return {
      days,
      total: rowOf("", this.#total),
      failed: this.#failed,
      perRun: median === null || p95 === null ? null : { median, p95 },
      workflows: rowsOf(this.#tables.workflow),
      models: rowsOf(this.#tables.model),
      labels: rowsOf(this.#tables.label),
      tags: rowsOf(this.#tables.tag),
      dearest: this.#runs.toSorted((a, b) => b.cost - a.cost || b.tokens - a.tokens).slice(0, mostDearest),
    };
  }
}

function sumIn(table: Table, key: string): Sum {
  const sum = table.get(key) ?? nothing();
  table.set(key, sum);
  return sum;
}

function count(sum: Sum, run: RunDuring): void {
  if (sum.last !== run) sum.runs += 1;
  sum.last = run;
}

function rowOf(key: string, sum: Sum): CostRow {
  const { cost, unpriced, inputTokens, cachedInputTokens, outputTokens, saved, runs, top } = sum;
  return { key, cost, unpriced, inputTokens, cachedInputTokens, outputTokens, saved, runs, top };
}

function rowsOf(table: Table): CostRow[] {
  const rows = [...table].map(([key, sum]) => rowOf(key, sum));
  const tokens = ({ inputTokens, outputTokens }: CostRow): number => inputTokens + outputTokens;
  return rows.toSorted((a, b) => b.cost - a.cost || tokens(b) - tokens(a)).slice(0, mostRows);
}
