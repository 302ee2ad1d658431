/**
 * A long sweep of the simulator over several processes, with what must have been met on the way:
 *
 *     npm run soak:sim -- --seeds 100000 --from 1
 */

import { fork, type ChildProcess } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { tally, unmet } from "../packages/simulator/src/coverage.ts";
import { simulate, type Violation } from "../packages/simulator/src/index.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100000" },
    from: { type: "string", default: "1" },
    processes: { type: "string", default: String(availableParallelism()) },
  },
});
const seeds = Number(values.seeds);
const from = Number(values.from);
const processes = Number(values.processes);
if (![seeds, from, processes].every(Number.isInteger) || processes < 1) {
  console.error("soak:sim: --seeds, --from and --processes are whole numbers");
  process.exit(2);
}

/** What a child tells after each portion. */
interface Portion {
  readonly seeds: number;
  readonly events: number;
  readonly faults: number;
  readonly runs: number;
  readonly bodies: number;
  readonly met: readonly (readonly [string, number])[];
  readonly failed: readonly { readonly seed: number; readonly violations: readonly Violation[] }[];
}

/** Small enough for a progress line that moves, large enough that telling costs nothing. */
const portion = 100;

/** A simulated process that is killed never ends its drives, and they stay in memory: a real process makes this many portions. */
const perProcess = 10;

if (process.send === undefined) await sweep();
else process.on("message", ([first, end]: [number, number]) => void simulateAll(first, end));

async function simulateAll(first: number, end: number): Promise<void> {
  // Nobody reads the stacks of errors that are thrown on purpose by the thousand.
  Error.stackTraceLimit = 0;
  const met = new Map<string, number>();
  const sums = { seeds: end - first, events: 0, faults: 0, runs: 0, bodies: 0 };
  const failed: { seed: number; violations: readonly Violation[] }[] = [];
  for (let seed = first; seed < end; seed++) {
    const { violations, ...simulation } = await simulate({ seed });
    sums.events += simulation.events;
    sums.faults += simulation.faults.length;
    sums.runs += simulation.runs;
    sums.bodies += simulation.bodies;
    tally(met, simulation.met);
    if (violations.length > 0) failed.push({ seed, violations: violations.slice(0, 2) });
  }
  process.send?.({ ...sums, met: [...met], failed } satisfies Portion);
}

async function sweep(): Promise<void> {
  const total = { seeds: 0, events: 0, faults: 0, runs: 0, bodies: 0 };
  const met = new Map<string, number>();
  const failed: number[] = [];
  const begun = performance.now();
  const last = from + seeds;
  let next = from;
  const seconds = (): number => (performance.now() - begun) / 1_000;
  const line = (): string => {
    const rate = total.seeds / seconds();
    const left = Math.round((seeds - total.seeds) / Math.max(rate, 0.001));
    return `soak:sim: ${total.seeds}/${seeds} seeds, ${total.faults} faults, ${failed.length} failed, ${rate.toFixed(0)} seeds/s, ${left} s left`;
  };
  const take = (child: ChildProcess, portions: number): void => {
    if (next >= last || portions >= perProcess) return child.disconnect();
    child.send([next, Math.min(next + portion, last)]);
    next += portion;
  };
  const told = (message: Portion): void => {
    for (const sum of ["seeds", "events", "faults", "runs", "bodies"] as const) total[sum] += message[sum];
    tally(met, new Map(message.met));
    for (const { seed, violations } of message.failed) {
      failed.push(seed);
      console.log(`\nSIM FAIL seed ${seed}   npm run sim -- --seed ${seed}`);
      for (const { invariant, message: text } of violations) console.log(`  ${invariant}  ${text}`);
    }
    if (process.stdout.isTTY) process.stdout.write(`\r${line()} `);
    else if (total.seeds % (portion * 50) === 0) console.log(line());
  };
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = fork(import.meta.filename, process.argv.slice(2), { execArgv: process.execArgv });
      let portions = 0;
      child.on("message", (message) => {
        told(message as Portion);
        take(child, ++portions);
      });
      child.on("exit", (code) => {
        if (code !== 0) reject(new Error(`a process ended with ${code}`));
        else resolve(next < last ? work() : undefined);
      });
      take(child, 0);
    });
  await Promise.all(Array.from({ length: processes }, () => work()));
  const missing = seeds >= 2_000 ? unmet(met) : [];
  const { runs, bodies, events, faults } = total;
  console.log(
    `\nsoak:sim: ${total.seeds} seeds from ${from}, ${runs} runs, ${bodies} bodies, ${faults} faults, ${events} events, ${seconds().toFixed(0)} s`,
  );
  console.log(
    `soak:sim: ${failed.length} seeds failed${failed.length === 0 ? "" : `: ${failed.slice(0, 20).join(", ")}`}`,
  );
  if (missing.length > 0) console.log(`soak:sim: never met, so untested: ${missing.join("; ")}`);
  for (const [what, count] of [...met].toSorted(([a], [b]) => a.localeCompare(b)))
    console.log(`  ${String(count).padStart(9)}  ${what}`);
  if (failed.length > 0 || missing.length > 0) process.exitCode = 1;
}
