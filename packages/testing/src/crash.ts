/**
 * Runs a workflow to its end once in calm, then once for every append and every way to die there,
 * and compares: same output, dense journal, nothing recorded twice, cold replay without any work.
 */

import { MemoryStorage, type Outcome, type Storage, type Workflow } from "@durable/core";
import { faultyStorage, type Fault } from "./faults.ts";
import { seeded } from "./random.ts";
import { virtualWorld, type VirtualWorld } from "./world.ts";

export interface CrashOptions<Input> {
  readonly input: Input;
  /** Answers to suspend points, by name. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** With a seed, storage is slow, by random amounts. */
  readonly slowSeed?: number;
  readonly faults?: readonly Fault[];
  /** Called before each life of the workflow, for counting effects. */
  readonly onLife?: (life: {
    readonly append: number;
    readonly fault: Fault | null;
    readonly life: number;
  }) => void;
}

/** How one history went. */
export interface CrashCase {
  readonly append: number;
  readonly fault: Fault | null;
  readonly outcome: Outcome<unknown>;
  /** The journal's batches at the end. */
  readonly batches: readonly string[];
  readonly storage: Storage;
  readonly world: VirtualWorld;
}

const secret = "a secret for tests, of no worth";
const runId = "crash";
const survivable: readonly Fault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-request",
  "lose-reply",
  "conflict",
];

/** The calm history first, then one for each append and fault. */
export async function crashAtEveryAppend<Input, Output>(
  flow: Workflow<Input, Output>,
  options: CrashOptions<Input>,
): Promise<readonly CrashCase[]> {
  const calm = await history(flow, options, { append: 0, fault: null });
  const cases: CrashCase[] = [calm.case];
  for (let append = 1; append <= calm.appends; append++) {
    for (const fault of options.faults ?? survivable)
      cases.push((await history(flow, options, { append, fault })).case);
  }
  return cases;
}

async function history<Input, Output>(
  flow: Workflow<Input, Output>,
  options: CrashOptions<Input>,
  { append, fault }: { append: number; fault: Fault | null },
): Promise<{ case: CrashCase; appends: number }> {
  const world = virtualWorld({ seed: append + 1 });
  const base = new MemoryStorage({ now: () => world.now() });
  const random = seeded((options.slowSeed ?? 0) + append * 31);
  let appends = 0;
  for (let life = 1; ; life++) {
    options.onLife?.({ append, fault, life });
    const storage = faultyStorage(base, {
      world,
      plan: (operation, index) => (life === 1 && operation === "append" && index === append ? fault : null),
      ...(options.slowSeed === undefined ? {} : { latency: () => random.between(0, 40) }),
    });
    const bound = flow.with({ storage, world, secret, lease: "30s", patience: "1h" });
    const end = await world.run(
      Promise.race([toTheEnd(bound, options, world), storage.died.then(() => null)]),
    );
    appends += storage.counts.append;
    if (end !== null) {
      const { runs } = await base.list();
      const { batches } = await base.read(runs.find((run) => run.runId === runId)?.locator ?? "");
      return { case: { append, fault, outcome: end, batches, storage: base, world }, appends };
    }
    // The dead driver's lease runs out, and a request it had under way may still arrive.
    await world.advance(60_000);
  }
}

/** Starts or continues the run, and answers and waits until it is over. */
async function toTheEnd<Input, Output>(
  flow: Workflow<Input, Output>,
  { input, answers = {} }: CrashOptions<Input>,
  world: VirtualWorld,
): Promise<Outcome<unknown>> {
  for (;;) {
    const args = [input, { id: runId }] as unknown as Parameters<typeof flow.run>;
    const outcome = await flow.run(...args);
    if (outcome.status === "suspended") {
      const [point] = outcome.waiting.filter(({ name }) => name in answers);
      if (point !== undefined) await flow.resume(point.token, answers[point.name]);
      else await pause(world, Math.max(1_000, (outcome.wakeAt ?? Number.POSITIVE_INFINITY) - world.now()));
    } else if (outcome.status === "running") {
      await pause(world, 1_000);
    } else {
      return outcome;
    }
  }
}

function pause(world: VirtualWorld, ms: number): Promise<void> {
  if (!Number.isFinite(ms))
    return Promise.reject(new Error("The run waits for an answer that was not given."));
  return new Promise((resolve) => void world.timer(ms, resolve));
}

/** A fresh storage with a run's journal, its end left out: what a process finds that died just before it. */
export async function withoutEnd(ended: CrashCase): Promise<Storage> {
  const storage = new MemoryStorage({ now: () => ended.world.now() });
  const { runs } = await ended.storage.list();
  const head = runs.find((run) => run.runId === runId);
  if (head === undefined) throw new Error("There is no such run.");
  for (const [position, batch] of ended.batches.slice(0, -1).entries()) {
    await storage.append({
      locator: head.locator,
      position,
      batch,
      head: { ...head, status: "running", wakeAt: 0 },
    });
  }
  return storage;
}
