/** Drives planned runs and their forks to the end, together with any number of other processes that do the same. */

import { createApp, createWorker, type App, type Outcome, type Workflow } from "../../../../src/index.ts";
import { answerTo, type Plan, type Planned } from "./plans.ts";

export interface DriveOptions {
  readonly flow: Workflow<Plan, string>;
  readonly app: App;
  readonly pause: (ms: number) => Promise<void>;
  /** An answer was taken, so that it must be durable. */
  readonly answered?: (runId: string, value: string) => void;
  /** A fork was made, and must stay. */
  readonly forked?: (runId: string) => void;
}

/** Runs, answers and forks, one call at a time for each run. */
export async function driveAll(planned: readonly Planned[], options: DriveOptions): Promise<void> {
  await Promise.all(
    planned.map(async ({ id, plan, fork }) => {
      await toTheEnd(() => options.flow.run(plan, { id }), options);
      await options.flow.fork(id, fork);
      options.forked?.(fork.id);
      await toTheEnd(() => options.app.advance(fork.id), options);
    }),
  );
}

/** The same through a worker, which finds by itself what there is to do; here runs are only begun and answered. */
export async function workAll(planned: readonly Planned[], options: DriveOptions): Promise<void> {
  const { flow, app, pause } = options;
  const worker = createWorker(app, { interval: 20, concurrency: 4 });
  for (const { id, plan } of planned) await flow.start(plan, { id });
  for (const made = new Set<string>(); ;) {
    const { runs } = await app.list();
    const over = new Set(runs.filter(({ status }) => status === "completed").map(({ runId }) => runId));
    if (planned.every(({ fork }) => over.has(fork.id))) break;
    for (const { id, fork } of planned) {
      if (!over.has(id) || made.has(id)) continue;
      await flow.fork(id, fork);
      options.forked?.(fork.id);
      made.add(id);
    }
    for (const { runId, status } of runs)
      if (status === "suspended") await answer(await app.get(runId).outcome(), options);
    await pause(10);
  }
  await worker.stop();
}

async function toTheEnd(drive: () => Promise<Outcome<unknown>>, options: DriveOptions): Promise<void> {
  for (;;) {
    const outcome = await drive();
    if (outcome.status === "completed") return;
    if (outcome.status === "failed" || outcome.status === "blocked") throw outcome.error;
    if (outcome.status === "suspended") await answer(outcome, options);
    // Somebody else drives it, or only its clock can help.
    await options.pause(5);
  }
}

async function answer(outcome: Outcome<unknown>, { app, answered }: DriveOptions): Promise<void> {
  if (outcome.status !== "suspended") return;
  for (const { key, token } of outcome.waiting) {
    const value = answerTo(outcome.runId, key);
    const { status } = await app.resume(token, value, { drive: false });
    if (status === "accepted") answered?.(outcome.runId, value);
  }
}

export function appOf(
  flow: Workflow<Plan, string>,
  host: Omit<Parameters<typeof createApp>[0], "workflows">,
): App {
  return createApp({ ...host, workflows: [flow], bind: false });
}
