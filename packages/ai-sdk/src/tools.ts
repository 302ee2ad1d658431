/**
 * Tools of the AI SDK whose calls are steps, or records of a journal.
 *
 * T1. A call is named after its tool and its `toolCallId`, which is part of the model's recorded response.
 *     The name is therefore the same on replay, and a recorded call does not run again.
 * T2. Everything the model gets is recorded, errors as well as results.
 * T3. The arguments are the declared input of the step: other arguments under a recorded id stop the run. In a journal
 *     they are part of the name, and only results are recorded.
 * T4. Whether a call needs approval is decided once: an asynchronous decision is recorded.
 * T5. The SDK passes everything thrown in `execute` to the model. So a `FatalError`, and a result that cannot be
 *     recorded, end the run without a throw.
 * T6. A call that its caller aborted is aborted again on replay, with the caller's signal.
 *
 * Proven in test/tools.test.ts, test/tools-more.test.ts and test/exact.test.ts.
 */

import { DurableError, type Context, type StepInfo, type StepOptions } from "@durable/core";
import { assertOptions, fingerprint } from "@durable/core/storage";
import { abortAgain } from "./abort.ts";
import {
  approvalName,
  approvalOptions,
  askApproval,
  type ApprovalCall,
  type ApprovalOptions,
  plain,
  stepName,
} from "@durable/core/clients";
import { anySignal } from "./call.ts";
import { abortedBy, abortOf } from "./errors.ts";
import { isJournal, placeNow, placed, type Place } from "./place.ts";
import { recorderOf } from "./recorder.ts";
import { warnOfDrawnIds, warnOfUnrecorded } from "./traps.ts";

/** Options of one tool of `durableTools`. */
export interface ToolOptions<Input = unknown> extends Pick<
  StepOptions,
  "retry" | "timeout" | "onUncertain" | "quota"
> {
  /**
   * Asks a person first: always, or when a function of the arguments returns true. If the function is asynchronous, its
   * answer is recorded as a step.
   */
  readonly approve?: boolean | ((input: Input) => boolean | Promise<boolean>) | ApprovalOptions | undefined;
  /**
   * For a tool that waits by itself: its `execute` is workflow code and not a step. It gets a context, and
   * runs again on replay.
   */
  readonly suspends?: boolean | undefined;
}

/** The options of a set of tools, each with the arguments of its tool. */
export type ToolsOptions<T> = { readonly [K in keyof T]?: ToolOptions<InputOf<T[K]>> | undefined };

/** The arguments of a tool, from its `execute`. */
export type InputOf<T> = T extends { readonly execute?: infer E }
  ? NonNullable<E> extends (input: infer I, ...rest: never[]) => unknown
    ? 0 extends 1 & I
      ? unknown
      : I
    : unknown
  : unknown;

/** What `execute` finds in its options, besides what the SDK puts there. */
export interface DurableCall {
  /**
   * Equal for all attempts of this call in this run, and different everywhere else: pass it to the service
   * you call.
   */
  readonly idempotencyKey?: string;
  /** 1 for the first attempt. */
  readonly attempt?: number;
  /** For a tool that `suspends`: a context with keys of its own. */
  readonly ctx?: Context;
}

/** Reads what `durableTools` added to the options of `execute`. */
export function durableCall(options: object): DurableCall {
  return options;
}

type Execute = (input: unknown, options: CallOptions) => unknown;
type Tools = Readonly<Record<string, object>>;

interface CallOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal;
}

/** One call of a tool. */
interface Called {
  readonly on: Place;
  readonly tool: string;
  readonly execute: Execute;
  readonly input: unknown;
  readonly given: CallOptions;
  readonly options: ToolOptions;
}

/**
 * The same tools; those with an `execute` run as steps of this context, or as records of this journal. Without either, as
 * steps of the run in which they are called, and unchanged outside of runs. Options are given per tool.
 * @example const tools = durableTools(ctx, { pay }, { pay: { approve: true } });
 */
