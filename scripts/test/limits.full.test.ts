/** The long test of limits in small, with real processes on real databases. */
import { describe, expect, onTestFinished, test } from "vitest";
import { limitFleet } from "../fleet/limited.ts";
import { placeOf } from "../fleet/storage.ts";

describe.each(["sqlite", "postgres"])("a limit on %s", (kind) => {
  test("holds while workers are killed", { timeout: 300_000 }, async () => {
    const place = await placeOf(kind);
    onTestFinished(() => place.close());
    const report = await limitFleet(place, {
      runs: 120,
      workers: 3,
      limit: 4,
      keys: 2,
      leaseMs: 10_000,
      stepMs: 100,
      killEveryMs: 500,
      kills: 3,
    });
    expect(report).toMatchObject({ runs: 120, completed: 120 });
    expect(report.kills).toBeGreaterThan(0);
    expect(report.most).toBeLessThanOrEqual(4);
    expect(report.longestShortMs).toBeLessThanOrEqual(10_000);
  });
});
