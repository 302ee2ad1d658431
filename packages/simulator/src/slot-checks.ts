/**
 * Runs of workflows with slots.
 *
 * I30. No body starts under a lease while other runs of its workflow have all slots, by the leases that the storage has
 *      granted. A lease that an append extended after it had expired does not count: the driver does not know that it
 *      came late.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Body, History } from "./history.ts";
import type { FlowPlan, Plan } from "./plan.ts";

/** The limit of a workflow of the plan. Children, and runs that kill their drivers, have none. */
export function limitOf(plan: Plan, name: string): number | undefined {
  const isOfPlan = plan.flows.some((flow: FlowPlan) => flow.name === name && name !== "killer");
  return isOfPlan ? plan.slots : undefined;
}

/** Runs when a body starts. */
export function judgeSlot(history: History, plan: Plan, { run, process, leased }: Body): void {
  const limit = run === undefined ? undefined : limitOf(plan, run.workflow);
  if (run === undefined || limit === undefined || !leased) return;
  const others = history.leases.held().filter((locator) => {
    const other = history.latest(locator);
    // A run that was deleted leaves its slot to the next one, which may have its id.
    const isOld = history.leases.since(locator) < (other?.batches[0]?.at ?? 0);
    return (
      other !== undefined &&
      !(other.deleted || isOld) &&
      other.workflow === run.workflow &&
      other.runId !== run.runId
    );
  });
  if (others.length > 0) history.meet("a run beside others with slots");
  if (others.length < limit || history.leases.isLate(run.locator)) return;
  history.violate(
    "I30",
    `run ${run.runId}: ${process} starts work, and ${others.length} other runs of ${run.workflow} have its ${limit} slots`,
  );
}
