/** Where a cell is played: a storage in virtual time, processes on it, and one worker at a time. */

import {
  createApp,
  createWorker,
  type App,
  type AppOptions,
  type RunHead,
  type Storage,
  type Worker,
} from "@durable/core";
import { fingerprint, type Chain, type Cipher } from "@durable/core/storage";
import { aesGcm } from "@durable/core/encryption";
import { virtualWorld, type VirtualWorld } from "@durable/testing";
import { heldStorage } from "../../../testing/src/kit/held-storage.ts";
import type { Option } from "./cells.ts";
import { deadlineMs, Services, versionOf, workflowsOf, type Code } from "./program.ts";

export const secret = "a secret for tests, of no worth";
const keys = { a: "3nqNwJ3cXl0VfH0hXkq2c1m6Q7yS5bJ8tR4uV9wZ0aE=" };
const minute = 60_000;

/** A cell has some hundred moments at which something happens, and some thousand turns. One that has so many does not end. */
const mostMoments = 30_000;
const mostTurns = 200_000;

/** An empty storage on the clock of the cell. */
export interface Place {
  readonly storage: Storage;
  /** The same data, as another process opens it; `storage` itself where that makes no difference. */
  readonly another: Storage;
  readonly close: () => void | Promise<void>;
}

export type Open = (world: VirtualWorld) => Place | Promise<Place>;

/** Ids and tokens depend on the run alone, but a deleted id that is used again gives others. */
function countingNonces(world: VirtualWorld): VirtualWorld {
  const lives = new Map<string, number>();
  let turns = 0;
  return {
    ...world,
    turn: () => {
      if (++turns > mostTurns) throw new Error("The runs of this cell go round in circles.");
      return world.turn();
    },
    nonce: (runId) => {
      const life = (lives.get(runId) ?? 0) + 1;
      lives.set(runId, life);
      return fingerprint([runId, life], "nonce");
    },
  };
}

/** A cipher that virtual time waits for, because it works in other threads. */
function heldCipher(cipher: Cipher): { readonly cipher: Cipher; readonly hold: () => Promise<boolean> } {
  const pending = new Set<Promise<unknown>>();
  const note = <T>(work: Promise<T>): Promise<T> => {
    pending.add(work);
    const over = (): void => void pending.delete(work);
    work.then(over, over);
    return work;
  };
  const chain = (): Chain => {
    const inner = cipher.chain();
    return {
      check: (batches, spot) => note(inner.check(batches, spot)),
      sign: (batch, spot) => note(inner.sign(batch, spot)),
    };
  };
  const held: Cipher = {
    seal: (text, place) => note(cipher.seal(text, place)),
    open: (text, place) => note(cipher.open(text, place)),
    nameOf: (content) => cipher.nameOf(content),
    acceptsPlain: cipher.acceptsPlain,
    chain,
  };
  const hold = async (): Promise<boolean> => {
    if (pending.size === 0) return false;
    await Promise.allSettled(pending);
    return true;
  };
  return { cipher: held, hold };
}

/** True for a run that does nothing more by itself. */
function isQuiet({ status, wakeAt }: RunHead): boolean {
  return (status !== "running" && status !== "suspended") || (status === "suspended" && wakeAt === null);
}

export class Stage {
  readonly world: VirtualWorld;
  readonly services: Services;
  readonly option: Option;
  readonly storage: Storage;
  readonly another: Storage;
  /** The code that is deployed. */
  code: Code = "right";
  #worker: Worker | null = null;
  readonly #cipher: Cipher;
  readonly #apps = new Map<string, App>();

  private constructor(
    parts: Pick<Stage, "option" | "world"> & { readonly cipher: Cipher },
    place: Omit<Place, "close">,
  ) {
    const { option, world, cipher } = parts;
    this.option = option;
    this.world = world;
    this.#cipher = cipher;
    this.storage = place.storage;
    this.another = place.another;
    this.services = new Services(world);
  }

