import { expect, test } from "vitest";
import { lab } from "./support/behaviour-lab.ts";
import { killersOn } from "./support/killers.ts";
import { numbered, statuses } from "./support/worker-runs.ts";

test("sweeps beside runs that kill their process: every innocent completes, and each killer ends as poison", async () => {
  const on = lab();
  const { begun, record, life } = killersOn(on);
  const killers = numbered("killer", 2);
  const innocents = numbered("innocent", 5);
  await record("innocent", innocents.slice(0, 2));
  await record("killer", killers);
  await record("innocent", innocents.slice(2));
  for (let lives = 1; (await statuses(on.storage))["completed"] !== innocents.length; lives++) {
    expect(lives, "lives until all innocents have completed").toBeLessThan(20);
    await life((app) => app.sweep());
  }
  for (let lives = 0; (await statuses(on.storage))["blocked"] !== killers.length; lives++) {
    expect(lives, "lives until all killers are blocked").toBeLessThan(110);
    await life((app) => app.sweep());
  }
  for (const id of killers) expect(begun.get(id), `the starts of ${id}`).toBe(50);
  const { runs } = await on.storage.list({ status: "blocked" });
  expect(runs.map(({ blocked }) => blocked?.code)).toEqual(["poison", "poison"]);
});
