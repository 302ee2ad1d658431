import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { Child, killChildren } from "../../support/child-process.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-remote-crash-"));
afterAll(async () => {
  await killChildren();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

describe("processes that are killed", () => {
  test("H10 a run in a bucket goes on in the next process, and repeats no recorded step", async () => {
    const bodies: string[] = [];
    let kills = 0;
    for (let life = 0; ; life++) {
      const child = new Child("remote-child.ts", life < 4 ? [folder, "3"] : [folder]);
      const from = bodies.length;
      if (life < 4) {
        // Killed while the third body of this life is under way or being recorded, or while the fourth hangs.
        for (let seen = 0, at = 0; seen < 3; seen++) {
          await child.line("body", at);
          at = child.lines.findIndex((line, n) => n >= at && line.startsWith("body")) + 1;
        }
        await child.kill();
        kills += 1;
      } else {
        expect(JSON.parse(await child.line("outcome"))).toBe(120);
        await child.done();
      }
      bodies.push(...child.lines.filter((line) => line.startsWith("body")));
      expect(bodies.length).toBeGreaterThan(from);
      if (life === 4) break;
    }
    const counts = Map.groupBy(bodies, (body) => body);
    expect(counts.size).toBe(16);
    // Each kill may have one body run again, and those before it came from the journal.
    expect(bodies.length - counts.size).toBeLessThanOrEqual(kills);
  }, 300_000);
});
