/** Runs that kill the process that drives them, and runs that only need time. One process lives after the other. */

import { createApp, durable, type App } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { pause, type Lab } from "./behaviour-lab.ts";
import { record } from "./worker-runs.ts";

export interface Killers {
  /** How often the step of each run was begun. */
  readonly begun: Map<string, number>;
  readonly record: (workflow: "killer" | "innocent", ids: readonly string[]) => Promise<void>;
  /** One process: it drives runs until a killer ends it, or until a minute is over. */
  readonly life: (drive: (app: App) => unknown) => Promise<void>;
}

/** Longer than the lease of a dead process. */
const lifeMs = 60_000;

export function killersOn(on: Lab): Killers {
  const begun = new Map<string, number>();
  const count = (runId: string): void => void begun.set(runId, (begun.get(runId) ?? 0) + 1);
  const process = { die: (): void => {} };
  const killer = durable("killer", (ctx) =>
    ctx.step("kill", () => {
      count(ctx.runId);
      process.die();
      return new Promise(() => {});
    }),
  );
  const innocent = durable("innocent", (ctx) =>
    ctx.step("work", async () => {
      count(ctx.runId);
      await pause(on.world, 1_000);
      return ctx.runId;
    }),
  );
  return {
    begun,
    record: async (workflow, ids) => {
      for (const id of ids) await record(on, id, { workflow });
    },
    life: async (drive) => {
      let dead = false;
      process.die = () => {
        dead = true;
      };
      const plan = (): "crash-before" | null => (dead ? "crash-before" : null);
      const storage = faultyStorage(on.storage, { world: on.world, plan });
      drive(createApp({ ...on, storage, workflows: [killer, innocent] }));
      await on.world.advance(lifeMs);
      process.die();
      await on.world.advance(lifeMs);
    },
  };
}
