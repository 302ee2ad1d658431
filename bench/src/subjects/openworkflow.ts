/**
 * OpenWorkflow. Its handles poll for results once a second, so a run counts as ended when its function returns. A run
 * waits when its function has asked for a signal and the worker has put the run to sleep.
 */

import { load, Signals, type Engine, type Marks, type Work } from "../engine.ts";

interface Step {
  run(config: { name: string }, body: () => Promise<unknown>): Promise<unknown>;
  waitForSignal(options: { name: string; signal: string }): Promise<unknown>;
}
interface Client {
  defineWorkflow(
    spec: { name: string },
    body: (given: { input: Work; step: Step }) => Promise<void>,
  ): { run(input: Work): Promise<unknown> };
  newWorker(options: { concurrency: number }): { start(): Promise<void>; stop(): Promise<void> };
  sendSignal(options: { signal: string; data: boolean }): Promise<{ workflowRunIds: string[] }>;
}
type Module = { OpenWorkflow: new (options: { backend: unknown }) => Client };

export async function openworkflow(backend: { stop(): Promise<void> }, marks: Marks): Promise<Engine> {
  const { OpenWorkflow } = await load<Module>("openworkflow");
  const client = new OpenWorkflow({ backend });
  const ended = new Signals();
  const flow = client.defineWorkflow({ name: "bench" }, async ({ input, step }) => {
    marks.begin();
    if (input.parallel === true) {
      await Promise.all(
        Array.from({ length: input.steps }, (_, i) => step.run({ name: `step-${i}` }, async () => i)),
      );
    } else for (let i = 0; i < input.steps; i++) await step.run({ name: `step-${i}` }, async () => i);
    marks.end();
    if (input.wait === true) {
      ended.fire(input.id);
      await step.waitForSignal({ name: "answer", signal: input.id });
      await step.run({ name: "after" }, async () => marks.body());
    }
    ended.fire(input.id);
  });
  const worker = client.newWorker({ concurrency: 100 });
  await worker.start();
  return {
    run: async (work) => {
      const end = ended.wait(work.id);
      await flow.run(work);
      await end;
    },
    wait: async (work) => {
      const asked = ended.wait(work.id);
      await flow.run({ ...work, wait: true });
      await asked;
      return work.id;
    },
    answer: async (signal) => {
      // A signal that comes before the run waits is dropped, so it is sent until a run takes it.
      for (;;) {
        const { workflowRunIds } = await client.sendSignal({ signal, data: true });
        if (workflowRunIds.length > 0) return;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
    close: async () => {
      await worker.stop();
      await backend.stop();
    },
  };
}
