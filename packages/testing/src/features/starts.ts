/** How runs begin: one for several starts, in another order, later. */

import { durable, type StartOptions } from "@durable/core";
import { expect } from "vitest";
import type { Feature, Program } from "./feature.ts";
import { cannotLimit, refuses, type FeatureLab } from "./lab.ts";

/** A workflow that notes when each run begins, and with which input. */
function noting(lab: FeatureLab) {
  const begun: { readonly id: string; readonly input: unknown; readonly at: number }[] = [];
  const flow = durable("note", (ctx, input: unknown) =>
    ctx.step("begin", () => {
      begun.push({ id: ctx.runId, input, at: lab.world.now() });
      return input;
    }),
  );
  return { flow, begun };
}

/** Expects that a start with these options is refused, and that nothing is recorded. */
const refusedStart =
  (options: StartOptions): Program =>
  async (lab) => {
    const app = lab.app([noting(lab).flow]);
    await refuses(() => app.start("note", 1, options), cannotLimit);
    expect(await lab.list(app)).toEqual([]);
  };

export const singletons: Feature = {
  name: "Singleton starts",
  page: "guides/operate/limits.md",
  needs: "limits",
  programs: {
    "while a run with the key has not ended, a start returns that run": async (lab) => {
      const { flow, begun } = noting(lab);
      const app = lab.app([flow]);
      const other = lab.app([flow], { storage: await lab.another() });
      const start = (of: typeof app, input: string, singleton: string) =>
        lab.run(of.start("note", input, { singleton, drive: false }));
      const first = await start(app, "a", "k");
      const again = await start(other, "b", "k");
      expect([again.id, first.repeated, again.repeated]).toEqual([first.id, false, true]);
      expect((await start(app, "c", "other")).id).not.toBe(first.id);
      lab.worker(app);
      await lab.ended(first);
      const next = await start(other, "d", "k");
      expect(next.repeated).toBe(false);
      await lab.ended(next);
      await lab.until("all have begun", () => begun.length === 3);
      expect(new Set(begun.map(({ input }) => input))).toEqual(new Set(["a", "c", "d"]));
    },
  },
  without: refusedStart({ singleton: "k" }),
};

export const debounced: Feature = {
  name: "Debounced starts",
  page: "guides/operate/limits.md",
  needs: "limits",
  programs: {
    "starts with one key become one run, with the last input": async (lab) => {
      const { flow, begun } = noting(lab);
      const app = lab.app([flow]);
      const ids: string[] = [];
      const from = lab.world.now();
      for (const input of [1, 2, 3]) {
        const debounce = { key: "k", wait: "1 minute" } as const;
        ids.push((await lab.run(app.start("note", input, { debounce, drive: false }))).id);
        await lab.pass(30_000);
      }
      lab.worker(app);
      expect(new Set(ids).size).toBe(1);
      expect(await lab.ended(app.get(ids[0] ?? ""))).toMatchObject({ status: "completed", output: 3 });
      expect(begun.map(({ input }) => input)).toEqual([3]);
      expect((begun[0]?.at ?? 0) - from).toBeGreaterThanOrEqual(120_000);
    },
  },
  without: refusedStart({ debounce: { key: "k", wait: 1 } }),
};

export const priorities: Feature = {
  name: "Priorities",
  page: "guides/operate/limits.md",
  needs: "limits",
  programs: {
    "of runs that became due together, those with a higher priority begin first": async (lab) => {
      const { flow, begun } = noting(lab);
      const app = lab.app([flow]);
      for (const [n, priority] of [0, 5, -5, 60].entries())
        await lab.run(app.start("note", priority, { id: `r${n}`, priority, drive: false }));
      lab.worker(app, { concurrency: 1 });
      await lab.until("all have begun", () => begun.length === 4);
      expect(begun.map(({ input }) => input)).toEqual([60, 5, 0, -5]);
    },
  },
  without: refusedStart({ priority: 1 }),
};

export const delays: Feature = {
  name: "Delayed starts",
  page: "guides/operate/limits.md",
  programs: {
    "a run begins at its time, and not before": async (lab) => {
      const { flow, begun } = noting(lab);
      const app = lab.app([flow]);
      const from = lab.world.now();
      await lab.run(app.start("note", "delay", { delay: "10 minutes", drive: false }));
      await lab.run(app.start("note", "at", { at: new Date(from + 300_000), drive: false }));
      lab.worker(app);
      await lab.pass(280_000);
      expect(begun).toEqual([]);
      await lab.until("both have begun", () => begun.length === 2);
      expect(begun.map(({ input }) => input)).toEqual(["at", "delay"]);
      for (const [n, { at }] of begun.entries()) expect(at - from).toBeGreaterThanOrEqual((n + 1) * 300_000);
    },
    "a delayed run can be cancelled before it begins": async (lab) => {
      const { flow, begun } = noting(lab);
      const app = lab.app([flow]);
      const run = await lab.run(app.start("note", 1, { delay: "1 minute", drive: false }));
      expect(await lab.run(run.cancel())).toMatchObject({ status: "cancelled" });
      lab.worker(app);
      await lab.pass(120_000);
      expect(begun).toEqual([]);
    },
  },
};
