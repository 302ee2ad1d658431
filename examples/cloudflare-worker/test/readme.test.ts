/** What the README says is what happens: its code is the code, and its curl lines are run. */

import { DemoProcess, killDemos, Place } from "example-llm/process";
import { codeInReadme, runScript, scriptsInReadme } from "example-llm/readme";
import { afterEach, expect, inject, test } from "vitest";

const place = new Place("cloudflare-worker");
afterEach(() => {
  killDemos();
  place.remove();
});

test("the code in the README is the code", () => {
  const { block, source } = codeInReadme("cloudflare-worker", "announcement.ts");
  expect(block.split("\n").length).toBeGreaterThan(5);
  expect(source).toContain(block);
});

/** The command `dev`, and the texts of the page that are others here. */
async function dev(): Promise<{ ended: Promise<unknown>; texts: Record<string, string> }> {
  const emulator = new DemoProcess(place, {
    file: "src/dev.ts",
    env: { PORT: "0", LLM_PROVIDER: "offline" },
  });
  const host = await emulator.until((out) => /Ready on http:\/\/(\S+)/.exec(out)?.[1] ?? null);
  if (host === null) throw new Error((await emulator.ended).err);
  const texts = { "localhost:8787": host, "examples/cloudflare-worker/.durable": place.folder };
  return { ended: emulator.ended, texts };
}

test.runIf(inject("full"))(
  "a run is started, its emulator is killed, and the answer reaches it",
  { timeout: 300_000 },
  async () => {
    const [start = "", kill = "", answer = ""] = scriptsInReadme("cloudflare-worker");
    const { texts, ended } = await dev();
    const token = await runScript(`${start}echo; echo "$TOKEN"`, {
      // As long as it takes here, and no terminal to show it on.
      "sleep 5": "until curl -s localhost:8787/runs/wind | grep -q suspended; do sleep 0.1; done",
      "tee /dev/tty": "cat",
      ...texts,
    });
    await runScript(kill, texts);
    await ended;
    const again = await dev();
    const given = { $TOKEN: token.trim().split("\n").at(-1) ?? "", ...again.texts };
    expect(await runScript(answer, given)).toContain('"status":"accepted"');
    const isOver = "until curl -s localhost:8787/runs/wind | grep completed; do sleep 0.1; done";
    expect(await runScript(isOver, given)).toContain('"published":true');
  },
);
