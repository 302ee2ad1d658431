/** The workflows of a fleet. Each body that runs writes a line into a log that outlives its process. */
import { appendFileSync, readFileSync } from "node:fs";
import { createApp, durable, type AnyWorkflow, type App, type Storage } from "@durable/core";

/** A body that ran: its run and step, what it made, what it saw of the step before, and when. */
export interface Body {
  readonly run: string;
  readonly step: number;
  readonly value: string;
  readonly before: string | null;
  readonly at: number;
}

export const steps = 10;

export function bodiesIn(path: string): Body[] {
  try {
    // A process that was killed may have written half of its last line.
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.flatMap((line) => (line.endsWith("}") ? [JSON.parse(line) as Body] : []));
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw error;
  }
}

/** `ten` has ten steps, each of which sees the value of the one before. `wait` waits, then has one step. */
export function fleetFlows(log: string, stepMs = 0): AnyWorkflow[] {
  const body = (run: string, step: number, before: string | null): string => {
    const value = `${run} ${step} ${process.pid} ${Math.random()}`;
    const line: Body = { run, step, value, before, at: Date.now() };
    appendFileSync(log, `${JSON.stringify(line)}\n`);
    return value;
  };
  const ten = durable("ten", async (ctx) => {
    let before: string | null = null;
    for (let step = 1; step <= steps; step++) {
      const seen: string | null = before;
      before = await ctx.step(`step ${step}`, async () => {
        if (stepMs > 0) await new Promise((resolve) => setTimeout(resolve, stepMs * Math.random() * 2));
        return body(ctx.runId, step, seen);
      });
    }
    return before;
  });
  const wait = durable("wait", async (ctx, how: "sleep" | "answer") => {
    if (how === "sleep") await ctx.sleep("30 days");
    else await ctx.suspend("ok");
    return ctx.step("woken", () => body(ctx.runId, 1, null));
  });
  return [ten, wait];
}

const work = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

const plain = (name: string): AnyWorkflow =>
  durable(name, async (ctx) => {
    for (const step of ["one", "two", "three"]) await ctx.step(step, work);
  });

const changed = (version: string): AnyWorkflow =>
  durable(
    "b",
    async (ctx) => {
      await ctx.step("one", work);
      if (version === "2") await ctx.step("check", work);
      await ctx.sleep(200);
      await ctx.step("two", work);
    },
    { version },
  );

/** Two versions of a program: both have workflow `b`, and the newer `b` has one more step, before a wait. */
export function versionFlows(code: "old" | "new" | "client"): AnyWorkflow[] {
  if (code === "client") return [plain("a"), changed("1"), plain("c"), plain("d")];
  return code === "old" ? [plain("a"), changed("1")] : [changed("2"), plain("c")];
}

export function fleetApp(storage: Storage, workflows: readonly AnyWorkflow[]): App {
  return createApp({ storage, secret: "a secret for the fleet of a long test", workflows, patience: 0 });
}
