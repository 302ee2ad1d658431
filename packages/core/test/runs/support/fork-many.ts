/** Many forks of one long run: what each of them writes, and what all of them add to the storage. */

import { durable, type Storage } from "@durable/core";

export interface ManyForks {
  readonly forks: number;
  /** Bytes of the largest first batch. */
  readonly largest: number;
  /** Entries the forks wrote beyond their first, and how many their cuts let us expect. */
  readonly entries: number;
  readonly expected: number;
  /** Bodies that ran which the parent had recorded before the cut. */
  readonly repeated: number;
  /** Bytes of all that the forks wrote. */
  readonly bytes: number;
}

const parentId = "the-long-run";

/** Forks a run of `steps` steps, each time from one of its last ten; `progress` hears of every fork. */
export async function forkMany(
  storage: Storage,
  { steps, forks }: { readonly steps: number; readonly forks: number },
  progress: (made: number) => void = () => {},
): Promise<ManyForks> {
  let repeated = 0;
  let cutAt = 0;
  const flow = durable(
    "long",
    async (ctx) => {
      let sum = 0;
      for (let n = 1; n <= steps; n++) {
        sum += await ctx.step(`step-${n}`, () => {
          if (n < cutAt) repeated += 1;
          return n;
        });
      }
      return sum;
    },
    { storage, secret: "a secret for tests, of no worth", warm: 0 },
  );
  await flow.run(undefined, { id: parentId });
  const sums = { largest: 0, entries: 0, expected: 0, bytes: 0 };
  for (let made = 1; made <= forks; made++) {
    cutAt = steps - (made % 10);
    const fork = await flow.fork(parentId, { from: `step-${cutAt}`, label: `number ${made}` });
    if ((await fork.result()) !== (steps * (steps + 1)) / 2) throw new Error("A fork came to another sum.");
    const { runs } = await storage.list({ parent: parentId, limit: 1 });
    const { batches } = await storage.read(runs[0]?.locator ?? "");
    const lengths = batches.map((batch) => Buffer.byteLength(batch));
    sums.largest = Math.max(sums.largest, lengths[0] ?? 0);
    sums.bytes += lengths.reduce((a, b) => a + b, 0);
    sums.entries +=
      batches.flatMap((batch) => (JSON.parse(batch) as { entries: unknown[] }).entries).length - 1;
    // The steps from the cut on, and the end of the run.
    sums.expected += steps - cutAt + 2;
    progress(made);
  }
  return { forks, repeated, ...sums };
}
