/** DBOS. A run that waits for a message is a promise in its process; after a restart, launching recovers it. */

import { load, type SubjectModule, type Work } from "../engine.ts";

interface Handle {
  getResult(): Promise<unknown>;
}
interface Dbos {
  setConfig(config: Record<string, unknown>): void;
  registerWorkflow(
    body: (work: Work) => Promise<void>,
    config: { name: string },
  ): (work: Work) => Promise<void>;
  startWorkflow(target: unknown, params: { workflowID: string }): (work: Work) => Promise<Handle>;
  runStep(body: () => Promise<unknown>, config: { name: string }): Promise<unknown>;
  recv(topic: string, options: { timeoutSeconds: number }): Promise<unknown>;
  send(id: string, message: unknown, topic: string): Promise<void>;
  forkWorkflow(id: string, startStep: number): Promise<Handle>;
  launch(): Promise<void>;
  shutdown(): Promise<void>;
}

/** Its configuration and its workflows belong to the process. */
export const single = true;

export const open: SubjectModule["open"] = async ({ postgres }, marks) => {
  const { DBOS } = await load<{ DBOS: Dbos }>("@dbos-inc/dbos-sdk");
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: postgres,
    systemDatabasePoolSize: 20,
    logLevel: "error",
    applicationVersion: "1",
  });
  const flow = DBOS.registerWorkflow(
    async ({ id, steps, parallel, wait }) => {
      marks.begin();
      const step = (i: number): Promise<unknown> =>
        DBOS.runStep(
          async () => {
            if (i === steps - 1) marks.body();
          },
          { name: `step-${i}` },
        );
      if (parallel === true) await Promise.all(Array.from({ length: steps }, (_, i) => step(i)));
      else for (let i = 0; i < steps; i++) await step(i);
      marks.end();
      if (wait !== true) return;
      waiting.get(id)?.();
      await DBOS.recv("answer", { timeoutSeconds: 3_600 });
      await DBOS.runStep(async () => marks.body(), { name: "after" });
    },
    { name: "bench" },
  );
  const waiting = new Map<string, () => void>();
  await DBOS.launch();
  return {
    run: async (work) => {
      const handle = await DBOS.startWorkflow(flow, { workflowID: work.id })(work);
      await handle.getResult();
    },
    wait: async (work) => {
      const asked = new Promise<void>((resolve) => waiting.set(work.id, resolve));
      await DBOS.startWorkflow(flow, { workflowID: work.id })({ ...work, wait: true });
      await asked;
      waiting.delete(work.id);
      return work.id;
    },
    answer: (id) => DBOS.send(id, true, "answer"),
    fork: async (id, steps) => {
      // Steps are numbered from 0.
      const handle = await DBOS.forkWorkflow(id, steps - 1);
      await handle.getResult();
    },
    close: async () => {
      // It would wait for runs that wait for an answer.
    },
  };
};
