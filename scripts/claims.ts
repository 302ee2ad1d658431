/**
 * What a claim costs with few and with many keys, and how soon a small tenant begins behind a large one:
 *
 *     npm run bench:claims -- --keys 1,1000,50000 --rounds 40
 *
 * sleeping  so many runs of a workflow with a limit per key, each with a key of its own, sleep; ten runs are due
 * limited   so many due runs, each with a key of its own and a limit of ten
 * fair      so many due runs, each with a key of its own that takes turns
 *
 * Each claim takes ten runs. The table has the median time of a claim in milliseconds, and the script fails where that of many
 * keys is more than twice that of one. Then 50,000 runs of one tenant are due,
 * and ten of another come: it says when the last of the ten began, with steps of 50 ms and a worker of 20 places.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createApp, createWorker, durable, MemoryStorage, type RunHead, type Storage } from "@durable/core";
import type { RunFlow } from "@durable/core/storage";
import { SqliteStorage } from "@durable/core/sqlite";
import { PostgresStorage } from "@durable/postgres";
import { startPostgres } from "../packages/postgres/test/support/server.ts";

const { values } = parseArgs({
  options: {
    keys: { type: "string", default: "1,1000,50000" },
    rounds: { type: "string", default: "40" },
    storages: { type: "string", default: "memory,sqlite,postgres" },
    behind: { type: "string", default: "50000" },
  },
});
const sizes = values.keys.split(",").map(Number);
const rounds = Number(values.rounds);
const behind = Number(values.behind);
if (![rounds, behind, ...sizes].every((number) => Number.isInteger(number) && number > 0)) {
  console.error("bench:claims: --keys, --rounds and --behind are whole numbers");
  process.exit(2);
}

const server = values.storages.includes("postgres") ? await startPostgres() : null;
const folder = mkdtempSync(join(tmpdir(), "durable-claims-"));
let opened = 0;

const stores: Readonly<Record<string, () => Storage>> = {
  memory: () => new MemoryStorage(),
  sqlite: () => new SqliteStorage(join(folder, `${++opened}.db`)),
  postgres: () => new PostgresStorage({ url: server?.url ?? "", schema: `claims_${++opened}` }),
};

function headOf(n: number, flow: RunFlow | undefined, sleeps: boolean): RunHead {
  const wakeAt = sleeps ? Date.now() + 86_400_000 : 0;
  return {
    locator: `l${String(n).padStart(17, "0")}`,
    runId: `run-${n}`,
    workflow: "w",
    status: sleeps ? "suspended" : "running",
    wakeAt,
    dueSince: sleeps ? wakeAt : n,
    createdAt: n,
    updatedAt: n,
    steps: 0,
    label: null,
    parent: null,
    ancestors: [],
    ...(flow !== undefined && { flow }),
  };
}

async function fill(storage: Storage, heads: readonly RunHead[]): Promise<void> {
  for (let at = 0; at < heads.length; at += 500)
    await Promise.all(
      heads
        .slice(at, at + 500)
        .map((head) => storage.append({ locator: head.locator, position: 0, batch: "{}", head })),
    );
}

const kinds: Readonly<Record<string, (keys: number) => RunHead[]>> = {
  sleeping: (keys) => [
    ...Array.from({ length: keys }, (_, n) => headOf(n, { slot: `k${n}` }, true)),
    ...Array.from({ length: 10 }, (_, n) => headOf(1_000_000 + n, { slot: `d${n}` }, false)),
  ],
  limited: (keys) =>
    Array.from({ length: Math.max(10, keys) }, (_, n) => headOf(n, { slot: `k${n % keys}` }, false)),
  fair: (keys) =>
    Array.from({ length: Math.max(10, keys) }, (_, n) => headOf(n, { fair: `k${n % keys}` }, false)),
};

/** The median time of a claim of ten runs. What it took is released after each. */
async function claimMs(storage: Storage): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const from = performance.now();
    const taken = await storage.claim?.({
      workflow: ["w"],
      dueAt: Date.now(),
      limit: 10,
      quietMs: 60_000,
      slots: { w: 10 },
    });
    times.push(performance.now() - from);
    if (taken?.length !== 10) throw new Error(`A claim took ${taken?.length} runs`);
    for (const { locator } of taken ?? []) {
      await storage.lease(locator, "bench", 1_000);
      await storage.release(locator, "bench");
    }
  }
  return times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
}

console.log(`${"claim of ten, ms".padEnd(22)}${sizes.map((size) => String(size).padStart(10)).join("")}`);
for (const name of values.storages.split(","))
  for (const [kind, heads] of Object.entries(kinds)) {
    const row: number[] = [];
    for (const size of sizes) {
      const storage = stores[name]?.();
      if (storage === undefined) continue;
      await fill(storage, heads(size));
      row.push(await claimMs(storage));
      await storage.close?.();
    }
    const cells = row.map((ms) => ms.toFixed(2).padStart(10)).join("");
    const times = Math.max(...row) / (row[0] ?? 0);
    // Below half a millisecond, the clock and the collector of the process decide.
    const grows = times > 2 && Math.max(...row) > 0.5;
    if (grows) process.exitCode = 1;
    console.log(
      `${`${name}, ${kind}`.padEnd(22)}${cells}${`${times.toFixed(2)} times`.padStart(12)}${grows ? "  GROWS" : ""}`,
    );
  }

const job = durable(
  "w",
  (ctx, input: { readonly tenant: string; readonly at: number }) =>
    ctx.step("work", async () => {
      begun.push({ tenant: input.tenant, ms: performance.now() });
      await new Promise((done) => setTimeout(done, 50));
    }),
  { fair: (input) => input.tenant, retry: false },
);
let begun: { readonly tenant: string; readonly ms: number }[] = [];

for (const name of values.storages.split(",")) {
  const storage = stores[name]?.();
  if (storage === undefined) continue;
  begun = [];
  const app = createApp({ storage, workflows: [job], secret: "a secret for the benchmark" });
  const start = (tenant: string) => app.start("w", { tenant, at: Date.now() }, { drive: false });
  for (let at = 0; at < behind; at += 500)
    await Promise.all(Array.from({ length: Math.min(500, behind - at) }, () => start("large")));
  const worker = createWorker(app, { concurrency: 20 });
  while (begun.length < 100) await new Promise((done) => setTimeout(done, 10));
  const from = performance.now();
  await Promise.all(Array.from({ length: 10 }, () => start("small")));
  const small = () => begun.filter(({ tenant }) => tenant === "small");
  while (small().length < 10) await new Promise((done) => setTimeout(done, 5));
  const ms = (small().at(-1)?.ms ?? 0) - from;
  console.log(
    `${name}: ten runs behind ${behind} begun after ${ms.toFixed(0)} ms; ${worker.active} of 20 places in use`,
  );
  await worker.stop();
  await storage.close?.();
}
await server?.stop();
rmSync(folder, { recursive: true, force: true });
