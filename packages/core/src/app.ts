/**
 * Several workflows on one storage. An app finds the code of a token or run id; workers and handlers take an app.
 *
 * app.1. An app binds all of its workflows or none of them: a workflow that cannot be bound leaves the others as they were.
 */

import type { Arguments, Definition, MessageSchemas } from "./engine/definition.ts";
import { advanceRun } from "./runs/drive.ts";
import { type Duration, toMs } from "./values/duration.ts";
import { DurableError, show } from "./values/errors.ts";
import { bindingOf } from "./runs/binding.ts";
import type { ForkOptions } from "./runs/fork.ts";
import { appStorage, bindsByDefault, Host, hostOptions, type HostOptions } from "./runs/host.ts";
import type { AdvanceOptions } from "./engine/stop.ts";
import { type CancelOptions, deleteById } from "./runs/tree.ts";
import { byId } from "./runs/lookup.ts";
import { type Purged, type PurgeOptions, purge } from "./runs/purge.ts";
import { send, type SendOptions, type SendResult } from "./runs/send.ts";
import { type Spending, type SpendOptions, spendBy } from "./inspect/spend.ts";
import { type Sweep, type SweepOptions, sweep } from "./inspect/sweep.ts";
import { schedulesOf, type ScheduleSource } from "./schedules/api.ts";
import type { ScheduleArguments, ScheduleInfo, Schedules } from "./schedules/types.ts";
import { assertOptions } from "./values/options.ts";
import type { Outcome } from "./journal/outcome.ts";
import { resume, type ResumeOptions, type ResumeResult } from "./runs/resume.ts";
import { listRuns, type ListedRun, type RunQuery } from "./runs/list.ts";
import { forkOf, Run, runToStop, start, type RunOptions, type StartOptions } from "./run.ts";
import { Pauses } from "./runs/pauses.ts";
import { type PauseOptions, reasonIn } from "./runs/steer.ts";
import type { ListPage, WorkflowPause } from "./ports/storage.ts";
import type { AnyWorkflow, Workflow } from "./workflow.ts";
import type { World } from "./ports/world.ts";

/** Options of `createApp`: the workflows, and those of the host. */
export interface AppOptions<W extends readonly AnyWorkflow[] = readonly AnyWorkflow[]> extends HostOptions {
  /**
   * The workflows whose runs this app can drive. Runs of other workflows can be listed and read, but not
   * advanced.
   */
  readonly workflows: W;
  /**
   * False leaves the workflows as they are, for tools and tests: their own verbs, such as `flow.start`, do not act on
   * this app, and `app.start(flow, input)` does. True by default, and always false where the platform has no default
   * storage.
   */
  readonly bind?: boolean | undefined;
}

/** Options of `app.close`. */
export interface CloseOptions {
  /**
   * Hands over the runs that this process drives, also those that requests began: steps under way are finished and recorded,
   * nothing more begins, and the next process goes on. How long this may take.
   */
  readonly drain?: Duration | undefined;
}

/** The names of the workflows of an app: any text, where its type does not know them. */
type NameIn<W extends readonly AnyWorkflow[]> = W[number]["name"];

/** The workflows of an app that may have this name. */
type Named<W extends readonly AnyWorkflow[], Name> = W[number] extends infer One
  ? One extends AnyWorkflow
    ? Name extends One["name"]
      ? One
      : never
    : never
  : never;

/** The input of a workflow. */
type InputOf<One extends AnyWorkflow> =
  One extends Workflow<infer Input, infer _Output, infer _M, infer _Name> ? Input : unknown;

/** A handle on a run of a workflow. */
type RunOf<One extends AnyWorkflow> =
  One extends Workflow<infer Input, infer Output, infer M, infer _Name> ? Run<Output, Input, M> : Run;

/** The output of a workflow. */
type OutputOf<One extends AnyWorkflow> =
  One extends Workflow<infer _Input, infer Output, infer _M, infer _Name> ? Output : unknown;

/**
 * Operations on the runs of several workflows. `App` accepts every app; the type of `createApp({ workflows })` also knows
 * names and inputs.
 */
