/** Runs as core writes them, without an engine. */

import type { AppendRequest, RunHead } from "../../../../src/ports/storage.ts";

export function headOf(locator: string, changes: Partial<RunHead> = {}): RunHead {
  return {
    locator,
    runId: locator,
    workflow: "sample",
    status: "running",
    wakeAt: 1,
    dueSince: changes.wakeAt === undefined ? 1 : changes.wakeAt,
    createdAt: 1,
    updatedAt: 1,
    steps: 0,
    label: null,
    parent: null,
    ancestors: [],
    ...changes,
  };
}

export function request(locator: string, position: number, batch = `${locator} ${position}`): AppendRequest {
  return { locator, position, batch, head: headOf(locator) };
}

/** Numbers that look random and are the same every time. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
