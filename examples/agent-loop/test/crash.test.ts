import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, inject, test } from "vitest";
import { checkEffects, DemoProcess, killDemos, Place, runDemo, type Ended } from "example-llm/process";
import { killDemo } from "./support/kills.ts";

const places: Place[] = [];
const place = (): Place => {
  const made = new Place("agent-loop");
  places.push(made);
  return made;
};

afterEach(() => {
  killDemos();
  for (const made of places.splice(0)) made.remove();
});

/** Rows of the table, by their first column. */
function rows({ out }: Ended, from: "ran" | "journal" | "failed"): string[] {
  return out.split("\n").filter((line) => line.startsWith(`  ${from.padEnd(8)} `));
}

const full = inject("full");
const kills = full ? 5 : 1;

describe("SIGKILL", () => {
  test(
    `at ${kills} random instants (seed 1): one answer, and nothing recorded runs again`,
    { timeout: 300_000 },
    async () => {
      const report = await killDemo({ kills, seed: 1 });
      expect(report.kills).toBe(kills);
      expect(report.reused).toBeGreaterThan(0);
    },
  );

  test("the check finds a recorded step that ran again, and keys that are mixed up", () => {
    const effects = ["began think k1", "ended think k1", "began think k1"];
    const restart = { recorded: new Set(["think"]), lines: 2 };
    expect(() => checkEffects(effects, [restart])).toThrow("K2");
    expect(() => checkEffects(effects, [{ ...restart, recorded: new Set() }])).not.toThrow();
    expect(() => checkEffects(["began think k1", "began think k2"], [])).toThrow("K3");
    expect(() => checkEffects(["began think k1", "began search k1"], [])).toThrow("K3");
  });
});

describe("SIGINT", () => {
  test("exits with 130 and one line, and the next start carries on", async () => {
    const here = place();
    const demo = new DemoProcess(here, { env: { DEMO_PACE: "0.3" } });
    expect(await demo.printed("ran      think#2")).toBe(true);
    demo.signal("SIGINT");
    const first = await demo.ended;
    expect(first).toMatchObject({ code: 130, err: "" });
    expect(first.out.trimEnd().split("\n").at(-1)).toMatch(
      /^Interrupted\. .*npm run demo -w example-agent-loop$/,
    );

    const second = await runDemo(here);
    expect(second).toMatchObject({ code: 0, err: "" });
    // oxlint-disable-next-line eslint/no-control-regex -- these are what is looked for
    expect(second.out).not.toMatch(/[\u001B\r]/);
    expect(rows(second, "journal").length).toBeGreaterThanOrEqual(rows(first, "ran").length);
    expect(rows(second, "journal")[0]).toContain("think");
    expect(second.out).toMatch(/^Done: \d steps ran here, \d came from the journal\./m);
  });
});

describe("a finished run", () => {
  test("says so, runs nothing, and starts over with --fresh", async () => {
    const here = place();
    const first = await runDemo(here);
    expect(first.out).toContain("Done: 10 steps ran here, 0 came from the journal.");
    expect(rows(first, "failed")).toHaveLength(2);
    const effects = here.effects();

    const second = await runDemo(here);
    expect(second.code).toBe(0);
    expect(second.out.trimEnd().split("\n").at(-1)).toBe(
      "Finished before: all 10 steps came from the journal, nothing ran. Start over: npm run demo -w example-agent-loop -- --fresh",
    );
    expect(second.out).not.toContain("press Ctrl-C");
    expect(here.effects()).toEqual(effects);
    const answer = /About 0\.4 m[^]*\nDone|About 0\.4 m[^]*\nFinished/;
    const answerIn = (text: string): string => (answer.exec(text)?.[0] ?? "").split("tokens:")[0] ?? "";
    expect(answerIn(second.out)).toBe(answerIn(first.out));

    // Each is a process: here the example of the AI SDK shows it.
    if (!full) return;
    const third = await runDemo(here, { args: ["--fresh"] });
    expect(third.out).toContain("Done: 10 steps ran here, 0 came from the journal.");
    expect(here.effects()).toHaveLength(2 * effects.length);
  });

  test.runIf(full)("--fresh needs no run to be there", async () => {
    expect(await runDemo(place(), { args: ["--fresh"] })).toMatchObject({ code: 0, err: "" });
  });

  test.runIf(full)("another question is another run, which is continued in the same way", async () => {
    const here = place();
    const args = ["What", "is slack water?"];
    const first = await runDemo(here, { args });
    expect(first.out).toMatch(/^run +agent-loop-what-is-slack-water-[0-9a-f]{8} \(new\)/m);
    expect(first.out).toContain("[tidal-streams.md]");
    expect((await runDemo(here, { args })).out).toContain('-- --fresh "What is slack water?"');
    expect((await runDemo(here)).out).toContain("Done: 10 steps ran here, 0 came from the journal.");
  });
});

describe("what goes wrong", () => {
  const wrong: [Record<string, string>, string[], RegExp][] = [
    [{ LLM_PROVIDER: "opnai" }, [], /^LLM_PROVIDER is "opnai"\. Use openai, .*\n$/],
    [
      { LLM_PROVIDER: "anthropic" },
      [],
      /^LLM_PROVIDER is "anthropic", but ANTHROPIC_API_KEY is not set\..*\n$/,
    ],
    [{ DEMO_PACE: "fast" }, [], /^DEMO_PACE is "fast"\..*\n$/],
    [{}, ["--frsh"], /^Unknown option '--frsh'.*\n$/],
  ];
  // Each is a process: the examples of the AI SDK and the assistant show it in `npm test`.
  test.each(full ? wrong : [])("%o %o is one line and exit code 1", async (env, args, line) => {
    const { code, out, err } = await runDemo(place(), { env, args });
    expect(err).toMatch(line);
    expect({ code, out }).toEqual({ code: 1, out: "" });
  });

  test.runIf(full)(
    "a provider that cannot be reached fails the run in one line",
    { timeout: 300_000 },
    async () => {
      const env = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };
      const { code, out } = await runDemo(place(), { env });
      expect(code).toBe(1);
      expect(out.trimEnd().split("\n").at(-1)).toMatch(/^Failed: .*Start over: /);
    },
  );

  test.runIf(full)("a second process leaves a run alone that is being driven", async () => {
    const here = place();
    const first = new DemoProcess(here, { env: { DEMO_PACE: "3" } });
    expect(await first.printed("press Ctrl-C")).toBe(true);
    // Driven from its first entry on, which is there before anything runs.
    while ((await here.entries()).length === 0) await delay(20);
    const second = await runDemo(here);
    expect(second.code).toBe(1);
    expect(second.out).toContain("Another process drives this run.");
    first.signal("SIGKILL");
    expect(await runDemo(here)).toMatchObject({ code: 0, err: "" });
  });
});

test.runIf(full)("no escape codes outside of a terminal, nor with NO_COLOR", async () => {
  for (const env of [{}, { NO_COLOR: "1" }]) {
    const { out, err } = await runDemo(place(), { env: { ...env, DEMO_PACE: "0" } });
    // oxlint-disable-next-line eslint/no-control-regex -- these are what is looked for
    expect(out + err).not.toMatch(/[\u001B\r]/);
  }
});
