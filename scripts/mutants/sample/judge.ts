/**
 * One mutant, and the tests that should notice it.
 *
 * judge.1. A failure that may come from a busy machine (a timeout, a process that had to be stopped, a runner that broke)
 *     counts only if it comes again with twice the time.
 * judge.2. What the budget leaves out is not noticed: a mutant whose tests did not all run may be a survivor.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import type { TestCost, TestMap } from "./map.ts";
import { batchesOf, costOf, nearestFirst } from "./nearest.ts";
import { runNode, type Ended } from "./processes.ts";
import type { Drawn } from "./sampling.ts";
import type { Scratch } from "./scratch.ts";
import { mutated } from "./sites.ts";

export type Verdict = {
  readonly noticed: boolean;
  /** The test that failed, `simulation`, or `hang: ` and what did not end. */
  readonly by: string | null;
  /** Test files that ran, in their order. */
  readonly tests: readonly string[];
  /** How many reach the line. With 0, tests of the package ran instead. */
  readonly reaching: number;
  readonly cpuMs: number;
};

type Tried = { readonly by: string | null; readonly unsure: boolean; readonly cpuMs: number };

/** How much is spent on a mutant before it counts as a survivor. */
export type Effort = { readonly budgetMs: number; readonly seeds: number };

export async function judge(
  { mutant, source }: Drawn,
  { budgetMs, seeds }: Effort,
  map: TestMap,
  scratch: Scratch,
): Promise<Verdict> {
  const { file, line, reachedAt } = mutant;
  const known = new Map(
    [line, reachedAt].flatMap((at) => map.reaching(file, at)).map((one) => [one.test, one]),
  );
  const reaching = [...known.values()];
  const tests = reaching.length > 0 ? reaching : map.ofPackage(file.split("/")[1] ?? "");
  return scratch.with(file, mutated(mutant, source), async () => {
    const ran: string[] = [];
    let cpuMs = 0;
    const verdict = (by: string | null): Verdict => ({
      noticed: by !== null,
      by,
      tests: ran,
      reaching: reaching.length,
      cpuMs: Math.round(cpuMs),
    });
    for (const batch of batchesOf(nearestFirst(file, tests))) {
      // Files that share a process take less than they did when they were measured alone.
      if (ran.length > 0 && cpuMs + costOf(batch) / 2 > budgetMs) continue;
      const tried = await tryTwice(batch, scratch);
      cpuMs += tried.cpuMs;
      ran.push(...batch.map(({ test }) => test));
      if (tried.by !== null) return verdict(tried.by);
    }
    if (!file.startsWith("packages/core/") || seeds === 0) return verdict(null);
    const simulated = await simulate(seeds, scratch);
    cpuMs += simulated.cpuMs;
    return verdict(simulated.by);
  });
}

async function tryTwice(batch: readonly TestCost[], scratch: Scratch): Promise<Tried> {
  const first = await tryTests(batch, scratch, 1);
  if (first.by === null || !first.unsure) return first;
  const second = await tryTests(batch, scratch, 2);
  return { ...second, cpuMs: first.cpuMs + second.cpuMs };
}

async function tryTests(batch: readonly TestCost[], scratch: Scratch, patience: number): Promise<Tried> {
  const report = join(scratch.root, "node_modules", "report.json");
  rmSync(report, { force: true });
  const expectedMs = costOf(batch);
  const longestMs = Math.max(...batch.map(({ cpuMs }) => cpuMs));
  // A test waits for other processes as long as it computes, and on a busy machine several times as long.
  const testMs = patience * Math.min(60_000, Math.max(20_000, longestMs * 5));
  const args = [
    "--bail",
    "1",
    "--maxWorkers",
    "1",
    "--testTimeout",
    String(testMs),
    "--hookTimeout",
    String(testMs),
  ];
  const reporter = ["--reporter", "json", "--outputFile", report];
  const vitest = join(scratch.root, "node_modules", "vitest", "vitest.mjs");
  const ended = await runNode([vitest, "run", ...args, ...reporter, ...batch.map(({ test }) => test)], {
    cwd: scratch.root,
    env: scratch.env,
    wallMs: patience * (60_000 + expectedMs * 10),
    cpuMs: patience * (20_000 + expectedMs * 3),
  });
  return { ...foundIn(ended, failuresIn(report, scratch.root)), cpuMs: ended.cpuMs };
}

type Failure = { readonly test: string; readonly message: string };

function foundIn({ code, stopped }: Ended, failures: readonly Failure[]): Omit<Tried, "cpuMs"> {
  const [failure] = failures;
  if (stopped !== null) return { by: `hang: tests did not end (${stopped})`, unsure: true };
  if (code === 0) return { by: null, unsure: false };
  if (failure === undefined) return { by: `tests ended with ${code}`, unsure: true };
  const isTimeout = /timed out/i.test(failure.message);
  return { by: isTimeout ? `hang: ${failure.test}` : failure.test, unsure: isTimeout };
}

function failuresIn(report: string, root: string): Failure[] {
  if (!existsSync(report)) return [];
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as {
    testResults: {
      name: string;
      status: string;
      message?: string;
      assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
    }[];
  };
  return testResults
    .filter(({ status }) => status === "failed")
    .map(({ name, message = "", assertionResults }) => {
      const failed = assertionResults.find(({ status }) => status === "failed");
      const test = relative(root, name).replaceAll("\\", "/");
      return {
        test: failed === undefined ? test : `${test}: ${failed.fullName}`,
        message: [message, ...(failed?.failureMessages ?? [])].join("\n"),
      };
    });
}

/** Takes about half a minute; a program that does not end is stopped. */
async function simulate(count: number, scratch: Scratch): Promise<Tried> {
  const script = join(scratch.root, "scripts", "sim.ts");
  const seeds = ["--seed", "1", "--seeds", String(count)];
  const { code, stopped, cpuMs } = await runNode(["--conditions=durable-source", script, ...seeds], {
    cwd: scratch.root,
    env: scratch.env,
    wallMs: 30 * 60_000,
    cpuMs: 30_000 + count * 1_500,
    until: /^SIM FAIL seed \d+/m,
  });
  if (stopped === "text") return { by: "simulation", unsure: false, cpuMs };
  if (stopped !== null) return { by: "hang: simulation", unsure: false, cpuMs };
  return { by: code === 0 ? null : "simulation", unsure: false, cpuMs };
}
