/** The order in which tests are tried: those that are most likely to notice a change come first. */
import { basename } from "node:path/posix";
import type { TestCost } from "./map.ts";

/** How near a test file is to a source file: its package, its folder, the words of its name. */
export function nearness(file: string, test: string): number {
  const [, packageOfFile = "", , ...folders] = file.split("/").slice(0, -1);
  const [, packageOfTest = "", , ...around] = test.split("/").slice(0, -1);
  if (packageOfFile !== packageOfTest) return 0;
  const wordsOfFile = words(basename(file, ".ts"));
  const wordsOfTest = words(basename(test, ".test.ts"));
  const shared = wordsOfFile.filter((word) => wordsOfTest.includes(word)).length;
  const all = new Set([...wordsOfFile, ...wordsOfTest]).size;
  return 1 + folders.filter((folder, index) => folder === around[index]).length + (4 * shared) / all;
}

function words(name: string): string[] {
  return name.split("-").map((word) => (word.length > 3 ? word.replace(/s$/, "") : word));
}

export function nearestFirst(file: string, tests: readonly TestCost[]): TestCost[] {
  const rated = tests.map((cost) => ({ cost, near: nearness(file, cost.test) }));
  return rated.toSorted((a, b) => b.near - a.near || a.cost.cpuMs - b.cost.cpuMs).map(({ cost }) => cost);
}

/** To start a test runner takes this long. */
const startMs = 2_500;
const [firstMs, secondMs, laterMs] = [6_000, 15_000, 30_000];

/** Groups that grow: the first one is small, because most mutants are noticed there. */
export function batchesOf(tests: readonly TestCost[]): TestCost[][] {
  const batches: TestCost[][] = [];
  let inBatch = Infinity;
  for (const test of tests) {
    const mostMs = [firstMs, secondMs][batches.length - 1] ?? laterMs;
    if (inBatch + test.cpuMs > mostMs) {
      batches.push([]);
      inBatch = 0;
    }
    batches.at(-1)?.push(test);
    inBatch += test.cpuMs;
  }
  return batches;
}

/** What a group takes. */
export function costOf(batch: readonly TestCost[]): number {
  return batch.reduce((sum, { cpuMs }) => sum + cpuMs, startMs);
}
