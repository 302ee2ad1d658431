/** Forks below the run they come from. */

import type { RunItem } from "../../src/api.ts";

export interface ListLine {
  readonly item: RunItem;
  readonly depth: number;
}

/** Each group stands where the first of its runs stands, so that a blocked fork lifts its parent. */
export function grouped(items: readonly RunItem[]): ListLine[] {
  const known = new Map(items.map((item) => [item.runId, item]));
  const below = new Map<string, RunItem[]>();
  for (const item of items) {
    if (item.parent === null || !known.has(item.parent)) continue;
    const siblings = below.get(item.parent) ?? [];
    siblings.push(item);
    below.set(item.parent, siblings);
  }
  const lines: ListLine[] = [];
  const placed = new Set<string>();
  const place = (item: RunItem, depth: number): void => {
    if (placed.has(item.runId)) return;
    placed.add(item.runId);
    lines.push({ item, depth });
    for (const fork of below.get(item.runId) ?? []) place(fork, depth + 1);
  };
  for (const item of items) if (!placed.has(item.runId)) place(topOf(item, known), 0);
  return lines;
}

function topOf(item: RunItem, known: ReadonlyMap<string, RunItem>): RunItem {
  const seen = new Set<string>();
  let top = item;
  while (top.parent !== null && known.has(top.parent) && !seen.has(top.runId)) {
    seen.add(top.runId);
    top = known.get(top.parent) as RunItem;
  }
  return top;
}