  /** Plays something on an empty storage. */
  static async play<T>(option: Option, open: Open, work: (stage: Stage) => Promise<T>): Promise<T> {
    const holds: (() => Promise<boolean>)[] = [];
    let moments = 0;
    const hold = async (): Promise<boolean> => {
      if (++moments > mostMoments) throw new Error("The runs of this cell do not come to rest.");
      let any = false;
      for (const each of holds) any = (await each()) || any;
      return any;
    };
    const world = countingNonces(virtualWorld({ hold }));
    const place = await open(world);
    const held = (inner: Storage): Storage => {
      const { storage, hold: until } = heldStorage(inner);
      holds.push(until);
      return storage;
    };
    const storage = held(place.storage);
    const another = place.another === place.storage ? storage : held(place.another);
    const { cipher, hold: ciphering } = heldCipher(aesGcm({ current: "a", keys }));
    holds.push(ciphering);
    const stage = new Stage({ option, world, cipher }, { storage, another });
    try {
      const result = await work(stage);
      await stage.stop();
      return result;
    } finally {
      await place.close();
    }
  }

  /** Another storage at the same time, with services of its own. */
  beside(storage: Storage): Stage {
    const parts = { option: this.option, world: this.world, cipher: this.#cipher };
    const stage = new Stage(parts, { storage, another: storage });
    stage.services.healed = true;
    return stage;
  }

  /** A process with some code. */
  app(code: Code, process: "first" | "second" = "first"): App {
    const key = `${code} ${process}`;
    const known = this.#apps.get(key);
    if (known !== undefined) return known;
    const storage = process === "first" ? this.storage : this.another;
    const app = this.appOn(storage, { services: this.services, code });
    this.#apps.set(key, app);
    return app;
  }

  appOn(storage: Storage, { services, code }: { readonly services: Services; readonly code: Code }): App {
    const { option, world } = this;
    const host: Partial<AppOptions> = {
      ...(option === "encryption" && { encryption: this.#cipher }),
      ...(option === "step limit" && { quotas: { api: { concurrent: 1 } } }),
    };
    return createApp({
      storage,
      world,
      secret,
      patience: 0,
      workflows: workflowsOf(services, option, code),
      ...host,
    });
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.world.run(work);
  }

  pass(ms: number): Promise<void> {
    return this.world.advance(ms);
  }

  /** Puts other code in the place of what runs. */
  async deploy(code: Code): Promise<void> {
    const old = this.#worker;
    this.#worker = null;
    this.code = code;
    if (old === null) return;
    await old.stop();
    this.work();
  }

  /** Has a worker with the code that is deployed. */
  work(): void {
    this.#worker ??= this.workerOf(this.app(this.code), this.code);
  }

  workerOf(app: App, code: Code): Worker {
    return createWorker(app, {
      idleInterval: "5 minutes",
      ...(this.option === "versions" && { versions: [versionOf(code)] }),
    });
  }

  async stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    if (worker !== null) await this.run(worker.stop());
  }

  /** All runs. */
  async heads(app = this.app(this.code)): Promise<readonly RunHead[]> {
    return (await this.run(app.list({ limit: 100 }))).runs;
  }

  /** Lets a worker drive what is due until no run does anything by itself, or the time is over. */
  async drain(forMs = 200 * minute): Promise<void> {
    this.work();
    for (let stepMs = 20_000, passed = 0; passed < forMs; stepMs = Math.min(stepMs * 2, 20 * minute)) {
      await this.pass(stepMs);
      passed += stepMs;
      const heads = await this.heads();
      // A worker tries a blocked run again when it looks, after a minute at the earliest, or when it is due.
      const tried = heads.map(({ status, wakeAt }) =>
        status === "blocked" ? 7 * minute + Math.max(-passed, (wakeAt ?? 0) - this.world.now()) : 0,
      );
      const most = Math.max(this.option === "deadline" ? deadlineMs - passed : 0, ...tried);
      if (most <= 0 && heads.every(isQuiet)) return;
    }
  }
}
