/** A run that a test drives from its beginning any number of times, as other processes would. */

import { durable, MemoryStorage, type Context, type Outcome, type World } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import type { Entry } from "@durable/core/types";

export interface Life<T> {
  readonly outcome: Outcome<unknown>;
  readonly value?: T;
  readonly error?: unknown;
}

export class Lives {
  readonly storage = new MemoryStorage();
  readonly warnings: string[] = [];

  /** One life: the body, and a wait after it, so that the next life begins anew. */
  async live<T>(body: (ctx: Context) => Promise<T>): Promise<Life<T>> {
    const seen: { value?: T; error?: unknown } = {};
    const outcome = await this.#flow(async (ctx) => {
      try {
        seen.value = await body(ctx);
      } catch (error) {
        seen.error = error;
      }
      await ctx.suspend("more");
    }).run(undefined, { id: "r" });
    return { outcome, ...seen };
  }

  entries(): Promise<Entry[]> {
    return this.#flow(async () => {})
      .get("r")
      .entries();
  }

  #flow(body: (ctx: Context) => Promise<unknown>) {
    const world: World = {
      ...systemWorld,
      warn: (message) => void this.warnings.push(message),
      // Retries and the judgement of changed code need no real time here.
      timer: (ms, due) => systemWorld.timer(ms >= 500 ? 1 : ms, due),
    };
    const secret = "a secret for tests, of no worth";
    return durable("flow", (ctx) => body(ctx), { storage: this.storage, secret, world });
  }
}

/** What a promise was rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  );
}
