/** `durable()`: a named function whose steps are recorded. */

import type { Context } from "./engine/context.ts";
import { retryPolicy } from "./engine/calls/retry.ts";
import type { Arguments, Defaults, Definition, FlowOptions, MessageSchemas } from "./engine/definition.ts";
import type { CancelOptions } from "./runs/tree.ts";
import { create } from "./runs/create.ts";
import { advance } from "./runs/drive.ts";
import { defined, assertOptions } from "./values/options.ts";
import { toMs } from "./values/duration.ts";
import { checkedMode } from "./engine/calls/uncertain.ts";
import { DurableError } from "./values/errors.ts";
import type { ForkOptions } from "./runs/fork.ts";
import { Host, hostOptions, type HostOptions } from "./runs/host.ts";
import { assertName } from "./journal/keys.ts";
import { definitionOf, openRun } from "./runs/lookup.ts";
import type { Outcome } from "./journal/outcome.ts";
import { resume, type ResumeOptions, type ResumeResult } from "./runs/resume.ts";
import { Run, start, startNames, startOf, type RunOptions, type StartOptions } from "./run.ts";
import type { Tags } from "./values/run-tags.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "./values/schema.ts";
import type { ListPage, ListQuery } from "./ports/storage.ts";
import { listRuns } from "./runs/list.ts";

/** Options of `durable()`: those of the host, a version, and defaults for runs and steps. */
export interface WorkflowOptions extends HostOptions, Defaults {
  /** Recorded when a run or a chapter begins, and readable as `ctx.version` until its end. */
  readonly version?: string | undefined;
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

/** A workflow and the operations on its runs. */
export interface Workflow<Input, Output, M extends MessageSchemas = MessageSchemas> extends AnyWorkflow {
  readonly definition: Definition<Input, Output>;
  /** Records the run and drives it in this process until it stops. */
  run(...args: RunArguments<Input>): Promise<Outcome<Output>>;
  /** Records the run and drives it in the background; with `drive: false` it only records the run. */
  start(...args: Arguments<Input, StartOptions>): Promise<Run<Output, Input, M>>;
  /** Answers a suspend point, and drives the run until it stops again. */
  resume(token: string, value: unknown, options?: ResumeOptions): Promise<ResumeResult<Output>>;
  /** Creates a run that begins with recorded work of another one, and drives it in the background. */
  fork(runId: string, options: ForkOptions<Input>): Promise<Run<Output, Input, M>>;
  /** A handle on a run. Reads nothing, so the run may be missing. */
  get(runId: string): Run<Output, Input, M>;
  /** Runs of this workflow, newest first. */
  list(query?: Omit<ListQuery, "workflow">): Promise<ListPage>;
  /** Ends a run and all its children, like `run.cancel`. Rejects if the run belongs to another workflow. */
  cancel(runId: string, reason?: string, options?: CancelOptions): Promise<Outcome<Output>>;
  /**
   * The same workflow with other options: another storage, a secret from an edge environment, the clock of a
   * test.
   */
  with(options: WorkflowOptions): Workflow<Input, Output, M>;
}

/**
 * Defines a workflow: a named function whose steps are recorded, so that a run can stop anywhere and continue
 * in another process.
 */
export function durable<S extends StandardSchema, Output, M extends MessageSchemas = MessageSchemas>(
  name: string,
  body: (ctx: Context<M, SchemaInput<S>>, input: SchemaOutput<S>) => Output,
  options: WorkflowOptions &
    Topics<M> &
    TagOptions<SchemaOutput<S>> &
    FlowOptions<NoInfer<SchemaOutput<S>>> & { readonly input: S },
): Workflow<SchemaInput<S>, Awaited<Output>, M>;
export function durable<Output, Input = unknown, M extends MessageSchemas = MessageSchemas>(
  name: string,
  body: (ctx: Context<M, Input>, input: Input) => Output,
  options?: WorkflowOptions & Topics<M> & TagOptions<Input> & FlowOptions<NoInfer<Input>>,
): Workflow<Input, Awaited<Output>, M>;
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
  return bind(definition, options);
}

const workflowOptions = `${hostOptions} version retry timeout onUncertain deadline`;

/** Checked at once, so that a mistake does not wait for the first step. */
function defaultsOf(name: string, options: Defaults): Defaults {
  const { retry, timeout, onUncertain, deadline } = options;
  const where = `workflow "${name}"`;
  retryPolicy(retry, `The ${where}`);
  checkedMode(onUncertain, where);
  if (timeout !== undefined) toMs(timeout, `The timeout of ${where}`);
  if (deadline !== undefined) toMs(deadline, `The deadline of ${where}`);
  return { retry, timeout, onUncertain, deadline };
}

function bind(definition: Definition, options: WorkflowOptions): Workflow<unknown, unknown> {
  const host = new Host(options, (workflow) => (workflow === definition.name ? definition : null), [
    definition,
  ]);
  const get = (runId: string): Run => new Run(runId, { host });
  return {
    name: definition.name,
    definition,
    run: async (input?: unknown, given: RunOptions = {}) => {
      assertOptions(given, `id deadline tags ${startNames}`, `The run of "${definition.name}"`);
      const { id, deadline, tags } = given;
      const created = { id, deadline, tags, takeLease: true, start: startOf(given) };
      return advance(host, definition, await create(host, definition, input, created));
    },
    start: (input?: unknown, given: StartOptions = {}) => start(host, definition, input, given),
    resume: async (token, value, given = {}) => resume(host, token, { value, options: given }),
    fork: (runId, given) => get(runId).fork(given),
    get,
    list: async (query = {}) => listRuns(host, { ...query, workflow: definition.name }),
    cancel: async (runId, reason, given) => {
      // A wrong id must not end a run of another workflow.
      definitionOf(host, await openRun(host, runId));
      return get(runId).cancel(reason, given);
    },
    with: (more) => {
      assertOptions(more, workflowOptions, `with() of "${definition.name}"`);
      const all = { ...options, ...defined(more) };
      const defaults = defaultsOf(definition.name, all);
      return bind({ ...definition, version: more.version ?? definition.version, defaults }, all);
    },
  };
}