export function durableTools<T extends Tools>(on: Place, tools: T, options?: ToolsOptions<NoInfer<T>>): T;
export function durableTools<T extends Tools>(tools: T, options?: ToolsOptions<NoInfer<T>>): T;
export function durableTools<T extends Tools>(...args: readonly unknown[]): T {
  const { on, what: tools, options = {} } = placed<T, ToolsOptions<T>>(args);
  // A misspelt name must not let a tool act without the approval that it asks for.
  assertOptions(options, Object.keys(tools), "durableTools", "tool");
  const entries = Object.entries(tools).map(([tool, definition]) => {
    const { execute } = definition as { readonly execute?: Execute };
    if (typeof execute !== "function") return [tool, definition];
    const own: ToolOptions = (options as ToolsOptions<Tools>)[tool] ?? {};
    assertOptions(
      own,
      "approve suspends retry timeout onUncertain quota",
      `The tool "${tool}" of durableTools`,
    );
    if (typeof own.approve === "object")
      assertOptions(own.approve, approvalOptions, `\`approve\` of the tool "${tool}"`);
    if (on !== null && isJournal(on)) refuseWaits(tool, own, "durableTools got a journal");
    const bound: Execute = (input, given) => execute.call(definition, input, given);
    // The SDK shows intermediate values of a generator, and expects none from another function.
    const run = isA("AsyncGeneratorFunction", execute) ? gradually : atOnce;
    const durable: Execute = (input, given) => {
      const place = placeNow(on);
      if (place !== null) {
        if (!isJournal(place)) warnOfUnrecorded(place, tool, given);
        return run({ on: place, tool, execute: bound, input, given, options: own });
      }
      refuseWaits(tool, own, "it was called outside of one");
      return bound(input, given);
    };
    return [tool, { ...definition, ...approvalWatched(on, tool, definition), execute: durable }];
  });
  return Object.fromEntries(entries) as T;
}

type NeedsApproval = (...args: unknown[]) => unknown;

/** `needsApproval` of a tool, with a warning where the answer may not find its approval. */
function approvalWatched(on: Place | null, tool: string, definition: object): object {
  const { needsApproval } = definition as { readonly needsApproval?: boolean | NeedsApproval };
  if (needsApproval === undefined || needsApproval === false) return {};
  const watched = async (...args: unknown[]): Promise<unknown> => {
    const needs = needsApproval === true || (await needsApproval.apply(definition, args));
    const place = placeNow(on);
    if (needs === true && place !== null && !isJournal(place)) warnOfDrawnIds(place, tool);
    return needs;
  };
  return { needsApproval: watched };
}

async function atOnce(call: Called): Promise<unknown> {
  await approved(call);
  if (call.options.suspends === true) return inBranch(call);
  return asStep(call, (info) => call.execute(call.input, stepOptions(call, info)));
}

/** Intermediate values are shown at once and not recorded; the last one is recorded before it is shown. */
async function* gradually(call: Called): AsyncGenerator {
  await approved(call);
  const shown = new Progress();
  const work = asStep(call, async (info) => {
    let last: unknown;
    let any = false;
    for await (const value of call.execute(call.input, stepOptions(call, info)) as AsyncIterable<unknown>) {
      if (any) shown.push(last);
      last = value;
      any = true;
    }
    return last;
  });
  work.then(
    () => shown.end(),
    () => shown.end(),
  );
  yield* shown.values();
  yield await work;
}

async function asStep(call: Called, execute: (info: StepInfo) => unknown): Promise<unknown> {
  const { on, tool, given, input } = call;
  const work = async (info: StepInfo): Promise<unknown> => recordable(await execute(info), call, info);
  const { abortSignal, toolCallId } = given;
  // An error of a tool is information for the model, so it is not retried unless the options ask for it.
  const { retry = false, timeout, onUncertain, quota } = call.options;
  if (isJournal(on)) {
    const name = stepName(tool, toolCallId, fingerprint(plain(input) ?? null, tool).slice(0, 8));
    return recorderOf(on).step(name, work, { retry, signal: abortSignal, label: tool });
  }
  const attempt = async (info: StepInfo): Promise<unknown> => {
    try {
      return await work(info);
    } catch (error) {
      throw abortSignal?.aborted === true ? abortedBy(error, abortSignal.reason) : error;
    }
  };
  try {
    const options = { retry, timeout, onUncertain, quota, label: tool, input: plain(input) ?? null };
    return await on.step(stepName(tool, toolCallId), attempt, options);
  } catch (error) {
    // The model gets the tool's own error, without the step and the run.
    const own = DurableError.is(error, "step-failed") && "cause" in error ? error.cause : error;
    const abort = abortOf(error);
    abortAgain(abortSignal, abort);
    if (abort !== null) throw (own as Error).cause;
    const end = endOf(on, call, own);
    if (end === null) throw own;
    return on.fail(end);
  }
}

/**
 * The model gets the JSON of a result, so a result that cannot be recorded, such as a row of an ORM, is recorded as its JSON. The
 * run has that form from the first time on. A cycle fails as before.
 */
