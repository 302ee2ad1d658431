/**
 * The processes of one simulation and the code they run. Each actor has one process at a time; when that
 * process dies, a new one starts, perhaps with another version of the code. Proven in test/sim.test.ts.
 */

import {
  createApp,
  durable,
  type AnyWorkflow,
  type App,
  type Context,
  type Resolution,
  type Secret,
  type Storage,
  type Uncertain,
  type Workflow,
} from "@durable/core";
import type { HostOptions } from "@durable/core/types";
import type { Cipher } from "@durable/core/storage";
import type { Random } from "@durable/testing";
import { observed } from "@durable/testing/parts";
import type { Disk } from "./disk.ts";
import { never } from "./faults.ts";
import type { History } from "./history.ts";
import { judgeInput, type RunInput } from "./input-checks.ts";
import { streamOf, type Network } from "./network.ts";
import { PairNotes } from "./pairing-checks.ts";
import type { FlowPlan, Plan } from "./plan.ts";
import { retry } from "./interpret.ts";
import { flowFor, limitsFor } from "./queue-plan.ts";
import { Process } from "./process.ts";
import { judgeEffect } from "./effect-checks.ts";
import type { Code, Program } from "./program.ts";
import { simCipher } from "./cipher.ts";
import type { Environment } from "./environment.ts";
import type { Scheduler } from "./scheduler.ts";
import { attempts, childrenOf, type Tree } from "./tree.ts";
import { rejectUnawaited } from "./stray-checks.ts";
import { judgingHooks } from "./hook-checks.ts";
import { inProcess, judgeBodyContext, judgeWorkContext } from "./surroundings.ts";
import { observeWorkflow } from "./workflow-observer.ts";
import { limitOf } from "./slot-checks.ts";

export interface ClusterParts {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly history: History;
  readonly disk: Disk;
  readonly network: Network;
  readonly programs: readonly Program[];
  /** The largest difference between two clocks. */
  readonly slackMs: number;
}

/** One life of an actor: its process and the app in it. */
export interface ProcessLife {
  readonly process: Process;
  readonly app: App;
  readonly flows: readonly Workflow<unknown, unknown>[];
  readonly code: Code;
  /** The options its app was created with. */
  readonly options: HostOptions & { readonly storage: Storage };
}

export interface Actor {
  readonly name: string;
  /** Names its random streams; its own name by default. */
  readonly streamName?: string;
  /** Starts the work of a new process, which lasts until the process dies. */
  readonly boot: (life: ProcessLife) => void;
}

/** The time at which every simulation begins. */
export const startOfTime = Date.UTC(2026, 0, 1);

/** Repeats `work` while its process lives, with a pause after each round or failure. */
export async function forever(process: Process, ms: number, work: () => Promise<void>): Promise<void> {
  const asked = new AbortController();
  process.world.onTerminate(() => asked.abort());
  while (!asked.signal.aborted) {
    try {
      await work();
    } catch (error) {
      process.history.say(process.name, String(error));
    }
    if (!asked.signal.aborted) await process.pause(ms);
  }
}

export class Cluster {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly history: History;
  readonly disk: Disk;
  readonly network: Network;
  readonly programs: readonly Program[];
  readonly slackMs: number;
  readonly lives: ProcessLife[] = [];
  /** Tokens that steps have mailed. */
  readonly mailbox: string[] = [];
  /** Values made for journals without a workflow. */
  readonly marks = new Set<string>();
  /** Called for each mailed token. */
  onMail: (token: string) => void = () => {};
  /** Called when a step forks its own run; returns the id of the fork. */
  onFork: (life: ProcessLife, runId: string, id: string) => Promise<string> = () => never();
  /** Called for each warning of the library, in any process. */
  onWarning: (message: string) => void = () => {};
  /** Another version of the code is deployed; new processes run it. */
  deployed = false;
  rotated = false;
  closed = false;
  /** Schedules go on after faults have ended, and are deleted. */
  schedulesEnd = false;
  /** Schedules that have not done so. */
  behind: readonly string[] = [];
  readonly #actors: Actor[] = [];
  readonly #incarnations: number[] = [];
  readonly #pairs: PairNotes;
  /** How often in a row the outcome of an effect could not be looked up. */
  readonly #busy = new Map<string, number>();
  #nonces = 0;
  #inputs = 0;

