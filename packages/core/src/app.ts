/** Several workflows on one storage. An app finds the code of a token or run id; workers and handlers take an app. */

import type { Definition } from "./engine/definition.ts";
import { advanceRun } from "./runs/drive.ts";
import { DurableError, show } from "./values/errors.ts";
import { Host, hostOptions, type HostOptions } from "./runs/host.ts";
import type { AdvanceOptions } from "./engine/stop.ts";
import { type CancelOptions, deleteById } from "./runs/tree.ts";
import { byId } from "./runs/lookup.ts";
import { type Purged, type PurgeOptions, purge } from "./runs/purge.ts";
import { send, type SendOptions, type SendResult } from "./runs/send.ts";
import { type Sweep, type SweepOptions, sweep } from "./inspect/sweep.ts";
import { schedulesOf, type ScheduleSource } from "./schedules/api.ts";
import type { ScheduleArguments, ScheduleInfo, Schedules } from "./schedules/types.ts";
import { assertOptions } from "./values/options.ts";
import type { Outcome } from "./journal/outcome.ts";
import { deliver, resume, type ResumeOptions, type ResumeResult } from "./runs/resume.ts";
import { listRuns } from "./runs/list.ts";
import { Run, start, type StartOptions } from "./run.ts";
import { Pauses } from "./runs/pauses.ts";
import type { ListPage, ListQuery, WorkflowPause } from "./ports/storage.ts";
import type { AnyWorkflow } from "./workflow.ts";
import type { World } from "./ports/world.ts";

/** Options of `createApp`: the workflows, and those of the host. */
export interface AppOptions extends HostOptions {
  /**
   * The workflows whose runs this app can drive. Runs of other workflows can be listed and read, but not
   * advanced.
   */
  readonly workflows: readonly AnyWorkflow[];
}

/** Operations on the runs of several workflows. */
export interface App {
  /** Names of the workflows. */
  readonly workflows: readonly string[];
  /** Clock, random source and timers of the app. */
  readonly world: World;
  /**
   * Records a run of one of the workflows, by name, and drives it in the background; with `drive: false` it
   * only records the run.
   */
  start(workflow: string, input?: unknown, options?: StartOptions): Promise<Run>;
  /** Answers a suspend point, and drives the run until it stops again. */
  resume(token: string, value: unknown, options?: ResumeOptions): Promise<ResumeResult>;
  /**
   * Appends an answer without running workflow code. Advance the run afterwards, or let a worker or a sweep
   * find it.
   */
  deliver(token: string, value: unknown, options?: ResumeOptions): Promise<ResumeResult>;
  /**
   * Sends a message to a run, which `ctx.receive(topic)` reads. Only appends it, without running workflow code.
   */
  send(runId: string, topic: string, payload: unknown, options?: SendOptions): Promise<SendResult>;
  /** Drives one run until it stops. Harmless when there is nothing to do. */
  advance(runId: string, options?: AdvanceOptions): Promise<Outcome<unknown>>;
  /** A handle on a run. Reads nothing, so the run may be missing. */
  get(runId: string): Run;
  /** Runs of the storage, newest first. */
  list(query?: ListQuery): Promise<ListPage>;
  /** Ends a run and all its children, like `run.cancel`. */
  cancel(runId: string, reason?: string, options?: CancelOptions): Promise<Outcome<unknown>>;
  /**
   * Pauses a workflow, for all processes: its runs can be started, answered and cancelled, and no worker, sweep,
   * `advance` or answer drives them. Rejects with `invalid-options` where the storage cannot keep that.
   */
  pause(workflow: string, reason?: string): Promise<void>;
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
}

/** Where workers find the storage of an app. A symbol, so that a copy of the app, member by member, keeps it. */
export const appStorage = Symbol();

/** Where workers find the schedules of an app. */
export const appSchedules = Symbol();

export interface AppOfStorage extends App {
  readonly [appStorage]: Host;
  readonly [appSchedules]: ScheduleSource;
}

/**
 * Combines workflows, a storage and a secret: the object that answers, advances, lists and sweeps runs of any
 * of them.
 */
export function createApp(options: AppOptions): App {
  assertOptions(options, `${hostOptions} workflows`, "createApp");
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
  const app: AppOfStorage = {
    workflows: [...definitions.keys()],
    world: host.world,
    start: async (workflow, input, given = {}) => {
      const definition = host.find(workflow);
      if (definition !== null) return start(host, definition, input, given);
      throw new DurableError(
        "unknown-workflow",
        `This app has no workflow ${show(workflow)}. Add it to createApp({ workflows }).`,
      );
    },
    resume: async (token, value, given = {}) => resume(host, token, { value, options: given }),
    deliver: async (token, value, given = {}) => deliver(host, token, { value, options: given }),
    send: async (runId, topic, payload, given = {}) => send(host, runId, { topic, payload, options: given }),
    advance: (runId, given) => byId(host, runId, () => advanceRun(host, runId, given)),
    get: (runId) => new Run(runId, { host }),
    list: async (query = {}) => listRuns(host, query),
    cancel: (runId, reason, given) => new Run(runId, { host }).cancel(reason, given),
    pause: (workflow, reason) => pauses.set(workflow, true, reason),
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
    [appStorage]: host,
    [appSchedules]: source,
  };
  return app;
}
