import type { App } from "@durable/core";
import { expect, inject, onTestFinished, test } from "vitest";
import { evaluate } from "../src/index.ts";
import { agentOn, World } from "./support/world.ts";

test("from turn 19 of 20, two turns of each run are paid, and nothing else happens", async () => {
  const [runs, turns] = [inject("full") ? 200 : 12, 20];
  const world = await new World().open();
  onTestFinished(() => world.close());
  const { app, runs: record } = agentOn(world, turns);
  const ids = await record(runs);
  await app.sweep();
  expect(world.asked.length).toBe(runs * turns);
  const after = { "POST /after": runs, spawned: runs, child: runs, message: runs };
  expect(world.taken()).toEqual({ ...after, "POST /before": runs, "tool look": runs * (turns - 1) });
  const before = await journals(app);
  // The agents, what they spawned, their children, and the run that gets their messages.
  expect(before.size).toBe(3 * runs + 1);
  world.asked.length = 0;
  const report = await evaluate(app, {
    name: "calm",
    runs: ids,
    from: { turn: 19 },
    variants: [{ name: "calm", prompt: "calm" }],
    score: { calm: ({ after: { text } }) => text.startsWith("calm") },
  });
  expect(world.asked.length).toBe(runs * 2);
  expect(report.paid.calls).toBe(runs * 2);
  expect(report.reused.calls).toBe(runs * 18);
  expect(report.variants.map(({ n, better, stopped, failed }) => [n, better, stopped, failed])).toEqual([
    [runs, 0, 0, 0],
    [runs, runs, 0, 0],
  ]);
  // The last turns got the new prompt, and the earlier ones as they were.
  expect(new Set(world.asked.map(({ prompt }) => prompt[0]?.content))).toEqual(new Set(["calm"]));
  // A run that was begun, or got a message, would be driven here.
  await app.sweep();
  expect(world.taken()).toEqual({});
  expect(await journals(app)).toEqual(before);

  // A fork outside of an eval has all these effects: the world sees them.
  const fork = await app.get("run-1").fork({ from: { turn: 19 } });
  await fork.result();
  await app.sweep();
  expect(world.taken()).toEqual({ "tool look": 1, "POST /after": 1, spawned: 1, child: 1, message: 1 });
}, 900_000);

/** What is recorded of each run of production. */
async function journals(app: App): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for (let cursor: string | null = null; ;) {
    const { runs, next } = await app.list({ limit: 500, cursor });
    for (const { runId } of runs) found.set(runId, await app.get(runId).entries());
    if (next === null) return found;
    cursor = next;
  }
}
