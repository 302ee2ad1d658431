/**
 * What a step on SQLite consists of, and why the parts cost more together than alone. All cases take turns in one process, and
 * the median of the rounds is shown.
 *
 * - bare         a loop that commits a journal row and a head row: the floor.
 * - engine       steps on memory storage.
 * - engine + x   steps on memory storage, where the workflow itself does x after each: computes, sleeps, syncs a file, or
 *                commits like the bare loop. Whatever the engine takes beyond x alone is in the last column.
 * - durable      steps on SqliteStorage.
 *
 * On a tmpfs the disk has no say; elsewhere each commit waits for it. What is not measured: the body of a step.
 *
 * --syncs 0.1,1,5  instead: the bare loop and durable steps on a tmpfs whose syncs take so many milliseconds, since the ratio
 *                  of the two says more of a disk than of either. `strace` delays the syncs, so Linux only (`apt-get install strace`).
 * --only <names>   some cases, with commas between them
 * --steps <n>      steps per case and round
 */

import { spawnSync } from "node:child_process";
import { closeSync, existsSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { durable, MemoryStorage, type Storage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";

const { values } = parseArgs({
  options: {
    syncs: { type: "string" },
    only: { type: "string" },
    steps: { type: "string", default: "4000" },
  },
});
if (values.syncs !== undefined) process.exit(delayed(values.syncs.split(",").map(Number)));

const steps = Number(values.steps);
const rounds = 7;
const disk = mkdtempSync(join(tmpdir(), "durable-bench-"));
const memory = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "durable-bench-"));

/** Microseconds per step: on the clock, and of processor time. */
interface Cost {
  readonly wall: number;
  readonly cpu: number;
}

/** Something that a case does once per step, and what to close afterwards. */
interface Deed {
  readonly act: (i: number) => void;
  readonly close?: () => void;
}

/** This file again, below a tracer that lets each sync of a file take so many milliseconds longer. */
function delayed(delays: readonly number[]): number {
  const only = ["--only", "commits to a tmpfs,durable on a tmpfs", "--steps", "500"];
  for (const ms of delays) {
    console.log(`\nA disk that syncs in ${ms} ms`);
    const syncs = "fsync,fdatasync";
    const tracer = ["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", `trace=${syncs}`, "-e"];
    const node = [process.execPath, ...process.execArgv, import.meta.filename, ...only];
    const inject = `inject=${syncs}:delay_exit=${Math.round(ms * 1_000)}`;
    const { status, error } = spawnSync("strace", [...tracer, inject, ...node], { stdio: "inherit" });
    if (error !== undefined) console.error("strace could not be started: apt-get install strace");
    if (status !== 0) return 1;
  }
  return 0;
}

let made = 0;
const fresh = (folder: string): string => join(folder, `${++made}.db`);

async function timed(work: () => Promise<unknown> | void): Promise<Cost> {
  const [start, used] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(used);
  return { wall: ((performance.now() - start) * 1_000) / steps, cpu: (user + system) / steps };
}

async function alone({ act, close }: Deed): Promise<Cost> {
  const cost = await timed(() => {
    for (let i = 0; i < steps; i++) act(i);
  });
  close?.();
  return cost;
}

async function engine(storage: Storage, { act, close }: Deed): Promise<Cost> {
  const flow = durable(
    "bench",
    async (ctx) => {
      for (let i = 0; i < steps; i++) {
        await ctx.step("step", async () => i);
        act(i);
      }
    },
    { storage },
  );
  const cost = await timed(() => flow.run(undefined, { id: `run-${++made}` }));
  await storage.close?.();
  close?.();
  return cost;
}

const nothing: Deed = { act: () => {} };

function computes(): Deed {
  return {
    act: () => {
      const until = performance.now() + 0.09;
      while (performance.now() < until);
    },
  };
}

function sleeps(): Deed {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  return { act: () => void Atomics.wait(cell, 0, 0, 0.04) };
}

function syncs(): Deed {
  const file = openSync(fresh(disk), "w");
  const page = Buffer.alloc(4_096);
  return {
    act: () => {
      writeSync(file, page, 0, page.length, 0);
      fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
}

function commits(folder: string): Deed {
  const database = new DatabaseSync(fresh(folder));
  database.exec(`PRAGMA journal_mode = wal; PRAGMA synchronous = FULL;
    CREATE TABLE heads (run TEXT PRIMARY KEY, length INTEGER NOT NULL) STRICT;
    CREATE TABLE journal (run TEXT, position INTEGER, body TEXT NOT NULL, PRIMARY KEY (run, position)) STRICT, WITHOUT ROWID;
    INSERT INTO heads (run, length) VALUES ('run', 0)`);
  const head = database.prepare("UPDATE heads SET length = ? WHERE run = 'run'");
  const insert = database.prepare("INSERT INTO journal (run, position, body) VALUES ('run', ?, ?)");
  const body = "x".repeat(60);
  return {
    act: (i) => {
      database.exec("BEGIN IMMEDIATE");
      head.run(i + 1);
      insert.run(i, body);
      database.exec("COMMIT");
    },
    close: () => database.close(),
  };
}

const deeds = {
  computes,
  sleeps,
  syncs,
  "commits to a tmpfs": () => commits(memory),
  "commits to a disk": () => commits(disk),
};

const cases: Record<string, () => Promise<Cost>> = {
  engine: () => engine(new MemoryStorage(), nothing),
  ...Object.fromEntries(
    Object.entries(deeds).flatMap(([name, deed]) => [
      [name, () => alone(deed())],
      [`engine + ${name}`, () => engine(new MemoryStorage(), deed())],
    ]),
  ),
  "durable on a tmpfs": () => engine(new SqliteStorage(fresh(memory)), nothing),
  "durable on a disk": () => engine(new SqliteStorage(fresh(disk)), nothing),
};

const chosen = Object.entries(cases).filter(([name]) => values.only?.split(",").includes(name) ?? true);
const found = new Map<string, Cost[]>(chosen.map(([name]) => [name, []]));
for (let round = 0; round <= rounds; round++) {
  for (const [name, run] of chosen) {
    const cost = await run();
    // The first round compiles the code.
    if (round > 0) found.get(name)?.push(cost);
  }
}
rmSync(disk, { recursive: true, force: true });
rmSync(memory, { recursive: true, force: true });

const median = (name: string, of: keyof Cost): number =>
  (found.get(name) ?? []).map((cost) => cost[of]).toSorted((a, b) => a - b)[rounds >> 1] ?? 0;

console.log(`Microseconds per step, median of ${rounds} rounds of ${steps} steps\n`);
console.log(
  `${"".padEnd(30)}${"clock".padStart(8)}${"cpu".padStart(8)}${"beyond".padStart(9)}${"ratio".padStart(8)}`,
);
for (const name of found.keys()) {
  const base = name.startsWith("engine + ")
    ? name.slice("engine + ".length)
    : name.replace("durable on", "commits to");
  const [wall, floor] = [median(name, "wall"), median(base, "wall")];
  const columns = [wall.toFixed(1), median(name, "cpu").toFixed(1)];
  if (base !== name) columns.push((wall - floor).toFixed(1), (floor / wall).toFixed(2));
  console.log(`${name.padEnd(30)}${columns.map((text, i) => text.padStart(i === 2 ? 9 : 8)).join("")}`);
}
