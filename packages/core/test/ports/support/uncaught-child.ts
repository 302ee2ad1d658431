/**
 * A worker process whose runs leave errors uncaught: `<path> <crimes as JSON> <options as JSON>`. Prints every stop as JSON
 * and, when all runs have stopped, how often it heard of a rejection itself. `foreign` rejects outside of all runs.
 */

import { writeSync } from "node:fs";
import { createApp, createWorker, durable, type Context } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";

export interface ChildOptions {
  /** How many runs beside the crimes do nothing wrong. */
  readonly good?: number;
  /** The program listens for unhandled rejections itself. */
  readonly listens?: boolean;
  /** What happens outside of runs, while they are under way. */
  readonly foreign?: "rejection" | "exception";
  /** How long the step of a good run takes. */
  readonly ms?: number;
}

const [path = "", crimes = "[]", options = "{}"] = process.argv.slice(2);
const { good = 3, listens = false, foreign, ms = 40 } = JSON.parse(options) as ChildOptions;
const say = (what: unknown): void => void writeSync(1, `${JSON.stringify(what)}\n`);
const wait = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));
const fail = async (reason: string): Promise<never> => {
  await Promise.resolve();
  throw new Error(reason);
};

const crime: Readonly<Record<string, (ctx: Context) => Promise<unknown>>> = {
  "early-await": async (ctx) => {
    const early = fail("early-await");
    await ctx.step("slow", () => wait(ms));
    return early;
  },
  "late-in-parallel": (ctx) =>
    ctx.parallel({
      a: async (c) => {
        void fail("late-in-parallel");
        return c.step("slow", () => wait(ms));
      },
      b: (c) => c.step("slow", () => wait(ms)),
    }),
  "body-microtask": async (ctx) => {
    queueMicrotask(() => {
      throw new Error("body-microtask");
    });
    await ctx.step("slow", () => wait(ms));
  },
  "body-timer": async (ctx) => {
    setTimeout(() => {
      throw new Error("body-timer");
    }, 5);
    await ctx.step("slow", () => wait(ms));
  },
  "step-timer": (ctx) =>
    ctx.step("crime", async () => {
      setTimeout(() => {
        throw new Error("step-timer");
      }, 5);
      await wait(ms);
    }),
  "step-microtask": (ctx) =>
    ctx.step("crime", async () => {
      queueMicrotask(() => {
        throw new Error("step-microtask");
      });
      await wait(ms);
    }),
  "step-floating": (ctx) =>
    ctx.step("crime", async () => {
      void fail("step-floating");
      await wait(ms);
    }),
  "step-abort-listener": (ctx) =>
    ctx.step(
      "crime",
      async ({ signal }) => {
        signal.addEventListener("abort", () => {
          throw new Error("step-abort-listener");
        });
        await wait(ms);
      },
      { timeout: 10, retry: false },
    ),
  "race-abort-listener": async (ctx) => {
    await ctx.race({
      quick: (c) => c.step("quick", () => wait(5)),
      slow: (c) => {
        c.signal.addEventListener("abort", () => {
          throw new Error("race-abort-listener");
        });
        return c.step("slow", () => wait(ms));
      },
    });
    await ctx.step("after", () => wait(ms));
  },
  "cancel-listener": (ctx) =>
    ctx.step("crime", async ({ signal }) => {
      signal.addEventListener("abort", () => {
        throw new Error("cancel-listener");
      });
      setTimeout(() => void app.cancel(ctx.runId), 5);
      // Longer than the driver takes to see the cancellation.
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    }),
  "stream-floating": (ctx) =>
    ctx.stream("crime", async function* () {
      void fail("stream-floating");
      await wait(ms);
      yield 1;
    }),
  "stream-signal": (ctx) =>
    ctx.stream(
      "crime",
      async function* ({ signal }) {
        yield 1;
        signal.addEventListener("abort", () => {
          throw new Error("stream-signal");
        });
        await wait(ms);
        yield 2;
      },
      { timeout: 10, retry: false },
    ),
};

let heard = 0;
if (listens) process.on("unhandledRejection", () => (heard += 1));

/** Good runs that are in their slow step. */
let slow = 0;
const areSlow = (): boolean => slow >= good;
const flows = [
  durable("crime", (ctx, name: string) => crime[name]?.(ctx)),
  durable("good", (ctx) =>
    ctx.step("slow", () => {
      slow += 1;
      return wait(ms);
    }),
  ),
];
const app = createApp({ storage: new SqliteStorage(path), workflows: flows });
const names = JSON.parse(crimes) as readonly string[];
for (const name of names) await app.start("crime", name, { id: name, drive: false });
for (let i = 0; i < good; i++) await app.start("good", undefined, { id: `good-${i}`, drive: false });

let left = names.length + good;
const worker = createWorker(app, {
  concurrency: 30,
  interval: 10,
  onStop: (outcome) => {
    const { runId, status } = outcome;
    const error = status === "blocked" || status === "failed" ? outcome.error : null;
    say({ runId, status, code: error?.code, message: error?.message, step: error?.details["step"] });
    if (status === "running") return;
    left -= 1;
    if (left === 0) void end();
  },
});
say("up");

async function end(): Promise<void> {
  await wait(2 * ms);
  await worker.stop();
  say({ heard });
}

if (foreign !== undefined) {
  // Once the runs are in their slow step.
  while (!areSlow()) await wait(5);
  await wait(100);
  if (foreign === "rejection") void fail("foreign");
  else
    setTimeout(() => {
      throw new Error("foreign");
    }, 0);
}
