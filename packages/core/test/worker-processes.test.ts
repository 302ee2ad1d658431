import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, it, onTestFinished } from "vitest";
import { createWorker, type App, type WorkerOptions } from "../src/index.ts";
import type { Entry } from "../src/types.ts";
import { systemWorld } from "../src/storage.ts";
import { SqliteStorage } from "../src/adapters/sqlite/index.ts";
import { memoryFolder, tempFolder, type TempFolder } from "./support/sqlite-temp.ts";
import { effectsIn, jobSteps, workerApp, type Effect } from "./support/worker-flows.ts";
import { WorkerProcess } from "./support/worker-process.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

const full = inject("full");
const forever = 3_600_000;
const leaseMs = 30_000;
let temp: TempFolder;
let storage: SqliteStorage;
let app: App;

beforeEach(() => {
  // Processes are killed here, and no machine loses its power.
  temp = tempFolder(full ? undefined : memoryFolder);
  storage = new SqliteStorage(temp.path);
  app = workerApp(storage, { worker: "test", effects: effectsFile() });
});
afterEach(async () => {
  await storage.close();
  temp.remove();
});

const effectsFile = (): string => join(temp.folder, "effects");
const effects = (): Effect[] => effectsIn(effectsFile());
const named = ({ run, step }: Effect): string => `${run} ${step}`;
const allSteps = (ids: readonly string[]): string[] =>
  ids.flatMap((id) => jobSteps.map((step) => `${id} ${step}`));

function start(worker: string, longMs: number, options: Omit<WorkerOptions, "onStop">): WorkerProcess {
  return new WorkerProcess(temp.path, { worker, effects: effectsFile(), longMs }, options);
}

/** Who comes after a process that died: another process, or in the sample this one, which costs less to start. */
function startNext(worker: string, longMs: number, options: Omit<WorkerOptions, "onStop">): Next {
  if (full) return start(worker, longMs, options);
  const stopped: string[] = [];
  const complaints: string[] = [];
  let tell = (): void => {};
  const next = createWorker(workerApp(storage, { worker, effects: effectsFile(), longMs }), {
    ...options,
    onStop: ({ status }) => {
      stopped.push(status);
      tell();
    },
    logger: { debug() {}, info() {}, warn: (line) => void complaints.push(line), error() {} },
  });
  onTestFinished(() => next.stop());
  return {
    complaints,
    stops: (status) => stopped.filter((each) => each === status).length,
    until: async (enough) => {
      while (!enough()) await new Promise<void>((resolve) => (tell = resolve));
    },
  };
}

type Next = Pick<WorkerProcess, "complaints" | "stops" | "until">;

async function recordAll(ids: readonly string[], workflow = "job"): Promise<void> {
  await Promise.all(ids.map((id) => record({ storage, world: systemWorld }, id, { workflow })));
}

async function until(enough: () => boolean): Promise<void> {
  while (!enough()) await new Promise((resolve) => setTimeout(resolve, 20));
}

const inLong = (): number =>
  existsSync(effectsFile()) ? readFileSync(effectsFile(), "utf8").split('"step":"long"').length - 1 : 0;

async function entriesOf(ids: readonly string[]): Promise<(Entry & { readonly run: string })[]> {
  const journals = ids.map(async (id) =>
    (await app.get(id).entries()).map((entry) => ({ ...entry, run: id })),
  );
  return (await Promise.all(journals)).flat();
}

/** `run step` of every outcome of a step in the journals. */
async function recorded(ids: readonly string[]): Promise<string[]> {
  return (await entriesOf(ids)).flatMap((entry) =>
    entry.kind === "step.completed" ? [`${entry.run} ${entry.key}`] : [],
  );
}

const flight = full ? 100 : 30;
describe(`a worker that is killed with ${flight} runs in flight`, () => {
  it("is followed by another at once; nothing recorded runs again, no attempt is burnt (H59)", async () => {
    const ids = numbered("r", flight);
    await recordAll(ids);
    const first = start("first", forever, { concurrency: 100 });
    await until(() => inLong() === ids.length);
    await first.kill();
    const killedAt = Date.now();
    const kept = await recorded(ids);
    expect(kept.toSorted(), "all are in the long step").toEqual(
      allSteps(ids)
        .filter((step) => /fetch|think/.test(step))
        .toSorted(),
    );

    const second = startNext("second", 10, { concurrency: 100 });
    await second.until(() => second.stops("completed") === ids.length);
    expect(await statuses(storage)).toEqual({ completed: ids.length });
    const again = effects().filter(({ worker }) => worker === "second");
    expect(again.map(named).toSorted(), "what was not recorded, each once").toEqual(
      allSteps(ids)
        .filter((step) => !kept.includes(step))
        .toSorted(),
    );
    expect(new Set(effects().map(({ key }) => key)).size, "one idempotency key for each step").toBe(
      allSteps(ids).length,
    );
    expect(again.every(({ attempt }) => attempt === 1)).toBe(true);
    const entries = await entriesOf(ids);
    expect(entries.filter(({ kind }) => kind === "attempt.failed" || kind === "step.failed")).toEqual([]);
    const waited = entries.filter(({ at }) => at >= killedAt + leaseMs);
    expect(waited, "no run waited for the leases of dead workers to expire").toEqual([]);
    expect(second.complaints).toEqual([]);
  });

  it("a peer that is already there takes them over too", async () => {
    const ids = numbered("r", full ? 20 : 8);
    await recordAll(ids);
    const first = start("first", forever, { concurrency: 20 });
    await until(() => inLong() === ids.length);
    const peer = start("peer", 10, { concurrency: 20, interval: 10 });
    await peer.until(() => peer.lines.includes("up"));
    // Time to look many times.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(peer.stops("completed"), "while the first lives, they are its own").toBe(0);
    await first.kill();
    const killedAt = Date.now();
    await peer.until(() => peer.stops("completed") === ids.length);
    const waited = (await entriesOf(ids)).filter(({ at }) => at >= killedAt + leaseMs);
    expect(waited).toEqual([]);
  });
});

