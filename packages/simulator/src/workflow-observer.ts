/**
 * Observes workflow functions: the values that each pass gets, and the bodies it starts. Proven by the
 * planted bugs of `npm run sim:mutants`.
 */

import { inspect } from "node:util";
import type { AnyWorkflow, StepInfo } from "@durable/core";
import { isSource, pulled, type Observer } from "@durable/testing/parts";
import { judgeKept, judgePaused } from "./fleet-checks.ts";
import { beginsAnew } from "./fork-checks.ts";
import type { Body, History } from "./history.ts";
import { ReplayPass } from "./replay-pass.ts";
import { judgeLine, noteLine } from "./log-checks.ts";
import type { Plan } from "./plan.ts";
import { judgeBeginning, takePermit } from "./queue-checks.ts";
import type { Process } from "./process.ts";
import type { Code, Program } from "./program.ts";
import { isRetried, namedBy, type RunLog, type WrittenEntry } from "./run-log.ts";
import { judgeRepeat } from "./repeat-checks.ts";
import { judgeSlot } from "./slot-checks.ts";
import { judgeStrayed } from "./stray-checks.ts";
import { judgeStart } from "./start-checks.ts";
import { judgeUndoneStart } from "./undo-checks.ts";

/** The workflow of a run, and the process it runs in. */
export interface ObservedWorkflow {
  readonly plan: Plan;
  readonly process: Process;
  readonly code: Code;
  readonly program: Program;
  readonly runId: string;
  /** Absent when the storage forgot the run's first batch. */
  readonly run: RunLog | undefined;
  /** Observes the workflow of a child that is not a program of the simulation. */
  readonly observeChild: (workflow: AnyWorkflow) => AnyWorkflow;
}

/** Runs when a step has another key than the place of its call says. */
function judgeKey(
  history: History,
  { run, runId }: ObservedWorkflow,
  step: { readonly key: string; readonly counted: string },
): void {
  if (!beginsAnew(history, run, step))
    history.violate("I1", `run ${runId}: step ${step.counted} runs under the key ${step.key}`);
}

/** An observer for one pass of a workflow function. */
export function observeWorkflow(observed: ObservedWorkflow): Observer {
  const { plan, process, code, program, runId, run, observeChild } = observed;
  const { history, scheduler } = process;
  const worker = !plan.sweeps && process.name.startsWith("worker");
  const pass = new ReplayPass({ run, code, process: process.name, worker });
  history.passes.push(pass);
  const perform = program.perform ?? (async (_process, _key, work) => work());
  const begins = ({ key, info, counted }: { key: string; info: StepInfo; counted: string }): StartedBody => {
    if (key !== counted) judgeKey(history, observed, { key, counted });
    const body = starts(observed, pass, info);
    const taken = [takePlace(process, pass, plan.concurrency), takePermit(process, plan, body, pass)];
    const over = (): void => taken.forEach((giveBack) => giveBack());
    // An aborted body takes no place, however long it takes to notice the abort.
    info.signal.addEventListener("abort", over, { once: true });
    return { body, over };
  };
  return {
    made: (ctx, counted, result, method) => {
      if (!(result instanceof Promise)) return;
      // A renamed wait has its old key.
      const { key = counted } = result as { key?: string };
      noteLine(process, run, key);
      pass.called.set(key, scheduler.now);
      if (method === "stream") noteStream(history, run, key);
      const { token } = result as { token?: string };
      if (token !== undefined && token !== "") history.noteWait(namedBy(token), { runId, key, run });
      noteGiven(result, (what) => {
        if (!process.alive) return;
        pass.keys.add(key);
        if (key !== counted) history.meet("a renamed wait that went on");
        pass.seen.push(`${key} = ${what} at ${ctx.now()}, ${ctx.random("seen").toFixed(4)}`);
        if (/^(parallel|race|map)$/.test(method)) pass.close(key);
        // A caller that only replays may read a record of changed code; it starts nothing and writes no step.
        else if (run !== undefined && process.name.startsWith("worker")) judgeKind(history, run, key, method);
      });
    },
    branch: (work, path) => pass.branch(work, path),
    body: async (key, info, work, counted) => {
      if (info === null) return work(info);
      const { body, over } = begins({ key, info, counted });
      try {
        const value = await perform(process, counted, () => work(info));
        body.value = value;
        return value;
      } finally {
        over();
      }
    },
    stream: async (key, info, work, counted) => {
      if (info === null) return work(info);
      const started = begins({ key, info, counted });
      try {
        const source = await perform(process, counted, () => work(info));
        return isSource(source) ? noted(source, started, { process, program }) : source;
      } catch (error) {
        started.over();
        throw error;
      }
    },
    find: (key, work) => decided({ process, program, run, key }, () => perform(process, key, work)),
    child: (_key, workflow) => (history.observed.has(workflow.name) ? workflow : observeChild(workflow)),
  };
}

interface Deciding {
  readonly process: Process;
  readonly program: Program;
  readonly run: RunLog | undefined;
  readonly key: string;
}

/**
 * Notes how a function resolved an uncertain attempt; failing often enough counts as a failure of the step.
 */
async function decided(
  { process, program, run, key }: Deciding,
  find: () => Promise<unknown>,
): Promise<unknown> {
  const about = { run, key, comparable: program.perform === undefined };
  try {
    const found = (await find()) as { readonly status: string; readonly value?: unknown };
    process.history.decisions.push({ ...about, ...found });
    return found;
  } catch (error) {
    process.history.decisions.push({ ...about, status: "failed" });
    throw error;
  }
}

