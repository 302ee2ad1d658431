/** One execution of a workflow function over one journal: from its call until it ends or is dropped. */

import { decode } from "../values/codec/decode.ts";
import { encode } from "../values/codec/encode.ts";
import type { Context } from "../engine/context.ts";
import { createContext } from "../engine/create-context.ts";
import type { Definition } from "../engine/definition.ts";
import { toMs } from "../values/duration.ts";
import { ChildCall } from "../engine/calls/child.ts";
import type { ChildEnd, ChildRun, Children, SpawnRequest } from "../engine/child-runs.ts";
import { Engine } from "../engine/engine.ts";
import type { EvalFork } from "../engine/evals.ts";
import type { Watch } from "../engine/hooks.ts";
import type { DriverLease } from "../engine/lease.ts";
import { failure, type OnReplayEnd, type Finish, type Stop } from "../engine/stop.ts";
import { DurableError, describeError } from "../values/errors.ts";
import { pending } from "../engine/promise.ts";
import { nextChapter } from "./chapters.ts";
import { ownerNow, runAs, snapshot, type InContext, type Owner } from "../ports/async-context.ts";
import type { RunHead } from "../ports/storage.ts";
import { caller, type Driver } from "./admit.ts";
import { assertSameApp } from "./binding.ts";
import { guard, type Host } from "./host.ts";
import type { Fact } from "../journal/entry.ts";
import type { Observe } from "./observer.ts";
import { isRegression } from "../journal/errors.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Parked } from "./parked.ts";
import { beginUndo } from "../engine/undo.ts";
import { cancelChild, endChildren, endSpawned, reportToParent } from "./tree.ts";
import { headsBelow } from "./list.ts";
import { permitOf } from "./permits.ts";
import { treeLedger } from "./tree-budget.ts";

/** Runs below this one: how children are driven, and how others are spawned. */
interface Below {
  drive(child: ChildRun, by: Driver): ReturnType<Children["drive"]>;
  spawn(request: SpawnRequest, by: Driver): Promise<Fact<Json>>;
  /** Drives a run in the background, if its code is here. */
  wake(runId: string): void;
}

/** Blocked runs are left out of due lists for this long; an advance by id tries them at once. */
const quietMs = 60_000;

/** Up to this many open children are read one by one; more of them are listed. */
const fewChildren = 4;

