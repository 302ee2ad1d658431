import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemWorld, type App, type Entry } from "../src/index.ts";
import { SqliteStorage } from "../src/sqlite/index.ts";
import { tempFolder, type TempFolder } from "./support/sqlite-temp.ts";
import { effectsIn, jobSteps, workerApp, type Effect } from "./support/worker-flows.ts";
import { WorkerProcess, type Place } from "./support/worker-process.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

let temp: TempFolder;
let storage: SqliteStorage;
let place: Place;
let app: App;

beforeEach(() => {
  temp = tempFolder();
  storage = new SqliteStorage(temp.path);
  place = { path: temp.path, effects: join(temp.folder, "effects") };
  app = workerApp(storage, "test", place.effects);
});
afterEach(async () => {
  await storage.close();
  temp.remove();
});

async function recordAll(ids: readonly string[], workflow: string, input: unknown = null): Promise<void> {
  await Promise.all(ids.map((id) => record({ storage, world: systemWorld }, id, { workflow, input })));
}

/** `run step` of every outcome of a step in the journals. */
async function recordedSteps(ids: readonly string[]): Promise<string[]> {
  const journals = await Promise.all(ids.map(async (id) => ({ id, entries: await app.get(id).entries() })));
  return journals.flatMap(({ id, entries }) =>
    entries.flatMap((entry) => (entry.kind === "step.completed" ? [`${id} ${entry.key}`] : [])),
  );
}

async function entriesOf(ids: readonly string[]): Promise<Entry[]> {
  return (await Promise.all(ids.map((id) => app.get(id).entries()))).flat();
}

const named = ({ run, step }: Effect): string => `${run} ${step}`;

describe("a worker that is killed with 100 runs in flight", () => {
  it("is followed at once by another: all end, nothing recorded runs again, no attempt is burnt (H59)", async () => {
    const ids = numbered("r", 100);
    await recordAll(ids, "job", { longMs: 600 });
    const first = new WorkerProcess("first", place, { concurrency: 100 });
    const inLong = (): number => effectsIn(place.effects).filter(({ step }) => step === "long").length;
    await first.until(() => first.lines.includes("up"));
    while (first.stops("completed") === 0 && (first.lines.length < 1 || safely(inLong) < ids.length))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await first.kill();
    const killedAt = Date.now();
    const kept = await recordedSteps(ids);
    const lost = effectsIn(place.effects).map(named);
    const open = ids.length - ((await statuses(storage))["completed"] ?? 0);
    expect(open, "it was killed in the middle of things").toBe(ids.length);

    const second = new WorkerProcess("second", place, { concurrency: 100 });
    await second.until(() => second.stops("completed") === open);
    expect(await statuses(storage)).toEqual({ completed: ids.length });

    const again = effectsIn(place.effects).filter(({ worker }) => worker === "second");
    expect(
      again.map(named).filter((step) => kept.includes(step)),
      "recorded steps",
    ).toEqual([]);
    expect(again.map(named).toSorted(), "each of the others once").toEqual(
      ids
        .flatMap((id) => jobSteps.map((step) => `${id} ${step}`))
        .filter((step) => !kept.includes(step))
        .toSorted(),
    );
    const twice = again.filter((effect) => lost.includes(named(effect)));
    expect(twice.length, "what was cut off ran again").toBe(ids.length);
    const keys = new Map(effectsIn(place.effects).map((effect) => [named(effect), effect.key]));
    expect(effectsIn(place.effects).every((effect) => keys.get(named(effect)) === effect.key)).toBe(true);

    const entries = await entriesOf(ids);
    expect(entries.filter(({ kind }) => kind === "attempt.failed")).toEqual([]);
    expect(again.every(({ attempt }) => attempt === 1)).toBe(true);
    // Leases of the first lasted 30 s from its last append on: nobody waited for one.
    const firstAgain =
      ids.length -
      entries.filter(({ kind, at }) => kind === "step.completed" && at < killedAt + 30_000 && at > killedAt)
        .length /
        2;
    expect(firstAgain, "long and write of every run").toBeLessThanOrEqual(0);
    expect(second.complaints).toEqual([]);
  });
});

function safely(count: () => number): number {
  try {
    return count();
  } catch {
    return 0;
  }
}
