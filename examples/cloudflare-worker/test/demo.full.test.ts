/** The story on real workerd: two emulators that share nothing but a folder, and a kill -9 between them. */

import { killDemos, Place, runDemo } from "example-llm/process";
import { afterEach, expect, test } from "vitest";

const place = new Place("cloudflare-worker");
afterEach(() => {
  killDemos();
  place.remove();
});

test(
  "H33 after a kill -9 an alarm wakes both runs, and repeats no recorded model call",
  { timeout: 300_000 },
  async () => {
    // Slow enough that the kill falls into the model call, on a busy machine, too.
    const { code, out, err } = await runDemo(place, {
      file: "src/demo-main.ts",
      env: { DEMO_PACE: "3", LLM_PROVIDER: "offline" },
    });
    console.log(out.split("\n").filter((line) => /^(?:bundle|Done)/.test(line)));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^bundle +\d+ KiB, \d+ KiB gzipped; from node: it imports nothing$/m);
    expect(out).toContain("GET /runs/ferry: running, recorded: outline\n");
    expect(out).toMatch(/200 accepted[^]*409 duplicate/);
    expect(out).toContain("GET /runs/wind: completed, recorded: outline, draft, revise, publish");
    expect(out).toContain("GET /runs/ferry: suspended, recorded: outline, draft");
    expect(out).toContain("Done: 6 steps recorded, 0 of them repeated; 2 emulators, 1 kill -9.");
  },
);
