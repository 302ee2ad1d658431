/**
 * Drives a run from outside: starts it, answers it, lets its time pass, and retries after an error. Proven in
 * test/kit-clean.test.ts.
 */

import type { App, Outcome, SuspendPoint, Workflow } from "@durable/core";
import type { VirtualWorld } from "../virtual-world.ts";
import type { AnswerBook } from "./answers.ts";

/** How a history ended, or why it did not. */
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
  /** Errors that a caller may see because of the injected fault. */
  readonly allowedErrors: number;
}

const recheckMs = 5_000;
const mostRounds = 10_000;
/** How often a run is checked that only waits for children without a visible driver. */
const mostRechecks = 5;
/** How often one suspend point is answered, so that a refused answer is not repeated forever. */
const mostAnswers = 20;

export async function driveToEnd<Input, Output>(drive: Drive<Input, Output>): Promise<Ending<Output>> {
  const { app, flow, runId, input, world } = drive;
  const args = [input, { id: runId }] as unknown as Parameters<typeof flow.run>;
  const tries: Tries = { rechecks: 0, answers: new Map() };
  let next = (): Promise<Outcome<Output>> => app.run(flow, ...args);
  let { allowedErrors } = drive;
  for (let rounds = 0; rounds < mostRounds; rounds++) {
    let outcome: Outcome<Output>;
    try {
      outcome = await next();
      if (outcome.status !== "suspended" && outcome.status !== "running" && outcome.status !== "paused")
        return { kind: "ended", outcome };
      next = await after(drive, outcome, tries);
    } catch (error) {
      if (allowedErrors-- <= 0) return { kind: "threw", error: asError(error) };
      // The start of the run may not have been recorded.
      next = async () => {
        await pause(world, recheckMs);
        return app.run(flow, ...args);
      };
    }
  }
  return { kind: "stuck", error: new Error(`The run did not end in ${mostRounds} rounds.`) };
}

/** Failed tries so far. */
interface Tries {
  rechecks: number;
  readonly answers: Map<string, number>;
}

/** The next action for a run that has not ended. */
async function after<Input, Output>(
  drive: Drive<Input, Output>,
  outcome: Outcome<Output> & { status: "suspended" | "running" | "paused" },
  tries: Tries,
): Promise<() => Promise<Outcome<Output>>> {
  const { app, runId, answers, world } = drive;
  const advance = async (ms: number): Promise<Outcome<Output>> => {
    await pause(world, ms);
    return (await app.advance(runId)) as Outcome<Output>;
  };
  if (outcome.status === "running") return () => advance(recheckMs);
  // The run has paused itself, and there is no other operator.
  if (outcome.status === "paused")
    return async () => {
      await app.get(runId).unpause({ drive: false });
      return advance(0);
    };
  const { waiting } = outcome;
  const point = answers.find(waiting);
  if (point !== undefined) return () => answered(drive, point, tries).then((now) => now ?? advance(0));
  const wakeAt = outcome.wakeAt ?? (tries.rechecks++ < mostRechecks ? await recheckAt(drive) : null);
  if (wakeAt === null) throw answers.missing(waiting);
  return () => advance(Math.max(0, wakeAt - world.now()));
}

/** When to check the run again if none of its children reports. */
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

/**
 * Answers a suspend point of the run or of one of its children; returns the outcome of the run if the reply
 * has it.
 */
async function answered<Input, Output>(
  { runId, answers, app }: Drive<Input, Output>,
  point: SuspendPoint,
  tries: Tries,
): Promise<Outcome<Output> | null> {
  const count = (tries.answers.get(point.key) ?? 0) + 1;
  tries.answers.set(point.key, count);
  if (point.topic !== undefined) {
    // Named by its wait, so that a message whose reply was lost is not sent twice. Chapters have the same keys.
    const { chapter = 0 } = (await app.list()).runs.find((run) => run.runId === runId) ?? {};
    const payload = await answers.answer(point);
    const { status, issues } = await app.send(runId, point.topic, payload, { id: `${chapter} ${point.key}` });
    if (status === "invalid" || count > mostAnswers) throw answers.refused(point, issues);
    return null;
  }
  const { status, issues, outcome } = await app.resume(point.token, await answers.answer(point));
  if (status === "invalid" || count > mostAnswers) throw answers.refused(point, issues);
  return outcome?.runId === runId ? (outcome as Outcome<Output>) : null;
}

function pause(world: VirtualWorld, ms: number): Promise<void> {
  return new Promise((resolve) => void world.timer(ms, resolve));
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