export class Execution implements Parked {
  readonly definition: Definition;
  readonly journal: RunJournal;
  readonly lease: DriverLease;
  readonly #host: Host;
  readonly #engine: Engine;
  #driver: Driver = caller;
  /** The async context of the drive. */
  #inDrive: InContext = (fn) => fn();
  #observe: Observe | undefined;
  #stopped: Promise<unknown> = Promise.resolve();
  /** Settles once the latest drive has given its lease back. */
  #left: Promise<unknown> = Promise.resolve();
  #heads: Promise<ReadonlyMap<string, RunHead>> | null = null;

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
    below: Below,
  ): Promise<Execution> {
    const { runId } = journal;
    const keyring = await host.keyring();
    const blame = (error: unknown): void => {
      const reason = unhandled(runId, error);
      return engine.stopped ? host.world.warn(reason.message) : engine.block(reason);
    };
    const off = evalOf(host, journal, lease);
    const owner: Owner = { runId, step: null, path: "", blame };
    const input = decode(journal.input, `input of run ${journal.runId}`);
    const engine = new Engine({
      journal,
      world: host.world,
      keyring,
      lease,
      children: Execution.#children(host, below, () => execution),
      reportEnd: (end) => reportEnd(host, journal, end, below),
      defaults: definition.defaults,
      version: definition.version,
      lingerMs: host.lingerMs,
      permits: async (request) => permitOf(host, request),
      trees: treeLedger(host),
      owner,
      undo: async () => beginUndo(engine, parts),
      watch: watchOf(journal, lease),
      shows: lease.owned ? host.shows(runId) : undefined,
      off,
      revive: () => host.parked.resumedItself(execution) && execution.revive(),
    });
    const execution = new Execution(host, definition, engine, lease);
    let continues = false;
    const fail = (error: unknown): Promise<never> => {
      engine.finish(failure(error, runId));
      return pending();
    };
    const continueAs = (next: unknown): Promise<never> => {
      if (engine.off !== null) return fail(engine.off.chapterEnd());
      const finish = nextChapter(engine, definition, next);
      continues = true;
      void finish.then((found) => engine.finish(found), blame);
      return pending();
    };
    addBudgets(engine, definition);
    const { messages } = definition;
    const parts = { engine, version: journal.first.version, messages, owner, tagNames: tagNamesOf(journal) };
    const context = createContext({ ...parts, continueAs, fail }, engine.ending.code);
    void runAs({ ...owner, context }, () => run(definition, context, input)).then((finish) => {
      if (!continues) engine.finish(finish);
    });
    return execution;
  }

  /** What the calls of an execution ask of the runs below it. */
  static #children(host: Host, below: Below, above: () => Execution): Children {
    return {
      assertSameApp: (definition, kind) => assertSameApp(host, definition, kind),
      drive: (child) => below.drive(child, above().#driver),
      spawn: (request) => below.spawn(request, above().#driver),
      headOf: (child) => above().#headOf(child),
      cancel: async (child) => {
        const { runId, life, childOf, definition } = child;
        const drive = (): Promise<unknown> => below.drive(child, above().#driver);
        // A call of the code that has settled leads here; the code of the child must not see its context.
        const cleansUp = (): void => host.background(`run ${runId}`, above().#inDrive(drive));
        return cancelChild(host, { runId, life, workflow: definition.name, link: { childOf } }, { cleansUp });
      },
    };
  }

  get parked(): boolean {
    return this.#engine.parked;
  }

  leave(): void {
    this.#engine.leave();
  }

  /** Drives to the next stop. A parked execution stays in memory. */
  async drive({
    onReplayEnd,
    driver,
    observe,
  }: {
    onReplayEnd?: OnReplayEnd | undefined;
    driver: Driver;
    observe?: Observe | undefined;
  }): Promise<Stop> {
    const { runId } = this.journal;
    const { signal, patience } = driver;
    this.#driver = driver;
    this.#inDrive = snapshot();
    this.#heads = null;
    const leave = (): void => this.leave();
    const patienceMs = patience === undefined ? this.#host.patienceMs : toMs(patience, "patience");
    this.#observe = observe;
    const { watch } = this.#engine.options;
    const observer = (watch.observer = observe?.(this.journal, watch.recorded));
    const driving = this.#engine.drive({ onReplayEnd, patienceMs });
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted === true) leave();
    const { driving: executions } = this.#host;
    // A read-only replay must not replace the execution that drives the run.
    if (!executions.has(runId)) executions.set(runId, this);
    this.#stopped = driving;
    const leaveGuard = guard(() => this.lease.release());
    let stop: Stop | undefined;
    try {
      const settled = this.#settled(driving);
      this.#left = settled.catch(() => {});
      stop = await settled;
      // If an entry came in with the reply to the park, this execution has missed it: a new one replays it.
      const asleep = this.journal.state.summary.status === "suspended" && !this.journal.lost;
      // It may have continued by itself while the lease was given back.
      if (stop.kind === "suspended" && asleep && this.parked) this.#host.parked.keep(this);
      return stop;
    } finally {
      observer?.stopped(stop?.kind === "blocked" && isRegression(stop.error) ? { kind: "left" } : stop);
      if (executions.get(runId) === this) executions.delete(runId);
      if (executions.size === 0) this.#host.underWay?.rest();
      signal?.removeEventListener("abort", leave);
      leaveGuard();
    }
  }

  /** From one list of all children, made once per drive. */
  async #headOf(child: string): Promise<RunHead | undefined> {
    if (this.journal.state.openChildren().length <= fewChildren) return undefined;
    this.#heads ??= headsBelow(this.#host, this.journal.runId);
    return (await this.#heads).get(child);
  }

  /** A child of the run, driven in this process, too, is about to end. */
  async reportEnd(childEnd: ChildEnd, child: string): Promise<boolean> {
    const call = this.#engine.calls.get(childEnd.key);
    // An earlier run of this id, now deleted, may have left a child with the same key.
    if (!(call instanceof ChildCall) || call.runId !== child) return false;
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
      // The next chapter is driven under the same lease.
      if (stop.kind === "continued") return stop;
      // It goes on from what is left.
      const isLost = stop.kind === "blocked" && this.#host.lost.note(this.journal, stop.error);
      if (stop.kind !== "blocked" || !this.lease.owned || isLost) {
        await this.lease.release();
        return stop;
      }
      const since = await this.lease.note(stop.error, this.journal.position);
      await this.lease.release(quietMs);
      return { ...stop, since };
    } catch (error) {
      await this.lease.release();
      throw error;
    }
  }

  /** A foreign await ended after the run was parked: the same execution continues, under a new lease. */
  revive(): void {
    const again = async (): Promise<void> => {
      // The lease of the drive before has the same owner: its release must not end the new one.
      await this.#left;
      const granted = await this.lease.acquire(this.journal);
      if (granted === null) return;
      // After entries of another driver, or at the end of a chapter, a new execution goes on: the run is due.
      if (granted.length === this.journal.position) {
        const stop = await this.drive({ driver: this.#driver, observe: this.#observe });
        if (stop.kind !== "continued") return;
      }
      await this.lease.release();
    };
    this.#host.background(`run ${this.journal.runId}`, again());
  }
}

/** What an eval lets run in its fork. Only that eval knows it, so no other driver drives the fork. */
function evalOf(
  host: Host,
  { runId, first, state }: RunJournal,
  { owned }: DriverLease,
): EvalFork | undefined {
  const off = host.evals.get(runId);
  if (off !== undefined || state.summary.eval === undefined || first.kind !== "run.forked" || !owned)
    return off;
  throw new DurableError(
    "unknown-workflow",
    `Run ${runId} belongs to eval "${state.summary.eval}", which alone can drive it. Run the eval again.`,
  );
}

/** Ends the runs that end with this one, and tells its parent. */
async function reportEnd(host: Host, journal: RunJournal, end: Fact<Json>, below: Below): Promise<void> {
  const { state, childOf } = journal;
  const endsChildren = end.kind !== "run.completed" && state.openChildren().length > 0;
  if (childOf === undefined && !state.endsSpawned && !endsChildren) return;
  const ends = { cleansUp: (run: RunJournal) => below.wake(run.runId) };
  if (endsChildren) await endChildren(host, journal, ends);
  await endSpawned(host, journal, ends);
  await reportToParent(host, journal, end);
}

/** The budget of the workflow, and those of runs above it. */
function addBudgets({ budgets, ending, journal: { first } }: Engine, { budget }: Definition): void {
  if (budget !== undefined) budgets.add(ending.code, budget);
  if (first.kind === "run.forked") return;
  for (const tree of first.budgets ?? [])
    budgets.add(ending.code, { most: tree.most, onLimit: tree.onLimit }, tree);
}

/** The names of the tags that the run or its chapter began with. */
function tagNamesOf({ first }: RunJournal): Set<string> {
  const { tags = {} } = first.kind === "run.continued" ? first.head : first;
  return new Set(Object.keys(tags));
}

/**
 * A driver has seen the journal up to its latest own entry. An execution without the lease only reads the run, and logs
 * nothing.
 */
function watchOf({ entries }: RunJournal, { owned }: DriverLease): Watch {
  const recorded = entries.findLast(({ outside }) => !outside)?.seq ?? 0;
  return { observer: undefined, recorded, reached: owned ? undefined : Infinity };
}

/** Calls the function. Its result is encoded at once, so that later changes to the value have no effect. */
async function run(definition: Definition, ctx: Context, input: unknown): Promise<Finish> {
  try {
    const value: unknown = await definition.body(ctx as never, input as never);
    const output = encode(value, `output of run ${ctx.runId}`);
    return { fact: (leftovers) => ({ kind: "run.completed", output, ...leftovers }) };
  } catch (thrown) {
    return failure(thrown, ctx.runId);
  }
}

/** A promise of the code rejected, or a callback threw, and nothing caught it. */
function unhandled(runId: string, error: unknown): DurableError {
  const { step = null } = ownerNow() ?? {};
  const what = step === null ? "its code" : `"${step}"`;
  return new DurableError(
    "unhandled-rejection",
    `Run ${runId} cannot continue: an error in ${what} was not caught: ${describeError(error)}. Await or catch it; then advance the run again.`,
    { cause: error, details: { step } },
  );
}
