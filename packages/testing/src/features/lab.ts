/**
 * What a program of the suite of features works with: apps and workers in virtual time over one storage. Storages answer in
 * real time, so virtual time waits for them.
 */

import {
  createApp,
  createWorker,
  type AnyWorkflow,
  type App,
  type AppOptions,
  type ListQuery,
  type Outcome,
  type Run,
  type RunHead,
  type Storage,
  type Worker,
  type WorkerOptions,
} from "@durable/core";
import { expect } from "vitest";
import type { ConformanceHandle } from "../conformance/subject.ts";
import { heldStorage } from "../kit/held-storage.ts";
import type { VirtualWorld } from "../virtual-world.ts";

const secret = "a secret for tests, of no worth";

/** The most virtual time that a condition may take. */
const mostMs = 3_600_000;

export class FeatureLab {
  readonly world: VirtualWorld;
  readonly storage: Storage;
  readonly #handle: ConformanceHandle;
  readonly #holds: (() => Promise<boolean>)[] = [];
  readonly #workers: Worker[] = [];

  /** `holds` gets what virtual time has to wait for. */
  constructor(handle: ConformanceHandle, world: VirtualWorld, holds: { hold: () => Promise<boolean> }) {
    this.#handle = handle;
    this.world = world;
    this.storage = this.#held(handle.storage);
    holds.hold = async () => {
      let any = false;
      for (const hold of this.#holds) any = (await hold()) || any;
      return any;
    };
  }

  #held(storage: Storage): Storage {
    const held = heldStorage(storage);
    this.#holds.push(held.hold);
    return held.storage;
  }

  /** The storage as another process opens it; the same one where there is no second handle. */
  async another(): Promise<Storage> {
    return this.#handle.reopen === undefined ? this.storage : this.#held(await this.#handle.reopen());
  }

  /** Another storage that virtual time waits for, such as the target of a copy. */
  beside(storage: Storage): Storage {
    return this.#held(storage);
  }

  app(workflows: readonly AnyWorkflow[], options: Partial<AppOptions> = {}): App {
    return createApp({
      storage: this.storage,
      world: this.world,
      secret,
      patience: 0,
      workflows,
      // Tests make several apps of one workflow, as if each were another process.
      bind: false,
      ...options,
    });
  }

  /** A worker that is stopped after the program. */
  worker(app: App, options: WorkerOptions = {}): Worker {
    const worker = createWorker(app, { idleInterval: "20 seconds", ...options });
    this.#workers.push(worker);
    return worker;
  }

  /** Lets virtual time pass until the work settles. */
  run<T>(work: Promise<T>): Promise<T> {
    return this.world.run(work);
  }

  /** Takes this much virtual time, inside of the code of a step. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.world.timer(ms, resolve));
  }

  /** Lets this much virtual time pass. */
  pass(ms: number): Promise<void> {
    return this.world.advance(ms);
  }

  /** Lets time pass until a condition holds, a few seconds at a time. */
  async until(what: string, holds: () => unknown): Promise<void> {
    const from = this.world.now();
    for (let stepMs = 2_000; !(await holds()); stepMs = Math.min(stepMs * 1.2, 60_000)) {
      if (this.world.now() - from > mostMs)
        expect.fail(`In an hour it did not happen that ${what}. Warnings: ${this.world.warnings.join("\n")}`);
      await this.pass(stepMs);
    }
  }

  /** All runs that a query gives, newest first. */
  async list(app: App, query: ListQuery = {}): Promise<readonly RunHead[]> {
    await this.#handle.settled?.();
    return (await this.run(app.list(query))).runs;
  }

  /** The ids of runs, sorted. */
  async ids(app: App, query: ListQuery = {}): Promise<string[]> {
    return (await this.list(app, query)).map(({ runId }) => runId).toSorted();
  }

  /** How many runs have each status. */
  async statuses(app: App): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { status } of await this.list(app)) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  /** Lets a worker bring a run to its end. */
  async ended(run: Run): Promise<Outcome<unknown>> {
    let outcome = await run.outcome();
    await this.until(`run ${run.id} ends`, async () => {
      outcome = await run.outcome();
      return ["completed", "failed", "cancelled"].includes(outcome.status);
    });
    return outcome;
  }

  /** Stops the workers. A program leaves no warning, because each says that something did not work. */
  async close(): Promise<void> {
    await this.run(Promise.all(this.#workers.map((worker) => worker.stop())));
    const [warning] = this.world.warnings;
    if (warning !== undefined) throw new Error(`The program ended with a warning: ${warning}`);
  }
}

/** The token of the only open wait of a run. */
export function tokenOf(outcome: Outcome<unknown>): string {
  const [point] = "waiting" in outcome ? outcome.waiting : [];
  if (point === undefined) throw new Error(`No open wait in ${JSON.stringify(outcome)}`);
  return point.token;
}

/** Expects the refusal of an option that needs something which the storage lacks. */
export async function refuses(work: () => unknown, message: RegExp): Promise<void> {
  const failed = await Promise.resolve()
    .then(work)
    .then(
      () => null,
      (error: unknown) => error,
    );
  expect(failed, "it was accepted").toMatchObject({
    name: "DurableError",
    code: "invalid-options",
    message: expect.stringMatching(message),
  });
}

export const cannotLimit = /cannot keep limits across processes/;
