/**
 * H54. Runs of format 2 continue in the present build, in a build of format 2, and in both by turns. What a run without a
 * change of builds does is what it has to do: the same answers, keys, ids, tokens and draws, none of them from a nonce.
 */

import { faultyStorage } from "@durable/testing";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { loadFormat2, type Build } from "./support/packed-build.ts";
import { presentBuild as present } from "./support/two-builds-place.ts";
import { acts, journeyId, journeyOf, play, recover, type Stop } from "./support/two-builds-journey.ts";
import {
  contentOf,
  processOf,
  siteKinds,
  siteOf,
  tokensOf,
  withoutOrder,
  type Process,
  type SiteKind,
} from "./support/two-builds.ts";

let past: Build;
beforeAll(async () => {
  past = await loadFormat2();
});

/** Parked at once wherever a wait has a deadline. */
const patience = 0;

/** The stops of a journey, its runs, and the work that was done. Work in branches beside each other has no order. */
async function journey(kind: SiteKind, isPresent: (act: number) => boolean, sealed = false) {
  const site = siteOf(kind);
  const [old, now] = [past, present].map((build) =>
    processOf(site, build, { patience, ...(sealed ? { encryption: site.cipherOf(build) } : {}) }),
  ) as [Process, Process];
  const stops = await play((act) => (isPresent(act) ? now : old));
  const { runs } = await now.host.storage.list();
  const entries = await Promise.all(runs.map(({ runId }) => now.app.get(runId).entries()));
  const content = JSON.stringify(await contentOf(now.host.storage));
  // Without encryption both builds can go on with the run. Seals are of format 3.
  if (!sealed) expect(content).not.toMatch(/\\"v\\":3|nonce/);
  else await expect(old.app.get(journeyId).outcome()).rejects.toMatchObject({ code: "newer-format" });
  const heads = runs.map(withoutOrder);
  return { stops, runs: heads, entries, ran: [...old.flows.ran, ...now.flows.ran].toSorted() };
}

/** The journey in the build of format 2 alone: what all others are compared with. */
const alone = (kind: SiteKind): ReturnType<typeof journey> => {
  const known = calm.get(kind) ?? journey(kind, () => false);
  calm.set(kind, known);
  return known;
};
const calm = new Map<SiteKind, ReturnType<typeof journey>>();

const full = inject("full");

/** Who plays each act after the first: bit n of the number is set when the present build plays act n + 1. */
const patterns = 2 ** (acts.length - 1);
const sample = [0b101010, 0b000100];

/** The process dies at an append of an act, or does not reach it: then the act is over. */
async function dies(by: Process, act: number, before: Stop, plan: Plan): Promise<boolean> {
  const { world } = by;
  const storage = faultyStorage(by.host.storage, { world, plan });
  const host = { ...by.host, storage };
  const app = by.build.core.createApp({ ...host, workflows: by.flows.all });
  const playing = acts[act]!.play({ ...by, host, app }, before);
  const end = await world.run(Promise.race([playing, storage.died]));
  // Its leases run out.
  await world.advance(120_000);
  return end === undefined;
}

type Plan = NonNullable<Parameters<typeof faultyStorage>[1]["plan"]>;

const crashes = full
  ? siteKinds.flatMap((kind) => [[kind, "crash-after"] as const, [kind, "crash-before"] as const])
  : ([
      ["a SQLite file", "crash-after"],
      ["a bucket in memory", "crash-before"],
    ] as const);

/** Which appends a process dies at: every fifth of each act; in the sample, every ninth. */
const stride = full ? 5 : 9;
/** Acts that a process dies in. In the sample each build dies in half of them, in the other half on the other storage. */
const isTaken = (act: number, dying: string, fault: string): boolean =>
  full || (act + Number(dying === past.name) + Number(fault === "crash-after")) % 2 === 0;

describe.each(full ? siteKinds : siteKinds.slice(0, 1))("H54 a run of format 2 in %s", (kind) => {
  test("goes the same way, whichever builds drive it", async () => {
    const expected = await alone(kind);
    expect(expected.runs.map(({ workflow }) => workflow).toSorted()).toEqual([
      "errand",
      "errand",
      "errand",
      "journey",
    ]);
    const chosen = full ? Array.from({ length: patterns / 2 }, (_, n) => 2 * n) : sample;
    for (const pattern of chosen) {
      const mixed = await journey(kind, (act) => act > 0 && ((pattern >> (act - 1)) & 1) === 1);
      expect(mixed, pattern.toString(2)).toEqual(expected);
    }
  });

  test("goes the same way when its journal is encrypted, once the present build has taken it over", async () => {
    const { stops } = await alone(kind);
    for (const first of full ? [1, 3] : [3]) {
      const sealed = await journey(kind, (act) => act >= first, true);
      expect(sealed.stops.map(tokensOf)).toEqual(stops.map(tokensOf));
      expect(journeyOf(sealed.stops.at(-1)).said).toEqual(journeyOf(stops.at(-1)).said);
    }
  });

  test("takes an answer that comes before its wait, in the other build", async () => {
    const { stops } = await alone(kind);
    const early = tokensOf(stops.at(-2))["rate"] ?? "";
    const site = siteOf(kind);
    const [old, now] = [processOf(site, past), processOf(site, present)];
    const before = await play(() => old, { to: 2 });
    const told = { status: "accepted", outcome: { status: "suspended" } };
    expect(await now.app.deliver(early, { stars: 4 })).toMatchObject({
      ...told,
      outcome: { runId: journeyId },
    });
    const ended = await play((act) => (act === 2 ? now : old), { from: 2, to: 4, before });
    const { said } = journeyOf(ended.at(-1));
    expect(said).toEqual({ ...journeyOf(stops.at(-1)).said, rated: { stars: 4 } });
  });
});

describe.each(crashes)("H54 a run of format 2 in %s whose process dies at an append (%s)", (kind, fault) => {
  test.each([
    ["the build of format 2", "the present build"],
    ["the present build", "the build of format 2"],
  ])("of %s goes on in %s", async (dying) => {
    const { stops } = await alone(kind);
    let deaths = 0;
    for (let act = 0; act < acts.length; act++) {
      if (!isTaken(act, dying, fault)) continue;
      for (let append = 1, died = true; died; append += stride) {
        const site = siteOf(kind);
        const [old, now] = [processOf(site, past, { patience }), processOf(site, present, { patience })];
        const [first, second] = dying === past.name ? [old, now] : [now, old];
        const before = await play(() => old, { to: act });
        // Only a build of format 2 begins a run of format 2.
        if (act === 0) await old.app.start("journey", { to: "sea" }, { id: journeyId, drive: false });
        died = await dies(first, act, before.at(-1) as Stop, (operation, index) =>
          operation === "append" && index === append ? fault : null,
        );
        if (!died) break;
        deaths += 1;
        const stop = await recover(second, act);
        const ended = await play(() => second, { from: act + 1, before: [stop] });
        const where = `act ${act}, append ${append}`;
        expect(journeyOf(ended.at(-1)).said, where).toEqual(journeyOf(stops.at(-1)).said);
      }
    }
    expect(deaths).toBeGreaterThan((full ? 20 : 10) / stride);
  });
});