  constructor(parts: ClusterParts) {
    this.plan = parts.plan;
    this.scheduler = parts.scheduler;
    this.history = parts.history;
    this.#pairs = new PairNotes(
      parts.history,
      parts.plan.foreign !== true && parts.programs.every(({ perform }) => perform === undefined),
    );
    this.disk = parts.disk;
    this.network = parts.network;
    this.programs = parts.programs;
    this.slackMs = parts.slackMs;
  }

  start(actors: readonly Actor[]): void {
    for (const actor of actors) {
      this.#actors.push(actor);
      this.#incarnations.push(0);
      this.#begin(this.#actors.length - 1);
    }
  }

  /**
   * Kills every process and starts new ones, with the first version of the code unless the plan keeps the new
   * one.
   */
  restart(): void {
    this.deployed &&= this.plan.keepsCode;
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
    const stream = `${actor.streamName ?? actor.name}.${count}`;
    const random = streamOf(seed, stream);
    const process = new Process({
      name,
      scheduler: this.scheduler,
      history: this.history,
      random,
      faults: streamOf(seed, `${stream} faults`),
      skewMs: skews[index % Math.max(1, skews.length)] ?? 0,
      ...(this.plan.busy === true ? { passing: this.#passing(streamOf(seed, `${stream} clock`)) } : {}),
      priority: schedule === "priorities" ? random.between(0, 9) : 0,
      warned: (message) => {
        this.#pairs.warned(name, message);
        this.onWarning(message);
      },
      died: () => {
        const ms = random.pick([20, 1_000, 8_000]);
        this.scheduler.after(ms, null, () => this.#begin(index));
      },
    });
    const life = this.#life(process);
    this.lives[index] = life;
    if (count > 1) this.history.meet("a process began again");
    inProcess(name, () => actor.boot(life));
  }

  /** Most reads of a clock take no time, some a few milliseconds, and while faults last a few outlive a lease. */
  #passing(random: Random): () => number {
    return () => {
      const drawn = random.next();
      if (drawn < 0.6) return 0;
      if (drawn < 0.9995 || this.network.healed) return drawn < 0.8 ? 1 : 3;
      this.history.meet("a lease that expired in the middle of a turn");
      return 1.2 * this.plan.leaseMs;
    };
  }

  #life(process: Process): ProcessLife {
    const options = this.#options(process);
    const workflows: Workflow<unknown, unknown>[] = [];
    const life: ProcessLife = {
      process,
      code: this.deployed ? "changed" : "first",
      options,
      flows: workflows,
      // Replaced below: the app needs the workflows, and the workflows need this object.
      app: createApp({ ...options, workflows: [] }),
    };
    for (const program of this.programs) workflows.push(this.#workflow(program, life).with(options));
    const known = workflows.filter((_, i) => this.programs[i]?.isPrivate !== true);
    return Object.assign(life, { app: createApp({ ...options, workflows: known, bind: false }) });
  }

  #options(process: Process): HostOptions & { readonly storage: Storage } {
    const { leaseMs, patienceMs, warm = 0, encrypted = false } = this.plan;
    return {
      storage: this.network.connect(process),
      world: process.world,
      secret: this.#secret(),
      lease: leaseMs,
      patience: patienceMs,
      warm,
      ...limitsFor(this.plan, this.programs),
      ...(this.plan.hooks === true ? { hooks: judgingHooks(process) } : {}),
      ...(encrypted ? { encryption: this.#cipher() } : {}),
    };
  }

  #cipher(): Cipher {
    const current = this.rotated ? "b" : "a";
    const cipher = simCipher(current);
    return {
      ...cipher,
      open: (text, place) => {
        if (!text.startsWith(current)) this.history.meet("a record that was sealed before the rotation");
        return cipher.open(text, place);
      },
    };
  }

  #secret(): Secret {
    const first = "the first secret of a simulation";
    return this.rotated ? { current: "b", keys: { a: first, b: "another secret of the cluster" } } : first;
  }

  #workflow(program: Program, life: ProcessLife): Workflow<unknown, unknown> {
    const { name, schema } = program;
    const observedBody = this.#observed(program, life);
    const limit = limitOf(this.plan, name);
    const options = {
      ...(limit === undefined ? {} : { concurrency: limit }),
      ...flowFor(this.plan, name),
      ...(this.plan.defaults === true ? { retry } : {}),
      ...program.options,
      ...(this.plan.share === "versions" ? { version: life.code } : {}),
    };
    return schema === undefined
      ? durable(name, observedBody, options)
      : durable(name, observedBody, { ...options, input: schema });
  }

  #observed(program: Program, life: ProcessLife): (ctx: Context, input: unknown) => unknown {
    const { process, code } = life;
    const { plan } = this;
    const call = program.body(code, this.#environment(life));
    const observeChild = ({ name, definition }: AnyWorkflow): AnyWorkflow => {
      const body = definition.body as ReturnType<Program["body"]>;
      const child = { ...program, name, body: () => body };
      return { name, definition: { ...definition, body: this.#observed(child, life) } };
    };
    return (ctx, input) => {
      const { runId } = ctx;
      const run = this.history.runBegunAt(runId, ctx.now(), input);
      const observer = observeWorkflow({ plan, process, code, program, runId, run, observeChild });
      const driven = !plan.sweeps && process.name.startsWith("worker");
      judgeBodyContext(this.history, run, { process: process.name, driven });
      if (program.perform === undefined) judgeInput(this.history, run, input);
      return call(observed(ctx, observer), input as never);
    };
  }

  /** True when forks may get another input: in generated workflows whose output is not predicted. */
  get changesInputs(): boolean {
    return !this.plan.calm && this.programs.every(({ perform }) => perform === undefined);
  }

  /** True when runs may have several chapters. */
  get continues(): boolean {
    return this.history.runs.some(({ chapter }) => chapter > 1) || this.plan.flows.some(hasChapters);
  }

  /** An input that no other run has. */
  given(): RunInput {
    return { given: `given ${++this.#inputs} to a fork` };
  }

  /** A value that is made only once. */
  mark(): string {
    const mark = `mark ${this.marks.size + 1}`;
    this.marks.add(mark);
    return mark;
  }

  #environment(life: ProcessLife): Environment {
    const { process } = life;
    return {
      pause: (ms) => process.pause(ms),
      foreign: (ms) => process.pause(ms),
      met: (what) => this.history.meet(what),
      stray: (runId) => rejectUnawaited(process, runId),
      begins: (runId, place) => judgeWorkContext(this.history, runId, { process: process.name, place }),
      comesTo: this.plan.logs === true ? () => void (process.comes = true) : null,
      defaults: this.plan.defaults === true,
      pairs: this.plan.foreign === true ? this.#pairs.of(process) : null,
      nonce: () => (this.plan.calm ? null : `nonce ${++this.#nonces}`),
      mail: (token) => {
        this.mailbox.push(token);
        this.onMail(token);
      },
      die: () => {
        process.kill("killed by its own work");
        return never();
      },
      fork: (runId, id) => this.onFork(life, runId, id),
      workflow: (name) => life.flows.find((flow) => flow.name === name) as Workflow<unknown, unknown>,
      effect: (info, value) => judgeEffect(this.history, info, value),
      lookUp: (uncertain) => this.#lookUp(process, uncertain),
    };
  }

  /** Looks up the outcome of an effect in the outside world; the lookup may fail, too. */
  async #lookUp(process: Process, { idempotencyKey }: Uncertain): Promise<Resolution> {
    await process.pause(20);
    const busy = (this.#busy.get(idempotencyKey) ?? 0) + 1;
    // Not so often that the policy of the step gives up.
    if (!this.network.healed && process.random.chance(0.1) && busy < attempts) {
      this.#busy.set(idempotencyKey, busy);
      throw new Error("The world outside is busy.");
    }
    const found = this.history.effects.find((effect) => effect.idempotencyKey === idempotencyKey);
    return found === undefined ? { status: "retry" } : { status: "completed", value: found.value };
  }
}

function hasChapters({ tree, changed }: FlowPlan): boolean {
  const has = (node: Tree): boolean => node.kind === "chapters" || childrenOf(node).some(has);
  return has(tree) || has(changed);
}
