/**
 * One history of a run: from its start to its end, through at most one fault and as many lives as that takes.
 *
 * H1. Up to the fault, a history is the calm one: same clock, same ids, same order of I/O.
 * H2. The dead stay dead: a request they had under way may still arrive, and they start nothing more.
 * H3. A fault that leaves the process alive allowedErrors one error that a caller sees; any other is a finding.
 */

import { createApp, MemoryStorage, type RunHead, type Storage, type Workflow } from "@durable/core";
import { faultyStorage, type Fault, type FaultyStorage } from "../faulty-storage.ts";
import { loadJournal } from "../journal-loader.ts";
import { seeded, type Random } from "../random.ts";
import { virtualWorld, type VirtualWorld } from "../virtual-world.ts";
import type { AnswerBook } from "./answers.ts";
import type { Bodies } from "./bodies.ts";
import type { Effect, Recorder } from "./effects.ts";
import { emptyNotes, ObservedLife, type Notes } from "./observed-life.ts";
import type { CrashLife } from "./options.ts";
import { tapped, type Point } from "./points.ts";
import { driveToEnd, type Ending } from "./drive.ts";

const runId = "crash";
const secret = "a secret for tests, of no worth";
/** Longer than a lease: whoever comes now may take over. */
const afterDeathMs = 60_000;
const mostLives = 5;

/** What every history is made with. */
export interface Setup<Input, Output> {
  readonly open: (life: CrashLife) => Workflow<Input, Output> | Promise<Workflow<Input, Output>>;
  readonly input: Input;
  readonly answers: AnswerBook;
  readonly bodies: Bodies;
  readonly recorders: readonly Recorder[];
  readonly reset: () => Promise<void>;
  readonly slowSeed: number | undefined;
}

export interface Hurt {
  readonly point: Point;
  readonly fault: Fault;
}

export interface History<Output> {
  readonly ending: Ending<Output>;
  /** False when the run never came to the point that was to be hurt. */
  readonly hit: boolean;
  readonly lives: number;
  /** I/O of a history that nothing hurt. */
  readonly points: readonly Point[];
  readonly head: RunHead | null;
  readonly batches: readonly string[];
  readonly blobs: Readonly<Record<string, string>>;
  /** Children, and whatever else was run on the same storage. */
  readonly others: readonly { readonly runId: string; readonly batches: readonly string[] }[];
  readonly notes: Notes;
  readonly effects: readonly Effect[];
  readonly world: VirtualWorld;
  readonly virtualMs: number;
}

export async function history<Input, Output>(
  setup: Setup<Input, Output>,
  hurt: Hurt | null,
): Promise<History<Output>> {
  const { bodies, recorders } = setup;
  await setup.reset();
  for (const recorder of recorders) recorder.reset();
  const world = virtualWorld({ hold: () => bodies.wait() });
  const startedAt = world.now();
  const base = new MemoryStorage({ now: () => world.now() });
  const random = seeded(setup.slowSeed ?? 0);
  const notes = emptyNotes();
  const points: Point[] = [];
  const seen = { hit: false };
  let ending: Ending<Output> | null = null;
  let lives = 0;
  for (; ending === null && lives < mostLives; lives++) {
    const faulty = hurtBy(base, lives === 0 ? hurt : null, { setup, world, random, seen });
    const storage = hurt === null ? tapped(faulty, runId, (point) => points.push(point)) : faulty;
    const allowedErrors = hurt === null || hurt.fault.startsWith("crash") ? 0 : 1;
    ending = await live(setup, {
      storage,
      world,
      notes,
      allowedErrors,
      number: lives + 1,
      died: faulty.died,
    });
    if (ending === null) await world.advance(afterDeathMs);
  }
  const { runs } = await base.list({ limit: 1_000 });
  const head = runs.find((run) => run.runId === runId) ?? null;
  const { batches, blobs = {} } = await base.read(head?.locator ?? "");
  return {
    ending: ending ?? { kind: "stuck", error: new Error(`The run was not over after ${lives} lives.`) },
    hit: seen.hit,
    lives,
    points,
    head,
    batches,
    blobs,
    others: await Promise.all(
      runs
        .filter((run) => run !== head)
        .map(async (run) => ({ runId: run.runId, batches: (await base.read(run.locator)).batches })),
    ),
    notes,
    effects: recorders.flatMap((recorder) => [...recorder.effects]),
    world,
    virtualMs: world.now() - startedAt,
  };
}

interface HurtParts {
  readonly setup: { readonly slowSeed: number | undefined };
  readonly world: VirtualWorld;
  readonly random: Random;
  readonly seen: { hit: boolean };
}

function hurtBy(base: Storage, hurt: Hurt | null, parts: HurtParts): FaultyStorage {
  const { setup, world, random, seen } = parts;
  return faultyStorage(base, {
    world,
    plan: (operation, index) => {
      if (operation !== hurt?.point.operation || index !== hurt.point.index) return null;
      seen.hit = true;
      return hurt.fault;
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
}

/** One life, to the end of the run or to its own: then `null`. */
async function live<Input, Output>(
  setup: Setup<Input, Output>,
  { storage, world, notes, allowedErrors, number, died }: LivingParts,
): Promise<Ending<Output> | null> {
  const { bodies, input, answers } = setup;
  const life = new ObservedLife({ storage, world, secret, bodies, notes });
  const flow = life.bind(await setup.open({ storage, world, secret, number }));
  const app = createApp({ storage, world, secret, workflows: [flow], patience: 0 });
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

/** A fresh process finds all of an ended history but its end, and comes to an end again. */
export async function coldReplay<Input, Output>(
  setup: Setup<Input, Output>,
  { batches, blobs, head, world }: History<Output>,
): Promise<{ readonly ending: Ending<Output>; readonly notes: Notes }> {
  const storage = new MemoryStorage({ now: () => world.now() });
  if (head !== null) await loadJournal(storage, { ...head, batches: batches.slice(0, -1), blobs });
  const notes = emptyNotes();
  const died = new Promise<void>(() => {});
  const ending = await live(setup, { storage, world, notes, allowedErrors: 0, number: 1, died });
  return { ending: ending as Ending<Output>, notes };
}
