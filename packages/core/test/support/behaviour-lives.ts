/** Lives of one run, whose id is "r": processes that die, and fresh ones that find what they left. */

import { MemoryStorage, type Outcome, type Storage, type Workflow, type World } from "@durable/core";
import { faultyStorage, type Fault } from "@durable/testing";
import type { Lab } from "./behaviour-lab.ts";

export type Flow<T = unknown> = Workflow<unknown, T>;

/** Drives until the process dies at its n-th append, then lets its lease run out. */
export async function dieAt(
  lab: Lab,
  flow: Flow,
  append: number,
  { fault = "crash-after", quiet = 60_000 }: { fault?: Fault; quiet?: number } = {},
): Promise<void> {
  const storage = faultyStorage(lab.storage, {
    world: lab.world,
    plan: (operation, index) => (operation === "append" && index === append ? fault : null),
  });
  const living = flow.with({ ...lab, storage }).run(undefined, { id: "r" });
  const end = await lab.world.run(Promise.race([living, storage.died]));
  if (end !== undefined) throw new Error(`It did not die: ${JSON.stringify(end)}`);
  await lab.world.advance(quiet);
}

/** Runs to the next stop. */
export function runOf<T>(lab: Lab, flow: Flow<T>): Promise<Outcome<T>> {
  return lab.world.run(flow.with({ ...lab }).run(undefined, { id: "r" }));
}

/** The journal's batches, as texts. */
export async function batchesOf({ storage }: Lab, runId = "r"): Promise<readonly string[]> {
  const { runs } = await storage.list();
  const head = runs.find((run) => run.runId === runId);
  return head === undefined ? [] : (await storage.read(head.locator)).batches;
}

/** What a fresh process makes of the journal when its end is left out. */
export async function replayOf<T>(lab: Lab, flow: Flow<T>): Promise<Outcome<T>> {
  const storage = new MemoryStorage({ now: () => lab.world.now() });
  const [head] = (await lab.storage.list()).runs.filter(({ runId }) => runId === "r");
  const batches = await batchesOf(lab);
  for (const [position, batch] of batches.slice(0, -1).entries()) {
    const open = { ...head!, status: "running", wakeAt: 0 } as const;
    await storage.append({ locator: head!.locator, position, batch, head: open });
  }
  return runOf({ ...lab, storage }, flow);
}

/** A process that can be stopped in its tracks: its timers fire when it thaws. */
export function freezable(world: World): { world: World; freeze(): void; thaw(): void } {
  let frozen = false;
  const missed: (() => void)[] = [];
  const timer: World["timer"] = (ms, fire) => {
    let off = false;
    const ring = (): void => {
      if (!off) fire();
    };
    const cancel = world.timer(ms, () => (frozen ? void missed.push(ring) : ring()));
    return () => {
      off = true;
      cancel();
    };
  };
  return {
    world: { ...world, timer },
    freeze: () => {
      frozen = true;
    },
    thaw: () => {
      frozen = false;
      for (const ring of missed.splice(0)) ring();
    },
  };
}

/** The same storage without a way to be told of appends: drivers have to poll. */
export function silent({ storage }: Lab): Storage {
  return {
    append: (request) => storage.append(request),
    read: (locator, from) => storage.read(locator, from),
    list: (query) => storage.list(query),
    lease: (locator, owner, ttlMs) => storage.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => storage.release(locator, owner, quietMs),
    delete: (locator) => storage.delete(locator),
  };
}
