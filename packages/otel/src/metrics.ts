/** Metrics of runs. Attributes have few values: workflow, outcome, model; never the id of a run or the key of a step. */

import type { AttemptEnd, Hooks } from "@durable/core/hooks";
import { spendOf, type Prices } from "@durable/core/inspect";
import type { Meter } from "@opentelemetry/api";

/** Steps last from milliseconds to hours. */
const seconds = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400,
];
const duration = { unit: "s", advice: { explicitBucketBoundaries: seconds } };

/** The instruments are made at the first event, because the provider may be registered later. */
export function metricHooks(meter: () => Meter, prices: Prices | undefined): Hooks {
  let made: Hooks | null = null;
  const hooks = (): Hooks => (made ??= countingHooks(meter(), prices));
  return {
    onRun: (event) => hooks().onRun?.(event),
    onAttempt: (event) => hooks().onAttempt?.(event),
    onStep: (event) => hooks().onStep?.(event),
    onEnd: (event) => hooks().onEnd?.(event),
    onBlocked: (event) => hooks().onBlocked?.(event),
  };
}

function countingHooks(meter: Meter, prices: Prices | undefined): Hooks {
  const driving = meter.createUpDownCounter("durable.drives", {
    description: "Runs that this process drives now.",
  });
  const lag = meter.createHistogram("durable.run.lag", {
    ...duration,
    description: "How long a run was due before a process drove it.",
  });
  const takeovers = meter.createCounter("durable.run.takeovers", {
    description: "Drives of runs whose driver before died, or was silent until its lease ended.",
  });
  const appends = meter.createCounter("durable.appends", {
    description: "Batches that were appended to journals while runs were driven.",
  });
  const replayed = meter.createCounter("durable.replayed", {
    description: "Recorded outcomes that workflows got again.",
  });
  const ended = meter.createCounter("durable.run.ends", { description: "Runs that have ended." });
  const runTime = meter.createHistogram("durable.run.duration", {
    ...duration,
    description: "From the start of a run to its end, waits included.",
  });
  const blocked = meter.createCounter("durable.run.blocks", {
    description: "How often a run was found that cannot continue.",
  });
  const stepTime = meter.createHistogram("durable.step.duration", {
    ...duration,
    description: "From the first attempt of a step to its outcome, delays between attempts included.",
  });
  const countAttempt = attemptCounter(meter, prices);
  return {
    onRun: ({ workflow, at, dueAt, takenOver }) => {
      driving.add(1, { workflow });
      if (dueAt !== null) lag.record(Math.max(0, at - dueAt) / 1_000, { workflow });
      if (takenOver) takeovers.add(1, { workflow });
      return (stop) => {
        driving.add(-1, { workflow });
        if (stop.appends > 0) appends.add(stop.appends, { workflow });
        if (stop.replayed > 0) replayed.add(stop.replayed, { workflow });
      };
    },
    onAttempt: () => (work) => work().then(countAttempt),
    onStep: (event) => {
      if (event.replayed) return;
      const { workflow, outcome } = event;
      stepTime.record((event.endedAt - event.startedAt) / 1_000, { workflow, outcome });
    },
    onEnd: ({ workflow, outcome, createdAt, at }) => {
      ended.add(1, { workflow, outcome });
      runTime.record((at - createdAt) / 1_000, { workflow, outcome });
    },
    onBlocked: ({ workflow, error }) => blocked.add(1, { workflow, code: error.code }),
  };
}

/** Tokens are paid for each attempt, also for those that fail. */
function attemptCounter(meter: Meter, prices: Prices | undefined): (end: AttemptEnd) => void {
  const retries = meter.createCounter("durable.step.retries", {
    description: "Attempts that failed and are repeated.",
  });
  const tokens = meter.createCounter("durable.tokens", { description: "Tokens of model calls." });
  const cost = meter.createCounter("durable.cost", {
    description: "What model calls cost, in the currency of the prices.",
  });
  return ({ workflow, outcome, usage }) => {
    if (outcome === "retried") retries.add(1, { workflow });
    for (const used of usage) {
      const { model, inputTokens, outputTokens } = used;
      tokens.add(inputTokens, { workflow, model, type: "input" });
      tokens.add(outputTokens, { workflow, model, type: "output" });
      const spent = spendOf([used], prices).cost;
      if (spent !== null) cost.add(spent, { workflow, model });
    }
  };
}
