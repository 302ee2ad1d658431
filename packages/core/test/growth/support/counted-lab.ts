/**
 * Counts what an engine does, so that tests can compare the work of two sizes and need no clock: requests to the
 * storage, characters that they move, characters that are decoded, alarms that are set, and rounds of the loop.
 */

import { createApp, MemoryStorage, type AnyWorkflow, type App, type World } from "@durable/core";
import { countingStorage, virtualWorld, type StorageCounts, type VirtualWorld } from "@durable/testing";
import { secret } from "../../support/behaviour-lab.ts";

export interface Work extends StorageCounts {
  /** Characters that were given to `JSON.parse`. */
  decoded: number;
  alarms: number;
  rounds: number;
}

export interface CountedLab {
  readonly world: VirtualWorld;
  readonly memory: MemoryStorage;
  /** A process of its own: an app with its own memory, over the same storage. */
  readonly process: (options: {
    readonly workflows: readonly AnyWorkflow[];
    readonly warm?: number;
  }) => Process;
}

export interface Process {
  readonly app: App;
  /** Waits for `work`, and for the runs that it drives in the background. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
  /** The same, and returns what this process did for it. */
  readonly workOf: (work: () => Promise<unknown>) => Promise<Work>;
}

/** `JSON`, with a count of the characters that it parses. */
export function countedJson(): { readonly json: typeof JSON; readonly decoded: () => number } {
  const { parse, stringify } = JSON;
  let decoded = 0;
  const counted: typeof parse = (text, reviver) => {
    decoded += text.length;
    return parse(text, reviver) as unknown;
  };
  // The members of JSON cannot be spread.
  return { json: { parse: counted, stringify } as typeof JSON, decoded: () => decoded };
}

export function countedLab(decoded: () => number): CountedLab {
  const world = virtualWorld();
  const memory = new MemoryStorage({ now: () => world.now() });
  return {
    world,
    memory,
    process: ({ workflows, warm = 0 }) => {
      const storage = countingStorage(memory);
      const loop = { alarms: 0, rounds: 0 };
      const counted: World = {
        ...world,
        timer: (ms, fire) => {
          loop.alarms += 1;
          return world.timer(ms, fire);
        },
        drain: () => {
          loop.rounds += 1;
          return world.drain();
        },
      };
      const background: Promise<unknown>[] = [];
      const waitUntil = (work: Promise<unknown>): void => void background.push(work);
      const app = createApp({ workflows, storage, secret, world: counted, warm, waitUntil });
      const run = <T>(work: () => Promise<T>): Promise<T> =>
        world.run(async () => {
          const result = await work();
          while (background.length > 0) await background.shift();
          return result;
        });
      const now = (): Work => ({ ...storage.counts, ...loop, decoded: decoded() });
      const workOf = async (work: () => Promise<unknown>): Promise<Work> => {
        const before = now();
        await run(work);
        const after = now();
        for (const name of Object.keys(after) as (keyof Work)[]) after[name] -= before[name];
        return after;
      };
      return { app, run, workOf };
    },
  };
}
