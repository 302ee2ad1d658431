/** Histories of a family of runs: a fault in the first life, and others until the parent, whose id is "r", is over. */

import {
  createApp,
  durable,
  MemoryStorage,
  type AnyWorkflow,
  type Outcome,
  type Storage,
} from "@durable/core";
import { faultyStorage, virtualWorld, type Fault, type Operation, type VirtualWorld } from "@durable/testing";
import { RunJournal } from "../../../../src/journal/journal.ts";
import { pause, secret } from "../../../support/behaviour-lab.ts";
import { heads } from "../../../support/worker-runs.ts";

export interface Hurt {
  readonly operation: Operation;
  readonly index: number;
  readonly fault: Fault;
}

export interface FamilyHistory {
  readonly end: Outcome<unknown>;
  readonly lives: number;
  readonly counts: Readonly<Record<Operation, number>>;
  readonly world: VirtualWorld;
  readonly storage: Storage;
}

export interface Family {
  /** Made anew for each life, as a process would. The first is the parent. */
  readonly workflows: (world: VirtualWorld) => readonly AnyWorkflow[];
  /** Answers by the name of the wait; asked for as often as it shows. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** How much of the family each life knows. */
  readonly knows: "all" | "the parent";
}

const mostLives = 4;

export async function familyHistory(family: Family, hurt: Hurt | null): Promise<FamilyHistory> {
  const world = virtualWorld();
  const base = new MemoryStorage({ now: () => world.now() });
  let counts: FamilyHistory["counts"] | null = null;
  for (let lives = 1; lives <= mostLives; lives++) {
    const storage = faultyStorage(base, {
      world,
      plan: (operation, index) =>
        lives === 1 && operation === hurt?.operation && index === hurt.index ? hurt.fault : null,
    });
    const living = toTheEnd(family, world, storage);
    const end = await world.run(Promise.race([living, storage.died.then(() => null)]));
    counts ??= { ...storage.counts };
    // Leases run out, and what runs in the background comes to rest.
    await world.advance(60_000);
    if (end !== null) return { end, lives, counts, world, storage: base };
  }
  throw new Error(`Not over after ${mostLives} lives.`);
}

/** Starts, answers, waits and sweeps until the parent is over. A caller whose request was lost calls again. */
async function toTheEnd(family: Family, world: VirtualWorld, storage: Storage): Promise<Outcome<unknown>> {
  const all = family.workflows(world);
  const workflows = family.knows === "all" ? all : all.slice(0, 1);
  const app = createApp({ storage, world, secret, workflows, patience: 0 });
  const { name, definition } = all[0] as AnyWorkflow;
  for (let rounds = 0; rounds < 200; rounds++) {
    const known = await app
      .get("r")
      .outcome()
      .catch(() => null);
    if (known === null) await start(storage, world, { name, definition }).catch(() => null);
    else if (/^(completed|failed|cancelled|blocked)$/.test(known.status)) return known;
    else if (known.status === "suspended") await answer(app, family.answers, known);
    await app.sweep().catch(() => null);
    await pause(world, 5_000);
  }
  throw new Error(`The parent is not over: ${JSON.stringify(await app.get("r").outcome())}`);
}

async function start(
  storage: Storage,
  world: VirtualWorld,
  { name, definition }: AnyWorkflow,
): Promise<void> {
  await durable(name, definition.body as () => unknown, { storage, world, secret, patience: 0 }).run(
    undefined,
    { id: "r" },
  );
}

async function answer(
  app: ReturnType<typeof createApp>,
  answers: Family["answers"],
  { waiting }: Outcome<unknown> & { status: "suspended" },
): Promise<void> {
  const point = waiting.find(({ name }) => Object.hasOwn(answers, name));
  if (point !== undefined) await app.resume(point.token, answers[point.name]).catch(() => null);
}

/** Settlements of each child in a parent's journal: `key count`, for those that have more than one. */
export async function settledTwice(storage: Storage, world: VirtualWorld): Promise<string[]> {
  const found: string[] = [];
  for (const { locator, runId } of await heads(storage)) {
    const journal = await RunJournal.open(locator, { storage, world });
    const keys = (journal?.entries ?? []).flatMap((entry) =>
      /^(child|step)\.(completed|failed)$|^child\.closed$/.test(entry.kind) && "key" in entry
        ? [entry.key]
        : [],
    );
    for (const [key, list] of Map.groupBy(keys, (one) => one))
      if (list.length > 1) found.push(`${runId} ${key} ${list.length}`);
  }
  return found;
}
