/**
 * Random histories of a storage: runs that grow, begin and drop chapters, name blobs, are forked, deleted, noted as
 * blocked and leased. Batches look like those of the engine, as far as a copy reads them.
 */

import { MemoryStorage, type RunHead, type Storage } from "@durable/core";
import type { NamedBlob } from "@durable/core/storage";
import { seeded, type Random } from "@durable/testing";
import { locatorOf } from "../../../src/journal/keys.ts";

interface Known {
  head: RunHead;
  length: number;
  first: number;
  chapters: number[];
  /** What a fork of it names: `ancestry` of its first entry. */
  readonly line: readonly Ancestry[];
  deleted: boolean;
}

interface Ancestry {
  readonly runId: string;
  readonly nonce: string;
  readonly length: number;
  readonly base: number;
  readonly cuts: readonly [];
  readonly from?: number;
  readonly above?: true;
}

const start = 1_800_000_000_000;

export class History {
  readonly storage: Storage;
  readonly clock = { now: start };
  readonly #random: Random;
  readonly #runs: Known[] = [];
  #writes = 0;

  constructor(seed: number) {
    this.#random = seeded(seed);
    this.storage = new MemoryStorage({ now: () => this.clock.now });
  }

  get runs(): readonly Known[] {
    return this.#runs;
  }

  /** Positions of a run from which a reader begins. */
  beginnings(locator: string): number[] {
    const known = this.#runs.find(({ head }) => head.locator === locator);
    return (known?.chapters ?? []).filter((position) => position > (known?.first ?? 0));
  }

  async grow(operations: number): Promise<void> {
    for (let n = 0; n < operations; n++) {
      this.clock.now += this.#random.between(1, 3);
      await this.#step();
    }
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const alive = this.#runs.filter(({ deleted }) => !deleted);
    const kind = random.next();
    if (alive.length === 0 || kind < 0.15) return this.#create();
    const run = random.pick(alive);
    if (kind < 0.3) return this.#fork(run);
    if (kind < 0.75) return this.#append(run, random.chance(0.25));
    if (kind < 0.82) return this.#drop(run);
    if (kind < 0.88) return this.#delete(run);
    if (kind < 0.94) return this.#note(run);
    await this.storage.lease(run.head.locator, "a driver", random.pick([10, 1_000_000]));
  }

  #create(): Promise<void> {
    const runId = `run-${this.#runs.length}`;
    const fact = { kind: "run.started", runId, nonce: "n", workflow: "w", version: null, input: null };
    return this.#begin(runId, fact, [], {});
  }

  async #fork(parent: Known): Promise<void> {
    const runId = `fork-${this.#runs.length}`;
    const from = parent.chapters.at(-1);
    const own: Ancestry = {
      runId: parent.head.runId,
      nonce: "n",
      length: parent.length,
      base: 0,
      cuts: [],
      ...(from !== undefined && { from }),
    };
    // As at the end of a long line, the parent may stand for all before it.
    const ancestry = this.#random.chance(0.3) ? [{ ...own, above: true as const }] : [...parent.line, own];
    const fact = {
      kind: "run.forked",
      runId,
      nonce: "n",
      workflow: "w",
      version: null,
      parent: own.runId,
      label: "a label",
      base: 0,
      edits: [],
      ancestry,
    };
    const ancestors = ancestry.map((each) => locatorOf(each.runId));
    const readsFrom = ancestry.some((each) => each.from !== undefined) && {
      readsFrom: ancestry.map((each) => each.from ?? 0),
    };
    await this.#begin(runId, fact, ancestry, {
      ancestors,
      parent: own.runId,
      label: "a label",
      ...readsFrom,
    });
  }

  async #begin(
    runId: string,
    fact: object,
    line: readonly Ancestry[],
    about: Partial<RunHead>,
  ): Promise<void> {
    const { now } = this.clock;
    const none = {
      workflow: "w",
      status: "running",
      wakeAt: 0,
      dueSince: now,
      steps: 0,
      label: null,
      parent: null,
      ancestors: [],
    } as const;
    const head: RunHead = {
      ...none,
      locator: locatorOf(runId),
      runId,
      createdAt: now,
      updatedAt: now,
      ...about,
    };
    const known: Known = { head, length: 0, first: 0, chapters: [], line, deleted: false };
    await this.#write(known, fact);
    this.#runs.push(known);
  }

  async #append(run: Known, begins: boolean): Promise<void> {
    const { now } = this.clock;
    const status = this.#random.pick(["running", "suspended", "suspended", "completed"] as const);
    const wakeAt =
      status === "running" ? 0 : status === "completed" ? null : this.#random.pick([null, now + 5]);
    run.head = {
      ...run.head,
      status,
      wakeAt,
      updatedAt: now,
      steps: run.head.steps + 1,
      ...(begins && { chapter: run.length }),
    };
    if (begins) run.chapters.push(run.length);
    const { createdAt, steps, label, parent, ancestors, readsFrom } = run.head;
    const head = { createdAt, steps, label, parent, ancestors, ...(readsFrom && { readsFrom }) };
    const chapter = {
      kind: "run.continued",
      runId: run.head.runId,
      workflow: "w",
      version: null,
      input: null,
      nonce: "n",
      chapter: run.chapters.length + 1,
      base: 0,
      first: "f",
      head,
    };
    await this.#write(
      run,
      begins ? chapter : { kind: "step.completed", key: "s", after: 0, value: "run.continued" },
    );
  }

  async #write(run: Known, fact: object): Promise<void> {
    const blobs: NamedBlob[] = [];
    while (this.#random.chance(0.3)) {
      const name = `blob-${this.#random.between(1, 12)}`;
      blobs.push({ name, body: `body of ${name}` });
    }
    const by = `driver.${++this.#writes}`;
    const batch = JSON.stringify({ v: 4, by, entries: [{ at: this.clock.now, ...fact }] });
    await this.storage.append({
      locator: run.head.locator,
      position: run.length,
      batch,
      blobs,
      head: run.head,
    });
    run.length += 1;
  }

  async #drop(run: Known): Promise<void> {
    const before = run.chapters.length === 0 ? 0 : this.#random.pick(run.chapters);
    if (before <= run.first) return;
    const done = await this.storage.dropChapters?.(run.head.locator, before).then(
      () => true,
      () => false,
    );
    if (done === true) run.first = before;
  }

  async #delete(run: Known): Promise<void> {
    run.deleted = true;
    await this.storage.delete(run.head.locator);
  }

  async #note({ head: { locator }, length }: Known): Promise<void> {
    await this.storage.note?.(locator, {
      code: "diverged",
      message: "changed",
      since: this.clock.now,
      length,
    });
  }
}