export interface App<W extends readonly AnyWorkflow[] = readonly AnyWorkflow[]> {
  /** Names of the workflows. */
  readonly workflows: readonly string[];
  /** Clock, random source and timers of the app. */
  readonly world: World;
  /** Records a run of one of the workflows, by itself or by name, and drives it in this process until it stops. */
  run<Input, Output, M extends MessageSchemas>(
    workflow: Workflow<Input, Output, M>,
    ...args: Arguments<Input, RunOptions>
  ): Promise<Outcome<Output>>;
  run<Name extends NameIn<W>>(
    workflow: Name,
    ...args: Arguments<InputOf<Named<W, Name>>, RunOptions>
  ): Promise<Outcome<OutputOf<Named<W, Name>>>>;
  /**
   * Records a run of one of the workflows, by itself or by name, and drives it in the background; with `drive: false`
   * it only records the run.
   */
  start<Input, Output, M extends MessageSchemas>(
    workflow: Workflow<Input, Output, M>,
    ...args: Arguments<Input, StartOptions>
  ): Promise<Run<Output, Input, M>>;
  start<Name extends NameIn<W>>(
    workflow: Name,
    ...args: Arguments<InputOf<Named<W, Name>>, StartOptions>
  ): Promise<RunOf<Named<W, Name>>>;
  /**
   * Creates a run that begins with recorded work of another one of this workflow, and drives it in the background.
   */
  fork<Input, Output, M extends MessageSchemas>(
    workflow: Workflow<Input, Output, M>,
    runId: string,
    options: ForkOptions<Input>,
  ): Promise<Run<Output, Input, M>>;
  /**
   * Answers a suspend point, and drives the run until it stops again. With `drive: false` it only appends the answer,
   * without running workflow code: advance the run afterwards, or let a worker or a sweep find it.
   * @example const { status, outcome } = await app.resume(token, { ok: true });
   */
  resume(token: string, value: unknown, options?: ResumeOptions): Promise<ResumeResult>;
  /**
   * Sends a message to a run, which `ctx.receive(topic)` reads. Only appends it, without running workflow code.
   */
  send(runId: string, topic: string, payload: unknown, options?: SendOptions): Promise<SendResult>;
  /** Drives one run until it stops. Harmless when there is nothing to do. */
  advance(runId: string, options?: AdvanceOptions): Promise<Outcome<unknown>>;
  /** A handle on a run. Reads nothing, so the run may be missing. */
  get(runId: string): Run;
  /**
   * Runs of the storage, newest first; with `waiting`, those whose waits expire first.
   * @example const { runs, next } = await app.list({ status: "failed", limit: 20 });
   */
  list(query?: RunQuery): Promise<ListPage<ListedRun>>;
  /** Ends a run and all its children, like `run.cancel`. */
  cancel(runId: string, options?: CancelOptions): Promise<Outcome<unknown>>;
  /**
   * Pauses a workflow, for all processes: its runs can be started, answered and cancelled, and no worker, sweep,
   * `advance` or answer drives them. Rejects with `invalid-options` where the storage cannot keep that.
   */
  pause(workflow: string, options?: PauseOptions): Promise<void>;
  /** Lets the runs of a workflow continue. Workers and sweeps find those that are due. */
  unpause(workflow: string): Promise<void>;
  /** The workflows that are paused, by name. Single paused runs are those with status `paused`. */
  paused(): Promise<readonly WorkflowPause[]>;
  /**
   * Removes a run and its children, and ends children that have not ended. They disappear from lists at once;
   * batches that forks still read stay until the last of these forks is gone.
   */
  delete(runId: string): Promise<void>;
  /**
   * Starts runs of a workflow at set times: `cron` on the clock of a `timezone`, or `every` period. Workers and
   * sweeps of any process start them, each tick once. Call it when the program starts: it writes only what has
   * changed, and a pause stays.
   */
  schedule<Input>(
    name: string,
    workflow: { readonly name: string; readonly definition: Definition<Input> },
    options: ScheduleArguments<NoInfer<Input>>,
  ): Promise<ScheduleInfo>;
  /** The schedules of the storage. */
  readonly schedules: Schedules;
  /**
   * Starts the runs of schedules whose time has come, then advances every run that is due and has no live
   * driver. Finds the work even if every notification was lost.
   */
  sweep(options?: SweepOptions): Promise<Sweep>;
  /**
   * Deletes runs that have ended, with their children, in batches. Records that a fork reads are kept for it.
   * A purge that was interrupted is continued by the next one.
   */
  purge(options: PurgeOptions): Promise<Purged>;
  /**
   * What the runs of the storage used and cost, also those that were deleted since. Reads heads, and no journal.
   * @example const { cost, rows } = await app.spend({ by: "model", since: new Date("2026-11-01") });
   */
  spend(options: SpendOptions): Promise<Spending>;
  /**
   * Unbinds the workflows, so that another app can bind them, and forgets parked runs that are kept in memory. Runs that
   * are driven go on, unless there is a `drain`, and the storage stays open: close one that you made after.
   * @example process.once("SIGTERM", () => void app.close({ drain: "30s" }));
   */
  close(options?: CloseOptions): Promise<void>;
}

