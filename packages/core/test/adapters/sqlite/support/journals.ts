/**
 * The same workflows in the same virtual world, once on MemoryStorage and once on SqliteStorage: every request that
 * reaches the storage, and every reply, must be the same byte for byte, one after the other.
 */

import { virtualWorld, type VirtualWorld } from "@durable/testing";
import { MemoryStorage, type Storage } from "../../../../src/index.ts";
import type { HostOptions } from "../../../../src/types.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import { appOf, driveAll } from "./drive.ts";
import { planFlow, plannedRuns } from "./plans.ts";
import { memoryFolder, tempFolder } from "../../../support/sqlite-temp.ts";

/** Drives something to its end. */
export type Play = (host: HostOptions & { readonly world: VirtualWorld }) => Promise<unknown>;

export interface Played {
  /** What was asked of the storage and what it said, in order. */
  readonly log: readonly string[];
  readonly output: string;
  /** By run, its journal as it lies there at the end. */
  readonly journals: Readonly<Record<string, readonly string[]>>;
}

const secret = "a secret for tests, of no worth";

/** An empty storage, and what virtual time waits for (see `virtualWorld`). */
export type OpenHeld = (
  now: () => number,
) => Promise<{ readonly storage: Storage; readonly hold: () => Promise<boolean> }>;

/** `open` opens another storage in the place of SQLite. */
export async function onBoth(
  seed: number,
  play: Play,
  open?: OpenHeld,
): Promise<{ memory: Played; sqlite: Played }> {
  const temp = tempFolder(memoryFolder);
  const hold = (): Promise<boolean> => Promise.resolve(false);
  const openFile: OpenHeld = (now) =>
    Promise.resolve({ storage: new SqliteStorage({ path: temp.path, now }), hold });
  try {
    const memory = await played(seed, play, (now) =>
      Promise.resolve({ storage: new MemoryStorage({ now }), hold }),
    );
    const sqlite = await played(seed, play, open ?? openFile);
    return { memory, sqlite };
  } finally {
    temp.remove();
  }
}

async function played(seed: number, play: Play, open: OpenHeld): Promise<Played> {
  const held = { hold: (): Promise<boolean> => Promise.resolve(false) };
  const world = virtualWorld({ seed, hold: () => held.hold() });
  const { storage, hold } = await open(() => world.now());
  held.hold = hold;
  const log: string[] = [];
  try {
    const host = { storage: told(storage, world, log), world, secret, patience: "1h" } as const;
    const output = JSON.stringify(await world.run(play(host)));
    const { runs } = await storage.list();
    const journals: Record<string, readonly string[]> = {};
    for (const { runId, locator } of runs) journals[runId] = (await storage.read(locator)).batches;
    return { log, output, journals };
  } finally {
    await storage.close?.();
  }
}

/** Every call takes a millisecond of virtual time, so that how fast a storage really is has no say. */
function told(storage: Storage, world: VirtualWorld, log: string[]): Storage {
  const tell = async <T>(what: string, asked: unknown, call: Promise<T>): Promise<T> => {
    const line = log.push(`${what} ${JSON.stringify(asked)}`) - 1;
    const tellAnswer = (said: string): void => void (log[line] += ` -> ${said}`);
    call.then(
      (value) => tellAnswer(JSON.stringify(sorted(value), withoutDriver) ?? "done"),
      (error: Error) => tellAnswer(error.message),
    );
    await new Promise<void>((resolve) => void world.timer(1, resolve));
    return call;
  };
  const readChapter = storage.readChapter?.bind(storage);
  const dropChapters = storage.dropChapters?.bind(storage);
  const note = storage.note?.bind(storage);
  return {
    append: (request) => tell("append", request, storage.append(request)),
    read: (locator, from) => tell("read", [locator, from], storage.read(locator, from)),
    list: (query) => tell("list", query, storage.list(query)),
    lease: (...asked) => tell("lease", asked, storage.lease(...asked)),
    release: (...asked) => tell("release", asked, storage.release(...asked)),
    delete: (locator) => tell("delete", locator, storage.delete(locator)),
    ...(readChapter && { readChapter: (locator) => tell("readChapter", locator, readChapter(locator)) }),
    ...(dropChapters && { dropChapters: (...asked) => tell("dropChapters", asked, dropChapters(...asked)) }),
    ...(note && { note: (...asked) => tell("note", asked, note(...asked)) }),
  };
}

/** A read and a lease that are made at the same time may be done in either order. */
function withoutDriver(name: string, value: unknown): unknown {
  return name === "driven" ? undefined : value;
}

/** Planned runs and their forks, all at once. */
export function playPlans(seed: number, count: number): Play {
  return async (host) => {
    const pause = (ms: number): Promise<void> => new Promise((resolve) => void host.world.timer(ms, resolve));
    const flow = planFlow({ pause }, host);
    const planned = plannedRuns(seed, count);
    await driveAll(planned, { flow, app: appOf(flow, host), pause });
    return Promise.all(planned.map(({ fork }) => flow.get(fork.id).outcome()));
  };
}

/** Where two logs part, in words; null when they are the same. */
export function firstDifference({ memory, sqlite }: { memory: Played; sqlite: Played }): string | null {
  const at = memory.log.findIndex((line, n) => line !== sqlite.log[n]);
  if (at !== -1) return `Call ${at}: expected ${memory.log[at]}, found ${sqlite.log[at]}`;
  if (memory.log.length !== sqlite.log.length)
    return `Call ${memory.log.length}: ${sqlite.log[memory.log.length]}`;
  const [expected, found] = [memory, sqlite].map(({ output, journals }) =>
    JSON.stringify([output, journals]),
  );
  return expected === found ? null : `Ended with ${found}, expected ${expected}`;
}

export interface JournalsReport {
  readonly worlds: number;
  readonly calls: number;
}

/** So many worlds; throws with the seed of the first in which the storages part. */
export async function compareJournals(options: {
  readonly worlds: number;
  readonly seed: number;
  readonly progress?: (report: JournalsReport) => void;
  readonly open?: OpenHeld;
}): Promise<JournalsReport> {
  const report = { worlds: 0, calls: 0 };
  while (report.worlds < options.worlds) {
    const seed = options.seed + report.worlds;
    const both = await onBoth(seed, playPlans(seed, 2), options.open);
    const difference = firstDifference(both);
    if (difference !== null) throw new Error(`World of seed ${seed}: ${difference}`);
    report.worlds += 1;
    report.calls += both.memory.log.length;
    options.progress?.({ ...report });
  }
  return report;
}

/** The order of fields is no part of an answer. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]));
}
