/** Heads and requests for tests that speak to the storage directly. */

import type { RunHead } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";

let made = 0;

export function headOf(changes: Partial<RunHead> = {}): RunHead {
  const locator = changes.locator ?? `t${String(++made).padStart(17, "0")}`;
  return {
    locator,
    runId: `run ${locator}`,
    workflow: "loan",
    status: "running",
    wakeAt: 0,
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

export function request(head: RunHead, position: number, more: Partial<AppendRequest> = {}): AppendRequest {
  return { locator: head.locator, position, batch: `batch ${position}`, head, ...more };
}