/** Where workers find the schedules of an app. */
export const appSchedules = Symbol();

export interface AppOfStorage extends App {
  readonly [appStorage]: Host;
  readonly [appSchedules]: ScheduleSource;
}

/**
 * Combines workflows, a storage and a secret: the object that answers, advances, lists and sweeps runs of any
 * of them.
 * @example const app = createApp({ workflows: [order], storage: new SqliteStorage("data/journal.db") });
 */
export function createApp<const W extends readonly AnyWorkflow[]>(options: AppOptions<W>): App<W> {
  assertOptions(options, `${hostOptions} workflows bind`, "createApp");
  const definitions = new Map<string, Definition>();
  for (const { name, definition } of options.workflows) {
    if (definitions.has(name)) {
      throw new DurableError("invalid-options", `createApp got two workflows named "${name}". Rename one.`);
    }
    definitions.set(name, definition);
  }
  const host = new Host(options, (workflow) => definitions.get(workflow) ?? null, definitions.values());
  const { define, schedules, source } = schedulesOf(host, [...definitions.keys()]);
  const pauses = new Pauses(host);
  host.pauses = pauses;
  const bound = bind(host, options.bind !== false && bindsByDefault ? [...definitions.values()] : []);
  const app: AppOfStorage = {
    workflows: [...definitions.keys()],
    world: host.world,
    ...startsOf(host),
    resume: async (token, value, given = {}) => resume(host, token, { value, options: given }),
    send: async (runId, topic, payload, given = {}) => send(host, runId, { topic, payload, options: given }),
    advance: (runId, given) => byId(host, runId, () => advanceRun(host, runId, given)),
    get: (runId) => new Run(runId, { host }),
    list: async (query = {}) => listRuns(host, query),
    cancel: (runId, given) => new Run(runId, { host }).cancel(given),
    pause: async (workflow, given) => pauses.set(workflow, true, reasonIn(given, "app.pause")),
    unpause: (workflow) => pauses.set(workflow, false),
    paused: () => pauses.list(),
    delete: async (runId) => {
      return byId(host, runId, () => deleteById(host, runId));
    },
    schedule: (name, workflow, given) => define(name, workflow.name, given),
    schedules,
    sweep: async (given = {}) => {
      const workflow = await pauses.without([...definitions.keys()]);
      return sweep(host, schedules, { workflow, options: given });
    },
    purge: (given) => purge(host, given),
    spend: async (given) => spendBy(host, given),
    close: async (given = {}) => {
      assertOptions(given, "drain", "app.close");
      const drainMs = given.drain === undefined ? null : toMs(given.drain, "drain");
      for (const binding of bound) binding?.unbind(host);
      host.close();
      if (drainMs !== null) await host.handOver(drainMs);
    },
    [appStorage]: host,
    [appSchedules]: source,
  };
  return app as unknown as App<W>;
}

/** The verbs that take a workflow, or its name. */
function startsOf(host: Host): Pick<App, "run" | "start" | "fork"> {
  const definitionOf = (given: string | AnyWorkflow): Definition => {
    const name = typeof given === "string" ? given : given?.name;
    const known = host.find(name);
    if (known !== null) return typeof given === "string" ? known : given.definition;
    throw new DurableError(
      "unknown-workflow",
      `This app has no workflow ${show(name)}. Add it to createApp({ workflows }).`,
    );
  };
  return {
    run: async (workflow: string | AnyWorkflow, input?: unknown, given: RunOptions = {}) =>
      runToStop(host, definitionOf(workflow), input, given) as Promise<Outcome<never>>,
    start: async (workflow: string | AnyWorkflow, input?: unknown, given: StartOptions = {}) =>
      start(host, definitionOf(workflow), input, given) as Promise<Run<never, never, never>>,
    fork: async (workflow, runId, given) =>
      forkOf(host, definitionOf(workflow), runId, given) as Promise<Run<never, never, never>>,
  };
}

/**
 * Says that a worker or a handler serves this app. A workflow that the app has not bound may be used on the default app by
 * mistake: the next time it is, there is a warning.
 */
export function expectApp(app: App): void {
  const { [appStorage]: host } = app as Partial<AppOfStorage>;
  for (const name of app.workflows ?? []) bindingOf(host?.find(name) ?? null)?.expectApp();
}

/** Binds all workflows, or throws and binds none. */
function bind(host: Host, definitions: readonly Definition[]) {
  const bindings = definitions.map(bindingOf);
  for (const binding of bindings) binding?.assertFree(host);
  for (const binding of bindings) binding?.bind(host);
  return bindings;
}
