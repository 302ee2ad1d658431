/** Our workflow on any storage. */

import { durable, type Storage, type Workflow } from "@durable/core";
import type { Engine, Marks, Work } from "../engine.ts";

const secret = "a secret for measurements only";

/** The workflow of all measurements. */
export function workflow(storage: Storage, marks: Marks): Workflow<Work, void> {
  return durable(
    "bench",
    async (ctx, { steps, parallel, wait }: Work) => {
      marks.begin();
      if (parallel === true) {
        await Promise.all(Array.from({ length: steps }, (_, i) => ctx.step(`step-${i}`, async () => i)));
      } else {
        for (let i = 0; i < steps - 1; i++) await ctx.step("step", async () => i);
        await ctx.step("last", async () => marks.body());
      }
      marks.end();
      if (wait !== true) return;
      await ctx.suspend("answer");
      await ctx.step("after", async () => marks.body());
    },
    { storage, secret },
  );
}

/** Our engine on a storage. */
export function ours(storage: Storage, marks: Marks): Engine {
  const flow = workflow(storage, marks);
  return {
    run: async (work) => {
      const { status } = await flow.run(work, { id: work.id });
      if (status !== "completed") throw new Error(`Run ${work.id} is ${status}, and not completed.`);
    },
    wait: async (work) => {
      const outcome = await flow.run({ ...work, wait: true }, { id: work.id });
      if (outcome.status !== "suspended") throw new Error(`Run ${work.id} is ${outcome.status}.`);
      const [point] = outcome.waiting;
      if (point === undefined) throw new Error(`Run ${work.id} waits for nothing.`);
      return point.token;
    },
    answer: async (token) => {
      const { status } = await flow.resume(token, true);
      if (status !== "accepted") throw new Error(`The answer was ${status}.`);
    },
    fork: async (id) => {
      const run = await flow.fork(id, { from: "last" });
      await run.result();
    },
    close: async () => storage.close?.(),
  };
}
