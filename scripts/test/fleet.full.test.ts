/** The long tests of fleets in small, with real processes on real databases. */
import { describe, expect, onTestFinished, test } from "vitest";
import { attackFleet } from "../fleet/chaos.ts";
import { FleetWorker, inLanes, pause } from "../fleet/children.ts";
import { fleetApp, versionFlows } from "../fleet/flows.ts";
import { openStorage, placeOf, type Place } from "../fleet/storage.ts";
import { wakeSome } from "../fleet/waiting.ts";

async function placed(kind: string): Promise<Place> {
  const place = await placeOf(kind);
  onTestFinished(() => place.close());
  return place;
}

describe.each(["sqlite", "postgres"])("a fleet on %s", (kind) => {
  test("nothing is lost or doubled while workers are killed", { timeout: 600_000 }, async () => {
    const place = await placed(kind);
    const report = await attackFleet(place, {
      workers: 4,
      runs: 120,
      attackMs: 12_000,
      killEveryMs: 1_500,
      restartEveryMs: 5_000,
      healMs: 240_000,
      stepMs: 2,
    });
    expect(report).toMatchObject({ runs: 120, completed: 120, lost: [], doubled: [], changed: [] });
    expect(report.kills).toBeGreaterThan(2);
    expect(report.restarts > 0).toBe(kind === "postgres");
  });

  test("runs that wait cost a worker no memory", { timeout: 600_000 }, async () => {
    const report = await wakeSome(await placed(kind), { runs: 2_000, burst: 200, single: 10 });
    expect(report).toMatchObject({ created: 2_000, woken: 210, stillWaiting: 1_790, exitCodes: [0, 0] });
    const perRun = ((report.heap.after - report.heap.before) * 1_024) / 210;
    expect(perRun, "bytes of heap for each run that was woken").toBeLessThan(50_000);
  });

  test("two versions of the code: no run fails, unknown workflows wait", { timeout: 300_000 }, async () => {
    const place = await placed(kind);
    const storage = await openStorage(place.url);
    onTestFinished(() => storage.close());
    const app = fleetApp(storage, versionFlows("client"));
    const ids = ["a", "b", "c", "d"].flatMap((name) => Array.from({ length: 25 }, (_, n) => `${name}-${n}`));
    await inLanes(ids, 20, async (id) => void (await app.start(id.slice(0, 1), null, { id, drive: false })));
    const start = (code: "old" | "new"): FleetWorker =>
      new FleetWorker(place.url, "", { code, concurrency: 5 });
    // The first is killed in the middle of its work, the second is asked to end.
    const first = start("old");
    await first.up();
    await pause(100);
    await first.kill();
    const second = start("new");
    await second.up();
    await pause(100);
    expect(await second.stop()).toBe(0);
    const last = [start("old"), start("new")];
    onTestFinished(async () => void (await Promise.all(last.map((worker) => worker.kill()))));
    const statuses = async (): Promise<string[]> =>
      (await storage.list({ limit: 1_000 })).runs.map(({ workflow, status }) => `${workflow} ${status}`);
    const counted = (found: readonly string[], what: string): number =>
      found.filter((one) => one === what).length;
    for (;;) {
      const found = await statuses();
      expect(found.filter((one) => /failed|cancelled|blocked/.test(one))).toEqual([]);
      expect(counted(found, "d running"), "no worker has its code").toBe(25);
      if (["a", "b", "c"].every((name) => counted(found, `${name} completed`) === 25)) break;
      await pause(100);
    }
    // The newer code's step is one record too many for the older code: it says so where it meets it, and at the end.
    const expected =
      /the code did not use: check|no record of the step "two", so it runs, and the recorded step "check" was not asked for yet/;
    const complaints = last.flatMap((worker) => worker.complaints);
    expect(complaints.filter((line) => !expected.test(line))).toEqual([]);
  });
});
