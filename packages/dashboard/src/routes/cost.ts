/**
 * The costs of some days, and the limits that are near. Proven in test/cost.test.ts.
 *
 * cost.1. Sums are one action. Runs that cost most are named only to those who may read them.
 * cost.2. No journal is read. Sums are made at most once in ten seconds for each range.
 */

import { budgetsOf, costsOf, type Costs, listedRuns, quotaUse } from "@durable/core/inspect";
import { type Call, json, readable } from "@durable/http/kit";
import type { CostReply, LimitNear } from "../api.ts";
import type { Service } from "../options.ts";
import { numberIn } from "./request.ts";
import { itemOf } from "./runs.ts";

const dayMs = 86_400_000;
const keptMs = 10_000;
const mostDays = 31;

interface Kept {
  readonly at: number;
  readonly sums: Promise<readonly [now: Costs | null, before: Costs | null]>;
}

const kept = new WeakMap<Service, Map<number, Kept>>();

/** `?days=14`: the last 14 days in UTC, today included. */
export async function cost(service: Service, { request, url }: Call): Promise<Response> {
  const { app } = service;
  const days = numberIn(url, "days", { min: 1, max: mostDays, or: 14 });
  const now = app.world.now();
  const today = Math.floor(now / dayMs) * dayMs;
  const [since, until] = [today - (days - 1) * dayMs, today + dayMs];
  const [costs, before] = await sumsOf(service, { days, since, until, now });
  const [limits, dearest] = await Promise.all([
    costs === null ? [] : limitsNear(service, costs),
    costs === null
      ? []
      : listedRuns(
          app,
          costs.dearest.map(({ runId }) => runId),
        ),
  ]);
  const shown = await readable(service, request, dearest);
  const { dearest: _, ...sums } = costs ?? { dearest: null };
  return json(200, {
    costs: costs === null ? null : (sums as Omit<Costs, "dearest">),
    before: before === null ? null : before.total.cost,
    dearest: shown.map((head) => itemOf(service, head)),
    limits,
    since,
    until,
    now,
  } satisfies CostReply);
}

function sumsOf(
  service: Service,
  { days, since, until, now }: { days: number; since: number; until: number; now: number },
): Kept["sums"] {
  const all = kept.get(service) ?? new Map<number, Kept>();
  kept.set(service, all);
  const known = all.get(days);
  if (known !== undefined && now - known.at <= keptMs) return known.sums;
  const { app, prices } = service;
  const sums = Promise.all([
    costsOf(app, { since, until, prices }),
    costsOf(app, { since: since - (until - since), until: since, prices }),
  ]);
  all.set(days, { at: now, sums });
  // A failure is not kept.
  sums.catch(() => all.delete(days));
  return sums;
}

/** Quotas of the app, and budgets of its workflows against the run that came nearest. */
async function limitsNear({ app }: Service, costs: Costs): Promise<LimitNear[]> {
  const quotas = (await quotaUse(app)).map(({ quota, what, used, most }): LimitNear => {
    return { name: quota, what, used, most };
  });
  const budgets = budgetsOf(app).map(({ workflow, most }): LimitNear => {
    const used = costs.workflows.find(({ key }) => key === workflow)?.top ?? 0;
    return { name: workflow, what: "budget", used, most };
  });
  return [...quotas, ...budgets].toSorted((a, b) => b.used / b.most - a.used / a.most).slice(0, 8);
}
