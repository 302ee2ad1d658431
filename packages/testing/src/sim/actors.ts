/** Who lives in a simulated town: workers or sweepers, those who start runs, those who answer, and a hand that meddles. */

import { createWorker, type Outcome } from "@durable/core";
import { answerer } from "./answers.ts";
import { judgeFailure, judgeOutcome, noteWarning } from "./outcomes.ts";
import type { RunPlan } from "./plan.ts";
import { reader } from "./readers.ts";
import { recorder } from "./recorders.ts";
import { forever, startOfTime, type Actor, type Life, type Town } from "./town.ts";

export function actorsOf(town: Town): Actor[] {
  const { workers, readers = 0, records = 0 } = town.plan;
  town.onWarning = (message) => noteWarning(town, message);
  return [
    ...Array.from({ length: workers }, (_, i) => worker(town, `worker-${i + 1}`)),
    starter(town),
    answerer(town),
    ...Array.from({ length: readers }, (_, i) => reader(town, `reader-${i + 1}`)),
    ...(records === 0 ? [] : ["recorder-1", "recorder-2"].map((name) => recorder(town, name, records))),
    // The last, whatever the others are.
    meddler(),
  ];
}

function worker(town: Town, name: string): Actor {
  const { sweeps, intervalMs, concurrency } = town.plan;
  const onStop = (outcome: Outcome<unknown>): void => {
    town.history.meet(`a drive that ended ${outcome.status}`);
    judgeOutcome(town, outcome);
  };
  return {
    name,
    boot: ({ process, app }) => {
      if (!sweeps) return void createWorker(app, { concurrency, interval: intervalMs, maxStarts: 6, onStop });
      void forever(process, intervalMs, async () => {
        const { failed, outcomes } = await app.sweep({ concurrency });
        outcomes.forEach(onStop);
        for (const { error } of failed) judgeFailure(town, process.name, error);
      });
    },
  };
}

/** Starts every run of the plan, and asks again until it is told that the run is there. */
function starter(town: Town): Actor {
  const { history, plan } = town;
  const start = async (life: Life, { id, flow }: RunPlan): Promise<void> => {
    const { process, flows } = life;
    while (history.run(id) === undefined) {
      try {
        // Some wait for the end of what they start, some do not.
        const input = town.programs[flow]?.input;
        if (process.random.chance(0.5)) await flows[flow]?.start(input, { id });
        else {
          const outcome = await flows[flow]?.run(input, { id });
          if (outcome !== undefined) judgeOutcome(town, outcome);
        }
        history.meet("a start that was acknowledged");
      } catch (error) {
        judgeFailure(town, process.name, error);
        history.meet("a start that failed");
      }
      await process.pause(1_500);
    }
  };
  return {
    name: "starter",
    boot: (life) => {
      for (const run of plan.runs) {
        const wait = Math.max(0, run.at - (town.scheduler.now - startOfTime));
        for (let i = 0; i < run.starters; i++) void life.process.pause(wait).then(() => start(life, run));
      }
    },
  };
}

/** A process of its own for what is done to runs by hand. */
function meddler(): Actor {
  return { name: "hand", boot: () => {} };
}
