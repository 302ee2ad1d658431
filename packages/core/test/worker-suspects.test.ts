import { createWorker, type App, type WorkerOptions } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, type Lab } from "./support/behaviour-lab.ts";
import { killersOn } from "./support/killers.ts";
import { open, slow } from "./support/worker-lab.ts";
import { numbered, record } from "./support/worker-runs.ts";

/** Ids by status; of a blocked run also the code. */
async function found({ storage }: Lab): Promise<Record<string, string>> {
  const { runs } = await storage.list({ limit: 1_000 });
  return Object.fromEntries(runs.map(({ runId, status, blocked }) => [runId, blocked?.code ?? status]));
}

/** What happened to each run that is not as it should be: innocent runs complete, killers are poison. */
async function unjust({ on, good, bad }: Awaited<ReturnType<typeof crowd>>): Promise<string[]> {
  const statuses = await found(on);
  const wrong = (ids: readonly string[], right: string): string[] =>
    ids.filter((id) => statuses[id] !== right).map((id) => `${id} is ${statuses[id]}`);
  return [...wrong(good, "completed"), ...wrong(bad, "poison")];
}

interface Crowd {
  readonly killers: number;
  readonly innocents: number;
  readonly lives: number;
  readonly options: WorkerOptions;
}

/** Workers live one after the other, each until a killer ends it. */
async function crowd({ killers, innocents, lives, options }: Crowd) {
  const on = lab();
  const { begun, record: recordRuns, life } = killersOn(on);
  const bad = numbered("killer", killers);
  const good = numbered("innocent", innocents);
  // Some before and some after, so that no order helps.
  await recordRuns("innocent", good.slice(0, 2));
  await recordRuns("killer", bad);
  await recordRuns("innocent", good.slice(2));
  for (let n = 0; n < lives; n++)
    await life((app: App) => createWorker(app, { interval: 5_000, ...options }));
  return { on, begun, bad, good };
}

describe("runs that kill their worker, beside runs that do not", () => {
  test("one killer and five starts: every innocent completes, and the killer is poison", async () => {
    const runs = await crowd({ killers: 1, innocents: 5, lives: 10, options: { maxStarts: 5 } });
    expect(await unjust(runs)).toEqual([]);
    expect(runs.begun.get("killer-0"), "its starts").toBe(5);
  });

  test("six killers: every innocent completes, and all killers are poison", async () => {
    const runs = await crowd({ killers: 6, innocents: 5, lives: 40, options: { maxStarts: 8 } });
    expect(await unjust(runs)).toEqual([]);
    for (const id of runs.bad) expect(runs.begun.get(id), `the starts of ${id}`).toBe(8);
  });

  test("one place, so that no run has a neighbour: the innocents complete", async () => {
    const options = { maxStarts: 5, concurrency: 1 };
    expect(await unjust(await crowd({ killers: 2, innocents: 4, lives: 20, options }))).toEqual([]);
  });

  test("runs that come later complete beside killers that are poison already", async () => {
    const on = lab();
    const { record: recordRuns, life } = killersOn(on);
    const drive = (app: App): unknown => createWorker(app, { maxStarts: 4 });
    await recordRuns("killer", ["killer"]);
    for (let n = 0; n < 6; n++) await life(drive);
    await recordRuns("innocent", ["late"]);
    await life(drive);
    expect(await found(on)).toEqual({ killer: "poison", late: "completed" });
  });
});

describe("what is no start", () => {
  /** A run that was lost three times, so that workers refuse it beside other runs. */
  async function suspect(on: Lab, id: string): Promise<string> {
    const locator = await record(on, id, { workflow: "slow", input: id });
    for (let n = 0; n < 3; n++) {
      await on.storage.lease(locator, `dead ${n}`, 1);
      await on.world.advance(2);
    }
    return locator;
  }

  test("to be listed, refused and given back, by a hundred workers", async () => {
    const on = lab();
    const { flow, ran } = slow(on.world, 1_000);
    const locator = await suspect(on, "suspect");
    for (let n = 0; n < 100; n++) {
      await record(on, `busy-${n}`, { workflow: "slow", input: "x" });
      const { worker, heard } = open(on, [flow], { maxStarts: 5, concurrency: 2, interval: 10 });
      // Its neighbour is under way, so the suspect has to wait.
      await on.world.advance(500);
      await on.world.run(worker.stop());
      expect(heard.map(({ runId }) => runId)).not.toContain("suspect");
    }
    expect(ran.filter((line) => line.startsWith("suspect"))).toEqual([]);
    const lease = await on.storage.lease(locator, "a look", 1);
    expect(lease).toMatchObject({ starts: 4 });
  });

  test("to be advanced by an app that does not have its workflow", async () => {
    const on = lab();
    const locator = await suspect(on, "suspect");
    const { app, worker } = open(on, [slow(on.world).flow], { maxStarts: 5 });
    await worker.stop();
    const stranger = open(on, [], {});
    for (let n = 0; n < 20; n++)
      await expect(on.world.run(stranger.app.advance("suspect"))).rejects.toMatchObject({
        code: "unknown-workflow",
      });
    expect(await on.storage.lease(locator, "a look", 1)).toMatchObject({ starts: 4 });
    await on.world.advance(2);
    expect(await on.world.run(app.advance("suspect", { maxStarts: 5 }))).toMatchObject({
      status: "completed",
    });
  });
});
