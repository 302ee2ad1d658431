/**
 * The processes of one simulation and the code they run: each actor lives in one process at a time, and when that
 * dies a new life begins, perhaps with another version of the code.
 */

import {
  createApp,
  durable,
  type App,
  type Context,
  type Secret,
  type StepInfo,
  type Workflow,
} from "@durable/core";
import { observed, type Observer } from "../kit/observe.ts";
import type { Disk } from "./disk.ts";
import { namedBy, type Body, type History, type Pass, type RunLog } from "./history.ts";
import { streamOf, type Network } from "./network.ts";
import type { Plan } from "./plan.ts";
import { Process } from "./process.ts";
import type { Code, Program, Surroundings } from "./program.ts";
import type { Scheduler } from "./scheduler.ts";

export interface TownParts {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly history: History;
  readonly disk: Disk;
  readonly network: Network;
  readonly programs: readonly Program[];
}

/** What one life of an actor has. */
export interface Life {
  readonly process: Process;
  readonly app: App;
  readonly flows: readonly Workflow<unknown, unknown>[];
  readonly code: Code;
}

export interface Actor {
  readonly name: string;
  /** Begins a life: what it starts goes on until the process dies. */
  readonly boot: (life: Life) => void;
}

export class Town {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly history: History;
  readonly disk: Disk;
  readonly network: Network;
  readonly programs: readonly Program[];
  readonly lives: Life[] = [];
  /** Tokens sent out by steps. */
  readonly mailbox: string[] = [];
  /** Another version of the code is live; new lives begin with it. */
  deployed = false;
  rotated = false;
  closed = false;
  readonly #actors: Actor[] = [];
  readonly #incarnations: number[] = [];
  #nonces = 0;

  constructor(parts: TownParts) {
    this.plan = parts.plan;
    this.scheduler = parts.scheduler;
    this.history = parts.history;
    this.disk = parts.disk;
    this.network = parts.network;
    this.programs = parts.programs;
  }

  settle(actors: readonly Actor[]): void {
    for (const actor of actors) {
      this.#actors.push(actor);
      this.#incarnations.push(0);
      this.#begin(this.#actors.length - 1);
    }
  }

