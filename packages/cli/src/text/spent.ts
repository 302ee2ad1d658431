/** What a run has used, with its children: for screens and for machines. */

import {
  allRows,
  costIn,
  runSpent,
  spendOf,
  spentTexts,
  type ChildSum,
  type Prices,
  type RunSpent,
  type RunView,
} from "@durable/core/inspect";
import type { RunHead } from "@durable/core";

/** What the children of a run have used, as `childSums` gives it. */
export type ChildSums = Readonly<Record<string, ChildSum>>;

interface SpentOptions {
  readonly prices?: Prices | undefined;
  readonly sums?: ChildSums | undefined;
}

/** `spent $0.168 ($0.10 in 2 children), 26.2k tokens (22.8k in, 3.4k out)`; empty for a run that used nothing. */
export function spentLine(view: RunView, { prices, sums = {} }: SpentOptions): string {
  const struck = allRows(view).flatMap((row) => (row.struck === undefined ? [] : row.usage));
  const texts = spentTexts(view.totals.spent, { sums, struck: spendOf(struck, prices).cost });
  const parts = [
    ...(texts.cost === "" ? [] : [noted(texts.cost, texts.costNote)]),
    ...(texts.tokens === "" ? [] : [noted(`${texts.tokens} tokens`, texts.tokensNote)]),
  ];
  return parts.length === 0 ? "" : `spent ${parts.join(", ")}`;
}

function noted(text: string, note: string): string {
  return note === "" ? text : `${text} (${note})`;
}

/** The same as numbers. */
export function spentJson({ totals }: RunView, sums: ChildSums = {}): { readonly spent: RunSpent } {
  return { spent: runSpent(totals.spent, sums) };
}

/** Cost and tokens of a listed run by itself: its children have lines of their own. Nothing for a run that used nothing. */
export function ownSpent(
  { usage = [] }: Pick<RunHead, "usage">,
  prices?: Prices,
): { readonly cost?: number | null; readonly tokens?: number } {
  if (usage.length === 0) return {};
  const tokens = usage.reduce((sum, row) => sum + row.inputTokens + row.outputTokens, 0);
  return { cost: costIn({ usage }, prices), tokens };
}
