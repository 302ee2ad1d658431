/**
 * The connection between a process and the disk: requests take time, get lost, arrive twice, arrive late, or
 * arrive after their sender has died. The fault of a request is drawn from the seed when the request is made.
 * Proven in test/sim.test.ts.
 */

import { DurableError, type Storage } from "@durable/core";
import type { AppendRequest, ReadReply } from "@durable/core/storage";
import { seeded, type Operation } from "@durable/testing";
import type { Disk, Landed } from "./disk.ts";
import { connectionLost, drawFault, never, type NetworkFault, type Rates } from "./faults.ts";
import { limitsOf, pausesOf, schedulesOf, type Call } from "./more-storage.ts";
import type { Process } from "./process.ts";
import { judgeClaim, judgeTaken } from "./stranger-checks.ts";
import { chaptersOf, type RunLog } from "./run-log.ts";

export interface NetworkOptions {
  readonly seed: number;
  readonly rates: Rates;
  readonly latencyMs: number;
  readonly leaseMs: number;
  readonly notifies: boolean;
  readonly concurrency: number;
  readonly claims?: boolean;
  readonly announces?: boolean;
  readonly lostNotices?: number;
  readonly only?: readonly string[];
  readonly deletesTogether?: boolean;
  readonly schedules?: readonly unknown[];
  readonly pauses?: boolean;
}

export class Network {
  readonly #disk: Disk;
  readonly #options: NetworkOptions;
  readonly #only: ReadonlyMap<string, NetworkFault> | null;
  /** Faults that happened: `process operation number fault`. */
  readonly happened: string[] = [];
  /** Requests made before faults end: `process operation number`. */
  readonly requests: string[] = [];
  healed = false;

  constructor(disk: Disk, options: NetworkOptions) {
    this.#disk = disk;
    this.#options = options;
    const only = options.only?.map((name): [string, NetworkFault] => {
      const cut = name.lastIndexOf(" ");
      return [name.slice(0, cut), name.slice(cut + 1) as NetworkFault];
    });
    this.#only = only === undefined ? null : new Map(only);
  }

