/** Reads one run for a screen. */

import { DurableError, type App, type Outcome, type RunStateName } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { childSums, type ChildSum, type Prices } from "@durable/core/inspect";
import type { BlockedNote } from "@durable/core/storage";
import { retryRefusal, stateIn, storageOf, underWay } from "@durable/core/inspect";
import { locatorOf, viewRun, type RunView } from "@durable/core/inspect";

export interface Look {
  readonly view: RunView;
  readonly entries: readonly Entry[];
  /** True for a chapter that ended when the next one began. */
  readonly past: boolean;
  /** `null` when the outcome cannot be shown, because no secret is there to sign its tokens. */
  readonly outcome: Outcome<unknown> | null;
  readonly tags: Readonly<Record<string, string>>;
  /** True when a retry would be accepted. */
  readonly retriable: boolean;
  /** What the run does, in one word. */
  readonly state: RunStateName;
  /** What its children have used, where that was asked for. */
  readonly sums: Readonly<Record<string, ChildSum>>;
}

/** A read from here gives no batches, only what stands beside the journal. */
export const beyondEnd = 2_147_483_647;

export interface LookOptions {
  readonly prices?: Prices | undefined;
  readonly now: number;
  readonly chapter?: number | undefined;
  /** Also reads what the children have used. */
  readonly withChildren?: boolean | undefined;
}

export async function lookAt(
  app: App,
  runId: string,
  { chapter, withChildren = false, ...options }: LookOptions,
): Promise<Look> {
  const run = app.get(runId);
  const entries = await run.entries({ chapter, struck: true });
  const outcome = chapter === undefined ? await outcomeOf(app, runId) : null;
  const blocked = outcome?.status === "blocked" ? noteOf(outcome) : undefined;
  const past = chapter !== undefined && viewRun(await run.entries()).chapter > chapter;
  const beside = await (await storageOf(app)).read(locatorOf(runId), beyondEnd);
  const state = outcome?.state ?? (await stateIn(app, beside)) ?? "running";
  const doing = past ? [] : (await underWay(app)).get(runId);
  const view = viewRun(entries, { ...options, blocked, doing });
  return {
    view,
    retriable: view.status === "failed" && !past && (await retryRefusal(app, runId)) === null,
    entries,
    past,
    outcome,
    state,
    sums: withChildren && !past ? await childSums(app, runId, options) : {},
    tags: beside.head?.tags ?? {},
  };
}

/** Tokens need a secret. Without one there is no outcome, and no tokens are shown. */
async function outcomeOf(app: App, runId: string): Promise<Outcome<unknown> | null> {
  try {
    return await app.get(runId).outcome();
  } catch (error) {
    if (DurableError.is(error, "no-secret")) return null;
    throw error;
  }
}

function noteOf({ error, since }: Outcome<unknown> & { status: "blocked" }): BlockedNote {
  return { code: error.code, message: error.message, since, length: 0 };
}
