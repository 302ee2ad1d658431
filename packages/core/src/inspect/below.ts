/**
 * What the children of a run have used, with all below them. It is read from heads, so it costs a few lists and no journal.
 * And what a run has used with its children, as numbers and as texts: the same ones on the page, in the command line and over MCP.
 * Proven in packages/cli/test/sums.test.ts.
 */

import type { ListPage } from "../ports/storage.ts";
import type { ListedRun } from "../runs/list.ts";
import type { Prices } from "../values/usage.ts";
import { costText, countText } from "./figures.ts";
import { spendOf, type Spend } from "./spend.ts";

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

/** Tokens, and what they cost; `null` when that is not known of all of them. */
export interface Spent {
  readonly tokens: number;
  readonly cost: number | null;
}

/** What a run has used by itself, in its children with all below them, and in all. */
export interface RunSpent {
  readonly own: Spent;
  /** `null` for a run without children. `count` are children, without those below them; `more`: not all could be read. */
  readonly children: (Spent & { readonly count: number; readonly more: boolean }) | null;
  readonly all: Spent;
}

type Sums = Readonly<Record<string, ChildSum>>;

/** Adds what the children of a run have used, as `childSums` gives it, to what the run has used by itself. */
export function runSpent(spent: Spend, sums: Sums): RunSpent {
  const own = { tokens: spent.inputTokens + spent.outputTokens, cost: spent.cost };
  const below = Object.values(sums);
  if (below.length === 0) return { own, children: null, all: own };
  const children = {
    count: below.length,
    tokens: below.reduce((sum, { tokens }) => sum + tokens, 0),
    cost: below.reduce<number | null>((sum, { cost }) => added(sum, cost), 0),
    more: below.some(({ more }) => more),
  };
  // What used nothing costs nothing, with prices or without.
  const cost = added(spent.usage.length === 0 ? 0 : own.cost, children.cost);
  return { own, children, all: { tokens: own.tokens + children.tokens, cost } };
}

function added(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

/** The texts for what a run has used: in all, and below it how much of that is where. Empty for what is nothing or unknown. */
export interface SpentTexts {
  readonly cost: string;
  readonly costNote: string;
  readonly tokens: string;
  readonly tokensNote: string;
}

/** What a run has used with its children, in words. `struck` is what was paid for work that a retry struck. */
export function spentTexts(spent: Spend, { sums, struck }: SpentTextsOptions): SpentTexts {
  const { own, children, all } = runSpent(spent, sums);
  const least = children?.more === true ? "at least " : "";
  const inChildren =
    children === null ? "" : `in ${children.count === 1 ? "1 child" : `${children.count} children`}`;
  // Of children without a known price nothing is added, which the text says.
  const isPart = all.cost === null && money(own.cost) !== "";
  const costNotes = [
    children !== null && money(children.cost) !== "" ? `${money(children.cost)} ${inChildren}` : "",
    isPart ? `without what is ${inChildren}` : "",
    money(struck) === "" ? "" : `${money(struck)} before the retry`,
  ];
  const cost = isPart ? money(own.cost) : money(all.cost);
  return {
    cost: cost === "" ? "" : `${least}${cost}`,
    costNote: cost === "" ? "" : costNotes.filter(Boolean).join(", "),
    tokens: all.tokens === 0 ? "" : `${least}${countText(all.tokens)}`,
    tokensNote:
      all.tokens === 0
        ? ""
        : [
            `${countText(spent.inputTokens)} in`,
            `${countText(spent.outputTokens)} out`,
            ...(children === null || children.tokens === 0
              ? []
              : [`${countText(children.tokens)} ${inChildren}`]),
          ].join(", "),
  };
}

function money(amount: number | null): string {
  return amount === null || amount === 0 ? "" : costText(amount);
}

/** Options of `spentTexts`. */
export interface SpentTextsOptions {
  readonly sums: Sums;
  readonly struck: number | null;
}
