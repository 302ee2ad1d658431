/** What a run has used, as its head prints it: with its children, in the same words as `durable show`. */

import { spentTexts } from "@durable/core/inspect";
import type { ChildSums, RunPage } from "../../src/api.ts";

export interface Figure {
  readonly name: "Tokens" | "Spent";
  readonly value: string;
  readonly note: string;
}

/** Tokens and money; what is nothing or unknown is left out. */
export function spentFigures({ rows, totals }: Pick<RunPage, "rows" | "totals">, sums: ChildSums): Figure[] {
  const struck = rows.reduce<number>((sum, row) => sum + (row.struck === undefined ? 0 : (row.cost ?? 0)), 0);
  const texts = spentTexts(totals.spent, { sums, struck });
  const figures: readonly Figure[] = [
    { name: "Tokens", value: texts.tokens, note: texts.tokensNote },
    { name: "Spent", value: texts.cost, note: texts.costNote },
  ];
  return figures.filter(({ value }) => value !== "");
}
