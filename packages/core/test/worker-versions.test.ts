/** Workers that are kept to some workflows, or to some versions of the code. */

import { createApp, createWorker, durable, type Context, type Storage } from "@durable/core";
import { countingStorage } from "@durable/testing";
import { expect, test } from "vitest";
import { lab, noticingLab, pause, type Lab } from "./support/behaviour-lab.ts";
import { bare, open } from "./support/worker-lab.ts";

/** The same workflow as two builds have it; each notes who drives it. */
function builds({ world }: Lab) {
  const driven: string[] = [];
  const build = (version: string) =>
    durable(
      "loan",
      async (ctx: Context) => {
        await ctx.step("work", async () => {
          driven.push(`${ctx.runId} by ${version}`);
          await pause(world, 10);
        });
        return version;
      },
      { version },
    );
  return { driven, one: build("1"), two: build("2") };
}

test.each([
  ["claims", (base: Lab) => base.storage],
  ["lists", ({ storage }: Lab): Storage => ({ ...bare(storage), finds: true })],
  ["reads what a storage without versions lists", ({ storage }: Lab) => bare(storage)],
] as const)("a worker that %s takes only runs of its versions", async (_, storageOf) => {
  const base = noticingLab();
  const { driven, one, two } = builds(base);
  for (const [n, flow] of [one, two, one, two].entries())
    await flow.with(base).start(undefined, { id: `r${n}`, drive: false });
  await durable("loan", one.definition.body as () => unknown, base).start(undefined, {
    id: "none",
    drive: false,
  });
  const shop = open(base, [two], { versions: ["2"], storage: storageOf(base), interval: 100 });
  await base.world.advance(20_000);
  expect(driven.toSorted()).toEqual(["r1 by 2", "r3 by 2"]);
  const { runs } = await base.storage.list({ status: "running" });
  expect(runs.map(({ runId }) => runId).toSorted()).toEqual(["none", "r0", "r2"]);
  expect(base.world.warnings ?? []).toEqual([]);
  // They were left as they are: no note, no lease, and no start that counts.
  for (const { locator, blocked } of runs) {
    expect(blocked).toBeUndefined();
    expect(await base.storage.lease(locator, "test", 1_000)).toMatchObject({ starts: 1 });
    await base.storage.lease(locator, "test", 0);
  }
  await base.world.run(shop.worker.stop());
  open(base, [one], { versions: ["1"], storage: storageOf(base), interval: 100 });
  await base.world.advance(20_000);
  expect(driven.toSorted()).toEqual(["r0 by 1", "r1 by 2", "r2 by 1", "r3 by 2"]);
});

test("a worker of one version keeps no run of another from the worker that has it", async () => {
  const base = noticingLab();
  const { driven, one, two } = builds(base);
  for (let n = 0; n < 5; n++) await one.with(base).start(undefined, { id: `r${n}`, drive: false });
  open(base, [two], { versions: ["2"] });
  await base.world.advance(10);
  open(base, [one], { versions: ["1"] });
  await base.world.advance(100);
  expect(driven).toHaveLength(5);
});

test("an idle worker of one version is not woken by runs of another", async () => {
  const base = noticingLab();
  const { one, two } = builds(base);
  const storage = countingStorage(base.storage);
  open(base, [two], { versions: ["2"], storage });
  await base.world.advance(1_000);
  const before = storage.counts.claims;
  for (let n = 0; n < 50; n++) {
    await one.with(base).start(undefined, { id: `r${n}`, drive: false });
    await base.world.advance(100);
  }
  expect(storage.counts.claims - before).toBeLessThan(3);
});

test("a run that begins a chapter with another version goes to the worker of that version", async () => {
  const base = noticingLab();
  const driven: string[] = [];
  const build = (version: string) =>
    durable(
      "loop",
      async (ctx, round: number): Promise<unknown> => {
        await ctx.step("work", () => void driven.push(`${round} by ${version}`));
        await ctx.sleep("10s");
        return round < 4 ? ctx.continueAs(round + 1) : "over";
      },
      { version },
    );
  const [one, two] = [build("1"), build("2")];
  await one.with(base).start(1, { id: "r", drive: false });
  // The first build drives version 1 alone; the second both, so that it moves runs on at their next chapter.
  open(base, [one], { versions: ["1"], interval: 100 });
  await base.world.advance(5_000);
  open(base, [two], { versions: ["1", "2"], interval: 100 });
  await base.world.advance(120_000);
  const { runs } = await base.storage.list();
  expect(runs).toMatchObject([{ status: "completed" }]);
  expect(driven[0]).toBe("1 by 1");
  const [, ...rest] = driven;
  const moved = rest.findIndex((each) => each.endsWith("2"));
  if (moved !== -1) expect(rest.slice(moved).every((each) => each.endsWith("2"))).toBe(true);
  expect(driven).toHaveLength(4);
});

test("app.advance leaves a run of another version as it is", async () => {
  const base = lab();
  const { one, two } = builds(base);
  await one.with(base).start(undefined, { id: "r", drive: false });
  const app = createApp({ ...base, workflows: [two] });
  await expect(base.world.run(app.advance("r", { versions: ["2"] }))).rejects.toMatchObject({
    code: "other-version",
    details: { version: "1" },
  });
  expect(await base.world.run(app.advance("r"))).toMatchObject({ status: "completed" });
});

test("a worker takes only runs of its workflows, and knows them all", async () => {
  const base = noticingLab();
  const driven: string[] = [];
  const flows = ["loan", "mail"].map((name) =>
    durable(name, (ctx) => ctx.step("work", () => void driven.push(ctx.runId))),
  );
  const app = createApp({ ...base, workflows: flows });
  for (const workflow of ["loan", "mail"])
    await app.start(workflow, undefined, { id: workflow, drive: false });
  open(base, flows, { workflows: ["mail"] });
  await base.world.advance(10_000);
  expect(driven).toEqual(["mail"]);
  expect(() => createWorker(app, { workflows: ["nothing"] })).toThrow(
    expect.objectContaining({ code: "unknown-workflow" }),
  );
});
