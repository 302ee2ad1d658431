/** LangGraph.js in its functional form, on Postgres with its default durability: checkpoints are written behind the tasks. */

import { load, type SubjectModule, type Work } from "../engine.ts";

interface Entrypoint {
  invoke(input: unknown, config: Record<string, unknown>): Promise<unknown>;
}
interface LangGraph {
  readonly entrypoint: (
    options: { name: string; checkpointer: unknown },
    body: (work: Work) => Promise<void>,
  ) => Entrypoint;
  readonly task: (name: string, body: (i: number) => Promise<unknown>) => (i: number) => Promise<unknown>;
  readonly interrupt: (value: unknown) => unknown;
  Command: new (given: { resume: unknown }) => unknown;
}
interface Saver {
  setup(): Promise<void>;
  end(): Promise<void>;
}
type SaverModule = { PostgresSaver: { fromConnString(url: string): Saver } };

const config = (id: string): Record<string, unknown> => ({ configurable: { thread_id: id } });

export const open: SubjectModule["open"] = async ({ postgres }, marks) => {
  const { entrypoint, task, interrupt, Command } = await load<LangGraph>("@langchain/langgraph");
  const { PostgresSaver } = await load<SaverModule>("@langchain/langgraph-checkpoint-postgres");
  const checkpointer = PostgresSaver.fromConnString(postgres);
  await checkpointer.setup();
  const step = task("step", async (i) => i);
  const after = task("after", async () => marks.body());
  const flow = entrypoint({ name: "bench", checkpointer }, async ({ steps, parallel, wait }) => {
    marks.begin();
    if (parallel === true) await Promise.all(Array.from({ length: steps }, (_, i) => step(i)));
    else for (let i = 0; i < steps; i++) await step(i);
    marks.end();
    if (wait !== true) return;
    interrupt("answer");
    await after(0);
  });
  return {
    run: async (work) => void (await flow.invoke(work, config(work.id))),
    wait: async (work) => {
      await flow.invoke({ ...work, wait: true }, config(work.id));
      return work.id;
    },
    answer: async (id) => void (await flow.invoke(new Command({ resume: true }), config(id))),
    close: () => checkpointer.end(),
  };
};