  /** Ends every life and begins new ones, all with the first version of the code. */
  restart(): void {
    this.deployed = false;
    for (const { process } of this.lives) process.kill("restarted");
    this.scheduler.after(0, null, () => this.#actors.forEach((_, index) => this.#begin(index)));
  }

  #begin(index: number): void {
    if (this.closed || this.lives[index]?.process.alive === true) return;
    const actor = this.#actors[index] as Actor;
    const count = (this.#incarnations[index] ?? 0) + 1;
    this.#incarnations[index] = count;
    const name = `${actor.name}.${count}`;
    const { seed, skews, schedule } = this.plan;
    const random = streamOf(seed, name);
    const process = new Process({
      name,
      scheduler: this.scheduler,
      history: this.history,
      random,
      skewMs: skews[index % Math.max(1, skews.length)] ?? 0,
      priority: schedule === "priorities" ? random.between(0, 9) : 0,
      died: () => {
        const ms = random.pick([20, 1_000, 8_000]);
        this.scheduler.after(ms, null, () => this.#begin(index));
      },
    });
    const life = this.#life(process);
    this.lives[index] = life;
    if (count > 1) this.history.meet("a process began again");
    actor.boot(life);
  }

  #life(process: Process): Life {
    const { leaseMs, patienceMs } = this.plan;
    const options = {
      storage: this.network.connect(process),
      world: process.world,
      secret: this.#secret(),
      lease: leaseMs,
      patience: patienceMs,
    };
    const workflows: Workflow<unknown, unknown>[] = [];
    const life: Life = {
      process,
      code: this.deployed ? "changed" : "first",
      flows: workflows,
      // Made of the workflows, which reach for it when they run.
      app: createApp({ ...options, workflows: [] }),
    };
    for (const program of this.programs) workflows.push(this.#workflow(program, life).with(options));
    return Object.assign(life, { app: createApp({ ...options, workflows }) });
  }

  #secret(): Secret {
    const first = "the first secret of a simulation";
    return this.rotated ? { current: "b", keys: { a: first, b: "another secret" } } : first;
  }

  #workflow(program: Program, life: Life): Workflow<unknown, unknown> {
    const { name, schema } = program;
    const body = program.body(life.code, this.#surroundings(life));
    const watched = (ctx: Context, input: unknown): unknown =>
      body(observed(ctx, this.#observer(ctx, life, program)), input as never);
    return schema === undefined ? durable(name, watched) : durable(name, watched, { input: schema });
  }

  #surroundings(life: Life): Surroundings {
    const { process } = life;
    return {
      pause: (ms) => process.pause(ms),
      nonce: () => (this.plan.calm ? null : `nonce ${++this.#nonces}`),
      mail: (token) => void this.mailbox.push(token),
      fork: (runId, id) => this.fork(life, runId, { id }),
    };
  }

  /** Forks a run at one of the steps it has recorded; its id when there is none yet. */
  async fork(life: Life, runId: string, options: { id?: string; edit?: boolean }): Promise<string> {
    const { process, app } = life;
    const run = app.get(runId);
    const keys = (await run.entries())
      .filter(({ kind }) => kind === "step.completed" || kind === "suspend.resolved")
      .map((entry) => ("key" in entry ? entry.key : ""));
    if (keys.length === 0) return "nothing to fork at";
    const key = process.random.pick(keys);
    const cut =
      options.edit === true
        ? { edit: { [key]: "edited" } }
        : process.random.chance(0.5)
          ? { from: key }
          : { after: key };
    const made = await run.fork({ ...cut, ...(options.id === undefined ? {} : { id: options.id }) });
    this.history.meet(options.edit === true ? "a fork with an edit" : "a fork");
    if (/running|suspended/.test(this.history.run(runId)?.status ?? ""))
      this.history.meet("a fork of an open run");
    return made.id;
  }

  /** Notes what one life of a workflow function is given. */
  #observer({ runId }: Context, { process, code }: Life, program: Program): Observer {
    const { history } = this;
    const run = history.run(runId);
    const pass: Pass = { run, code, process: process.name, seen: [] };
    history.passes.push(pass);
    const perform = program.perform ?? (async (_process, _key, work) => work());
    return {
      made: (ctx, key, result) => {
        if (!(result instanceof Promise)) return;
        const { token } = result as { token?: string };
        if (token !== undefined && token !== "") history.waits.set(namedBy(token), { runId, key });
        noteGiven(result, (what) => {
          if (process.alive)
            pass.seen.push(`${key} = ${what} at ${ctx.now()}, ${ctx.random("seen").toFixed(4)}`);
        });
      },
      branch: (work) => work(),
      body: async (_key, info, work, counted) => {
        const gave = info === null ? () => {} : this.#starts(process, { runId, run, program }, info, counted);
        const value = await perform(process, counted, () => work(info));
        gave(value);
        return value;
      },
    };
  }

  #starts(
    process: Process,
    { runId, run, program }: Started,
    info: StepInfo,
    expected: string,
  ): (value: unknown) => void {
    const { history, scheduler } = this;
    const { key, attempt, idempotencyKey } = info;
    if (history.bodies.some((other) => other.run === run && other.key === key && other.attempt === attempt))
      history.meet("a body that ran twice");
    const body: Body = {
      run,
      key,
      attempt,
      idempotencyKey,
      process: process.name,
      at: scheduler.now,
      comparable: program.perform === undefined,
    };
    history.bodies.push(body);
    history.say(process.name, `${runId} ${key} starts, attempt ${attempt}`);
    if (key !== expected)
      history.violate("I1", `run ${runId}: the step ${expected} runs under the key ${key}`);
    if (run !== undefined && !run.tainted) judgeStart(history, process, run, body);
    else if (run === undefined && history.forgotten.size === 0)
      history.violate("I3", `run ${runId}: ${key} starts before the run is recorded`);
    return (value) => {
      body.value = value;
    };
  }
}

interface Started {
  readonly program: Program;
  readonly runId: string;
  readonly run: RunLog | undefined;
}

/** I3, I9, I10: what must hold of every body at the moment it starts. */
function judgeStart(history: History, process: Process, run: RunLog, { key, attempt, at }: Body): void {
  const where = `run ${run.runId}: ${process.name} starts ${key}`;
  if (process.knows(run, key)) history.violate("I3", `${where} again, whose outcome it was shown`);
  if (process.knows(run, "cancelled")) history.violate("I9", `${where} after it was shown the cancellation`);
  const failed = history.entries(run).filter((entry) => entry.kind === "attempt.failed" && entry.key === key);
  if (failed.length < attempt - 1)
    history.violate("I3", `${where} for attempt ${attempt}, and ${failed.length} are recorded`);
  const due = failed.length === attempt - 1 ? (failed.at(-1)?.retryAt ?? 0) : 0;
  if (at + process.skewMs < due)
    history.violate("I10", `${where} for attempt ${attempt}, ${due - at} ms early`);
}

/** Listens to a promise without being a step on its way. */
export function noteGiven(promise: Promise<unknown>, note: (what: string) => void): void {
  promise.then(
    (value) => note(JSON.stringify(value) ?? "nothing"),
    (error: unknown) => note(`! ${String((error as { code?: unknown } | null)?.code ?? error)}`),
  );
}
