/** One execution of a workflow function over one journal: from its call until it ends or is dropped. */

import { cancelChild } from "./cancel.ts";
import { reportToParent } from "./parent.ts";
import { decode } from "../values/codec/decode.ts";
import { encode, encodeThrown } from "../values/codec/encode.ts";
import { createContext, type Context } from "../engine/context.ts";
import type { Definition } from "../engine/definition.ts";
import { toMs } from "../values/duration.ts";
import { ChildCall } from "../engine/calls/child.ts";
import type { ChildRun, ChildEnd } from "../engine/child-runs.ts";
import { Engine } from "../engine/engine.ts";
import type { DriverLease } from "../engine/lease.ts";
import type { AdvanceOptions, OnReplayEnd, Finish, Stop } from "../engine/stop.ts";
import type { Host } from "./host.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Outcome } from "../journal/outcome.ts";
import type { Parked } from "./parked.ts";

type DriveChild = (child: ChildRun, options: AdvanceOptions) => Promise<Outcome<unknown>>;

/** Blocked runs are left out of due lists for this long; an advance by id tries them at once. */
const quietMs = 60_000;

export class Execution implements Parked {
  readonly definition: Definition;
  readonly journal: RunJournal;
  readonly lease: DriverLease;
  readonly #host: Host;
  readonly #engine: Engine;
  #options: AdvanceOptions = {};
  #stopped: Promise<unknown> = Promise.resolve();

  private constructor(host: Host, definition: Definition, engine: Engine, lease: DriverLease) {
    this.#host = host;
    this.definition = definition;
    this.#engine = engine;
    this.journal = engine.journal;
    this.lease = lease;
  }

  /** Calls the function. It stops at its first awaits until it is driven. */
  static async begin(
    host: Host,
    definition: Definition,
    { journal, lease }: { readonly journal: RunJournal; readonly lease: DriverLease },
    driveChild: DriveChild,
  ): Promise<Execution> {
    const keyring = await host.keyring();
    const input = decode(journal.input, `input of run ${journal.runId}`);
    const engine = new Engine({
      journal,
      world: host.world,
      keyring,
      lease,
      children: {
        drive: (child) => driveChild(child, execution.#options),
        cancel: (child) => cancelChild(host, child),
      },
      reportEnd: (end) => reportToParent(host, journal, end),
      revive: () => host.parked.resumedItself(execution) && execution.revive(),
    });
    const execution = new Execution(host, definition, engine, lease);
    const ctx = createContext({ engine, version: versionOf(journal) }, engine.root);
    void run(definition, ctx, input).then((finish) => engine.finish(finish));
    return execution;
  }

  get parked(): boolean {
    return this.#engine.parked;
  }

  /** Drives to the next stop. A parked execution stays in memory. */
  async drive({
    onReplayEnd,
    options,
  }: {
    onReplayEnd?: OnReplayEnd | undefined;
    options: AdvanceOptions;
  }): Promise<Stop> {
    const { runId } = this.journal;
    const { signal, patience } = options;
    this.#options = options;
    const leave = (): void => this.#engine.leave();
    const patienceMs = patience === undefined ? this.#host.patienceMs : toMs(patience, "patience");
    const driving = this.#engine.drive({ onReplayEnd, patienceMs });
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted === true) leave();
    const { driving: executions } = this.#host;
    // A read-only replay must not replace the execution that drives the run.
    if (!executions.has(runId)) executions.set(runId, this);
    this.#stopped = driving;
    try {
      const stop = await this.#settled(driving);
      // If an entry came in with the reply to the park, this execution has missed it: a new one replays it.
      const asleep = this.journal.state.summary.status === "suspended";
      if (stop.kind === "suspended" && asleep) this.#host.parked.keep(this);
      return stop;
    } finally {
      if (executions.get(runId) === this) executions.delete(runId);
      signal?.removeEventListener("abort", leave);
    }
  }

  /** A child of the run, driven in this process, too, is about to end. */
  async reportEnd(childEnd: ChildEnd): Promise<boolean> {
    const call = this.#engine.calls.get(childEnd.key);
    if (!(call instanceof ChildCall)) return false;
    const stopped = this.#stopped.then(
      () => false,
      () => false,
    );
    return Promise.race([call.reportEnd(childEnd), stopped]);
  }

  /** Releases the lease, however the drive ended. */
  async #settled(drive: Promise<Stop>): Promise<Stop> {
    try {
      const stop = await drive;
      await this.lease.release(stop.kind === "blocked" ? quietMs : undefined);
      return stop;
    } catch (error) {
      await this.lease.release();
      throw error;
    }
  }

  /** A foreign await ended after the run was parked: the same execution continues, under a new lease. */
  revive(): void {
    const again = async (): Promise<unknown> => {
      const granted = await this.lease.acquire(this.journal);
      if (granted === null || granted.length !== this.journal.position) return;
      return this.drive({ options: this.#options });
    };
    this.#host.background(`run ${this.journal.runId}`, again());
  }
}

/** Calls the function. Its result is encoded at once, so that later changes to the value have no effect. */
async function run(definition: Definition, ctx: Context, input: unknown): Promise<Finish> {
  const where = `of run ${ctx.runId}`;
  try {
    const value: unknown = await definition.body(ctx as never, input as never);
    const output = encode(value, `output ${where}`);
    return { fact: (orphans) => ({ kind: "run.completed", output, ...noted(orphans) }) };
  } catch (thrown) {
    const error = encodeThrown(thrown, `error ${where}`);
    return {
      fact: (orphans) => ({ kind: "run.failed", error, ...noted(orphans) }),
      thrown: { value: thrown },
    };
  }
}

function noted(orphans: readonly string[]): { orphans?: readonly string[] } {
  return orphans.length === 0 ? {} : { orphans };
}

/** Only the first entry of a run has a version. */
function versionOf(journal: RunJournal): string | null {
  return journal.entries.find((entry) => "version" in entry)?.version ?? null;
}
