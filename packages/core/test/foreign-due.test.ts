import { createApp, durable, type Outcome, type Storage } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { describe, expect, test } from "vitest";
import { lab, outputOf, secret, sqliteLab, type Lab } from "./support/behaviour-lab.ts";
import { open } from "./support/worker-lab.ts";
import { numbered, record } from "./support/worker-runs.ts";

const foreign = 1_500;
const own = numbered("own", 5);
const mine = durable("mine", (ctx) => ctx.step("work", () => ctx.runId));

function remoteLab(): Lab {
  const base = lab();
  return { ...base, storage: new RemoteStorage(new MemoryBucket(), { world: base.world }) };
}

const labs = { memory: lab, sqlite: sqliteLab, "a bucket": remoteLab };

/** Runs of a workflow that this process does not have, then its own: all are due, and its own are due last. */
async function crowded(on: Lab): Promise<void> {
  await Promise.all(
    numbered("foreign", foreign).map((id, n) => record(on, id, { workflow: `theirs-${n % 3}` })),
  );
  await on.world.advance(1_000);
  for (const id of own) await record(on, id, { workflow: "mine" });
}

/** Counts the lists of due runs, and the heads that they return. */
function countedLists(storage: Storage) {
  const counts = { lists: 0, heads: 0 };
  const counted: Storage = {
    append: (request) => storage.append(request),
    read: (locator, from) => storage.read(locator, from),
    list: async (query) => {
      const page = await storage.list(query);
      counts.lists += 1;
      counts.heads += page.runs.length;
      return page;
    },
    lease: (locator, owner, ttlMs) => storage.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => storage.release(locator, owner, quietMs),
    delete: (locator) => storage.delete(locator),
  };
  return { counted, counts };
}

const outputs = (outcomes: readonly Outcome<unknown>[]): string[] =>
  outcomes.map((outcome) => String(outputOf(outcome))).toSorted();

describe.each(Object.entries(labs))(`beside ${foreign} due runs of other workflows, on %s`, (_, makeLab) => {
  test("a sweep advances its own runs, with two lists", async () => {
    const on = makeLab();
    await crowded(on);
    const { counted, counts } = countedLists(on.storage);
    const app = createApp({ world: on.world, secret, storage: counted, workflows: [mine] });
    const { outcomes, failed, unknown } = await on.world.run(app.sweep());
    expect(outputs(outcomes)).toEqual(own);
    expect(failed).toEqual([]);
    expect(unknown.length).toBeGreaterThan(0);
    expect(unknown.every((id) => id.startsWith("foreign"))).toBe(true);
    expect(counts.lists).toBe(2);
    expect(counts.heads).toBeLessThanOrEqual(own.length + 100);
  });

  test("a sweep of few runs takes its own ones", async () => {
    const on = makeLab();
    await crowded(on);
    const app = createApp({ ...on, workflows: [mine] });
    const found: Outcome<unknown>[] = [];
    for (let sweeps = 0; sweeps < 3; sweeps++)
      found.push(...(await on.world.run(app.sweep({ limit: 2 }))).outcomes);
    expect(outputs(found)).toEqual(own);
  });

  test("a worker drives its own runs, with one list of them at a time", async () => {
    const on = makeLab();
    await crowded(on);
    const { counted, counts } = countedLists(on.storage);
    const { heard, until, worker } = open(on, [mine], { storage: counted, interval: 1_000 });
    await until(own.length);
    expect(outputs(heard)).toEqual(own);
    // It looks again each time that a run has stopped.
    expect(counts.lists).toBeLessThanOrEqual(own.length + 2);
    expect(counts.heads).toBeLessThanOrEqual(own.length * (own.length + 2));
    const before = { ...counts };
    await on.world.advance(10_000);
    expect(counts.heads - before.heads).toBe(0);
    expect(counts.lists - before.lists).toBeLessThanOrEqual(11);
    await worker.stop();
  });
});
