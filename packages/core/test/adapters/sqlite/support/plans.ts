/**
 * Workflows made up from a seed: steps, groups, sleeps, waits for an answer, and forks of what came out. Every value
 * follows from run and key alone, so that any storage, and any number of drivers and deaths, must give the same.
 */

import { durable, type Context, type ForkOptions, type Workflow } from "../../../../src/index.ts";
import type { HostOptions } from "../../../../src/types.ts";
import { seeded } from "./samples.ts";

export type Plan =
  | { readonly kind: "step" | "wait"; readonly name: string }
  | { readonly kind: "sleep"; readonly ms: number }
  | { readonly kind: "sequence"; readonly parts: readonly Plan[] }
  | { readonly kind: "parallel"; readonly branches: Readonly<Record<string, Plan>> };

/** A run, and the fork that is made of it once it is over. */
export interface Planned {
  readonly id: string;
  readonly plan: Plan;
  readonly fork: ForkOptions<Plan> & { readonly id: string };
}

export function plannedRuns(seed: number, count: number): Planned[] {
  return Array.from({ length: count }, (_, n) => {
    const random = seeded(seed * 1_009 + n);
    const id = `planned-${n}`;
    const parts = [step("begin"), grow(random, 7, 0), step("middle"), grow(random, 5, 0), step("end")];
    const where = random() < 0.5 ? { from: "middle" } : { edit: { middle: editOf(id) } };
    return { id, plan: { kind: "sequence", parts }, fork: { id: `${id}${forkOf}`, ...where } };
  });
}

const forkOf = "-fork";

/** What the fork of a run has in place of one of its steps. */
export function editOf(runId: string): string {
  return `edited:${runId}`;
}

/** The run that a planned fork is made of; a run itself is its own. */
export function parentOf(runId: string): string {
  return runId.endsWith(forkOf) ? runId.slice(0, -forkOf.length) : runId;
}

function step(name: string): Plan {
  return { kind: "step", name };
}

function grow(random: () => number, left: number, depth: number): Plan {
  if (left <= 1 || depth > 3) {
    const name = ["a", "b", "c"][Math.floor(random() * 3)] as string;
    const kind = random();
    if (kind < 0.15) return { kind: "sleep", ms: 1 + Math.floor(random() * 10) };
    return { kind: kind < 0.35 ? "wait" : "step", name: `${kind < 0.35 ? "ask" : "do"}-${name}` };
  }
  const children = Array.from({ length: 2 + Math.floor(random() * 2) }, () =>
    grow(random, Math.ceil(left / 2), depth + 1),
  );
  if (random() < 0.5) return { kind: "sequence", parts: children };
  return {
    kind: "parallel",
    branches: Object.fromEntries(children.map((child, n) => [`branch${n}`, child])),
  };
}

export function answerTo(runId: string, key: string): string {
  return `answer:${runId}:${key}`;
}

/** What a driver does and sees, for those who keep count. */
export interface Witness {
  /** The body that makes a value begins. */
  readonly ran?: (runId: string, value: string) => void;
  /** The program has the value, so that it must be durable. */
  readonly saw?: (runId: string, value: string) => void;
  readonly pause?: (ms: number) => Promise<void>;
}

const noPause = (): Promise<void> => Promise.resolve();

export function planFlow(witness: Witness, host: HostOptions): Workflow<Plan, string> {
  const { ran, saw, pause = noPause } = witness;
  const walk = async (ctx: Context, plan: Plan): Promise<string> => {
    switch (plan.kind) {
      case "step": {
        const value = await ctx.step(plan.name, async ({ idempotencyKey }) => {
          const made = `${plan.name}:${idempotencyKey}`;
          ran?.(ctx.runId, made);
          await pause(idempotencyKey.charCodeAt(0) % 4);
          return made;
        });
        saw?.(ctx.runId, value);
        return value;
      }
      case "wait":
        return ctx.suspend<string>(plan.name);
      case "sleep":
        await ctx.sleep(plan.ms);
        return "slept";
      case "sequence": {
        const values: string[] = [];
        for (const part of plan.parts) values.push(await walk(ctx, part));
        return `(${values.join(", ")})`;
      }
      case "parallel": {
        const branches = Object.entries(plan.branches).map(
          ([name, branch]) => [name, (c: Context) => walk(c, branch)] as const,
        );
        return JSON.stringify(await ctx.parallel(Object.fromEntries(branches)));
      }
    }
  };
  return durable(
    "planned",
    async (ctx, plan: Plan) => `${ctx.uuid("of run")} ${await walk(ctx, plan)}`,
    host,
  );
}
