/**
 * Kills the demo at instants spread over the whole of a run, starts it again until it is done, and checks what follows.
 * An instant is counted in calls of bodies that have begun or ended, and then a moment of chance: seconds would mean
 * something else on a busy machine.
 *
 * K1. The winner is that of a run without kills, including its code.
 * K2. A step whose outcome was in a journal when a process started was not run by it, or any later one.
 * K3. A step has one idempotency key, whatever process runs it, and no other step has it.
 * K4. Each plan was made by one model call. Only a call that was under way when the kill came is made again: it has
 *     no record, and is counted apart.
 * K5. No branch was forked twice.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { App } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { seeded } from "@durable/testing";
import { begun, checkEffects, DemoProcess, Place, runDemo, type Restart } from "example-llm/process";
import type { Ending } from "../../src/agent.ts";
import { labelOf } from "../../src/candidate.ts";
import type { Brief } from "../../src/plan.ts";

export interface KillReport {
  /** Instants at which a process was killed; each belongs to a run of its own, which was then run again. */
  readonly kills: number;
  /** Runs in all: one may be done before its kill comes. */
  readonly runs: number;
  /** Processes started, those that were killed included. */
  readonly lives: number;
  /** Plans that were made, and model calls that made them. */
  readonly plans: number;
  readonly planCalls: number;
  /** Calls for a plan that a kill cut off before there was a record of them; not among the others. */
  readonly cutOff: number;
  /** Steps that a new process found in the journals, summed over all restarts. */
  readonly reused: number;
}

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  /** How many of the runs are killed a second time, from 0 to 1; none by default. */
  readonly twice?: number;
  /** What a run without kills comes to; by default there is one first. */
  readonly calm?: Calm;
  readonly progress?: (report: KillReport) => void;
}

/** A run without kills. */
export interface Calm {
  readonly winner: string;
  /** Labels of all branches. */
  readonly branches: string;
  /** Lines that its bodies left. */
  readonly lines: number;
}

/** When to kill: once so many lines are there, and a moment later. */
interface Moment {
  readonly lines: number;
  readonly ms: number;
}

const example = "coding-agent";
const longestMoment = 60;

export async function killDemo(options: KillOptions): Promise<KillReport> {
  const { kills, seed, twice = 0, progress } = options;
  const random = seeded(seed);
  const calm = options.calm ?? (await calmRun());
  let report: KillReport = { kills: 0, runs: 0, lives: 0, plans: 0, planCalls: 0, cutOff: 0, reused: 0 };
  // A demo that was done before its kill came gives that instant another chance.
  for (let tries = 0; report.kills < kills && tries < 3 * kills; tries++) {
    const first = ((report.kills + random.next()) / kills) * calm.lines;
    const instants = [first, ...(random.chance(twice) ? [first + random.next() * (calm.lines - first)] : [])];
    const moments = instants.map((lines) => ({ lines, ms: random.next() * longestMoment }));
    const one = await oneRun(calm, moments);
    report = {
      kills: report.kills + one.kills,
      runs: report.runs + one.runs,
      lives: report.lives + one.lives,
      plans: report.plans + one.plans,
      planCalls: report.planCalls + one.planCalls,
      cutOff: report.cutOff + one.cutOff,
      reused: report.reused + one.reused,
    };
    progress?.(report);
  }
  if (report.kills < kills) throw new Error(`only ${report.kills} of ${kills} kills came in time`);
  return report;
}

async function calmRun(): Promise<Calm> {
  const place = new Place(example);
  try {
    const { code, out, err } = await runDemo(place);
    if (code !== 0) throw new Error(`The calm run ended with ${code}: ${out}${err}`);
    const branches = labelsOf(await branchesIn(place)).join();
    return { winner: await winnerIn(place), branches, lines: place.effects().length };
  } finally {
    place.remove();
  }
}