  /** The storage as one process sees it. */
  connect(process: Process): Storage {
    const line = new Line(process, this);
    const disk = this.#disk;
    const storage: Storage = {
      ...(disk.finds ? { finds: true } : {}),
      append: (request) => line.append(request, disk),
      read: (locator, from = 0) => line.read(locator, from, disk),
      list: (query) =>
        line.call("list", () => disk.list(query), {
          // Every run below another is in its list: what ends with a run is found there.
          "cut-short": (page) =>
            query?.parent === undefined
              ? { runs: page.runs.slice(0, page.runs.length >> 1), next: null }
              : page,
        }),
      lease: (locator, owner, ttlMs, slots) => {
        process.leases(locator, ttlMs);
        judgeTaken(process.history, process, process.history.latest(locator));
        return line.call("lease", () => disk.lease(process, locator, { owner, ttlMs, slots }));
      },
      release: (locator, owner, quietMs) => {
        const onTime = process.scheduler.now + this.#options.latencyMs;
        let copies = 0;
        return line.call("release", () => {
          const late = copies++ > 0 || process.scheduler.now > onTime;
          return disk.release(locator, { owner, quietMs, late });
        });
      },
      delete: (locator) => line.call("delete", () => disk.delete(locator)),
    };
    if (disk.offers("readChapter"))
      storage.readChapter = (locator, back) => line.readChapter(locator, disk, back);
    if (disk.offers("dropChapters"))
      storage.dropChapters = (locator, before) =>
        line.call("dropChapters", () => disk.dropChapters(locator, before));
    const call: Call = (operation, apply, spoil) => line.call(operation, apply, spoil);
    Object.assign(storage, limitsOf(process, disk, call));
    if (this.#options.schedules !== undefined) Object.assign(storage, schedulesOf(process, disk, call));
    if (this.#options.pauses === true) Object.assign(storage, pausesOf(process, disk, call));
    if (disk.offers("note"))
      storage.note = (locator, note) => line.call("note", () => disk.note(locator, note));
    if (this.#options.notifies && disk.notifies) {
      storage.changed = (locator, length, signal) => line.changed(disk.changed(locator, length, signal));
    }
    if (this.#options.deletesTogether && disk.offers("deleteUnchanged"))
      storage.deleteUnchanged = (heads) => line.call("delete", () => disk.deleteUnchanged(heads));
    const { claims, announces, concurrency } = this.#options;
    if (claims && disk.offers("claim"))
      storage.claim = (request) => {
        judgeClaim(process.history, process, request.limit, concurrency);
        return line.call("claim", () => disk.claim(request), {
          "cut-short": (runs) => runs.slice(0, runs.length >> 1),
        });
      };
    if (announces && disk.offers("whenDue"))
      storage.whenDue = (workflow, signal, version) =>
        line.whenDue(disk.whenDue(workflow, process.whileAlive(signal), version), signal);
    return storage;
  }

  /** True for a notice of due runs that never arrives. They get lost for ever: runs must end without them (law 7). */
  loses(process: Process): boolean {
    return process.faults.chance(this.#options.lostNotices ?? 0);
  }

  wayMs(process: Process): number {
    const { latencyMs } = this.#options;
    return latencyMs === 0 ? 0 : process.random.between(0, latencyMs);
  }

  /** Longer than a lease, so that another process takes over meanwhile. */
  stallMs(process: Process): number {
    return this.#options.leaseMs * (1 + process.random.next());
  }

  fault(process: Process, operation: Operation, count: number): NetworkFault | null {
    if (this.healed) return null;
    const name = `${process.name} ${operation} ${count}`;
    this.requests.push(name);
    const fault =
      this.#only === null
        ? drawFault(process.faults, this.#options.rates, operation)
        : (this.#only.get(name) ?? null);
    if (fault === null) return null;
    this.happened.push(`${name} ${fault}`);
    // A request that stalls does so for less than two leases.
    process.history.steady.disturb(process.name, 4 * this.#options.leaseMs);
    process.history.meet(`fault ${fault}`);
    return fault;
  }
}

/** How a fault changes a good reply; `forget` replies and applies nothing. */
type Spoil<T> = Partial<Record<Exclude<NetworkFault, "forget">, (reply: T) => T>> & {
  readonly forget?: () => T;
};

class Line {
  readonly #process: Process;
  readonly #network: Network;
  #count = 0;

  constructor(process: Process, network: Network) {
    this.#process = process;
    this.#network = network;
  }

  async append(request: AppendRequest, disk: Disk): Promise<void> {
    const process = this.#process;
    if (request.lease) process.leases(request.locator, request.lease.ttlMs);
    const { leases } = process.history;
    const apply = (): Promise<Landed | null> => disk.append(process, request);
    const applied = await this.call("append", apply, { forget: () => disk.forget(request) }).catch(
      (error: unknown) => {
        leases.appended(process.name, request.locator, false);
        throw error;
      },
    );
    leases.appended(process.name, request.locator, true);
    if (applied !== null) process.noteReply(applied.run, [applied.batch]);
  }

  read(locator: string, from: number, disk: Disk): Promise<ReadReply> {
    return this.#read(locator, from, () => disk.read(locator, from));
  }

  readChapter(locator: string, disk: Disk, back?: number): Promise<ReadReply & { readonly from: number }> {
    return this.#read(locator, 0, () => disk.readChapter(locator, back));
  }

  async #read<T extends ReadReply>(locator: string, asked: number, ask: () => Promise<T>): Promise<T> {
    const { history } = this.#process;
    let run: RunLog | undefined;
    const apply = (): Promise<T> => {
      // A delayed reply is about the run that had this id when the request was applied.
      run = history.latest(locator);
      return ask();
    };
    const reply = await this.call("read", apply, {
      "cut-short": ({ blobs: _blobs, deleted: _deleted, ...whole }) =>
        ({ ...whole, batches: whole.batches.slice(0, -1) }) as unknown as T,
      // An older state of a journal is valid on a first read; later it would look like a journal that shrank.
      stale: (fresh) =>
        asked > 0 || fresh.batches.length < 2
          ? fresh
          : { ...fresh, batches: fresh.batches.slice(0, -1), length: fresh.length - 1 },
    });
    const from = reply.from ?? asked;
    for (const log of run === undefined ? [] : chaptersOf(run)) {
      const [first, end] = [from - log.offset, from + reply.batches.length - log.offset];
      this.#process.noteReply(log, log.batches.slice(Math.max(0, first), Math.max(0, end)));
    }
    return reply;
  }

  changed(change: Promise<void>): Promise<void> {
    const process = this.#process;
    return new Promise((resolve) => {
      void change.then(() => process.scheduler.after(this.#network.wayMs(process), process, resolve));
    });
  }

  whenDue(due: Promise<void>, signal: AbortSignal): Promise<void> {
    const process = this.#process;
    const isLost = this.#network.loses(process);
    return new Promise((resolve) => {
      void due.then(() => {
        if (!process.alive) return;
        if (!signal.aborted) process.history.meet(`a notice that ${isLost ? "was lost" : "came"}`);
        if (!isLost || signal.aborted)
          process.scheduler.after(this.#network.wayMs(process), process, resolve);
      });
    });
  }

  /** One request and its reply. */
  call<T>(operation: Operation, apply: () => Promise<T>, spoil: Spoil<T> = {}): Promise<T> {
    const process = this.#process;
    if (!process.alive) return never();
    const fault = this.#network.fault(process, operation, ++this.#count);
    process.history.say(process.name, `${operation}${fault === null ? "" : ` (${fault})`}`);
    return new Promise<T>((resolve, reject) => {
      const settleLater = (settle: () => void, ms = 0): void =>
        void process.scheduler.after(this.#network.wayMs(process) + ms, process, settle);
      const refused = refusal(fault, operation);
      if (refused !== null) return settleLater(() => reject(refused), fault === "lose-request" ? 1_000 : 0);
      if (fault === "apply-late") {
        settleLater(() => reject(connectionLost(operation)), 1_000);
        return this.#arrives(apply, 2_000 + this.#network.stallMs(process));
      }
      if (fault === "crash-before") return process.kill(`before ${operation}`);
      if (fault === "crash-then-apply") {
        this.#arrives(apply, process.random.pick([0, 50, 20_000]));
        return process.kill(`with ${operation} under way`);
      }
      if (fault === "ask-to-end") {
        process.terminate();
        process.scheduler.after(2_000, null, () => process.kill("ended"));
      }
      const reply = (settle: () => void): void =>
        settleLater(settle, fault === "stall" ? this.#network.stallMs(process) : 0);
      this.#arrives(async () => {
        if (fault === "forget" && spoil.forget !== undefined) {
          const lie = spoil.forget();
          return reply(() => resolve(lie));
        }
        try {
          const result = await apply();
          if (fault === "duplicate") this.#arrives(apply, process.random.pick([0, 30, 10_000]));
          if (fault === "crash-after") return process.kill(`after ${operation}`);
          if (fault === "lose-reply") return settleLater(() => reject(connectionLost(operation)), 1_000);
          const spoiled = fault === null || fault === "forget" ? undefined : spoil[fault];
          reply(() => resolve(spoiled === undefined ? result : spoiled(result)));
        } catch (error) {
          if (DurableError.is(error, "conflict")) process.history.meet("a conflict");
          if (fault === "crash-after") return process.kill(`after a refused ${operation}`);
          reply(() => reject(error));
        }
      }, this.#network.wayMs(process));
    });
  }

  /** A request on its way is applied whether or not its sender still lives. */
  #arrives(apply: () => Promise<unknown>, ms: number): void {
    this.#process.scheduler.after(ms, null, () => void apply().catch(() => {}));
  }
}

function refusal(fault: NetworkFault | null, operation: Operation): Error | null {
  switch (fault) {
    case "lose-request":
      return connectionLost(operation);
    case "fence":
      return new DurableError("conflict", "The simulator refused this append.");
    case "throttle":
      return new DurableError("storage-busy", "Too many requests.");
    default:
      return null;
  }
}

/** One random stream per name, so that an extra draw in one does not change the others. */
export function streamOf(seed: number, name: string) {
  let hash = seed ^ 0x9e3779b9;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return seeded(hash);
}
