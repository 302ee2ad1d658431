/**
 * Mastra. A workflow is a graph that is built before it runs, so the steps are a chain or a parallel block of that
 * length, and its runs save a snapshot of everything after each step.
 */

import { join } from "node:path";
import { load, type SubjectModule, type Work } from "../engine.ts";

interface Execution {
  readonly resumeData?: unknown;
  readonly suspend: (payload: unknown) => Promise<unknown>;
}
interface Graph {
  then(step: unknown): Graph;
  parallel(steps: unknown[]): Graph;
  commit(): Flow;
}
interface Run {
  start(given: { inputData: unknown }): Promise<{ status: string }>;
  resume(given: { step: string; resumeData: unknown }): Promise<{ status: string }>;
}
interface Flow {
  createRun(given: { runId: string }): Promise<Run>;
}
interface Workflows {
  readonly createStep: (
    step: Record<string, unknown> & { execute: (given: Execution) => Promise<unknown> },
  ) => unknown;
  readonly createWorkflow: (options: Record<string, unknown>) => Graph;
}
type Core = { Mastra: new (options: Record<string, unknown>) => { getWorkflow(name: string): Flow } };
type Store = { LibSQLStore: new (options: { id: string; url: string }) => unknown };
type Zod = { z: { any(): unknown } };

export const open: SubjectModule["open"] = async ({ folder }, marks) => {
  const { Mastra } = await load<Core>("@mastra/core");
  const { createStep, createWorkflow } = await load<Workflows>("@mastra/core/workflows");
  const { LibSQLStore } = await load<Store>("@mastra/libsql");
  const { z } = await load<Zod>("zod");
  const [inputSchema, outputSchema, resumeSchema] = [z.any(), z.any(), z.any()];
  const storage = new LibSQLStore({ id: "bench", url: `file:${join(folder, "mastra.db")}` });
  const step = (id: string, execute: (given: Execution) => Promise<unknown>): unknown =>
    createStep({ id, inputSchema, outputSchema, resumeSchema, execute });
  const flows = new Map<string, Flow>();

  /** The workflow of a shape, built once. */
  const flowOf = ({ steps, parallel = false, wait = false }: Work): Flow => {
    const name = `bench-${steps}-${parallel ? "parallel" : "chain"}${wait ? "-wait" : ""}`;
    const known = flows.get(name);
    if (known !== undefined) return known;
    const bodies = Array.from({ length: steps }, (_, i) => step(`step-${i}`, async () => i));
    let graph = createWorkflow({ id: name, inputSchema, outputSchema }).then(
      step("begin", async () => marks.begin()),
    );
    if (parallel) graph = graph.parallel(bodies);
    else for (const body of bodies) graph = graph.then(body);
    graph = graph.then(step("end", async () => marks.end()));
    if (wait) {
      graph = graph
        .then(step("answer", async ({ resumeData, suspend }) => resumeData ?? suspend({})))
        .then(step("after", async () => marks.body()));
    }
    const app = new Mastra({ storage, logger: false, workflows: { [name]: graph.commit() } });
    const flow = app.getWorkflow(name);
    flows.set(name, flow);
    return flow;
  };
  const start = async (work: Work, expected: string): Promise<void> => {
    const run = await flowOf(work).createRun({ runId: work.id });
    const { status } = await run.start({ inputData: {} });
    if (status !== expected) throw new Error(`Run ${work.id} is ${status}, and not ${expected}.`);
  };
  return {
    run: (work) => start(work, "success"),
    wait: async (work) => {
      await start({ ...work, wait: true }, "suspended");
      return `${work.steps} ${work.id}`;
    },
    answer: async (token) => {
      const [steps, id = ""] = token.split(" ");
      const run = await flowOf({ id, steps: Number(steps), wait: true }).createRun({ runId: id });
      await run.resume({ step: "answer", resumeData: { yes: true } });
    },
    close: async () => {},
  };
};
