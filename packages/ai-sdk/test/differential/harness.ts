/** Runs a program in a process without a journal, in a run, and in the next life of that run. */

import { durable, MemoryStorage, type Context } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { durableModel, durableTools, type ModelOptions } from "../../src/index.ts";
import { secret } from "../support/lab.ts";
import { versions } from "../support/versions.ts";
import { scriptedModel } from "./scripted.ts";
import type { Bench, Major, Program } from "./program.ts";

/** What was seen, and how much was done for it. */
export interface Ran {
  readonly seen: unknown;
  readonly calls: number;
  readonly tools: number;
  readonly warnings: readonly string[];
}

export interface ThreeWays {
  readonly plain: Ran;
  readonly run: Ran;
  readonly nextLife: Ran;
}

export const sdkOf = (major: Major) => versions[major - 5]!.ai;

/** A failed call is repeated at once. */
const retry = { delay: 1, jitter: false };

interface Counts {
  calls: number;
  tools: number;
}

const none = (): Counts => ({ calls: 0, tools: 0 });

function benchOf(major: Major, ctx: Context | null, counts: Counts, answers: Map<string, unknown>): Bench {
  const asked = (): void => void (counts.calls += 1);
  const options = (given: ModelOptions = {}): ModelOptions => ({ retry, ...given });
  return {
    major,
    sdk: sdkOf(major),
    ctx,
    model: (turns, given) => {
      const model = scriptedModel(major, turns, asked);
      return ctx === null ? model : durableModel(ctx, model, options(given));
    },
    recorded: (model) => (ctx === null ? model : durableModel(ctx, model, options())),
    tools: (tools, given) => (ctx === null ? tools : durableTools(ctx, tools, given)),
    asked,
    ran: () => void (counts.tools += 1),
    wait: async <T>(name: string, answer: T): Promise<T> => {
      answers.set(name, answer);
      return ctx === null ? answer : ctx.suspend<T>(name);
    },
  };
}

export async function threeWays(program: Program, major: Major): Promise<ThreeWays> {
  const counts = none();
  const seen = await program.run(benchOf(major, null, counts, new Map()));
  const plain = { seen, ...counts, warnings: [] };
  const lives = new Lives(program, major);
  return { plain, run: await lives.toEnd(), nextLife: await lives.next() };
}

/** The lives of one run. Each has an app of its own, and only the storage is shared. */
class Lives {
  readonly #storage = new MemoryStorage();
  readonly #program: Program;
  readonly #major: Major;
  readonly #answers = new Map<string, unknown>();

  constructor(program: Program, major: Major) {
    this.#program = program;
    this.#major = major;
  }

  /** Drives the run until the program has ended, and answers what it waits for. */
  async toEnd(): Promise<Ran> {
    const counts = none();
    const warnings: string[] = [];
    for (;;) {
      const life = this.#life(counts, warnings);
      const outcome = await life.flow.run(undefined, { id: "r" });
      if (life.over) return { seen: life.seen, ...counts, warnings };
      const waiting = outcome.status === "suspended" ? outcome.waiting : [];
      const open = waiting.filter(({ key }) => this.#answers.has(key));
      if (open.length === 0)
        throw new Error(
          `"${this.#program.name}" is stuck: ${JSON.stringify(outcome)} ${String("error" in outcome ? outcome.error : "")}`,
        );
      for (const { key, token } of open)
        await this.#life(counts, warnings).flow.resume(token, this.#answers.get(key));
    }
  }

  async next(): Promise<Ran> {
    const counts = none();
    const warnings: string[] = [];
    const life = this.#life(counts, warnings);
    const outcome = await life.flow.run(undefined, { id: "r" });
    if (!life.over) throw new Error(`"${this.#program.name}" has no next life: ${JSON.stringify(outcome)}`);
    return { seen: life.seen, ...counts, warnings };
  }

  #life(counts: Counts, warnings: string[]) {
    const life = { seen: undefined as unknown, over: false };
    const body = async (ctx: Context): Promise<void> => {
      life.seen = await this.#program.run(benchOf(this.#major, ctx, counts, this.#answers));
      life.over = true;
      // Open, so that the run can be driven once more from its beginning.
      await ctx.suspend("the end");
    };
    const world = { ...systemWorld, warn: (message: string) => void warnings.push(message) };
    const flow = durable("program", body, { storage: this.#storage, secret, world });
    return Object.assign(life, { flow });
  }
}