function recordable(value: unknown, { tool, given: { toolCallId } }: Called, { log }: StepInfo): unknown {
  try {
    fingerprint(value, `result of tool "${tool}"`);
    return value;
  } catch (error) {
    if (!DurableError.is(error, "not-serializable")) throw error;
    const json = asJson(value);
    if (json === undefined) throw error;
    log.warn(`Call "${toolCallId}" of tool "${tool}" is recorded as its JSON. ${error.message}`);
    return JSON.parse(json);
  }
}

/** `undefined` for what JSON cannot express. */
function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

const unrecordable: readonly string[] = ["not-serializable", "too-large", "too-deep"];

/** The error that ends the run; `null` for an error that goes to the model. */
function endOf(ctx: Context, { tool, given }: Called, error: unknown): Error | null {
  if (!(error instanceof Error)) return null;
  if (error.name === "FatalError") return error;
  if (!DurableError.is(error) || !unrecordable.includes(error.code)) return null;
  return new DurableError(
    error.code,
    `Run ${ctx.runId} stops, because call "${given.toolCallId}" of tool "${tool}" returned a value that cannot be recorded. The model got no result. Return plain data from execute. ${error.message}`,
    { cause: error, details: { ...error.details, tool, toolCallId: given.toolCallId } },
  );
}

/** Runs in a branch, so that its waits have keys of their own: `ask call_1[call]/answer`. */
async function inBranch(called: Called): Promise<unknown> {
  const { on, tool, execute, input, given } = called;
  const ctx = on as Context;
  const call = (inner: Context): unknown => execute(input, { ...given, ctx: inner } as CallOptions);
  try {
    const results = await ctx.parallel({ call }, { name: stepName(tool, given.toolCallId) });
    return results.call;
  } catch (error) {
    const end = endOf(ctx, called, error);
    if (end === null) throw error;
    return ctx.fail(end);
  }
}

async function approved(call: Called): Promise<void> {
  const { approve = false } = call.options;
  // Over a journal there is nothing to approve.
  if (approve === false) return;
  const { on, tool, given, input } = call;
  const ctx = on as Context;
  const wait = { tool, toolCallId: given.toolCallId, input };
  if (typeof approve === "function" && !(await decided(ctx, approve, wait))) return;
  const how = typeof approve === "object" ? approve : {};
  const { approved, reason } = await askApproval(ctx, wait, how);
  if (!approved)
    throw new Error(`The call of ${tool} was not approved${reason === undefined ? "" : `: ${reason}`}.`);
}

/** A function that answers at once is not recorded, because it gives the same answer again. */
async function decided(
  ctx: Context,
  approve: (input: unknown) => boolean | Promise<boolean>,
  call: ApprovalCall,
): Promise<boolean> {
  const name = approvalName(call, "needs approval");
  if (isA("AsyncFunction", approve)) return ctx.step(name, () => approve(call.input));
  const verdict = approve(call.input);
  if (typeof verdict === "boolean") return verdict;
  // On replay the recorded answer counts, and this one may fail.
  verdict.catch(() => {});
  return ctx.step(name, () => verdict);
}

function refuseWaits(
  tool: string,
  { approve = false, suspends = false, timeout, onUncertain, quota }: ToolOptions,
  because: string,
): void {
  const [option] = Object.entries({ approve, suspends, timeout, onUncertain, quota }).flatMap(
    ([name, value]) => (value === undefined || value === false ? [] : [name]),
  );
  if (option === undefined) return;
  throw new DurableError(
    "invalid-options",
    `Tool "${tool}" has the option ${option}, which needs a workflow, and ${because}. Call it in a workflow, outside of its steps, or leave the option out.`,
  );
}

function stepOptions({ given }: Called, { signal, idempotencyKey, attempt }: StepInfo): CallOptions {
  const abortSignal = anySignal(signal, given.abortSignal);
  return { ...given, abortSignal, idempotencyKey, attempt } as CallOptions;
}

function isA(kind: "AsyncFunction" | "AsyncGeneratorFunction", execute: unknown): boolean {
  return Object.prototype.toString.call(execute) === `[object ${kind}]`;
}

/** Passes intermediate values from running work to its reader. */
class Progress {
  readonly #values: unknown[] = [];
  #over = false;
  #wake: () => void = () => {};

  push(value: unknown): void {
    this.#values.push(value);
    this.#wake();
  }

  end(): void {
    this.#over = true;
    this.#wake();
  }

  async *values(): AsyncGenerator {
    for (;;) {
      while (this.#values.length > 0) yield this.#values.shift();
      if (this.#over) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
