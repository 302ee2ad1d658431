/**
 * Tools of the AI SDK whose calls are steps.
 *
 * T1. A call is named after its tool and its `toolCallId`, which is part of the model's recorded response.
 *     The name is therefore the same on replay, and a recorded call does not run again.
 * T2. Everything the model gets is recorded, errors as well as results.
 * T3. The arguments are the declared input of the step: other arguments under a recorded id stop the run.
 * T4. The SDK passes everything thrown in `execute` to the model. So a `FatalError`, and a result that cannot be
 *     recorded, end the run without a throw.
 * T5. A call that its caller aborted is aborted again on replay, with the caller's signal.
 */

import { DurableError, type Context, type StepInfo, type StepOptions } from "@durable/core";
import { askApproval, type ApprovalOptions } from "./approval.ts";
import { abortAgain } from "./abort.ts";
import { anySignal } from "./call.ts";
import { endRun } from "./end-run.ts";
import { abortedBy, abortOf } from "./errors.ts";
import { stepName } from "./step-name.ts";
import { plain } from "./plain-data.ts";

/** Options of one tool of `durableTools`. */
export interface ToolOptions extends Pick<StepOptions, "retry" | "timeout" | "onUncertain"> {
  /** Asks a person first: always, or when a function of the arguments returns true. */
  readonly approve?: boolean | ((input: unknown) => boolean) | ApprovalOptions | undefined;
  /**
   * For a tool that waits by itself: its `execute` is workflow code and not a step. It gets a context, and
   * runs again on replay.
   */
  readonly suspends?: boolean | undefined;
}

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

interface CallOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal;
}

/** One call of a tool. */
interface Called {
  readonly ctx: Context;
  readonly tool: string;
  readonly execute: Execute;
  readonly input: unknown;
  readonly given: CallOptions;
  readonly options: ToolOptions;
}

/** The same tools; those with an `execute` run as steps of this context. Options are given per tool. */
export function durableTools<T extends Readonly<Record<string, object>>>(
  ctx: Context,
  tools: T,
  options: { readonly [K in keyof T]?: ToolOptions } = {},
): T {
  const entries = Object.entries(tools).map(([tool, definition]) => {
    const { execute } = definition as { readonly execute?: Execute };
    if (typeof execute !== "function") return [tool, definition];
    const own = options[tool] ?? {};
    const bound: Execute = (input, given) => execute.call(definition, input, given);
    const called = (input: unknown, given: CallOptions): Called => ({
      ctx,
      tool,
      execute: bound,
      input,
      given,
      options: own,
    });
    // The SDK shows intermediate values of a generator, and expects none from another function.
    const durable = isGenerator(execute)
      ? (input: unknown, given: CallOptions) => gradually(called(input, given))
      : (input: unknown, given: CallOptions) => atOnce(called(input, given));
    return [tool, { ...definition, execute: durable }];
  });
  return Object.fromEntries(entries) as T;
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

async function asStep(call: Called, work: (info: StepInfo) => unknown): Promise<unknown> {
  const { ctx, tool, given, input } = call;
  const { abortSignal, toolCallId } = given;
  // An error of a tool is information for the model, so it is not retried unless the options ask for it.
  const { retry = false, timeout, onUncertain } = call.options;
  const attempt = async (info: StepInfo): Promise<unknown> => {
    try {
      return await work(info);
    } catch (error) {
      throw abortSignal?.aborted === true ? abortedBy(error, abortSignal.reason) : error;
    }
  };
  try {
    const options = { retry, timeout, onUncertain, input: plain(input) ?? null };
    return await ctx.step(stepName(tool, toolCallId), attempt, options);
  } catch (error) {
    // The model gets the tool's own error, without the step and the run.
    const own = DurableError.is(error, "step-failed") && "cause" in error ? error.cause : error;
    const abort = abortOf(error);
    abortAgain(abortSignal, abort);
    if (abort !== null) throw (own as Error).cause;
    const end = endOf(call, own);
    if (end === null) throw own;
    return endRun(ctx, end);
  }
}

const unrecordable: readonly string[] = ["not-serializable", "too-large", "too-deep"];

/** The error that ends the run; `null` for an error that goes to the model. */
function endOf({ ctx, tool, given }: Called, error: unknown): Error | null {
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
async function inBranch({ ctx, tool, execute, input, given }: Called): Promise<unknown> {
  const call = (inner: Context): unknown => execute(input, { ...given, ctx: inner } as CallOptions);
  const results = await ctx.parallel({ call }, { name: stepName(tool, given.toolCallId) });
  return results.call;
}

async function approved({ ctx, tool, given, input, options: { approve = false } }: Called): Promise<void> {
  const asks = typeof approve === "function" ? approve(input) : approve !== false;
  if (!asks) return;
  const { toolCallId } = given;
  const how = typeof approve === "object" ? approve : {};
  const { approved, reason } = await askApproval(ctx, { tool, toolCallId, input }, how);
  if (!approved)
    throw new Error(`The call of ${tool} was not approved${reason === undefined ? "" : `: ${reason}`}.`);
}

function stepOptions({ given }: Called, { signal, idempotencyKey, attempt }: StepInfo): CallOptions {
  const abortSignal = anySignal(signal, given.abortSignal);
  return { ...given, abortSignal, idempotencyKey, attempt } as CallOptions;
}

function isGenerator(execute: Execute): boolean {
  return Object.prototype.toString.call(execute) === "[object AsyncGeneratorFunction]";
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
