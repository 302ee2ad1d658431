/** What one bucket with many runs asks for: drivers hold most of them, some wait, and few are due. */
import { RemoteStorage, type Bucket } from "@durable/core/remote";
import { countingBucket } from "@durable/testing";
import { batchOf, headOf } from "../../packages/core/test/adapters/remote/support/remote.ts";

const atOnce = 32;
const dueRuns = 100;
const hourMs = 3_600_000;

async function each(count: number, one: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function due(storage: RemoteStorage): Promise<number> {
  let found = 0;
  for (let cursor: string | null = null; ;) {
    const { runs, next } = await storage.list({ dueAt: Date.now(), limit: 100, cursor });
    found += runs.length;
    if (next === null) return found;
    cursor = next;
  }
}

async function page(storage: RemoteStorage, status?: "running"): Promise<number> {
  return (await storage.list({ limit: 50, ...(status && { status }) })).runs.length;
}

/** True when the requests of a look are in proportion to what is due. */
export async function scale(name: string, bucket: Bucket, count: number): Promise<boolean> {
  const say = (text: string): void => console.log(`soak:remote: ${name}, ${count} runs: ${text}`);
  const writer = new RemoteStorage(bucket);
  const now = Date.now();
  let began = performance.now();
  await each(count, async (n) => {
    const times = { createdAt: now - n, updatedAt: now - n };
    // Half are driven, the others wait for an answer until tomorrow.
    const head = headOf(
      n % 2 === 0
        ? { ...times, dueSince: now }
        : { ...times, status: "suspended", wakeAt: now + 24 * hourMs, dueSince: now + 24 * hourMs },
    );
    const lease = n % 2 === 0 ? { lease: { owner: "a driver", ttlMs: hourMs } } : {};
    await writer.append({ ...batchOf(head, 0), ...lease });
  });
  say(`recorded in ${Math.round((performance.now() - began) / 1_000)} s`);

  const ask = async (what: string, work: (storage: RemoteStorage) => Promise<number>) => {
    const counting = countingBucket(bucket);
    began = performance.now();
    const found = await work(new RemoteStorage(counting));
    const { puts, gets, lists, deletes } = counting.counts;
    const ms = Math.round(performance.now() - began);
    say(
      `${what}: ${found} found, ${puts} writes, ${gets} reads, ${lists} lists, ${deletes} deletes, ${ms} ms`,
    );
    return { found, gets };
  };
  const nothing = await ask("a look, nothing is due", due);
  await each(dueRuns, (n) => writer.append(batchOf(headOf({ createdAt: now - n, dueSince: now }), 0)));
  const some = await ask(`a look, ${dueRuns} are due`, due);
  await ask("a page of 50", page);
  await ask("a page of 50 that are running", (storage) => page(storage, "running"));
  await ask("a start", async (storage) => {
    await storage.append({ ...batchOf(headOf({ createdAt: now, dueSince: now }), 0) });
    return 1;
  });
  return nothing.found === 0 && nothing.gets === 0 && some.found === dueRuns && some.gets <= 2 * dueRuns + 1;
}
