/**
 * One history of a run: from its start to its end, with at most one fault and as many processes as it takes.
 *
 * H1. Up to the fault, a history equals the calm one: same clock, same ids, same order of I/O.
 * H2. A dead process starts nothing more, though a request it had sent may still arrive.
 * H3. A fault that leaves the process alive allows one error at the caller; any other error is a finding.
 *
 * Proven in test/kit-clean.test.ts and test/kit-caught.test.ts.
 */

import { createApp, MemoryStorage, type RunHead, type Storage, type Workflow } from "@durable/core";
import type { HooksOption } from "@durable/core/hooks";
import { faultyStorage, type Fault, type FaultyStorage } from "../faulty-storage.ts";
import { loadJournal } from "../journal-loader.ts";
import { seeded, type Random } from "../random.ts";
import { virtualWorld, type VirtualWorld } from "../virtual-world.ts";
import type { AnswerBook } from "./answers.ts";
import type { Bodies } from "./bodies.ts";
import type { Effect, Recorder } from "./effects.ts";
import { emptyNotes, ObservedLife, type Notes } from "./observed-life.ts";
import { heldStorage } from "./held-storage.ts";
import type { CrashLife, CrashSettings } from "./options.ts";
import { tapped, type Point } from "./points.ts";
import type { Replacements } from "./replaced-steps.ts";
import { driveToEnd, type Ending } from "./drive.ts";

const runId = "crash";
const secret = "a secret for tests";
/** Longer than a lease, so that the next process may take over. */
const afterDeathMs = 60_000;
const mostLives = 5;

/** What all histories of a test share. */
export interface Setup<Input, Output> {
  readonly open: (life: CrashLife) => Workflow<Input, Output> | Promise<Workflow<Input, Output>>;
  readonly input: Input;
  readonly answers: AnswerBook;
  readonly replacements: Replacements;
  readonly bodies: Bodies;
  readonly recorders: readonly Recorder[];
  readonly reset: () => Promise<void>;
  readonly slowSeed: number | undefined;
  readonly hooks: HooksOption | undefined;
  readonly quotas: CrashSettings<Output>["quotas"];
  readonly storage: NonNullable<CrashSettings<Output>["storage"]>;
}

export interface InjectedFault {
  readonly point: Point;
  readonly fault: Fault;
}

/** Whether a run that waits is replayed when it goes on, or stays in memory, as with the defaults of an app. */
type Memory = "cold" | "warm";

export interface History<Output> {
  readonly ending: Ending<Output>;
  /** False when the run never reached the point of the fault. */
  readonly hit: boolean;
  readonly lives: number;
  /** The I/O of a history without a fault. */
  readonly points: readonly Point[];
  readonly head: RunHead | null;
  readonly batches: readonly string[];
  readonly blobs: Readonly<Record<string, string>>;
  /** Children, and other runs on the same storage. */
  readonly others: readonly { readonly runId: string; readonly batches: readonly string[] }[];
  readonly notes: Notes;
  readonly effects: readonly Effect[];
  readonly world: VirtualWorld;
  readonly virtualMs: number;
}

