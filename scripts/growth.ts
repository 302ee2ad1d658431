/**
 * What grows with what was there before: workloads at several sizes, by processor time and by counted work. Where the cost
 * is in proportion to the size, the exponent is 1.
 *
 *     npm run growth
 *     npm run growth -- --only chat --storage memory --sizes 25,250
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MemoryStorage, type Storage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { countingStorage } from "@durable/testing";
import { workloads, type Workload } from "./lib/growth/workloads.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    storage: { type: "string", default: "sqlite,memory" },
    sizes: { type: "string" },
  },
});

/** What one part of a workload took. */
interface Cost {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly batches: number;
  readonly parsed: number;
}

let parsed = 0;
const { parse } = JSON;
JSON.parse = (text, reviver) => {
  parsed += text.length;
  return parse(text, reviver) as unknown;
};

async function measured(
  workload: Workload,
  size: number,
  storage: Storage,
  path: string | null,
): Promise<ReadonlyMap<string, Cost>> {
  const counting = countingStorage(storage);
  const costs = new Map<string, Cost>();
  await workload.run({
    storage: counting,
    path,
    size,
    measure: async (part, work) => {
      const [cpu, wall, { batches }, before] = [
        process.cpuUsage(),
        performance.now(),
        { ...counting.counts },
        parsed,
      ];
      let elsewhereMs = 0;
      const result = await work((cpuMs) => {
        elsewhereMs += cpuMs;
      });
      const { user, system } = process.cpuUsage(cpu);
      costs.set(part, {
        cpuMs: elsewhereMs || (user + system) / 1_000,
        wallMs: performance.now() - wall,
        batches: counting.counts.batches - batches,
        parsed: parsed - before,
      });
      return result;
    },
  });
  return costs;
}

/** One workload at one size, in a storage of its own. */
async function inStorage(kind: string, workload: Workload, size: number): Promise<ReadonlyMap<string, Cost>> {
  if (kind === "memory") return measured(workload, size, new MemoryStorage(), null);
  const folder = mkdtempSync(join(tmpdir(), "durable-growth-"));
  const path = join(folder, "journal.db");
  const storage = new SqliteStorage(path);
  try {
    return await measured(workload, size, storage, path);
  } finally {
    await storage.close();
    rmSync(folder, { recursive: true });
  }
}

function whole(count: number): string {
  return Math.round(count).toLocaleString("en");
}

console.log("| Storage | Workload | Size | CPU ms | Wall ms | Exponent | Batches read | Characters parsed |");
console.log("|---|---|---|---|---|---|---|---|");
for (const kind of values.storage.split(","))
  for (const [name, workload] of Object.entries(workloads)) {
    if (!name.includes(values.only)) continue;
    const before = new Map<string, { readonly size: number; readonly cpuMs: number }>();
    const sizes = values.sizes?.split(",").map(Number) ?? workload.sizes;
    // Before anything is measured, its code is compiled.
    await inStorage(kind, workload, sizes[0] ?? 1);
    for (const size of sizes)
      for (const [part, { cpuMs, wallMs, batches, parsed: characters }] of await inStorage(
        kind,
        workload,
        size,
      )) {
        const less = before.get(part);
        const exponent =
          less === undefined ? "" : (Math.log(cpuMs / less.cpuMs) / Math.log(size / less.size)).toFixed(2);
        before.set(part, { size, cpuMs });
        console.log(
          `| ${kind} | ${name}: ${part} | ${whole(size)} | ${whole(cpuMs)} | ${whole(wallMs)} | ${exponent} | ${whole(batches)} | ${whole(characters)} |`,
        );
      }
  }