describe("SIGTERM (H61)", () => {
  it("ends the process well; nothing is lost, no attempt burnt, another goes on", async () => {
    const concurrency = full ? 20 : 5;
    const ids = numbered("r", 2 * concurrency);
    await recordAll(ids);
    const first = start("first", 300, { concurrency });
    await until(() => inLong() >= concurrency);
    first.signal("SIGTERM");
    expect(await first.exit).toEqual({ code: 0, signal: null });
    expect(first.complaints).toEqual([]);
    const begun = effects().map(named).toSorted();
    expect((await recorded(ids)).toSorted(), "every body that was begun is recorded").toEqual(begun);
    expect(begun.length).toBeLessThan(allSteps(ids).length);
    expect((await app.list({ dueAt: Date.now(), limit: 100 })).runs.length, "and due at once").toBe(
      ids.length - first.stops("completed"),
    );

    const second = start("second", 10, { concurrency });
    await second.until(() => first.stops("completed") + second.stops("completed") === ids.length);
    expect(effects().map(named).toSorted(), "every body ran once").toEqual(allSteps(ids).toSorted());
    expect(effects().every(({ attempt }) => attempt === 1)).toBe(true);
    second.signal("SIGTERM");
    expect(await second.exit, "with nothing to do it ends at once").toEqual({ code: 0, signal: null });
  });

  it("and then SIGKILL, because a step ran on: the step runs again elsewhere, as its first attempt", async () => {
    const ids = numbered("r", 5);
    await recordAll(ids);
    const first = start("first", forever, { drain: 50 });
    await until(() => inLong() === ids.length);
    first.signal("SIGTERM");
    await first.until(() => first.complaints.some((line) => line.includes("under way")));
    await first.kill();
    const second = startNext("second", 10, {});
    await second.until(() => second.stops("completed") === ids.length);
    const again = effects().filter(({ worker, step }) => worker === "second" && step === "long");
    expect(again.map(({ attempt }) => attempt)).toEqual(ids.map(() => 1));
  });
});

describe("a run whose body ends the process (H58)", () => {
  it("is left alone after a few starts, with the reason; those driven beside it finish", async () => {
    await recordAll(["bad"], "deadly");
    const neighbours = numbered("r", 6);
    await recordAll(neighbours);
    // Three starts beside others, then two alone; in the sample one of each. A look at it counts nothing.
    const maxStarts = full ? 5 : 2;
    const exits: (number | null)[] = [];
    for (let life = 0; life < maxStarts; life++)
      exits.push((await start(`life ${life}`, 1, { maxStarts }).exit).code);
    expect(exits).toEqual(exits.map(() => 1));
    expect(effects().filter(({ run }) => run === "bad")).toHaveLength(maxStarts);

    const last = startNext("last", 1, { maxStarts });
    await last.until(() => last.stops("blocked") === 1);
    while ((await statuses(storage))["completed"] !== neighbours.length)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(last.complaints).toEqual([expect.stringMatching(/run bad .* times without progress/)]);
    expect(
      effects().filter(({ run }) => run === "bad"),
      "its body was not begun again",
    ).toHaveLength(maxStarts);
    expect(await statuses(storage)).toEqual({ completed: neighbours.length, blocked: 1 });
    expect((await entriesOf(["bad"])).map(({ kind }) => kind)).toEqual(["run.started"]);
  });

  const lives = full ? 20 : 3;
  it(`${lives} workers lost in one long step whose limit is 3 attempts: it ends well (H59)`, async () => {
    await recordAll(["r"]);
    for (let life = 1; life <= lives; life++) {
      const worker = start(`life ${life}`, forever, {});
      await until(() => inLong() === life);
      await worker.kill();
    }
    const last = startNext("last", 1, {});
    await last.until(() => last.stops("completed") === 1);
    expect(
      effects()
        .filter(({ step }) => step === "long")
        .map(({ attempt }) => attempt),
    ).toEqual(Array.from({ length: lives + 1 }, () => 1));
    expect((await entriesOf(["r"])).filter(({ kind }) => kind === "attempt.failed")).toEqual([]);
  });
});
