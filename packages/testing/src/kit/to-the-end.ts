/** Drives a run as the outside would: starts it, answers it, waits with it, and tries again after an error. */

import type { App, Outcome, Workflow } from "@durable/core";
import type { VirtualWorld } from "../world.ts";
import type { AnswerBook } from "./answers.ts";

/** How a history came to its end, or why it did not. */
export type Ending<Output> =
  | { readonly kind: "ended"; readonly outcome: Outcome<Output> }
  | { readonly kind: "threw" | "stuck"; readonly error: Error };

export interface Trip<Input, Output> {
  readonly flow: Workflow<Input, Output>;
  readonly runId: string;
  readonly input: Input;
  readonly answers: AnswerBook;
  readonly app: App;
  readonly world: VirtualWorld;
  /** Errors that a caller may see: what a fault made of a request. */
  readonly excuses: number;
}

const lookAgainMs = 5_000;
const mostRounds = 10_000;

export async function toTheEnd<Input, Output>(trip: Trip<Input, Output>): Promise<Ending<Output>> {
  const { flow, runId, input, world } = trip;
  const args = [input, { id: runId }] as unknown as Parameters<typeof flow.run>;
  let next = (): Promise<Outcome<Output>> => flow.run(...args);
  let { excuses } = trip;
  for (let rounds = 0; rounds < mostRounds; rounds++) {
    let outcome: Outcome<Output>;
    try {
      outcome = await next();
      if (outcome.status !== "suspended" && outcome.status !== "running") return { kind: "ended", outcome };
      next = after(trip, outcome);
    } catch (error) {
      if (excuses-- <= 0) return { kind: "threw", error: asError(error) };
      // The run may not even have been recorded.
      next = async () => {
        await pause(world, lookAgainMs);
        return flow.run(...args);
      };
    }
  }
  return { kind: "stuck", error: new Error(`The run was not over after ${mostRounds} rounds.`) };
}

/** What is to be done about a run that is not over. */
function after<Input, Output>(
  trip: Trip<Input, Output>,
  outcome: Outcome<Output> & { status: "suspended" | "running" },
): () => Promise<Outcome<Output>> {
  const { flow, app, runId, answers, world } = trip;
  const advance = async (ms: number): Promise<Outcome<Output>> => {
    await pause(world, ms);
    return (await app.advance(runId)) as Outcome<Output>;
  };
  if (outcome.status === "running") return () => advance(lookAgainMs);
  const { waiting, wakeAt } = outcome;
  const point = answers.find(waiting);
  if (point !== undefined) {
    return async () => {
      const result = await flow.resume(point.token, await answers.answer(point));
      if (result.status === "invalid") throw answers.refused(point, result.issues);
      return result.outcome ?? advance(0);
    };
  }
  if (wakeAt === null) throw answers.missing(waiting);
  return () => advance(Math.max(0, wakeAt - world.now()));
}

function pause(world: VirtualWorld, ms: number): Promise<void> {
  return new Promise((resolve) => void world.timer(ms, resolve));
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
