/**
 * Kills the demo at random instants, starts it again until it is done, and checks:
 *
 * K1. The answer is that of a run without kills.
 * K2. A step whose outcome was in the journal when a process started was not run by it, or any later one: its
 *     body left no line in the effects file.
 * K3. A step has one idempotency key, whatever process runs it, and no other step has it.
 * K4. What repeats is what was cut off: at most two bodies per kill, since no turn calls more than two tools.
 */

import { setTimeout as delay } from "node:timers/promises";
import { seeded, type Random } from "@durable/testing";
import { begun, checkEffects, DemoProcess, Place, type Restart } from "example-llm/process";

export interface KillReport {
  readonly kills: number;
  /** Processes started, those that were killed included. */
  readonly lives: number;
  /** Runs that were brought to their end. */
  readonly runs: number;
  /** Steps that a new process found in the journal, summed over all restarts. */
  readonly reused: number;
  /** Bodies that had begun and were run again: their outcome was not recorded when the kill came. */
  readonly repeated: number;
}

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  readonly progress?: (report: KillReport) => void;
}

interface Calm {
  readonly answer: string;
  /** Calls of bodies, attempts counted. */
  readonly bodies: number;
  /** How long it takes from the first line on the screen to the end. */
  readonly ms: number;
}

export async function killDemo({ kills, seed, progress }: KillOptions): Promise<KillReport> {
  const random = seeded(seed);
  const calm = await calmRun();
  let report: KillReport = { kills: 0, lives: 0, runs: 0, reused: 0, repeated: 0 };
  while (report.kills < kills) {
    const before = report;
    const one = await oneRun(calm, random, kills - before.kills);
    report = {
      kills: before.kills + one.kills,
      lives: before.lives + one.lives,
      runs: before.runs + 1,
      reused: before.reused + one.reused,
      repeated: before.repeated + one.repeated,
    };
    progress?.(report);
  }
  return report;
}

async function calmRun(): Promise<Calm> {
  const place = new Place("agent-loop");
  try {
    const demo = new DemoProcess(place);
    await demo.printed("press Ctrl-C");
    const startedAt = performance.now();
    const { code, out, err } = await demo.ended;
    if (code !== 0) throw new Error(`The calm run ended with ${code}: ${out}${err}`);
    const bodies = begun(place.effects()).length;
    return { answer: await answerIn(place), bodies, ms: performance.now() - startedAt };
  } finally {
    place.remove();
  }
}

/** One run from its start to its end, through as many deaths as come its way. */
async function oneRun(calm: Calm, random: Random, most: number): Promise<Omit<KillReport, "runs">> {
  const place = new Place("agent-loop");
  const restarts: Restart[] = [];
  let kills = 0;
  try {
    for (;;) {
      const entries = await place.entries();
      const recorded = entries.flatMap((entry) => (entry.kind === "step.completed" ? entry.key : []));
      restarts.push({ recorded: new Set(recorded), lines: place.effects().length });
      const demo = new DemoProcess(place);
      // The last one comes when something is recorded, so that there is something to reuse.
      if (kills < most) await killSometime(demo, calm.ms, random, kills === most - 1);
      const { code, signal, out, err } = await demo.ended;
      if (signal === "SIGKILL") kills += 1;
      else if (code === 0) break;
      else throw new Error(`The demo ended with ${code}: ${out}${err}`);
    }
    const effects = place.effects();
    const answer = await answerIn(place);
    if (answer !== calm.answer) throw new Error(`K1: the answer is ${answer}, and was ${calm.answer}`);
    checkEffects(effects, restarts);
    const repeated = begun(effects).length - calm.bodies;
    if (repeated < 0 || repeated > 2 * kills)
      throw new Error(`K4: ${repeated} bodies repeated by ${kills} kills`);
    const reused = restarts.reduce((sum, restart) => sum + restart.recorded.size, 0);
    return { kills, lives: restarts.length, reused, repeated };
  } finally {
    place.remove();
  }
}

/** Mostly while it works, now and then while it starts. It may be done before. */
async function killSometime(demo: DemoProcess, ms: number, random: Random, late: boolean): Promise<void> {
  const early = random.chance(0.15) && !late;
  const wait = random.next() * (early ? 300 : ms);
  if (!early) await demo.printed(late ? "  ran      " : "press Ctrl-C");
  await Promise.race([delay(wait), demo.ended]);
  demo.signal("SIGKILL");
}

async function answerIn(place: Place): Promise<string> {
  const end = (await place.entries()).find(({ kind }) => kind === "run.completed");
  return JSON.stringify(end?.kind === "run.completed" ? end.output : null);
}
