/**
 * One run with many chapters in a bucket, and several processes that write and drop at random. Requests land a second
 * time long after they were answered, processes die at any write, and clocks jump. After each step a process without a
 * cache, and every other one, must read what a model says.
 */

import { isDeepStrictEqual } from "node:util";
import { DurableError, type RunHead } from "@durable/core";
import { MemoryBucket, type Bucket } from "@durable/core/remote";
import type { NamedBlob } from "@durable/core/storage";
import { seeded, type Random } from "@durable/testing";
import { batchOf, dying, headOf, remote } from "./remote.ts";

interface Model {
  head: RunHead;
  /** All batches that were ever appended. */
  batches: string[];
  /** The names of blobs that each batch is the first of its chapter to name. */
  names: string[][];
  chapters: number[];
  first: number;
}

export interface ChaptersFuzz {
  readonly violations: readonly string[];
  readonly happened: Readonly<Record<string, number>>;
}

type Storage = ReturnType<typeof remote>;
type Reply = Awaited<ReturnType<Storage["read"]>>;

class Fuzz {
  readonly bucket = new MemoryBucket();
  readonly clock = { now: 100_000 };
  readonly random: Random;
  readonly happened: Record<string, number> = {};
  /** Requests that land again. */
  readonly late: (() => Promise<unknown>)[] = [];
  readonly handles: Storage[];
  model: Model = { head: headOf(), batches: [], names: [], chapters: [], first: 0 };

  constructor(seed: number) {
    this.random = seeded(seed);
    this.handles = [0, 1, 2].map(() => remote(this.#lagging(), this.clock));
  }

  count(what: string): void {
    this.happened[what] = (this.happened[what] ?? 0) + 1;
  }

  /** Every write may land a second time. */
  #lagging(): Bucket {
    const { bucket, late, random } = this;
    const again = <T>(work: () => Promise<T>): Promise<T> => {
      if (random.chance(0.1)) late.push(work);
      return work();
    };
    return {
      get: (key) => bucket.get(key),
      list: (query) => bucket.list(query),
      create: (key, text) => again(() => bucket.create(key, text)),
      put: (key, text) => again(() => bucket.put(key, text)),
      delete: (keys) => again(() => bucket.delete(keys)),
    };
  }

  async step(): Promise<void> {
    const { random } = this;
    while (this.late.length > 0 && random.chance(0.3)) {
      this.count("late");
      await this.late.splice(random.between(0, this.late.length - 1), 1)[0]?.();
    }
    if (random.chance(0.3)) this.clock.now += random.pick([1, 1_000, 15_000, 70_000]);
    const at = random.between(0, this.handles.length - 1);
    const mortal = random.chance(0.15) ? dying(this.#lagging(), random.between(0, 6)) : null;
    if (mortal !== null) this.handles[at] = remote(mortal.bucket, this.clock);
    const storage = this.handles[at] as Storage;
    const work = this.#act(storage).catch((error: unknown) => {
      if (!DurableError.is(error)) throw error;
      this.count(error.code);
    });
    if (mortal === null) return work;
    await Promise.race([work, mortal.died.then(() => this.count("died"))]);
    mortal.die();
    this.handles[at] = remote(this.#lagging(), this.clock);
  }

  async #act(storage: Storage): Promise<void> {
    const { random, model } = this;
    const kind = random.next();
    const { locator } = model.head;
    if (kind < 0.55 || model.batches.length === 0) return this.#append(storage);
    if (kind < 0.7) {
      const before = random.pick([...model.chapters, 1]);
      await storage.dropChapters(locator, before);
      return this.count("dropped");
    }
    if (kind < 0.8) return void (await storage.lease(locator, "a driver", random.pick([0, 1_000])));
    if (kind < 0.85) return storage.release(locator, "a driver");
    if (kind < 0.93) return this.#appendBehind(storage);
    if (kind < 0.95) return storage.delete(locator);
    await storage.readChapter(locator);
  }

