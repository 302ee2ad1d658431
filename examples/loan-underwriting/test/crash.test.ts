/** Commands are killed at random instants; the next process continues from the journal. */

import { setTimeout as delay } from "node:timers/promises";
import { seeded, type Random } from "@durable/testing";
import { checkEffects, DemoProcess, killDemos, Place, type Restart } from "example-llm/process";
import { afterEach, expect, inject, test } from "vitest";
import { Bank } from "./support/bank.ts";

const places: Place[] = [];
afterEach(() => {
  killDemos();
  for (const place of places.splice(0)) place.remove();
});

const letter =
  "Dear applicant 4711, thank you for your application on 14 Mill Lane. We are glad to lend 248,000.";

/** One loan from its application to its decision, through as many deaths as come its way. */
async function oneLoan(random: Random, most: number): Promise<{ kills: number; reused: number }> {
  const place = new Place("loan-underwriting");
  places.push(place);
  const bank = new Bank(place);
  const restarts: Restart[] = [];
  let kills = 0;
  while ((await bank.letter()) === null) {
    const entries = await place.entries("loan");
    const recorded = entries.flatMap((entry) => (entry.kind === "step.completed" ? entry.key : []));
    restarts.push({ recorded: new Set(recorded), lines: place.effects().length });
    const tokens = Object.values(await bank.tokens());
    const args = tokens.length === 0 ? ["apply"] : ["review", random.pick(tokens), "approve"];
    const command = new DemoProcess(place, { args, env: { DEMO_PACE: "0.2" } });
    if (kills < most) {
      if (!random.chance(0.2)) await command.printed("from     step");
      await Promise.race([delay(random.next() * 250), command.ended]);
      command.signal("SIGKILL");
    }
    const { signal, err } = await command.ended;
    expect(err).toBe("");
    if (signal === "SIGKILL") kills += 1;
  }
  expect(await bank.letter()).toBe(letter);
  checkEffects(place.effects(), restarts);
  return { kills, reused: restarts.reduce((sum, restart) => sum + restart.recorded.size, 0) };
}

const most = inject("full") ? 8 : 1;

test(
  `H10 SIGKILL at ${most} random instants (seed 3): one decision, and nothing recorded runs again`,
  { timeout: 300_000 },
  async () => {
    const random = seeded(3);
    let [kills, reused] = [0, 0];
    while (kills < most) {
      const one = await oneLoan(random, most - kills);
      kills += one.kills;
      reused += one.reused;
    }
    expect(reused).toBeGreaterThan(0);
  },
);
