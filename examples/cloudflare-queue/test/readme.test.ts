/** What the README says is what happens: its code is the code, and its walkthrough is walked. */

import { DemoProcess, killDemos, Place } from "example-llm/process";
import { codeInReadme, runScript, scriptsInReadme } from "example-llm/readme";
import { afterEach, expect, inject, test } from "vitest";

const place = new Place("cloudflare-queue");
afterEach(() => {
  killDemos();
  place.remove();
});

test("the code in the README is the code", () => {
  const { block, source } = codeInReadme("cloudflare-queue", "report.ts");
  expect(block.split("\n").length).toBeGreaterThan(5);
  expect(source).toContain(block);
});

/** The command `dev`: runs scripts of the page against it, and shell conditions until they hold. */
async function dev() {
  const env = { PORT: "0", LLM_PROVIDER: "offline", DEMO_PACE: "1" };
  const emulator = new DemoProcess(place, { file: "src/dev.ts", env });
  const host = await emulator.until((out) => /Ready on http:\/\/(\S+)/.exec(out)?.[1] ?? null);
  if (host === null) throw new Error((await emulator.ended).err);
  const texts = { "localhost:8787": host, "examples/cloudflare-queue/.durable": place.folder };
  const run = (script: string): Promise<string> => runScript(script, texts);
  return { emulator, run, until: (holds: string) => run(`until ${holds}; do sleep 0.2; done`) };
}

const get = (run: string): string => `curl -s localhost:8787/runs/${run}`;

test.runIf(inject("full"))("the walkthrough, step by step", { timeout: 600_000 }, async () => {
  const [submit = "", read = "", answer = "", crash = "", killed = "", look = "", sweep = ""] =
    scriptsInReadme("cloudflare-queue");
  const first = await dev();
  expect(await first.run(submit)).toBe('{"runId":"wind","status":"running","repeated":false}');
  await first.until(`${get("wind")} | grep -q suspended`);
  expect(await first.run(read)).toContain('"key":"approve"');
  expect(await first.run(answer)).toContain('"status":"accepted"');
  await first.until(`${get("wind")} | grep -q completed`);
  expect(await first.run(crash)).toContain('"runId":"rain"');
  expect(await first.emulator.printed("crash: process.exit(1)")).toBe(true);
  await first.until(`${get("rain")} | grep -q suspended`);
  await first.run(killed);
  await first.emulator.ended;

  const second = await dev();
  expect(await second.run(look)).toContain('"runId":"ferry"');
  // Due when the lease of the dead driver has expired.
  await second.until(`{ ${sweep.trim()} >/dev/null; ${get("ferry")} | grep -q suspended; }`);
});
