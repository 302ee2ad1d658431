import { afterEach, describe, expect, it } from "vitest";
import { killChildren } from "./support/sqlite-child.ts";
import { killWriters } from "./support/sqlite-kills.ts";
import { tearFiles } from "./support/sqlite-torn.ts";

// A fixed sample of what `npm run soak:sqlite` does for as long as it is told to.
describe("a process that is killed while it writes (H11)", () => {
  afterEach(killChildren);

  it("loses nothing that was acknowledged, 20 times", { timeout: 60_000 }, async () => {
    const { kills, acknowledged, batches } = await killWriters({ kills: 20, seed: 11 });
    expect(kills).toBe(20);
    expect(acknowledged).toBeGreaterThan(100);
    expect(batches).toBeGreaterThanOrEqual(acknowledged);
  });
});

describe("files that were torn, or have bits flipped (H12)", () => {
  afterEach(killChildren);

  it("give a prefix of history or an error of ours, never a changed record, 240 times", async () => {
    const { images, parts, ...report } = await tearFiles({ images: 240, seed: 12 });
    expect(report.faults).toEqual([]);
    expect(report.changed).toBe(0);
    expect(report.whole + report.shorter + report.refused).toBe(images);
    expect(parts, "log, file with a log, file alone").toEqual({ log: 80, file: 80, closed: 80 });
    expect(report.shorter, "most damage to a log is noticed").toBeGreaterThan(60);
    expect(report.refused, "and most damage to a file").toBeGreaterThan(80);
  });
});
