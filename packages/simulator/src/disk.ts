/**
 * The one storage that all processes share; it checks every batch as it is applied. A full disk refuses
 * appends; everything else works. Proven in test/sim.test.ts.
 */

import {
  DurableError,
  MemoryStorage,
  type ListPage,
  type ListQuery,
  type RunHead,
  type Storage,
  type World,
} from "@durable/core";
import type {
  AppendRequest,
  BlockedNote,
  ClaimRequest,
  Lease,
  ReadReply,
  SlotLimits,
  StorageLimits,
  WorkflowPause,
} from "@durable/core/storage";
import { BlobNotes } from "./coverage-notes.ts";
import { FairNotes } from "./fair-checks.ts";
import type { History } from "./history.ts";
import { chaptersOf, batchesOf, driverOf, type AppliedBatch, type RunLog } from "./run-log.ts";
import { judgeFound, judgeLapse } from "./lateness.ts";
import { judgeBatch } from "./batch-checks.ts";
import { ScheduleDisk } from "./schedule-checks.ts";
import { judgePurged, judgeReaders } from "./purge-checks.ts";
import type { Process } from "./process.ts";

export interface Landed {
  readonly run: RunLog;
  readonly batch: AppliedBatch;
}

interface Claim {
  readonly owner: string;
  readonly ttlMs: number;
  readonly slots?: SlotLimits | undefined;
}

interface Release {
  readonly owner: string;
  readonly quietMs: number | undefined;
  readonly late: boolean;
}

export interface DiskOptions {
  readonly now: () => number;
  readonly timer: World["timer"];
  readonly slackMs: number;
  /**
   * Handles on one storage, which must settle every request in the same turn; a `MemoryStorage` by default.
   */
  readonly open?: ((now: () => number) => readonly Storage[]) | undefined;
}

export class Disk {
  readonly #handles: readonly Storage[];
  #turn = 0;
  readonly #history: History;
  readonly #slackMs: number;
  readonly #blobs: BlobNotes;
  /** Runs that were claimed, and not leased or written since. */
  readonly #claimed = new Set<string>();
  readonly #fair: FairNotes;
  full = false;
  /** Schedules are kept by the first handle alone, like limits. */
  readonly schedules: ScheduleDisk | undefined;

  /** `slackMs` is the largest difference between clocks. Requests go to the handles in turn. */
  constructor(history: History, options: DiskOptions) {
    this.#handles = options.open?.(options.now) ?? [new MemoryStorage(options)];
    this.#history = history;
    this.#blobs = new BlobNotes(history);
    this.#fair = new FairNotes(history);
    this.#slackMs = options.slackMs;
    const { schedules } = this.#handles[0] ?? {};
    this.schedules = schedules && new ScheduleDisk(schedules, history, options);
  }