function noteStream(history: History, run: RunLog | undefined, key: string): void {
  if (run !== undefined && !history.streams.some((other) => other.run === run && other.key === key))
    history.streams.push({ run, key });
}

/** A body that started, and the function that frees its place. */
interface StartedBody {
  readonly body: Body;
  readonly over: () => void;
}

interface Producing {
  readonly process: Process;
  readonly program: Program;
}

/** Notes the chunks of a body as they are read: the stream occupies its place until its reader stops. */
function noted(
  source: Parameters<typeof pulled>[0],
  { body, over }: StartedBody,
  { process, program }: Producing,
): AsyncIterable<unknown> {
  const { perform } = program;
  const given: unknown[] = (body.chunks = []);
  const chunks = pulled(source, (pull) =>
    perform === undefined ? pull() : perform(process, body.key, pull),
  );
  return (async function* () {
    try {
      for await (const chunk of chunks) {
        given.push(chunk);
        yield chunk;
      }
      body.ended = true;
    } finally {
      over();
    }
  })();
}

/**
 * I12: a worker has bodies running in at most as many runs as it has places; a child shares the place of its
 * parent.
 */
function takePlace(
  { busy, name, history }: Process,
  { run, worker }: ReplayPass,
  places: number,
): () => void {
  // A fork that a step makes is driven outside of the worker's places.
  if (run === undefined || history.isOfFork(run)) return () => {};
  const count = (by: 1 | -1): void => {
    const left = (busy.get(run) ?? 0) + by;
    if (left === 0) busy.delete(run);
    else busy.set(run, left);
  };
  count(1);
  const placed = [...busy.keys()].filter((one) => isPlaced(history, one));
  const taken = new Set(placed.map(({ runId }) => runId)).size;
  // After a foreign await a parked run continues by itself, outside of the worker's places.
  if (worker && taken > places && !history.foreign)
    history.violate("I12", `${name} works on ${taken} runs but has ${places} places`);
  let over = false;
  return () => {
    if (!over) count(-1);
    over = true;
  };
}

/**
 * A child that has started continues when the driver of its parent is lost, so it does not count after that. A run that is
 * cancelled with the one that spawned it is cleaned up by the driver of that one.
 */
function isPlaced(history: History, run: RunLog): boolean {
  const { status, above, spawnedBy } = run;
  const isUnneeded = (): boolean =>
    spawnedBy !== null && history.entries(run).some(({ kind }) => kind === "run.cancelling");
  return status === "running" && above === undefined && !isUnneeded();
}

/** Notes a body that starts. */
function starts({ process, program, plan }: ObservedWorkflow, pass: ReplayPass, info: StepInfo): Body {
  const { history, scheduler } = process;
  const { key, attempt, idempotencyKey } = info;
  const { run } = pass;
  if (history.bodies.some((other) => other.run === run && other.key === key && other.attempt === attempt))
    history.meet("a body that ran twice");
  const body: Body = {
    run,
    key,
    attempt,
    idempotencyKey,
    process: process.name,
    at: scheduler.now,
    leased: run !== undefined && history.leases.isHeldBy(process.name, run.locator),
    comparable: program.perform === undefined,
  };
  history.bodies.push(body);
  history.say(process.name, `${run?.runId} ${key} starts, attempt ${attempt}`);
  judgeStart(history, process, pass, body);
  judgeRepeat(history, body);
  judgeUndoneStart(history, body);
  judgeSlot(history, plan, body);
  judgeBeginning(process, plan, body);
  judgeLine(process, body);
  if (plan.pauses === true) judgePaused(process, pass, body);
  if (pass.worker) judgeKept(history, body, process.kept);
  judgeStrayed(process, pass, body);
  return body;
}

/** Law 5: a value goes only to the kind of call that recorded it. */
function judgeKind(history: History, run: RunLog, key: string, method: string): void {
  // A retry takes a record back, and changed code may have another call under its key.
  if (history.lineage(run).some(isRetried)) return;
  const lineage = history.lineage(run).flatMap((log) => history.entries(log));
  const kind = kindOf(lineage.find((entry) => entry.key === key));
  const fits = (its = ""): boolean => its.startsWith(method === "receive" ? "suspend" : method);
  // Beside a stream without an end, a call of changed code that has another kind gets the next key.
  const isNext = (other = ""): boolean =>
    other !== key && other.replace(/#\d+$/, "") === key.replace(/#\d+$/, "");
  if (history.codeChanges && lineage.some((entry) => isNext(entry.key) && fits(entry.kind))) return;
  if (kind !== undefined && !fits(kind))
    history.violate("I1", `run ${run.runId}: ${key} is recorded as ${kind} but went to a ${method}`);
}

function kindOf(entry: WrittenEntry | undefined): string | undefined {
  return entry?.kind.replace("attempt", entry.stream === true ? "stream" : "step");
}

/** Listens to a promise without adding a step to its chain. */
export function noteGiven(promise: Promise<unknown>, note: (what: string) => void): void {
  promise.then(
    (value) => note(shown(value)),
    (error: unknown) => note(`! ${String((error as { code?: unknown } | null)?.code ?? error)}`),
  );
}

/** The value with its types, so that a Date differs from its text. */
function shown(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "nothing";
  // Stack traces are not part of the value.
  return inspect(value, { depth: 20, breakLength: Number.POSITIVE_INFINITY }).replaceAll(
    /\n +(at |\.\.\. \d+ lines matching).*/g,
    "",
  );
}
