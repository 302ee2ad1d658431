/** One random history, copied in several steps and after a crash, and compared with the source. */

import { copyRuns, type RunHead, type Storage, type World } from "@durable/core";
import { systemWorld, type ReadReply } from "@durable/core/storage";
import { faultyStorage, seeded } from "@durable/testing";
import { expect } from "vitest";
import { headsOf } from "./houses.ts";
import { History } from "./histories.ts";

export interface Target {
  readonly storage: Storage;
  readonly reopen: () => Storage;
}

/** `exact` when the target keeps the order of calls that are made together. */
export async function playHistory(seed: number, open: (world: World) => Target, exact = true): Promise<void> {
  const history = new History(seed);
  const random = seeded(seed);
  const world = { ...systemWorld, now: () => history.clock.now };
  const { storage, reopen } = open(world);
  await history.grow(random.between(5, 40));
  const copies = random.between(0, 2);
  for (let n = 0; n < copies; n++) {
    expect((await copyRuns(history.storage, storage)).refused, `seed ${seed}`).toEqual([]);
    await history.grow(random.between(1, 20));
  }
  const at = random.between(1, 40);
  const crash = random.pick(["crash-before", "crash-after"] as const);
  const faulty = faultyStorage(storage, { world, plan: plan(at, crash) });
  await Promise.race([faulty.died, copyRuns(history.storage, faulty)]);
  const target = reopen();
  const last = await copyRuns(history.storage, target, { concurrency: random.between(1, 8) });
  expect(last.refused, `seed ${seed}`).toEqual([]);
  await compare(history, target, { fresh: copies === 0, exact });
  expect(await copyRuns(history.storage, target)).toMatchObject({ runs: 0, batches: 0, refused: [] });
  await expectNothingLeft(history, target);
}

/** What a reader gets from the first batch on that the source still has. */
function partOf({ batches, length, from, blobs = {}, ...rest }: ReadReply, first: number): unknown {
  const { head, blocked, deleted } = rest;
  const begin = from ?? length - batches.length;
  const common = { batches: batches.slice(Math.max(0, first - begin)), length, blobs };
  return deleted === true ? common : { ...common, head, blocked };
}

/** In a target that was copied to before, a run that was deleted in the source meanwhile stays as it is. */
async function compare(
  history: History,
  target: Storage,
  { fresh, exact }: { readonly fresh: boolean; readonly exact: boolean },
): Promise<void> {
  const heads = await headsOf(history.storage);
  const visible = new Set(heads.map(({ locator }) => locator));
  const found = await headsOf(target);
  const listed = found.filter(({ locator }) => fresh || visible.has(locator));
  const order = (runs: readonly RunHead[]): readonly RunHead[] =>
    exact ? runs : runs.toSorted((a, b) => (a.locator < b.locator ? -1 : 1));
  expect(order(listed)).toEqual(order(heads));
  for (const { head, first } of history.runs) {
    const { locator } = head;
    for (const from of [first, ...history.beginnings(locator)]) {
      const kept = await history.storage.read(locator, from);
      if (kept.length === 0) continue;
      const copied = await target.read(locator, from);
      if (fresh) expect(copied.deleted === true).toBe(kept.deleted === true);
      const expected = partOf(kept, first);
      const title = `${head.runId} from ${from}`;
      if (kept.deleted === true) expect(partOf(copied, first), title).toMatchObject(expected as object);
      else expect(partOf(copied, first), title).toEqual(expected);
    }
  }
}

/** Hidden runs go with the last run that reads them, as in the source. */
async function expectNothingLeft(history: History, target: Storage): Promise<void> {
  for (const { head } of history.runs) {
    await target.delete(head.locator);
    await history.storage.delete(head.locator);
  }
  for (const { head } of history.runs) expect((await target.read(head.locator)).length).toBe(0);
}

/** The fault at one operation, counted over all kinds. */
function plan<F>(at: number, fault: F): () => F | null {
  let count = 0;
  return () => (++count === at ? fault : null);
}
