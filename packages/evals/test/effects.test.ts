import { expect, inject, test } from "vitest";
import { evaluate } from "../src/index.ts";
import { agentOn, World } from "./support/world.ts";

test("from turn 19 of 20, two turns of each run are paid, and nothing else happens", async () => {
  const [runs, turns] = [inject("full") ? 200 : 12, 20];
  const world = new World();
  const { app, runs: record } = agentOn(world, turns);
  const ids = await record(runs);
  await app.sweep();
  expect(world.asked.length).toBe(runs * turns);
  const before = await Promise.all(ids.map((id) => app.get(id).entries()));
  world.effects.length = 0;
  world.asked.length = 0;
  const report = await evaluate(app, {
    name: "calm",
    runs: ids,
    from: { turn: 19 },
    variants: [{ name: "calm", prompt: "calm" }],
    score: { calm: ({ after }) => after.text.startsWith("calm") },
  });
  expect(world.asked.length).toBe(runs * 2);
  expect(world.effects).toEqual([]);
  expect(report.paid.calls).toBe(runs * 2);
  expect(report.reused.calls).toBe(runs * 18);
  expect(report.variants.map(({ n, better, stopped, failed }) => [n, better, stopped, failed])).toEqual([
    [runs, 0, 0, 0],
    [runs, runs, 0, 0],
  ]);
  // The last turns got the new prompt, and the earlier ones as they were.
  expect(new Set(world.asked.map(({ prompt }) => prompt[0]?.content))).toEqual(new Set(["calm"]));
  expect(await Promise.all(ids.map((id) => app.get(id).entries()))).toEqual(before);
}, 900_000);
