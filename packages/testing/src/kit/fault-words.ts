/** Faults in words that fit over a column. */

import type { Fault } from "../faults.ts";
import type { Point } from "./points.ts";

export const heads: Readonly<Record<Fault, string>> = {
  "crash-before": "dies before",
  "crash-after": "dies after",
  "crash-then-apply": "lands late",
  "lose-reply": "reply lost",
  "lose-request": "request lost",
  conflict: "refused",
};

/** `append 9, dies before` */
export function whereOf({ point, fault }: { readonly point: Point; readonly fault: Fault }): string {
  return `${point.operation} ${point.index}, ${heads[fault]}`;
}
