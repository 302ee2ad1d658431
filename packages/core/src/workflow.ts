/** `durable()`: a named function whose steps are recorded. */

import type { Context } from "./engine/context.ts";
import { checkedBudget, type BudgetOptions } from "./engine/budgeting.ts";
import { retryPolicy } from "./engine/calls/retry.ts";
import type { Arguments, Defaults, Definition, FlowOptions, MessageSchemas } from "./engine/definition.ts";
import type { CancelOptions } from "./runs/tree.ts";
import { Binding } from "./runs/binding.ts";
import { defined, assertOptions } from "./values/options.ts";
import { toMs } from "./values/duration.ts";
import { checkedMode } from "./engine/calls/uncertain.ts";
import { checkedDeadline } from "./engine/deadline.ts";
import { DurableError } from "./values/errors.ts";
import type { ForkOptions } from "./runs/fork.ts";
import { Host, hostOptions, type HostOptions } from "./runs/host.ts";
import { assertName } from "./journal/keys.ts";
import type { Outcome } from "./journal/outcome.ts";
import { resume, type ResumeOptions, type ResumeResult } from "./runs/resume.ts";
import { assertRunOf, openRun } from "./runs/lookup.ts";
import { forkOf, Run, runToStop, start, type RunOptions, type StartOptions } from "./run.ts";
import type { Tags } from "./values/run-tags.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "./values/schema.ts";
import type { ListPage } from "./ports/storage.ts";
import { listRuns, type ListedRun, type RunQuery } from "./runs/list.ts";

/**
 * Options of `durable()`: a version, and defaults for runs and steps. Options of `HostOptions` make an app of the workflow's
 * own, and an app does not accept such a workflow.
 */
export interface WorkflowOptions extends HostOptions, Defaults {
  /** Recorded when a run or a chapter begins, and readable as `ctx.version` until its end. */
  readonly version?: string | undefined;
  /** What a run may spend: `5`, or `{ most: 5, onLimit: "suspend" }`. See `durableBudget`. */
  readonly budget?: number | BudgetOptions | undefined;
}

/** The messages that runs of a workflow receive: an option of `durable()`. */
export interface Topics<M extends MessageSchemas> {
  /**
   * Schemas of messages, by topic. `ctx.receive` gives their types, and a message that does not fit is refused
   * where it is sent. Without them any message is accepted.
   */
  readonly messages?: M | undefined;
}

/** Options of `durable()` that depend on the input of the workflow. */
export interface TagOptions<Input> {
  /** Tags of every run, by which lists find it, or a function that makes them from its input. Never encrypted. */
  readonly tags?: Tags | ((input: Input) => Tags) | undefined;
}

/** The arguments of `flow.run`: the input (optional where the workflow takes none), then the options. */
export type RunArguments<Input> = Arguments<Input, RunOptions>;

/** A workflow of any input and output, as apps and workers take it. */
export interface AnyWorkflow {
  /** The name that journals record; it finds the code again after a restart. */
  readonly name: string;
  /** What `durable()` was given. */
  readonly definition: Definition;
}

/**
 * A workflow and the operations on its runs. They act on the app that the workflow is bound to: that of
 * `createApp({ workflows })`, or a default app if there is none.
 */
export interface Workflow<
  Input,
  Output,
  M extends MessageSchemas = MessageSchemas,
  Name extends string = string,
> extends AnyWorkflow {
  readonly name: Name;
  readonly definition: Definition<Input, Output>;
  /** Records the run and drives it in this process until it stops. */
  run(...args: RunArguments<Input>): Promise<Outcome<Output>>;
  /**
   * Records the run and drives it in the background; with `drive: false` it only records the run.
   * @example const run = await order.start("A-17", { id: "order-A-17" });
   */
  start(...args: Arguments<Input, StartOptions>): Promise<Run<Output, Input, M>>;
  /** Answers a suspend point, and drives the run until it stops again; with `drive: false` it only records the answer. */
  resume(token: string, value: unknown, options?: ResumeOptions): Promise<ResumeResult<Output>>;
  /** Creates a run that begins with recorded work of another one, and drives it in the background. */
  fork(runId: string, options: ForkOptions<Input>): Promise<Run<Output, Input, M>>;
  /** A handle on a run. Reads nothing, so the run may be missing. */
  get(runId: string): Run<Output, Input, M>;
  /** Runs of this workflow, newest first. */
  list(query?: Omit<RunQuery, "workflow">): Promise<ListPage<ListedRun>>;
  /** Ends a run and all its children, like `run.cancel`. Rejects if the run belongs to another workflow. */
  cancel(runId: string, options?: CancelOptions): Promise<Outcome<Output>>;
  /**
   * The same workflow with another version or other defaults. It acts on the app of the workflow it is made from, and
   * an app that has one of them binds both. With an option of a host, such as a storage, it has an app of its own.
   */
  with(options: WorkflowOptions): Workflow<Input, Output, M, Name>;
}

