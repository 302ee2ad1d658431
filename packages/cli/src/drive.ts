/** Waits until a run that is driven in this process stops. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome, Run } from "@durable/core";

/** The first outcome that is not `running`. */
export async function untilStop(run: Run, signal?: AbortSignal): Promise<Outcome<unknown>> {
  for (let ms = 5; ; ms = Math.min(250, ms * 2)) {
    const outcome = await run.outcome();
    if (outcome.status !== "running" || signal?.aborted === true) return outcome;
    await sleep(ms);
  }
}
