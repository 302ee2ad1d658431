/** The story on real workerd: two emulators that share nothing but a bucket, and a kill -9 between them. */

import { killDemos, Place, runDemo } from "example-llm/process";
import { afterEach, expect, test } from "vitest";

const place = new Place("cloudflare-worker");
afterEach(() => {
  killDemos();
  place.remove();
});

test(
  "H33 another isolate goes on from the bucket after a kill -9, and repeats no recorded model call",
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
    const isolates = [...out.matchAll(/isolate (\S+) +(\w+) +(.*)/g)].map(([, id, ...rest]) => [id, ...rest]);
    const [first = "", second = ""] = new Set(isolates.map(([id]) => id));
    expect(isolates).toEqual([
      [first, "ran", "outline, draft"],
      [second, "journal", "outline, draft"],
      [second, "ran", "revise, publish"],
      [second, "journal", "outline"],
      [second, "ran", "draft"],
    ]);
    expect(first).not.toBe(second);
    expect(out).toMatch(/200 accepted, completed[^]*409 duplicate, completed/);
    expect(out).toContain(
      "Done: 5 model calls recorded, 0 of them repeated; 3 steps came from the journal; 2 isolates, 1 kill -9.",
    );
  },
);
