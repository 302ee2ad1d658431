/** What the code of workflows declares, whether or not anything uses it now. Proven in test/inspect/limit-use.test.ts. */

import type { App } from "../app.ts";
import { concurrencyOf } from "../engine/definition.ts";
import { hostOf } from "../runs/host.ts";
import { toMs } from "../values/duration.ts";

/** The budgets that the workflows of an app have per run. */
export function budgetsOf(app: App): readonly { readonly workflow: string; readonly most: number }[] {
  const { find } = hostOf(app);
  return app.workflows.flatMap((workflow) => {
    const { most } = find(workflow)?.budget ?? {};
    return most === undefined ? [] : [{ workflow, most }];
  });
}

/** A limit that the code of a workflow declares. */
export interface DeclaredLimit {
  readonly workflow: string;
  readonly what: "concurrency" | "rate";
  readonly max: number;
  /** The length of the window of a rate. */
  readonly perMs?: number;
  /** True when runs with different keys have the limit each. */
  readonly keyed: boolean;
}

/** The limits that the workflows of an app declare, whether or not anything uses them now. */
export function declaredLimits(app: App): readonly DeclaredLimit[] {
  const { find } = hostOf(app);
  return app.workflows.flatMap((workflow): DeclaredLimit[] => {
    const { flow = {} } = find(workflow) ?? {};
    const { rate } = flow;
    const concurrency = concurrencyOf(flow);
    return [
      ...(concurrency === undefined
        ? []
        : [
            {
              workflow,
              what: "concurrency" as const,
              max: concurrency.max,
              keyed: concurrency.key !== undefined,
            },
          ]),
      ...(rate === undefined
        ? []
        : [
            {
              workflow,
              what: "rate" as const,
              max: rate.max,
              perMs: toMs(rate.per, "per"),
              keyed: rate.key !== undefined,
            },
          ]),
    ];
  });
}
