/** Workflows that a test can drive from their beginning any number of times. */

import { durable, MemoryStorage, type Context, type Outcome, type World } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { systemWorld } from "@durable/core/storage";

export const secret = "a secret for tests, of no worth";

export interface Driven<T> {
  readonly outcome: Outcome<unknown>;
  /** What the body gave; absent when it is still waiting. */
  readonly value?: T;
  /** What it threw. */
  readonly error?: unknown;
}

export class Lab {
  readonly storage = new MemoryStorage();
  readonly warnings: string[] = [];
  stillMs = 100;
  /** The version of the code. */
  version: string | undefined;

  /** Drives the run with a life of its own, as another process would. It stays open, so that it can be driven again. */
  async drive<T>(body: (ctx: Context) => Promise<T>): Promise<Driven<T>> {
    const seen: { value?: T; error?: unknown } = {};
    const outcome = await this.#flow(open(body, seen)).run(undefined, { id: "r" });
    return { outcome, ...seen };
  }

  /** Answers a wait, drives the run on, and returns the status of the answer. */
  async resume<T>(body: (ctx: Context) => Promise<T>, token: string, answer: unknown): Promise<string> {
    return (await this.#flow(open(body, {})).resume(token, answer)).status;
  }

  entries(): Promise<Entry[]> {
    return this.#flow(async () => {})
      .get("r")
      .entries();
  }

  /** All that is kept, as text. */
  async text(): Promise<string> {
    return JSON.stringify(await this.entries());
  }

  #flow(body: (ctx: Context) => Promise<unknown>) {
    const world: World = {
      ...systemWorld,
      warn: (message) => void this.warnings.push(message),
      // The engine waits so long before it judges changed code.
      timer: (ms, due) => systemWorld.timer(ms === 1_000 ? this.stillMs : ms, due),
    };
    return durable("flow", (ctx) => body(ctx), {
      storage: this.storage,
      secret,
      world,
      version: this.version,
    });
  }
}

/** The body, with a wait after it. */
function open<T>(body: (ctx: Context) => Promise<T>, seen: { value?: T; error?: unknown }) {
  return async (ctx: Context): Promise<void> => {
    try {
      seen.value = await body(ctx);
    } catch (error) {
      seen.error = error;
    }
    await ctx.suspend("more");
  };
}

export function waitOf({ outcome }: Driven<unknown>, start: string) {
  const waiting = outcome.status === "suspended" ? outcome.waiting : [];
  const found = waiting.find(({ key }) => key.startsWith(start));
  if (found === undefined) throw new Error(`no wait ${start}: ${JSON.stringify(outcome)}`);
  return found;
}
