/** Buckets for tests: one that counts its requests, and one that fails the way object stores do. */

import { DurableError } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import type { Bucket, BucketPage, BucketQuery } from "@durable/core/remote";
import type { Random } from "./random.ts";

/** How often each operation of a bucket was called. */
export interface BucketCounts {
  gets: number;
  /** Writes that were requested, refused ones included: object stores charge for both. */
  puts: number;
  lists: number;
  deletes: number;
  /** Characters that were written. */
  written: number;
  /** How often each key was written. */
  readonly writes: Map<string, number>;
}

/** Counts the requests to a bucket. */
export function countingBucket(bucket: Bucket): Bucket & { readonly counts: BucketCounts } {
  const counts: BucketCounts = { gets: 0, puts: 0, lists: 0, deletes: 0, written: 0, writes: new Map() };
  const note = (key: string, text: string): void => {
    counts.written += text.length;
    counts.writes.set(key, (counts.writes.get(key) ?? 0) + 1);
  };
  return {
    counts,
    get: (key) => {
      counts.gets += 1;
      return bucket.get(key);
    },
    create: async (key, text) => {
      counts.puts += 1;
      const created = await bucket.create(key, text);
      if (created) note(key, text);
      return created;
    },
    put: (key, text) => {
      counts.puts += 1;
      note(key, text);
      return bucket.put(key, text);
    },
    list: (query) => {
      counts.lists += 1;
      return bucket.list(query);
    },
    delete: (keys) => {
      counts.deletes += 1;
      return bucket.delete(keys);
    },
  };
}

/** What can go wrong with a request to a bucket. */
export type BucketFault =
  /** Not applied; the connection was lost. */
  | "lose-request"
  /** It was done, and the reply was lost. */
  | "lose-reply"
  /** The connection was lost, and it is done later. */
  | "apply-late"
  /** Not applied: 409, 429, or 503. */
  | "busy"
  /** Applied, and the reply was 500. */
  | "busy-after"
  /** It was done, repeated on the way, and then refused: 412 for the caller's own write. */
  | "own-412"
  /** A list without the newest keys. */
  | "stale-list"
  /** A list that ends early and says that there is more. */
  | "short-list";

const onWrites: readonly BucketFault[] = ["lose-request", "lose-reply", "apply-late", "busy", "busy-after"];
const onLists: readonly BucketFault[] = ["lose-request", "busy", "stale-list", "short-list"];

/** Options of `faultyBucket`. */
export interface FaultyBucketOptions {
  readonly random: Random;
  /** How likely a request meets a fault; 0.2 by default. */
  readonly rate?: number | undefined;
  /** Which faults may happen; all by default. */
  readonly faults?: readonly BucketFault[] | undefined;
}

/** A bucket whose requests go wrong. */
export interface FaultyBucket extends Bucket {
  /** Which faults happened, and how often. */
  readonly happened: ReadonlyMap<BucketFault, number>;
  /** From now on lists are complete. */
  settle(): void;
  /** Resolves when all late requests were applied. */
  quiet(): Promise<void>;
}

/** Fewer faults in a row than a caller that retries for 20 seconds can handle. */
const mostInARow = 3;
const keysThatLag = 20;

/** Draws the fault of each request, and counts the faults that happened. */
function fate({ random, rate = 0.2, faults }: FaultyBucketOptions) {
  const happened = new Map<BucketFault, number>();
  const inARow = new Map<string, number>();
  const draw = (request: string, menu: readonly BucketFault[]): BucketFault | null => {
    const possible = faults === undefined ? menu : menu.filter((fault) => faults.includes(fault));
    const before = inARow.get(request) ?? 0;
    if (possible.length === 0 || before >= mostInARow || !random.chance(rate)) {
      inARow.delete(request);
      return null;
    }
    const fault = random.pick(possible);
    inARow.set(request, before + 1);
    happened.set(fault, (happened.get(fault) ?? 0) + 1);
    return fault;
  };
  return { happened, draw };
}

/** Makes requests to a bucket go wrong at random. */
export function faultyBucket(bucket: Bucket, options: FaultyBucketOptions): FaultyBucket {
  assertOptions(options, "random rate faults", "faultyBucket");
  const { random } = options;
  const { happened, draw } = fate(options);
  const latest: string[] = [];
  const late: Promise<void>[] = [];

  const meet = async <T>(
    request: string,
    menu: readonly BucketFault[],
    work: () => Promise<T>,
  ): Promise<T> => {
    const fault = draw(request, menu);
    if (fault === "lose-request") throw lost();
    if (fault === "busy") throw new DurableError("storage-busy", "429 Too Many Requests");
    if (fault === "apply-late") {
      late.push(wait(random.between(0, 3)).then(work).then(nothing, nothing));
      throw lost();
    }
    const result = await work();
    if (fault === "lose-reply") throw lost();
    if (fault === "busy-after") throw new DurableError("storage-busy", "500 Internal Server Error");
    return fault === "own-412" ? (false as T) : result;
  };

  const list = async (query: BucketQuery): Promise<BucketPage> => {
    const fault = draw("list", onLists);
    if (fault === "lose-request") throw lost();
    if (fault === "busy") throw new DurableError("storage-busy", "503 Slow Down");
    const page = await bucket.list(query);
    if (fault === "stale-list") return { ...page, keys: page.keys.filter((key) => !latest.includes(key)) };
    const short = page.keys.slice(0, 1 + (page.keys.length >> 1));
    return fault === "short-list" && short.length < page.keys.length ? { keys: short, more: true } : page;
  };

  return {
    happened,
    settle: () => void latest.splice(0),
    quiet: () => Promise.all(late).then(nothing),
    get: (key) => meet(`get ${key}`, ["lose-request", "busy"], () => bucket.get(key)),
    create: (key, text) =>
      meet(`create ${key}`, [...onWrites, "own-412"], async () => {
        const created = await bucket.create(key, text);
        if (created) latest.push(key);
        latest.splice(0, latest.length - keysThatLag);
        return created;
      }),
    put: (key, text) => meet(`put ${key}`, onWrites, () => bucket.put(key, text)),
    list,
    delete: (keys) => meet(`delete ${keys.join()}`, onWrites, () => bucket.delete(keys)),
  };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

function nothing(): void {}

function lost(): Error {
  return new Error("The connection was lost.");
}
