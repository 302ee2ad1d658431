/**
 * What the children of a run have used, with all below them. It is read from heads, so it costs a few lists and no journal.
 * Proven in packages/dashboard/test/children.test.ts.
 */

import type { ListPage } from "../ports/storage.ts";
import type { ListedRun } from "../runs/list.ts";
import type { Prices } from "../values/usage.ts";
import { spendOf } from "./spend.ts";

/** What a child has used, with all children below it. */
export interface ChildSum {
  /** How many runs that are, with the child itself. */
  readonly runs: number;
  readonly tokens: number;
  /** `null` when it is not known of every run. */
  readonly cost: number | null;
  /** True when there are more runs than were read. */
  readonly more: boolean;
}

/** Options of `childSums`. */
export interface ChildSumsOptions {
  readonly prices?: Prices | undefined;
  /** How many runs are read at most. */
  readonly most?: number | undefined;
  /** Leaves out runs that may not be read. */
  readonly readable?: ((runs: readonly ListedRun[]) => Promise<readonly ListedRun[]>) | undefined;
}

/** An app, or what else lists runs. */
interface Lists {
  readonly list: (query: {
    parent: string;
    limit: number;
    cursor: string | null | undefined;
  }) => Promise<ListPage<ListedRun>>;
}

const page = 100;

/** What each child of a run has used, by its id. A fork is not a child. */
export async function childSums(
  app: Lists,
  runId: string,
  { prices, most = 500, readable = (runs) => Promise.resolve(runs) }: ChildSumsOptions = {},
): Promise<Readonly<Record<string, ChildSum>>> {
  const sums = new Map<string, ChildSum>();
  /** Runs whose children are still to be read, with the child that they are below of. */
  const left: { readonly runId: string; readonly child: string | null }[] = [{ runId, child: null }];
  let read = 0;
  for (let at = left.shift(); at !== undefined; at = left.shift()) {
    const { child } = at;
    for (let cursor: string | null | undefined; cursor !== null;) {
      if (read >= most) {
        if (child !== null) sums.set(child, { ...sumOf(sums, child), more: true });
        break;
      }
      const { runs, next } = await app.list({ parent: at.runId, limit: page, cursor });
      read += Math.max(1, runs.length);
      for (const head of await readable(runs.filter(({ ancestors }) => ancestors.length === 0))) {
        const top = child ?? head.runId;
        sums.set(top, plus(sumOf(sums, top), head, prices));
        left.push({ runId: head.runId, child: top });
      }
      cursor = next;
    }
  }
  return Object.fromEntries(sums);
}

function sumOf(sums: ReadonlyMap<string, ChildSum>, child: string): ChildSum {
  return sums.get(child) ?? { runs: 0, tokens: 0, cost: 0, more: false };
}

function plus(sum: ChildSum, { usage = [] }: ListedRun, prices: Prices | undefined): ChildSum {
  const spend = spendOf(usage, prices);
  const price = usage.length === 0 ? 0 : spend.cost;
  return {
    ...sum,
    runs: sum.runs + 1,
    tokens: sum.tokens + spend.inputTokens + spend.outputTokens,
    cost: sum.cost === null || price === null ? null : sum.cost + price,
  };
}
