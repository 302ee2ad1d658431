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
 */

import { closeSync, existsSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { durable, MemoryStorage, type Storage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";

const steps = 4_000;
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

const found = new Map<string, Cost[]>(Object.keys(cases).map((name) => [name, []]));
for (let round = 0; round <= rounds; round++) {
  for (const [name, run] of Object.entries(cases)) {
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
console.log(`${"".padEnd(30)}${"clock".padStart(8)}${"cpu".padStart(8)}${"beyond".padStart(9)}`);
for (const name of found.keys()) {
  const base = name.startsWith("engine + ")
    ? name.slice("engine + ".length)
    : name.replace("durable on", "commits to");
  const beyond = base === name ? "" : (median(name, "wall") - median(base, "wall")).toFixed(1);
  const columns = [median(name, "wall").toFixed(1), median(name, "cpu").toFixed(1)];
  console.log(`${name.padEnd(30)}${columns.map((text) => text.padStart(8)).join("")}${beyond.padStart(9)}`);
}
