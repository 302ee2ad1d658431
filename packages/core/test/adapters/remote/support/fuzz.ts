/**
 * Four drivers on one run in a bucket, all at once: requests and replies are lost, drivers die at any write and others
 * begin, everybody answers the same question. What each of them saw must be what the journal says in the end.
 */

import { durable, type Storage } from "@durable/core";
import { RemoteStorage, type Bucket } from "@durable/core/remote";
import { faultyBucket, seeded, type Random } from "@durable/testing";
import { dying } from "./remote.ts";

export interface FuzzResult {
  readonly violations: readonly string[];
  readonly deaths: number;
  readonly faults: number;
  readonly bodies: number;
}

export interface FuzzOptions {
  readonly seed: number;
  readonly drivers?: number;
  /** How long the run may take; a minute by default. */
  readonly patienceMs?: number;
}

const stepCount = 6;
const secret = "a secret for tests, of no worth";

class Fuzz {
  readonly bucket: Bucket;
  readonly random: Random;
  readonly id: string;
  /** What workflow code was given for each key, by whomever. */
  readonly seen = new Map<string, Set<unknown>>();
  readonly accepted = new Set<string>();
  readonly until: number;
  readonly late: Promise<string>;
  deaths = 0;
  faults = 0;
  bodies = 0;

  constructor(bucket: Bucket, { seed, patienceMs = 60_000 }: FuzzOptions) {
    this.bucket = bucket;
    this.random = seeded(seed);
    this.id = `fuzz-${seed}-${this.random.between(0, 10 ** 9)}`;
    this.until = Date.now() + patienceMs;
    this.late = new Promise((resolve) => void setTimeout(resolve, patienceMs, "late").unref());
  }

  see(key: string, value: unknown): void {
    this.seen.set(key, (this.seen.get(key) ?? new Set()).add(value));
  }

  flowOf(name: string, storage: Storage) {
    const work = (key: string) => async (): Promise<string> => {
      this.bodies += 1;
      await new Promise((resolve) => setTimeout(resolve, this.random.between(0, 3)));
      return `${key} of ${name}, ${this.bodies}`;
    };
    return durable(
      "fuzz",
      async (ctx) => {
        const step = async (key: string): Promise<string> => {
          const value = await ctx.step(key, work(key));
          this.see(key, value);
          return value;
        };
        for (let i = 0; i < stepCount; i++) await step(`s${i}`);
        const answer = await ctx.suspend<string>("ask");
        this.see("ask", answer);
        const branches = [0, 1, 2].map((i) => step(`p${i}`));
        return [answer, ...(await Promise.all(branches))].join();
      },
      { storage, secret, lease: 2_000, patience: 0, warm: 0 },
    );
  }

  /** One process after the other, until one of them has seen the end. */
  async drive(name: string): Promise<void> {
    for (let life = 0; Date.now() < this.until; life++) {
      const faulty = faultyBucket(this.bucket, {
        random: seeded(this.random.between(0, 10 ** 9)),
        rate: 0.1,
      });
      const writes =
        life < 3 && this.random.chance(0.6) ? this.random.between(0, 25) : Number.POSITIVE_INFINITY;
      const mortal = dying(faulty, writes);
      const storage = new RemoteStorage(mortal.bucket);
      // Most of them drive whatever others do: what a lease saves is not what is asked here.
      const flow = this.flowOf(`${name}.${life}`, this.random.chance(0.7) ? rude(storage) : storage);
      const live = this.#live(flow, `${name}.${life}`);
      const ended = await Promise.race([live, mortal.died.then(() => "died"), this.late]);
      // Nobody goes on behind the back of the judge.
      mortal.die();
      for (const times of faulty.happened.values()) this.faults += times;
      if (ended === "ended") return;
      if (ended === "died") this.deaths += 1;
    }
    throw new Error(`Run ${this.id} did not end in time.`);
  }

  async #live(flow: ReturnType<Fuzz["flowOf"]>, name: string): Promise<string> {
    while (Date.now() < this.until) {
      const outcome = await flow.run(undefined, { id: this.id }).catch(() => null);
      if (outcome?.status === "completed") {
        this.see("output", outcome.output);
        return "ended";
      }
      if (outcome?.status === "suspended" && outcome.waiting[0] !== undefined) {
        const value = `answer of ${name}`;
        const reply = await flow.resume(outcome.waiting[0].token, value).catch(() => null);
        if (reply?.status === "accepted") this.accepted.add(value);
      }
      await new Promise((resolve) => setTimeout(resolve, this.random.between(0, 5)));
    }
    return "late";
  }

  /** Compares what was seen with the journal, read by somebody who took no part. */
  async judge(): Promise<string[]> {
    const violations: string[] = [];
    const run = this.flowOf("judge", new RemoteStorage(this.bucket)).get(this.id);
    const settled = new Map<string, unknown[]>();
    for (const entry of await run.entries()) {
      const { kind } = entry;
      if (kind !== "step.completed" && kind !== "suspend.resolved" && kind !== "run.completed") continue;
      const [key, value] = kind === "run.completed" ? ["output", entry.output] : [entry.key, entry.value];
      settled.set(key, [...(settled.get(key) ?? []), value]);
    }
    for (const [key, values] of settled)
      if (values.length !== 1) violations.push(`${key} is settled ${values.length} times`);
    for (const [key, values] of this.seen) {
      const [kept] = settled.get(key) ?? [];
      for (const value of values)
        if (value !== kept)
          violations.push(`${key}: somebody saw ${String(value)}, the journal has ${String(kept)}`);
    }
    if (settled.size !== stepCount + 3 + 2) violations.push(`${settled.size} keys are settled`);
    if (this.accepted.size > 1)
      violations.push(`two answers were accepted: ${[...this.accepted].join(", ")}`);
    return violations;
  }
}

/** A storage that gives everybody the lease. */
function rude(storage: RemoteStorage): Storage {
  return {
    append: (request) => storage.append(request),
    read: (locator, from) => storage.read(locator, from),
    list: (query) => storage.list(query),
    delete: (locator) => storage.delete(locator),
    lease: async (locator) => ({ starts: 1, length: (await storage.read(locator)).length }),
    release: () => Promise.resolve(),
  };
}

/** One run. */
export async function fuzzRun(bucket: Bucket, options: FuzzOptions): Promise<FuzzResult> {
  const fuzz = new Fuzz(bucket, options);
  const drivers = Array.from({ length: options.drivers ?? 4 }, (_, n) => fuzz.drive(`driver ${n}`));
  const violations: string[] = [];
  for (const { status, reason } of (await Promise.allSettled(drivers)) as PromiseRejectedResult[])
    if (status === "rejected") violations.push(String(reason));
  try {
    const slow = new Promise<string[]>(
      (resolve) => void setTimeout(resolve, 10_000, ["It takes for ever."]).unref(),
    );
    violations.push(...(await Promise.race([fuzz.judge(), slow])));
  } catch (error) {
    violations.push(`The journal cannot be read: ${String(error)}`);
  }
  const { deaths, faults, bodies } = fuzz;
  return { violations, deaths, faults, bodies };
}

/** A store that takes conditions and ignores them, once it has passed for one that does not. */
export function careless(bucket: Bucket): Bucket {
  return {
    get: (key) => bucket.get(key),
    put: (key, text) => bucket.put(key, text),
    list: (query) => bucket.list(query),
    delete: (keys) => bucket.delete(keys),
    create: (key, text) =>
      key === "layout" ? bucket.create(key, text) : bucket.put(key, text).then(() => true),
  };
}
