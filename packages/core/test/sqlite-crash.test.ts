import { afterEach, describe, expect, it } from "vitest";
import { killChildren } from "./support/sqlite-child.ts";
import { killWriters } from "./support/sqlite-kills.ts";
import { tearLogs } from "./support/sqlite-torn.ts";

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

describe("a log that lost its tail (H12)", () => {
  it("gives a prefix of history or says that it is damaged, 300 times", async () => {
    const { images, whole, shorter, errors } = await tearLogs({ images: 300, seed: 12 });
    expect(whole + shorter + errors).toBe(images);
    expect(shorter, "most damage is noticed").toBeGreaterThan(200);
  });
});
