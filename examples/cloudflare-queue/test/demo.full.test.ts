/** The story on real workerd, by what the Worker itself printed and answered. */

import { killDemos, Place, runDemo } from "example-llm/process";
import { afterEach, expect, test } from "vitest";

const place = new Place("cloudflare-queue");
afterEach(() => {
  killDemos();
  place.remove();
});

/** What the Worker did for a run, in order: who, and what. */
function workOn(run: string, out: string): string[][] {
  return [...out.matchAll(/^ +run (\S+): isolate (\S+) (\w+ \S+)$/gm)]
    .filter(([, id]) => id === run)
    .map(([, , isolate = "", what = ""]) => [isolate, what]);
}

test(
  "H28 H57 redelivery finds a crash, the sweep finds a kill -9; answers come early, twice and late; nothing recorded is repeated",
  { timeout: 300_000 },
  async () => {
    // Slow enough that the kill falls into the model call, and that no driver that lives is taken for dead, on a busy
    // machine, too.
    const { code, out, err } = await runDemo(place, {
      file: "src/demo-main.ts",
      env: { DEMO_PACE: "3", LEASE_SECONDS: "10", LLM_PROVIDER: "offline" },
    });
    console.log(out.split("\n").filter((line) => /^(?:bundle|Done)/.test(line)));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^bundle +\d+ KiB, \d+ KiB gzipped; from node: it imports nothing$/m);

    // process.exit inside a step: delivered again, and driven on from the journal.
    const wind = workOn("wind", out);
    const first = wind[0]?.[0] ?? "";
    expect(out.match(/crash: .*/g)).toEqual([
      "crash: process.exit(1) while the model writes on the wind at the pier (crash)",
    ]);
    expect(out).toMatch(/crash: [^]*"advance wind", delivery 2/);
    expect(wind).toEqual(
      ["ran plan", "ran ask", "journal plan", "journal ask", "ran draft", "ran publish"].map((what) => [
        first,
        what,
      ]),
    );
    // Of two equal early answers and a late one, the first counts.
    expect(out.match(/(?<=POST \/resume\/.*"approved":)(?:true|false)\}\}: \d+/g)).toEqual([
      "true}}: 200",
      "true}}: 409",
      "false}}: 409",
      "true}}: 200",
    ]);
    expect(out.match(/GET \/runs\/wind: .*/g)).toEqual(
      new Array(2).fill("GET /runs/wind: completed, published, recorded: plan, ask, draft, publish"),
    );

    // kill -9 of everything, the queue included: another isolate goes on, once the sweep has found the run.
    const ferry = workOn("ferry", out);
    const second = ferry.at(-1)?.[0] ?? "";
    expect(second).not.toBe(first);
    expect(out).toMatch(
      /kill -9 emulator 1[^]*GET \/runs\/ferry: running[^]*sweep: 1 due[^]*"advance ferry", delivery 1/,
    );
    expect(ferry).toEqual([
      [first, "ran plan"],
      [first, "ran ask"],
      ...["journal plan", "journal ask", "ran draft"].map((what) => [second, what]),
      ...["journal plan", "journal ask", "journal draft", "ran publish"].map((what) => [second, what]),
    ]);
    expect(out).toContain("Done: 8 steps ran and were recorded, 0 of them repeated;");
  },
);
