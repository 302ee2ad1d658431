import { copyRuns, DurableError, MemoryStorage, type Storage } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { faultyStorage, type Fault, type FaultyStorage } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { contentOf, unordered } from "./support/houses.ts";
import { moveIn, testWorld } from "./support/residents.ts";

const world = testWorld();
/** Every so many operations are tried: all of them in `npm run test:full`. */
const stride = inject("full") ? 1 : 5;

/** The fault at one operation, counted over all kinds. */
function failing(storage: Storage, at: number, fault: Fault): FaultyStorage & { readonly last: number } {
  let last = 0;
  const plan = (): Fault | null => (++last === at ? fault : null);
  return Object.defineProperty(faultyStorage(storage, { world: systemWorld, plan }), "last", {
    get: () => last,
  }) as FaultyStorage & { readonly last: number };
}

async function source(): Promise<Storage> {
  const storage = new MemoryStorage();
  await moveIn(storage, world);
  const { locator, length } = await storage.list({ workflow: "talks" }).then(async ({ runs }) => ({
    locator: runs[0]?.locator ?? "",
    ...(await storage.read(runs[0]?.locator ?? "")),
  }));
  await storage.note(locator, { code: "diverged", message: "changed", since: 1, length });
  return storage;
}

/** Nothing that a worker would drive is there in part. */
async function expectNoPartIsDue(from: Storage, to: Storage): Promise<void> {
  const { runs } = await to.list({ dueAt: Number.MAX_SAFE_INTEGER });
  for (const { locator, runId } of runs)
    expect((await to.read(locator)).length, runId).toBe((await from.read(locator)).length);
}

describe("a copy that is interrupted is continued by the next call", () => {
  test.each<Fault>(["crash-before", "crash-after"])("%s any operation of the target", async (fault) => {
    const from = await source();
    const whole = new MemoryStorage();
    const { last } = await copied(from, failing(whole, 0, fault));
    const expected = await contentOf(whole);
    expect(expected).toEqual(await contentOf(from));
    expect(last).toBeGreaterThan(80);
    for (let at = 1; at <= last; at += stride) {
      const to = new MemoryStorage();
      const faulty = failing(to, at, fault);
      await Promise.race([faulty.died, copyRuns(from, faulty, { concurrency: 3 })]);
      await expectNoPartIsDue(from, to);
      expect((await copyRuns(from, to)).refused, `at ${at}`).toEqual([]);
      expect(await contentOf(to), `at ${at}`).toEqual(expected);
    }
  });

  test("a reply that is lost is settled by reading, and a request that is lost by the next call", async () => {
    const from = await source();
    const whole = failing(new MemoryStorage(), 0, "lose-reply");
    await copied(from, whole);
    const expected = await contentOf(whole);
    const ends = { "lose-reply": 0, "lose-request": 0, conflict: 0 };
    for (const fault of ["lose-reply", "lose-request", "conflict"] as const)
      for (let at = 1; at <= whole.counts.append; at += stride) {
        const to = new MemoryStorage();
        const plan = (operation: string, index: number): Fault | null =>
          operation === "append" && index === at ? fault : null;
        const faulty = faultyStorage(to, { world: systemWorld, plan });
        const first = await copyRuns(from, faulty).catch((error: unknown) => {
          if (DurableError.is(error)) throw error;
          return null;
        });
        ends[fault] += Number(first !== null && first.refused.length === 0);
        await copyRuns(from, to);
        // A run whose first append was refused is created later than the others.
        expect(unordered(await contentOf(to)), `${fault} at ${at}`).toEqual(unordered(expected));
      }
    expect(ends).toEqual({
      "lose-reply": Math.ceil(whole.counts.append / stride),
      "lose-request": 0,
      conflict: 0,
    });
  });

  test("a run that changes while it is copied is copied up to a batch, and is called active", async () => {
    const from = await source();
    const talks = (await from.list({ workflow: "talks" })).runs[0]!;
    const { batches, length } = await from.read(talks.locator);
    const { blocked: _, ...head } = talks;
    let reads = 0;
    const growing = faultyStorage(from, { world: systemWorld });
    const changing: Storage = {
      ...growing,
      read: async (locator, position) => {
        const reply = await growing.read(locator, position);
        if (locator === talks.locator && ++reads === 1)
          await from.append({
            locator,
            position: length,
            batch: batches.at(-1)!,
            head: { ...head, status: "running", wakeAt: 0 },
          });
        return reply;
      },
    };
    const to = new MemoryStorage();
    expect(await copyRuns(changing, to)).toMatchObject({ refused: [], active: ["talks"] });
    expect((await to.read(talks.locator)).batches).toEqual(batches);
    expect(await copyRuns(changing, to)).toMatchObject({ runs: 1, batches: 1, skipped: 12, active: [] });
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });

  test("an abort stops it with its reason, and leaves nothing under way", async () => {
    const from = await source();
    const to = new MemoryStorage();
    const controller = new AbortController();
    const reason = new Error("enough");
    const aborted = copyRuns(from, to, {
      concurrency: 2,
      signal: controller.signal,
      onProgress: ({ done }) => void (done === 3 && controller.abort(reason)),
    });
    await expect(aborted).rejects.toBe(reason);
    const left = await contentOf(to);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await contentOf(to)).toEqual(left);
    await expectNoPartIsDue(from, to);
    expect((await copyRuns(from, to)).refused).toEqual([]);
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });
});

async function copied<S extends Storage>(from: Storage, to: S): Promise<S> {
  expect(await copyRuns(from, to)).toMatchObject({ runs: 13, refused: [] });
  return to;
}
