/** What the engine tells people: each names the run, what was found, and the way out. */

import { DurableError } from "../errors.ts";

export function vanishedWait(runId: string, key: string): DurableError {
  return new DurableError(
    "diverged",
    `Run ${runId} does not fit this code: suspend point "${key}" is open, somebody may hold its token, and the code came to its end without reaching it. The open wait is kept. Put ctx.suspend("${key}") back, or fork the run; then advance it again.`,
    { details: { key, recorded: { kind: "suspend" }, asked: null } },
  );
}

export function orphanWarning(runId: string, orphans: readonly string[]): string {
  return `run ${runId} ended with ${orphans.length} recorded result(s) that the code no longer asks for: ${orphans.slice(0, 10).join(", ")}. If a step was renamed, { was: "old name" } keeps its result.`;
}

export function foreignWarning(runId: string, key: string): string {
  return `run ${runId} asked for "${key}" after waiting for something other than ctx. Put timers, fetches and other waits inside a step: replay cannot see them.`;
}
