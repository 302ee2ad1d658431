/** Waits until a run that is driven in this process stops. */

import { setTimeout as sleep } from "node:timers/promises";
import type { App, Outcome, Run } from "@durable/core";
import type { CancelOptions } from "@durable/core/types";
import { settled } from "@durable/core/inspect";

/** The first outcome that is not `running`. */
export async function untilStop(run: Run, signal?: AbortSignal): Promise<Outcome<unknown>> {
  for (let ms = 5; ; ms = Math.min(250, ms * 2)) {
    const outcome = await run.outcome();
    if (outcome.status !== "running" || signal?.aborted === true) return outcome;
    await sleep(ms);
  }
}

/** The result of a cancel. */
export interface Cancelled {
  readonly runId: string;
  readonly status: Outcome<unknown>["status"];
  /** It still cleans up: its code is not here, or another process drives it. */
  readonly cancelling?: true;
}

/** Cancels a run. A clean-up that begins in this process is driven to its end here, unless the process is asked to stop. */
export async function cancelRun(app: App, runId: string, options: CancelOptions): Promise<Cancelled> {
  let outcome = await app.cancel(runId, options);
  if ("cancelling" in outcome) {
    await settled(app, runId);
    outcome = await app.get(runId).outcome();
  }
  const { status } = outcome;
  return { runId, status, ...("cancelling" in outcome ? { cancelling: true as const } : {}) };
}