export async function history<Input, Output>(
  setup: Setup<Input, Output>,
  injected: InjectedFault | null,
  memory: Memory = "cold",
): Promise<History<Output>> {
  const { bodies, recorders } = setup;
  await setup.reset();
  for (const recorder of recorders) recorder.reset();
  const held = { hold: (): Promise<boolean> => Promise.resolve(false) };
  const world = virtualWorld({ hold: async () => (await bodies.wait()) || held.hold() });
  const startedAt = world.now();
  const opened = await setup.storage({ now: () => world.now() });
  const { storage: base, hold } = heldStorage(opened.storage);
  held.hold = hold;
  const random = seeded(setup.slowSeed ?? 0);
  const notes = emptyNotes();
  const points: Point[] = [];
  const seen = { hit: false };
  let ending: Ending<Output> | null = null;
  let lives = 0;
  for (; ending === null && lives < mostLives; lives++) {
    const faulty = withFault(base, lives === 0 ? injected : null, { setup, world, random, seen });
    const storage = injected === null ? tapped(faulty, runId, (point) => points.push(point)) : faulty;
    const allowedErrors = injected === null || injected.fault.startsWith("crash") ? 0 : 1;
    ending = await live(setup, {
      storage,
      world,
      notes,
      allowedErrors,
      number: lives + 1,
      died: faulty.died,
      memory,
    });
    if (ending === null) await world.advance(afterDeathMs);
  }
  const { runs } = await base.list({ limit: 1_000 });
  const head = runs.find((run) => run.runId === runId) ?? null;
  const { batches, blobs = {} } = await base.read(head?.locator ?? "");
  const others = await Promise.all(
    runs
      .filter((run) => run !== head)
      .map(async (run) => ({ runId: run.runId, batches: (await base.read(run.locator)).batches })),
  );
  await opened.close?.();
  return {
    ending: ending ?? { kind: "stuck", error: new Error(`The run did not end within ${lives} processes.`) },
    hit: seen.hit,
    lives,
    points,
    head,
    batches,
    blobs,
    others,
    notes,
    effects: recorders.flatMap((recorder) => [...recorder.effects]),
    world,
    virtualMs: world.now() - startedAt,
  };
}

interface FaultyParts {
  readonly setup: { readonly slowSeed: number | undefined };
  readonly world: VirtualWorld;
  readonly random: Random;
  readonly seen: { hit: boolean };
}

function withFault(base: Storage, injected: InjectedFault | null, parts: FaultyParts): FaultyStorage {
  const { setup, world, random, seen } = parts;
  return faultyStorage(base, {
    world,
    plan: (operation, index) => {
      if (operation !== injected?.point.operation || index !== injected.point.index) return null;
      seen.hit = true;
      return injected.fault;
    },
    ...(setup.slowSeed === undefined ? {} : { latency: () => random.between(0, 40) }),
  });
}

interface LivingParts {
  readonly storage: Storage;
  readonly world: VirtualWorld;
  readonly notes: Notes;
  readonly allowedErrors: number;
  readonly number: number;
  readonly died: Promise<void>;
  readonly memory: Memory;
}

/** One process, until the run ends or the process dies; then `null`. */
async function live<Input, Output>(
  setup: Setup<Input, Output>,
  { storage, world, notes, allowedErrors, number, died, memory }: LivingParts,
): Promise<Ending<Output> | null> {
  const { bodies, input, answers, hooks, quotas, replacements } = setup;
  const life = new ObservedLife({ world, bodies, notes, replacements });
  const flow = life.observe(await setup.open({ storage, world, secret, number }));
  const app = createApp({
    storage,
    world,
    secret,
    workflows: [flow],
    bind: false,
    // Cold, every sleep parks, and every wait is replayed: that adds boundaries, and avoids polling.
    ...(memory === "warm" ? { warm: 100 } : { patience: 0 }),
    hooks,
    quotas,
  });
  const driven = driveToEnd({ flow, app, runId, input, answers, world, allowedErrors });
  const dead = died.then((): null => {
    life.end();
    return null;
  });
  try {
    return await world.run(Promise.race([driven, dead]));
  } catch (error) {
    return { kind: "stuck", error: error as Error };
  } finally {
    life.end();
    await bodies.settled();
  }
}

/** Replays an ended history in a fresh process, from its journal without the end. */
export async function coldReplay<Input, Output>(
  setup: Setup<Input, Output>,
  { batches, blobs, head, world }: History<Output>,
): Promise<{ readonly ending: Ending<Output>; readonly notes: Notes }> {
  const storage = new MemoryStorage({ now: () => world.now() });
  if (head !== null) await loadJournal(storage, { ...head, batches: batches.slice(0, -1), blobs });
  const notes = emptyNotes();
  const died = new Promise<void>(() => {});
  const ending = await live(setup, {
    storage,
    world,
    notes,
    allowedErrors: 0,
    number: 1,
    died,
    memory: "cold",
  });
  return { ending: ending as Ending<Output>, notes };
}
