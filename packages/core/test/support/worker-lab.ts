/** A worker in virtual time, and a workflow slow enough to be caught in the middle. */

import {
  createApp,
  createWorker,
  durable,
  type AnyWorkflow,
  type App,
  type Outcome,
  type Storage,
  type Worker,
  type WorkerOptions,
  type World,
} from "@durable/core";
import type { VirtualWorld } from "@durable/testing";
import { onTestFinished } from "vitest";
import { outputOf, pause, secret, type Lab } from "./behaviour-lab.ts";

export interface Shop extends Lab {
  readonly app: App;
  readonly worker: Worker;
  readonly heard: Outcome<unknown>[];
  /** Lets time pass until so many drives have stopped. */
  readonly until: (stops: number) => Promise<void>;
}

/** A worker in virtual time; it is stopped when the test is over. */
export function open(
  base: Lab,
  workflows: readonly AnyWorkflow[],
  options: WorkerOptions & { readonly storage?: Storage; readonly world?: World } = {},
): Shop {
  const { storage = base.storage, world = base.world, onStop, ...rest } = options;
  const app = createApp({ storage, world, secret, workflows });
  const heard: Outcome<unknown>[] = [];
  let tell = (): void => {};
  const worker = createWorker(app, {
    ...rest,
    onStop: (outcome) => {
      heard.push(outcome);
      tell();
      onStop?.(outcome);
    },
  });
  onTestFinished(() => void worker.stop());
  const until = async (stops: number): Promise<void> => {
    while (heard.length < stops) await base.world.run(new Promise<void>((resolve) => (tell = resolve)));
  };
  return { ...base, app, worker, heard, until };
}

/** A storage without `claim` and `whenDue`: workers list due runs and poll. */
export function bare(storage: Storage): Storage {
  return {
    append: (request) => storage.append(request),
    read: (locator, from) => storage.read(locator, from),
    list: (query) => storage.list(query),
    lease: (locator, owner, ttlMs) => storage.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => storage.release(locator, owner, quietMs),
    delete: (locator) => storage.delete(locator),
  };
}

/** Three steps, each of which takes a while; `ran` has every body that was begun. */
export function slow(world: VirtualWorld, ms = 1_000) {
  const ran: string[] = [];
  const seen = { now: 0, most: 0 };
  const flow = durable("slow", async (ctx, topic: string) => {
    const done: string[] = [];
    for (const name of ["a", "b", "c"]) {
      done.push(
        await ctx.step(name, async ({ attempt }) => {
          ran.push(`${ctx.runId} ${name} ${attempt}`);
          seen.now += 1;
          seen.most = Math.max(seen.most, seen.now);
          await pause(world, ms);
          seen.now -= 1;
          return `${topic} ${name}`;
        }),
      );
    }
    return done;
  });
  return { flow, ran, seen };
}

export const outputs = (heard: readonly Outcome<unknown>[]): unknown[] => heard.map(outputOf);
