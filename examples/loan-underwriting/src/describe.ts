/** A call's value in a few words for the screen. */

import type { Decision } from "./loan.ts";
import type { Comparables, CreditReport } from "./records.ts";

export function describe(key: string, value: unknown): string {
  switch (key.split("/").at(-1)) {
    case "pull":
      return `score ${(value as CreditReport).score}`;
    case "search":
      return `${(value as Comparables).sales.length} sales nearby`;
    case "assess":
      return `up to ${money((value as { limit: number }).limit)}`;
    case "value":
      return `worth ${money((value as { value: number }).value)}`;
    case "review":
      return reviewed(value as { approved: boolean; limit?: number; value?: number });
    case "decide":
      return decided(value as Decision);
    default:
      return "";
  }
}

export function decided({ kind, amount }: Decision): string {
  return kind === "decline" ? kind : `${kind} ${money(amount)}`;
}

function reviewed({
  approved,
  limit,
  value,
}: {
  readonly approved: boolean;
  readonly limit?: number;
  readonly value?: number;
}): string {
  const own = limit ?? value;
  return `${approved ? "approved" : "rejected"}${own === undefined ? "" : `, ${money(own)}`}`;
}

/** An amount as text, the same on every machine. */
export function money(amount: number): string {
  return amount.toLocaleString("en-US");
}