  /** A writer that does not know the latest batches: its own must not be acknowledged. */
  async #appendBehind(storage: Storage): Promise<void> {
    const { head, batches } = this.model;
    const known = this.known.get(storage) ?? 0;
    const position = known > 0 && known < batches.length ? known : this.random.between(0, batches.length - 1);
    await storage.append(batchOf(head, position, "behind"));
    this.wrong.push(`a batch at ${position} of ${batches.length} was acknowledged`);
  }

  readonly wrong: string[] = [];
  /** How many batches each process knew when it last read. */
  readonly known = new Map<Storage, number>();

  async #append(storage: Storage): Promise<void> {
    const { random, model } = this;
    const position = model.batches.length;
    if (position > 0 && random.chance(0.25)) model.head = { ...model.head, chapter: position };
    const { chapter = 0 } = model.head;
    const named = new Set(model.names.slice(model.first).flat());
    const blobs: NamedBlob[] = [...named].filter(() => random.chance(0.3)).map((name) => ({ name }));
    if (random.chance(0.4)) blobs.push({ name: `b${position}`, body: bodyOf(`b${position}`) });
    const inChapter = new Set(model.names.slice(chapter).flat());
    const batch = `batch ${position} ${random.between(0, 10 ** 6)}`;
    // Known before it is written: when the writer dies, it may have landed.
    this.pending = { batch, names: blobs.map(({ name }) => name).filter((name) => !inChapter.has(name)) };
    await storage.append({ ...batchOf(model.head, position, batch), blobs });
    this.known.set(storage, position + 1);
    this.count("appended");
  }

  pending: { batch: string; names: string[] } | null = null;

  /** Brings the model up to date with what may have happened; says what is wrong. */
  async judge(): Promise<string[]> {
    const cold = remote(this.bucket, this.clock);
    const { model } = this;
    const reply = await cold.read(model.head.locator);
    const landed = reply.length === model.batches.length + 1 && this.pending !== null;
    if (landed && this.pending !== null) {
      if (model.head.chapter === model.batches.length) model.chapters.push(model.batches.length);
      model.batches.push(this.pending.batch);
      model.names.push(this.pending.names);
    } else if (model.head.chapter === model.batches.length && model.batches.length > 0) {
      const { chapter: _, ...head } = model.head;
      const before = model.chapters.at(-1);
      model.head = before === undefined ? head : { ...head, chapter: before };
    }
    this.pending = null;
    if (reply.length === 0 && model.batches.length > 0) {
      this.count("deleted");
      const head = headOf({ locator: model.head.locator, createdAt: model.head.createdAt + 1 });
      this.model = { head, batches: [], names: [], chapters: [], first: 0 };
      return [];
    }
    const first = reply.from ?? 0;
    if (model.chapters.includes(first)) model.first = Math.max(model.first, first);
    const violations = [...this.wrong, ...this.#compare("a cold reader", reply)];
    // Those that do not read fall behind.
    for (const [n, storage] of this.handles.entries())
      if (this.random.chance(0.15)) {
        violations.push(...this.#compare(`handle ${n}`, await storage.read(model.head.locator)));
        this.known.set(storage, model.batches.length);
      }
    violations.push(...(await this.#checkChapter(cold)));
    const { runs } = await remote(this.bucket, this.clock).list();
    if (runs.length !== (model.batches.length > 0 ? 1 : 0)) violations.push(`${runs.length} runs are listed`);
    return violations;
  }

  #compare(who: string, reply: Reply): string[] {
    const { batches, names, first } = this.model;
    const expected = {
      batches: batches.slice(first),
      length: batches.length,
      deleted: false,
      blobs: blobsOf(names.slice(first)),
      from: first,
    };
    const { head: _, driven: __, ...rest } = reply;
    const found = { ...rest, blobs: { ...reply.blobs }, from: reply.from ?? 0 };
    if (isDeepStrictEqual(found, expected)) return [];
    return [`${who} read ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`];
  }

  async #checkChapter(storage: Storage): Promise<string[]> {
    const { head, batches, names } = this.model;
    const { from, ...reply } = await storage.readChapter(head.locator);
    const chapter = head.chapter ?? 0;
    const expected = [chapter, batches.slice(chapter), blobsOf(names.slice(chapter))];
    const found = [from, reply.batches, { ...reply.blobs }];
    if (isDeepStrictEqual(found, expected)) return [];
    return [`the chapter is ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`];
  }
}

function bodyOf(name: string): string {
  return `body of ${name}`;
}

function blobsOf(names: readonly (readonly string[])[]): Record<string, string> {
  return Object.fromEntries(names.flat().map((name) => [name, bodyOf(name)]));
}

/** Ends with the first step after which something is wrong. */
export async function fuzzChapters(seed: number, steps: number): Promise<ChaptersFuzz> {
  const fuzz = new Fuzz(seed);
  for (let step = 0; step < steps; step++) {
    await fuzz.step();
    const violations = await fuzz.judge();
    if (violations.length > 0)
      return {
        violations: violations.map((what) => `seed ${seed}, step ${step}: ${what}`),
        happened: fuzz.happened,
      };
  }
  return { violations: [], happened: fuzz.happened };
}
