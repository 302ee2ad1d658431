/** A head for tests that append to a storage directly. */

import type { RunHead } from "@durable/core";

export const head: RunHead = {
  locator: "abc",
  runId: "r",
  workflow: "w",
  status: "running",
  wakeAt: 0,
  dueSince: 1,
  createdAt: 1,
  updatedAt: 1,
  steps: 0,
  label: null,
  parent: null,
  ancestors: [],
};
