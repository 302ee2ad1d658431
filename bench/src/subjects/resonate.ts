/** Resonate with its async engine in local mode, where promises are in memory: its server is not on npm. */

import { load, Signals, type SubjectModule, type Work } from "../engine.ts";

interface Context {
  run(body: () => Promise<unknown>): Promise<unknown>;
  promise(): Promise<unknown> & { readonly id: string };
}
interface Client {
  register(
    name: string,
    body: (ctx: Context, work: Work) => Promise<void>,
  ): { run(id: string, work: Work): Promise<{ result(): Promise<unknown> }> };
  readonly promises: { resolve(id: string, value: { data?: string }): Promise<unknown> };
  stop(): Promise<void>;
}
type Module = { Resonate: new (options?: Record<string, unknown>) => Client };

export const open: SubjectModule["open"] = async (_place, marks) => {
  const { Resonate } = await load<Module>("@resonatehq/sdk/async");
  const resonate = new Resonate({ logLevel: "error" });
  const asked = new Signals();
  const waiting = new Map<string, string>();
  const flow = resonate.register("bench", async (ctx, { id, steps, parallel, wait }) => {
    marks.begin();
    if (parallel === true) await Promise.all(Array.from({ length: steps }, () => ctx.run(async () => 1)));
    else for (let i = 0; i < steps; i++) await ctx.run(async () => i);
    marks.end();
    if (wait !== true) return;
    const answer = ctx.promise();
    waiting.set(id, answer.id);
    asked.fire(id);
    await answer;
    await ctx.run(async () => marks.body());
  });
  return {
    run: async (work) => {
      const handle = await flow.run(work.id, work);
      await handle.result();
    },
    wait: async (work) => {
      const ready = asked.wait(work.id);
      await flow.run(work.id, { ...work, wait: true });
      await ready;
      return waiting.get(work.id) ?? "";
    },
    answer: async (id) => void (await resonate.promises.resolve(id, {})),
    close: () => resonate.stop(),
  };
};