  get #base(): Storage {
    return this.#handles[this.#turn++ % this.#handles.length] as Storage;
  }

  /** Whether it notifies waiting readers when a journal has grown. */
  get notifies(): boolean {
    return this.#handles.every((handle) => handle.changed !== undefined);
  }

  /** Whether the storage has this optional call. */
  offers(
    name:
      | "readChapter"
      | "dropChapters"
      | "note"
      | "claim"
      | "whenDue"
      | "deleteUnchanged"
      | "limits"
      | "pause",
  ): boolean {
    return this.#handles.every((handle) => handle[name] !== undefined);
  }

  async append(process: Process, request: AppendRequest): Promise<Landed | null> {
    if (this.full) {
      this.#history.meet("fault disk full");
      this.#history.steady.disturb(process.name, 60_000);
      throw new DurableError("storage-full", "The disk is full.");
    }
    try {
      await this.#base.append(request);
    } catch (error) {
      this.#met(request);
      this.#blobs.refused(request);
      throw error;
    }
    const { locator, lease } = request;
    this.#claimed.delete(locator);
    if (lease === null) this.#history.leases.released(locator, driverOf(JSON.parse(request.batch)));
    else if (lease !== undefined)
      this.#history.leases.granted(process.name, locator, { ...lease, extends: request.position > 0 });
    const landed = this.#history.applied(process.name, request);
    this.#blobs.landed(landed.run, request.blobs);
    if (request.position === 0) this.schedules?.began(landed.run);
    if (!process.alive) this.#history.meet("a request landed after its sender's death");
    judgeBatch(this.#history, landed, request.head, this.#slackMs);
    this.#history.say("disk", `${landed.run.runId} ${request.position + 1}: ${describe(landed.batch)}`);
    return landed;
  }

  /** Notes whose batch is at the position this one was for. */
  #met({ locator, position, batch }: AppendRequest): void {
    const run = this.#history.latest(locator);
    const first = run && batchesOf(run)[position];
    if (first === undefined) return;
    const whose = first.text === batch ? "one's own" : first.outside ? "an outside" : "another driver's";
    this.#history.meet(`a conflict with ${whose} batch`);
  }

  /** Acknowledges a batch without keeping it. */
  forget({ locator }: AppendRequest): null {
    const run = this.#history.latest(locator);
    if (run === undefined || run.deleted) this.#history.forgotten.add(locator);
    // Nothing shows which run of a deleted id the work of the forgotten one belongs to.
    for (const log of run === undefined ? [] : chaptersOf(run)) log.tainted = true;
    return null;
  }

  read(locator: string, from: number): Promise<ReadReply> {
    return this.#base.read(locator, from);
  }

  readChapter(locator: string, back?: number): Promise<ReadReply & { readonly from: number }> {
    return this.#base.readChapter?.(locator, back) ?? lacking("readChapter");
  }

  async dropChapters(locator: string, before: number): Promise<void> {
    await (this.#base.dropChapters?.(locator, before) ?? lacking("dropChapters"));
    const run = this.#history.latest(locator);
    if (run !== undefined && !run.deleted) this.#history.dropped(run, before);
  }

  note(locator: string, note: BlockedNote): Promise<void> {
    // A blocked run ends later or never, so work that it no longer waits for may run again.
    this.#history.leases.lost(locator);
    return this.#base.note?.(locator, note) ?? lacking("note");
  }

  pause(workflow: string, pause: WorkflowPause | null): Promise<void> {
    return this.#base.pause?.(workflow, pause) ?? lacking("pause");
  }

  paused(): Promise<readonly WorkflowPause[]> {
    return this.#base.paused?.() ?? lacking("paused");
  }

  /** True when the storage has this blob: only then does it accept the name without a body. */
  async holds(name: string): Promise<boolean> {
    const none = { label: null, parent: null, ancestors: [], wakeAt: null, dueSince: null, steps: 0 };
    const head = { ...none, locator: name, runId: name, workflow: "", status: "running" } as const;
    try {
      await this.#base.append({
        locator: name,
        position: 0,
        batch: "",
        blobs: [{ name }],
        head: { ...head, createdAt: 0, updatedAt: 0 },
      });
      return true;
    } catch {
      return false;
    }
  }

  list(query?: ListQuery): Promise<ListPage> {
    return this.#base.list(query);
  }

  async claim(request: ClaimRequest): Promise<readonly RunHead[]> {
    const runs = (await this.#base.claim?.(request)) ?? (await lacking("claim"));
    for (const { locator } of runs) {
      if (this.#claimed.has(locator)) this.#history.meet("a claim that ended without a driver");
      this.#claimed.add(locator);
    }
    const [handle, ...others] = this.#handles;
    if (handle !== undefined && others.length === 0)
      await this.#fair.judge(request, runs, (query) => handle.list(query));
    return runs;
  }

  get finds(): boolean {
    return this.#handles.every(({ finds }) => finds === true);
  }

  whenDue(workflow: readonly string[], signal: AbortSignal, version?: readonly string[]): Promise<void> {
    return this.#base.whenDue?.(workflow, signal, version) ?? lacking("whenDue");
  }

  async lease(process: Process, locator: string, claim: Claim): Promise<Lease | null> {
    const granted = await this.#base.lease(locator, claim.owner, claim.ttlMs, claim.slots);
    this.#claimed.delete(locator);
    if (granted?.full === true) this.#history.meet("a run without a free slot");
    else if (granted !== null) {
      const before = this.#history.leases.lapsed(locator);
      const run = this.#history.latest(locator);
      if (before !== null) judgeLapse(this.#history, run, before);
      if (!this.#history.leases.isHeld(locator)) judgeFound(this.#history, run);
      this.#history.leases.granted(process.name, locator, { ...claim, starts: granted.starts });
    }
    return granted;
  }

  /** Limits are kept by the first handle alone: each handle of a test has the same data. */
  get limits(): StorageLimits | undefined {
    return this.#handles[0]?.limits;
  }

  /** `late` is true for a copy of the request, and for one that was delayed by a fault. */
  async release(locator: string, { owner, quietMs, late }: Release): Promise<void> {
    await this.#base.release(locator, owner, quietMs);
    if (late) this.#history.leases.lost(locator);
    this.#history.leases.released(locator, owner, quietMs);
  }

  async delete(locator: string): Promise<void> {
    await this.#base.delete(locator);
    const run = this.#history.latest(locator);
    if (run !== undefined && !run.deleted) this.#history.deleted(run);
  }

  async deleteUnchanged(heads: readonly RunHead[]): Promise<readonly string[]> {
    const base = this.#base;
    const deleted = (await base.deleteUnchanged?.(heads)) ?? (await lacking("deleteUnchanged"));
    const runs = deleted.flatMap((locator) => this.#history.latest(locator) ?? []);
    for (const run of runs) {
      judgePurged(this.#history, run);
      if (!run.deleted) this.#history.deleted(run);
    }
    for (const run of runs) await judgeReaders(this.#history, run, base);
    return deleted;
  }

  changed(locator: string, length: number, signal: AbortSignal): Promise<void> {
    return this.#base.changed?.(locator, length, signal) ?? lacking("changed");
  }
}

function lacking(name: string): Promise<never> {
  return Promise.reject(new Error(`This storage has no ${name}().`));
}

function describe({ by, outside, entries }: AppliedBatch): string {
  const facts = entries.map(({ kind, key }) => (typeof key === "string" ? `${kind} ${key}` : kind));
  return `${facts.join(", ")} (${outside ? "outside, " : ""}${by})`;
}
