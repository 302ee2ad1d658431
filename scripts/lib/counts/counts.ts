/**
 * Counts the work of fixed workloads and compares it with a baseline. Counts do not depend on how busy a machine is, so a
 * small regression is noticed where a measurement of time would drown in noise.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, root } from "../workspace.ts";
import { importWeight } from "./import-weight.ts";
import type { Counts, Plant } from "./meters.ts";

export type AllCounts = Readonly<Record<string, Counts>>;
export interface Baseline {
  /** Allocated bytes are compared only on the same major version. */
  readonly node: string;
  readonly counts: AllCounts;
}

export const baselineFile = join("scripts", "counts.baseline.json");
/** The share by which a count may grow. */
const tolerance = 0.1;
/** Without optimization, allocations are the same in each execution: optimized code leaves some out, at times that vary. */
const flags = [
  "--no-opt",
  "--no-sparkplug",
  "--no-maglev",
  "--single-threaded",
  "--expose-gc",
  "--no-warnings",
  "--conditions=durable-source",
];

/** Counts everything, or what an import loads and some workloads. */
export async function countWork(only: readonly string[] = []): Promise<AllCounts> {
  // The first argument is a kind of extra work.
  return { ...counted(only.length === 0 ? [] : ["none", ...only]), [importName]: await importWeight() };
}

/** Counts some workloads with extra work in them. */
export function countPlanted(plant: Plant, only: readonly string[]): AllCounts {
  return counted([plant, ...only]);
}

/** Counts in a process of its own. */
function counted(given: readonly string[]): AllCounts {
  const { ok, stdout, said } = capture("node", [
    ...flags,
    join(root, "scripts/lib/counts/child.ts"),
    ...given,
  ]);
  if (!ok) throw new Error(`The work could not be counted: ${said}`);
  return JSON.parse(stdout) as AllCounts;
}

const importName = 'import "@durable/core"';

export function readBaseline(): Baseline {
  return JSON.parse(readFileSync(join(root, baselineFile), "utf8")) as Baseline;
}

export function writeBaseline(counts: AllCounts): void {
  const baseline: Baseline = { node: process.versions.node, counts };
  writeFileSync(join(root, baselineFile), `${JSON.stringify(baseline, null, 2)}\n`);
}

const major = (version: string): string => version.split(".")[0] ?? "";

/** One sentence for each count that is more than 10 percent over its baseline, or has none. */
export function compareCounts(
  baseline: Baseline,
  counts: AllCounts,
  node: string = process.versions.node,
): string[] {
  const update = `If the work is needed, run "npm run counts -- --write" and commit ${baselineFile}.`;
  const sameNode = major(baseline.node) === major(node);
  return Object.entries(counts).flatMap(([workload, counted]) =>
    Object.entries(counted).flatMap(([name, count]) => {
      if (name === "allocated" && !sameNode) return [];
      const known = baseline.counts[workload]?.[name];
      if (known === undefined) return [`${workload}: ${name} has no baseline. ${update}`];
      if (count <= known * (1 + tolerance)) return [];
      const more = known === 0 ? "" : `, ${Math.round((count / known - 1) * 100)} percent over it`;
      return [`${workload}: ${name} is ${count}; the baseline is ${known}${more}. ${update}`];
    }),
  );
}
