/**
 * H11 for whole workflows: processes that drive the same runs on one file are killed at random moments, three at a
 * time, until all runs and their forks are over. What came of them must be what MemoryStorage gives in calm.
 */

import { virtualWorld } from "@durable/testing";
import { MemoryStorage, type Storage } from "../../../../src/index.ts";
import { isSettlement } from "../../../../src/journal/kinds.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import { Child, killChildren } from "../../../support/child-process.ts";
import { appOf, driveAll } from "./drive.ts";
import { doubled, keptIn, Ledger } from "./ledger.ts";
import { planFlow, plannedRuns, type Planned } from "./plans.ts";
import { seeded } from "./samples.ts";
import { tempFolder } from "../../../support/sqlite-temp.ts";

export interface LivesReport {
  kills: number;
  /** Runs and forks that came to their end. */
  runs: number;
  acknowledged: number;
  /** These must be 0: acknowledged and missing, recorded twice, run again though recorded, ended otherwise. */
  lost: number;
  doubled: number;
  rerun: number;
  different: number;
  readonly faults: string[];
}

export interface LivesOptions {
  readonly kills: number;
  readonly seed: number;
  readonly progress?: (report: Readonly<LivesReport>) => void;
}

const runsPerFile = 6;
const lanes = 3;
const linesPerLife = 400;

export async function killDrivers({ kills, seed, progress }: LivesOptions): Promise<Readonly<LivesReport>> {
  const sums = { kills: 0, runs: 0, acknowledged: 0, lost: 0, doubled: 0, rerun: 0, different: 0 };
  const report: LivesReport = { ...sums, faults: [] };
  const random = seeded(seed);
  for (let file = 0; report.kills < kills; file++) {
    const life = new FileLife(seed * 100_003 + file, random, report);
    try {
      await life.live(kills, () => progress?.(report));
    } finally {
      await killChildren();
      life.remove();
    }
  }
  return report;
}

/** One file, from its first driver to the end of its last run. */
class FileLife {
  readonly #temp = tempFolder();
  readonly #ledger = new Ledger();
  readonly #seed: number;
  readonly #random: () => number;
  readonly #report: LivesReport;

  constructor(seed: number, random: () => number, report: LivesReport) {
    this.#seed = seed;
    this.#random = random;
    this.#report = report;
  }

  remove(): void {
    this.#temp.remove();
  }

  async live(kills: number, tell: () => void): Promise<void> {
    const report = this.#report;
    for (let over = false; !over && report.kills < kills;) {
      const round = Array.from({ length: Math.min(lanes, kills - report.kills) }, (_, n) => this.#driver(n));
      over = (await Promise.all(round)).includes("over");
      this.#ledger.roundIsOver();
      this.#check();
      tell();
    }
    // Whatever is left is driven to its end by one that nobody kills.
    this.#ledger.hear(await this.#child("run").done());
    this.#check();
    report.acknowledged += this.#ledger.acknowledged;
    report.rerun += this.#ledger.rerun;
    await this.#compare();
    tell();
  }

  #child(how: "run" | "work"): Child {
    const args = [this.#temp.path, String(this.#seed), String(runsPerFile), how];
    return new Child("sqlite-child-driver.ts", args);
  }

  /** One life. Now and then it does not live to open the file; now and then it lives to see the end of all runs. */
  async #driver(lane: number): Promise<"killed" | "over"> {
    const [early, when] = [this.#random() < 0.15, this.#random()];
    const child = this.#child(lane % 2 === 0 ? "run" : "work");
    // Counted in what it says: on a slow machine it gets as far as on a fast one, and dies no sooner.
    if (!early) await child.line("", Math.floor(when ** 2 * linesPerLife)).catch(() => "it is over");
    await new Promise((resolve) => setTimeout(resolve, early ? when * 250 : this.#random() * 5));
    await child.kill();
    const { signal, code } = await child.exit;
    if (signal !== "SIGKILL" && code !== 0) throw new Error(`The driver ended by itself: ${child.said}`);
    this.#ledger.hear(child.lines);
    if (signal === "SIGKILL") this.#report.kills += 1;
    return child.lines.includes("over") ? "over" : "killed";
  }

  #check(): void {
    const kept = keptIn(this.#temp.path);
    const [lost, twice] = [this.#ledger.lost(kept), doubled(kept)];
    this.#report.lost += lost.length;
    this.#report.doubled += twice.length;
    this.#blame([...lost.map((what) => `lost: ${what}`), ...twice.map((what) => `doubled: ${what}`)]);
  }

  /** Same output and same settled keys as without any death, on the reference storage. */
  async #compare(): Promise<void> {
    const planned = plannedRuns(this.#seed, runsPerFile);
    const storage = new SqliteStorage(this.#temp.path);
    const [found, expected] = [await endsOf(storage, planned), await calmEnds(planned)];
    await storage.close();
    for (const [runId, end] of expected) {
      this.#report.runs += 1;
      if (found.get(runId) === end) continue;
      this.#report.different += 1;
      this.#blame([`different: ${runId} ended with ${found.get(runId)}, expected ${end}`]);
    }
  }

  #blame(faults: readonly string[]): void {
    const { faults: all } = this.#report;
    all.push(...faults.slice(0, 10 - all.length).map((fault) => `${fault} (file seed ${this.#seed})`));
  }
}

async function calmEnds(planned: readonly Planned[]): Promise<Map<string, string>> {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const host = { storage, world, secret: "a secret for tests, of no worth" };
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void world.timer(ms, resolve));
  const flow = planFlow({ pause }, host);
  await world.run(driveAll(planned, { flow, app: appOf(flow, host), pause }));
  return endsOf(storage, planned);
}

/** By run: its outcome, and every key that was settled, once for each record. */
async function endsOf(storage: Storage, planned: readonly Planned[]): Promise<Map<string, string>> {
  const flow = planFlow({}, { storage, secret: "a secret to read with" });
  const ends = new Map<string, string>();
  for (const runId of planned.flatMap(({ id, fork }) => [id, fork.id])) {
    const outcome = await flow.get(runId).outcome();
    const entries = await flow.get(runId).entries();
    const keys = entries.flatMap((entry) =>
      isSettlement(entry as never) && "key" in entry ? [entry.key] : [],
    );
    ends.set(runId, JSON.stringify({ ...outcome, keys: keys.toSorted() }));
  }
  return ends;
}