/**
 * Defines a workflow: a named function whose steps are recorded, so that a run can stop anywhere and continue
 * in another process.
 * @example const order = durable("order", async (ctx, id: string) => ctx.step("charge", () => charge(id)));
 */
export function durable<
  S extends StandardSchema,
  Output,
  M extends MessageSchemas = MessageSchemas,
  const Name extends string = string,
>(
  name: Name,
  body: (ctx: Context<M, SchemaInput<S>>, input: SchemaOutput<S>) => Output,
  options: WorkflowOptions &
    Topics<M> &
    TagOptions<SchemaOutput<S>> &
    FlowOptions<NoInfer<SchemaOutput<S>>> & { readonly input: S },
): Workflow<SchemaInput<S>, Awaited<Output>, M, Name>;
export function durable<
  Output,
  Input = unknown,
  M extends MessageSchemas = MessageSchemas,
  const Name extends string = string,
>(
  name: Name,
  body: (ctx: Context<M, Input>, input: Input) => Output,
  options?: WorkflowOptions & Topics<M> & TagOptions<Input> & FlowOptions<NoInfer<Input>>,
): Workflow<Input, Awaited<Output>, M, Name>;
export function durable(
  name: string,
  body: (ctx: Context, input: never) => unknown,
  options: WorkflowOptions &
    Topics<MessageSchemas> &
    TagOptions<never> &
    FlowOptions & { readonly input?: StandardSchema } = {},
): Workflow<unknown, unknown> {
  assertName(name, "A workflow");
  if (typeof body !== "function") {
    throw new DurableError(
      "invalid-options",
      `durable("${name}", ...) needs a function, not ${typeof body}: pass async (ctx, input) => { ... }.`,
    );
  }
  assertOptions(
    options,
    `${workflowOptions} input messages tags concurrency rate priority fair`,
    `durable("${name}", ...)`,
  );
  const definition: Definition = {
    ...budgetOf(name, options),
    name,
    body,
    input: options.input ?? null,
    version: options.version ?? null,
    messages: options.messages,
    ...((options.concurrency ?? options.rate ?? options.priority ?? options.fair) !== undefined && {
      flow: options,
    }),
    defaults: defaultsOf(name, options),
    tags: options.tags,
  };
  return workflowOf(definition, options, new Binding(name, options));
}

const workflowOptions = `${hostOptions} version retry timeout onUncertain deadline budget`;

function budgetOf(name: string, { budget }: WorkflowOptions): { readonly budget?: BudgetOptions } {
  return budget === undefined ? {} : { budget: checkedBudget(budget, `workflow "${name}"`) };
}

/** Checked at once, so that a mistake does not wait for the first step. */
function defaultsOf(name: string, options: Defaults): Defaults {
  const { retry, timeout, onUncertain, deadline } = options;
  const where = `workflow "${name}"`;
  retryPolicy(retry, `The ${where}`);
  checkedMode(onUncertain, where);
  if (timeout !== undefined) toMs(timeout, `The timeout of ${where}`);
  if (deadline !== undefined) checkedDeadline(deadline, where);
  return { retry, timeout, onUncertain, deadline };
}

function workflowOf(
  pure: Definition,
  options: WorkflowOptions,
  binding: Binding,
): Workflow<unknown, unknown> {
  const { name } = pure;
  const definition = { ...pure, binding };
  let own: Host | null = null;
  const ownHost = (): Host =>
    (own ??= new Host(options, (workflow) => (workflow === name ? definition : null), [definition]));
  // Options of a host that are invalid fail when the program starts, not at the first run.
  if (binding.own !== null) ownHost();
  const host = (): Host => binding.host(ownHost);
  return {
    name,
    definition,
    run: async (input?: unknown, given: RunOptions = {}) => runToStop(host(), definition, input, given),
    start: async (input?: unknown, given: StartOptions = {}) => start(host(), definition, input, given),
    resume: async (token, value, given = {}) => resume(host(), token, { value, options: given }),
    fork: async (runId, given) => forkOf(host(), definition, runId, given),
    get: (runId) => new Run(runId, { host: host() }),
    list: async (query = {}) => listRuns(host(), { ...query, workflow: name }),
    cancel: async (runId, given) => {
      const on = host();
      assertRunOf(await openRun(on, runId), name);
      return new Run(runId, { host: on }).cancel(given);
    },
    with: (more) => {
      assertOptions(more, workflowOptions, `with() of "${name}"`);
      const all = { ...options, ...defined(more) };
      const next = {
        ...definition,
        ...budgetOf(name, more),
        version: more.version ?? definition.version,
        defaults: defaultsOf(name, all),
      };
      const given = new Binding(name, defined(more));
      return workflowOf(next, all, given.own === null ? binding : new Binding(name, all));
    },
  };
}