/** One run that is killed at each of these moments, and brought to its end. */
async function oneRun(calm: Calm, moments: Moment[]): Promise<KillReport> {
  const place = new Place(example);
  const restarts: Restart[] = [];
  const deaths: { lines: readonly string[]; recorded: ReadonlySet<string> }[] = [];
  try {
    for (;;) {
      const lines = place.effects().length;
      restarts.push({ recorded: await recordedIn(place), lines });
      const demo = new DemoProcess(place);
      const moment = moments.shift();
      if (moment !== undefined) await kill(demo, place, moment);
      const { code, signal, out, err } = await demo.ended;
      if (signal === "SIGKILL")
        deaths.push({ lines: place.effects().slice(lines), recorded: await recordedIn(place) });
      else if (code === 0) break;
      else throw new Error(`The demo ended with ${code}: ${out}${err}`);
    }
    await checkEnd(place, calm);
    const effects = place.effects();
    checkEffects(effects, restarts);
    return {
      kills: Math.min(deaths.length, 1),
      runs: 1,
      lives: restarts.length,
      reused: restarts.reduce((sum, { recorded }) => sum + recorded.size, 0),
      ...checkPlans(effects, deaths),
    };
  } finally {
    place.remove();
  }
}

async function kill(demo: DemoProcess, place: Place, { lines, ms }: Moment): Promise<void> {
  const life = { over: false };
  void demo.ended.then(() => (life.over = true));
  await demo.printed("press Ctrl-C");
  while (!life.over && place.effects().length < Math.floor(lines)) await delay(5);
  await Promise.race([delay(ms), demo.ended]);
  demo.signal("SIGKILL");
}

/** K1 and K5. */
async function checkEnd(place: Place, calm: Calm): Promise<void> {
  const winner = await winnerIn(place);
  if (winner !== calm.winner) throw new Error(`K1: the winner is ${winner}, and was ${calm.winner}`);
  const branches = labelsOf(await branchesIn(place)).join();
  if (branches !== calm.branches) throw new Error(`K5: branches ${branches}, and were ${calm.branches}`);
}

/** K4 over the lines that bodies left, in all and in each life that was killed. */
export function checkPlans(
  effects: readonly string[],
  deaths: readonly { readonly lines: readonly string[]; readonly recorded: ReadonlySet<string> }[],
): Pick<KillReport, "plans" | "planCalls" | "cutOff"> {
  const calls = (lines: readonly string[]): string[] =>
    begun(lines)
      .map((line) => line.split(" ")[1] ?? "")
      .filter((key) => key.endsWith("/plan"));
  const cutOff = deaths.flatMap(({ lines, recorded }) => calls(lines).filter((key) => !recorded.has(key)));
  const all = calls(effects);
  const plans = new Set(all);
  for (const plan of plans) {
    const count = (keys: readonly string[]): number => keys.filter((key) => key === plan).length;
    const made = count(all) - count(cutOff);
    if (made !== 1) throw new Error(`K4: ${plan} was made by ${made} model calls`);
  }
  return { plans: plans.size, planCalls: all.length - cutOff.length, cutOff: cutOff.length };
}

/** Entries of every branch there is. */
async function branchesIn(place: Place): Promise<Entry[][]> {
  const look = async (app: App): Promise<Entry[][]> => {
    const { runs } = await app.list({ workflow: "candidate" });
    return Promise.all(runs.map(({ runId }) => app.get(runId).entries()));
  };
  return (await place.read(look)) ?? [];
}

function labelOfBranch(entries: readonly Entry[]): string {
  const first = entries.find((entry) => entry.kind === "run.started" || entry.kind === "run.forked");
  return labelOf(first?.input as Brief);
}

function labelsOf(branches: readonly Entry[][]): string[] {
  return branches.map(labelOfBranch).toSorted((a, b) => a.localeCompare(b));
}

/** Keys of steps that are recorded, as the effects file names them. */
async function recordedIn(place: Place): Promise<Set<string>> {
  const keys = (entries: readonly Entry[], path: string): string[] =>
    entries.flatMap((entry) => (entry.kind === "step.completed" ? `${path}${entry.key}` : []));
  const branches = await branchesIn(place);
  return new Set([
    ...keys(await place.entries(), ""),
    ...branches.flatMap((entries) => keys(entries, `${labelOfBranch(entries)}/`)),
  ]);
}

async function winnerIn(place: Place): Promise<string> {
  const end = (await place.entries()).find((entry) => entry.kind === "run.completed");
  if (end === undefined) throw new Error("The run has not ended.");
  const { winner, rounds } = end.output as Ending;
  return JSON.stringify({ label: winner.label, passed: winner.passed, code: winner.code, rounds });
}
