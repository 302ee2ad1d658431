/** An app with a workflow to schedule, in virtual time over journals in memory. */

import { createApp, durable, MemoryStorage, type App, type Storage, type Workflow } from "@durable/core";
import { virtualWorld, type VirtualWorld } from "@durable/testing";

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

export interface ScheduleLab {
  readonly world: VirtualWorld;
  readonly storage: MemoryStorage;
  /** The run ids of the bodies that ran, in order. */
  readonly ran: string[];
  /** Waits for an answer in every run. */
  readonly waiting: Workflow<unknown, void>;
  readonly digest: Workflow<unknown, unknown>;
  /** An app of its own, as another process has. */
  readonly open: (storage?: Storage) => App;
  /** All runs, by id, with their status. */
  readonly runs: () => Promise<Record<string, string>>;
  /** Moves the clock to a time. */
  readonly to: (time: string) => Promise<void>;
}

export function scheduleLab(start = "2026-11-16T08:00Z", seed = 1): ScheduleLab {
  const world = virtualWorld({ start: Date.parse(start), seed });
  const storage = new MemoryStorage({ now: () => world.now(), timer: (ms, fire) => world.timer(ms, fire) });
  const ran: string[] = [];
  const digest = durable("digest", (ctx, input: unknown) =>
    ctx.step("work", () => {
      ran.push(ctx.runId);
      return input;
    }),
  );
  const waiting = durable("waiting", async (ctx, _input: unknown) => {
    ran.push(ctx.runId);
    await ctx.suspend("go");
  });
  const secret = "a secret for tests, of no worth";
  return {
    world,
    storage,
    ran,
    digest,
    waiting,
    open: (given = storage) =>
      createApp({ storage: given, world, secret, workflows: [digest, waiting], patience: 0 }),
    runs: async () => {
      const found: [string, string][] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await storage.list({ limit: 1_000, cursor });
        found.push(...page.runs.map(({ runId, status }): [string, string] => [runId, status]));
        cursor = page.next;
      }
      return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
    },
    to: (time) => world.advance(Date.parse(time) - world.now()),
  };
}
