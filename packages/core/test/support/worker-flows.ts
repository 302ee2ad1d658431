/** What worker processes drive: runs whose every effect is written to a file, beside the journal. */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createApp, durable, type App, type Storage } from "../../src/index.ts";

/** One line per body that was begun: worker, run, step, attempt, idempotency key. */
export interface Effect {
  readonly worker: string;
  readonly run: string;
  readonly step: string;
  readonly attempt: number;
  readonly key: string;
}

export function effectsIn(file: string): Effect[] {
  // The last part is empty, or a line that a process is about to write.
  return (existsSync(file) ? readFileSync(file, "utf8") : "")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Effect);
}

export const jobSteps = ["fetch", "think", "long", "write"] as const;

export interface Doing {
  readonly worker: string;
  readonly effects: string;
  /** How long the step called "long" takes here. */
  readonly longMs?: number;
}

/** Ways for a body to take its process along. A spin ends only by a kill from outside. */
const deaths = {
  exit: (): never => process.exit(1),
  oom: (): never => {
    const all: number[][] = [];
    for (;;) all.push(Array.from({ length: 100_000 }, (_, n) => n + all.length));
  },
  spin: (): never => {
    for (;;);
  },
};

export function workerApp(storage: Storage, { worker, effects, longMs = 0 }: Doing): App {
  const job = durable("job", async (ctx) => {
    const done: string[] = [];
    for (const step of jobSteps) {
      const output = ctx.step(step, async ({ attempt, idempotencyKey: key }) => {
        const effect: Effect = { worker, run: ctx.runId, step, attempt, key };
        appendFileSync(effects, `${JSON.stringify(effect)}\n`);
        if (step === "long") await new Promise((resolve) => setTimeout(resolve, longMs));
        return key;
      });
      done.push(await output);
    }
    return done;
  });
  const deadly = durable("deadly", (ctx, how: keyof typeof deaths | null) =>
    ctx.step(how ?? "exit", () => {
      appendFileSync(effects, `${JSON.stringify({ worker, run: ctx.runId, step: how ?? "exit" })}\n`);
      return deaths[how ?? "exit"]();
    }),
  );
  const ask = durable("ask", (ctx) => ctx.suspend<string>("ok"));
  return createApp({ storage, workflows: [job, deadly, ask] });
}
