/** Drives a run as the outside would: starts it, answers it, waits with it, and tries again after an error. */

import type { App, Outcome, SuspendPoint, Workflow } from "@durable/core";
import type { VirtualWorld } from "../virtual-world.ts";
import type { AnswerBook } from "./answers.ts";

/** How a history came to its end, or why it did not. */
export type Ending<Output> =
  | { readonly kind: "ended"; readonly outcome: Outcome<Output> }
  | { readonly kind: "threw" | "stuck"; readonly error: Error };

export interface Drive<Input, Output> {
  readonly flow: Workflow<Input, Output>;
  readonly runId: string;
  readonly input: Input;
  readonly answers: AnswerBook;
  readonly app: App;
  readonly world: VirtualWorld;
  /** Errors that a caller may see: what a fault made of a request. */
  readonly allowedErrors: number;
}

const recheckMs = 5_000;
const mostRounds = 10_000;
/** Times that a run is looked at which only waits for children that nobody seems to drive. */
const mostRechecks = 5;
/** Times that one suspend point is answered: an answer that is refused would be given for ever. */
const mostAnswers = 20;

export async function driveToEnd<Input, Output>(drive: Drive<Input, Output>): Promise<Ending<Output>> {
  const { flow, runId, input, world } = drive;
  const args = [input, { id: runId }] as unknown as Parameters<typeof flow.run>;
  const tries: Tries = { rechecks: 0, answers: new Map() };
  let next = (): Promise<Outcome<Output>> => flow.run(...args);
  let { allowedErrors } = drive;
  for (let rounds = 0; rounds < mostRounds; rounds++) {
    let outcome: Outcome<Output>;
    try {
      outcome = await next();
      if (outcome.status !== "suspended" && outcome.status !== "running") return { kind: "ended", outcome };
      next = await after(drive, outcome, tries);
    } catch (error) {
      if (allowedErrors-- <= 0) return { kind: "threw", error: asError(error) };
      // The run may not even have been recorded.
      next = async () => {
        await pause(world, recheckMs);
        return flow.run(...args);
      };
    }
  }
  return { kind: "stuck", error: new Error(`The run was not over after ${mostRounds} rounds.`) };
}

/** What was tried in vain so far. */
interface Tries {
  rechecks: number;
  readonly answers: Map<string, number>;
}

/** What is to be done about a run that is not over. */
async function after<Input, Output>(
  drive: Drive<Input, Output>,
  outcome: Outcome<Output> & { status: "suspended" | "running" },
  tries: Tries,
): Promise<() => Promise<Outcome<Output>>> {
  const { app, runId, answers, world } = drive;
  const advance = async (ms: number): Promise<Outcome<Output>> => {
    await pause(world, ms);
    return (await app.advance(runId)) as Outcome<Output>;
  };
  if (outcome.status === "running") return () => advance(recheckMs);
  const { waiting } = outcome;
  const point = answers.find(waiting);
  if (point !== undefined) return () => answered(drive, point, tries).then((now) => now ?? advance(0));
  const wakeAt = outcome.wakeAt ?? (tries.rechecks++ < mostRechecks ? await recheckAt(drive) : null);
  if (wakeAt === null) throw answers.missing(waiting);
  return () => advance(Math.max(0, wakeAt - world.now()));
}

/** When the run is looked at, should none of its children tell it more. */
async function recheckAt({
  app,
  runId,
}: {
  readonly app: App;
  readonly runId: string;
}): Promise<number | null> {
  const { runs } = await app.list({ status: "suspended" });
  return runs.find((run) => run.runId === runId)?.wakeAt ?? null;
}

/** Answers a suspend point of the run, or of one of its children; gives where the run then stands, if it was told. */
async function answered<Input, Output>(
  { flow, runId, answers }: Drive<Input, Output>,
  point: SuspendPoint,
  tries: Tries,
): Promise<Outcome<Output> | null> {
  const count = (tries.answers.get(point.key) ?? 0) + 1;
  tries.answers.set(point.key, count);
  const { status, issues, outcome } = await flow.resume(point.token, await answers.answer(point));
  if (status === "invalid" || count > mostAnswers) throw answers.refused(point, issues);
  return outcome?.runId === runId ? outcome : null;
}

function pause(world: VirtualWorld, ms: number): Promise<void> {
  return new Promise((resolve) => void world.timer(ms, resolve));
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
