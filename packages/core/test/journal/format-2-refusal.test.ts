/**
 * H54. A build of format 2 beside the present one: it lists runs of format 3, refuses to read, drive, answer, fork or
 * remove them by name, changes nothing, and goes on with its own runs.
 */

import type { Outcome, Run } from "@durable/core";
import { beforeAll, describe, expect, test } from "vitest";
import { failureOf } from "../support/behaviour-lab.ts";
import { loadFormat2, type Build } from "./support/packed-build.ts";
import { presentBuild as present } from "./support/two-builds-place.ts";
import { contentOf, processOf, siteKinds, siteOf, tokensOf, type Process } from "./support/two-builds.ts";

let past: Build;
beforeAll(async () => {
  past = await loadFormat2();
});

const start = ({ world, flows, host }: Process, id: string): Promise<Outcome<unknown>> =>
  world.run(flows.draft.with(host).run(1, { id }));

const answer = async ({ world, app }: Process, id: string, value: unknown): Promise<Outcome<unknown>> => {
  const [token = ""] = Object.values(tokensOf(await app.get(id).outcome()));
  const { outcome } = await world.run(app.resume(token, value));
  return outcome!;
};

/** A series that has come to this chapter, and waits. */
async function chapters(by: Process, id: string, last: number): Promise<void> {
  await by.world.run(by.flows.series.with(by.host).run(1, { id }));
  for (let chapter = 1; chapter < last; chapter++) await answer(by, id, "on");
}

async function drop({ host: { storage } }: Process, id: string): Promise<void> {
  const { runs } = await storage.list({ workflow: "series" });
  const { locator, chapter = 0 } = runs.find(({ runId }) => runId === id)!;
  await storage.dropChapters!(locator, chapter);
}

/** Runs of the present build, one of each kind. `old` is a run of format 2. */
async function populate(now: Process): Promise<string[]> {
  const { world, app, flows, host } = now;
  await start(now, "parked");
  await start(now, "ended");
  await answer(now, "ended", "a");
  await answer(now, "ended", "b");
  await app.start("draft", 1, { id: "unborn", drive: false });
  for (const [parent, id] of [
    ["parked", "fork"],
    ["old", "fork-of-old"],
  ] as const) {
    const fork: Run = await world.run(flows.draft.with(host).fork(parent, { from: "first", id }));
    await world.run(failureOf(fork.result()));
  }
  await world.run(flows.journey.with(host).run({ to: "sea" }, { id: "family" }));
  await chapters(now, "chapters", 3);
  await chapters(now, "dropped", 3);
  await drop(now, "dropped");
  const { runs } = await app.list();
  return runs.map(({ runId }) => runId).filter((runId) => runId !== "old");
}

/** All that can be done with a run, by its id and the token of a wait. */
const deeds: Record<string, (by: Process, id: string, token: string) => Promise<unknown>> = {
  outcome: ({ app }, id) => app.get(id).outcome(),
  result: ({ app }, id) => app.get(id).result(),
  entries: ({ app }, id) => app.get(id).entries(),
  stream: ({ app }, id) => app.get(id).stream("talk").next(),
  advance: ({ app }, id) => app.advance(id),
  run: ({ flows, host }, id) => flows.draft.with(host).run(1, { id }),
  start: ({ app }, id) => app.start("draft", 1, { id, drive: false }),
  resume: ({ app }, _, token) => app.resume(token, "x"),
  deliver: ({ app }, _, token) => app.deliver(token, "x"),
  fork: ({ app }, id) => app.get(id).fork({ from: "text" }),
  plan: ({ app }, id) => app.get(id).plan({ from: "text" }),
  cancel: ({ app }, id) => app.cancel(id),
  delete: ({ app }, id) => app.delete(id),
};

const refusal = {
  code: "newer-format",
  message: expect.stringMatching(
    /(format 3|layout 2).*(reads only up to 2|newer than this build reads).*Upgrade/,
  ),
};

describe.each(siteKinds)("H54 a build of format 2 in %s", (kind) => {
  test("lists runs of format 3, refuses everything else, and changes nothing", async () => {
    const site = siteOf(kind);
    const { world } = site;
    const old = processOf(site, past);
    await start(old, "old");
    const now = processOf(site, present);
    const ids = await populate(now);
    expect(ids.length).toBeGreaterThan(8);
    const before = await contentOf(now.host.storage);
    const tokens = await Promise.all(ids.map(async (id) => tokensOf(await now.app.get(id).outcome())));

    // One that was there before, and one that opens the storage now.
    for (const by of [old, processOf(site, past)]) {
      // In a bucket, an attempt to begin a run anew leaves an index object, which the present build removes.
      const known = (await world.run(now.app.list())).runs;
      const { runs } = await world.run(by.app.list());
      const brief = runs.map(({ runId, status, steps }) => [runId, status, steps]);
      expect(brief).toEqual(known.map(({ runId, status, steps }) => [runId, status, steps]));
      for (const [index, id] of ids.entries()) {
        const token = Object.values(tokens[index] ?? {})[0];
        for (const [name, deed] of Object.entries(deeds)) {
          if (token === undefined && (name === "resume" || name === "deliver")) continue;
          const failure = await world.run(failureOf(deed(by, id, token ?? "")));
          expect(failure, `${name} ${id}`).toMatchObject(refusal);
        }
      }
    }
    expect(await contentOf(now.host.storage)).toEqual(before);

    // Each goes on with what is its own.
    await answer(old, "old", "a");
    expect(await answer(old, "old", "b")).toMatchObject({ status: "completed" });
    await answer(now, "parked", "a");
    expect(await answer(now, "parked", "b")).toMatchObject({ status: "completed" });
    expect(await answer(now, "chapters", "end")).toMatchObject({ output: { n: 3 } });
    expect(await answer(now, "dropped", "end")).toMatchObject({ output: { n: 3 } });
    expect(await world.run(now.app.advance("unborn"))).toMatchObject({ status: "suspended" });
    expect(now.world.warnings).toEqual([]);
  });

  test.each(["kept", "dropped"])(
    "refuses its own run that went on as a chapter, with the first chapter %s",
    async (first) => {
      const site = siteOf(kind);
      const { world } = site;
      const [old, now] = [processOf(site, past, { warm: 100 }), processOf(site, present)];
      const parked = await world.run(old.flows.series.with(old.host).run(1, { id: "own" }));
      const [token = ""] = Object.values(tokensOf(parked));
      // It stays in the memory of this process, which does not look at the first batch again.
      expect(await world.run(old.app.advance("own"))).toMatchObject({ status: "suspended" });
      await answer(now, "own", "on");
      if (first === "dropped") await drop(now, "own");
      const before = await contentOf(now.host.storage);
      const stale = kind === "a SQLite file" && first === "dropped";
      // By then the file has as many batches as this process knows. It cannot see the difference, nor write anything.
      const seen = await world.run(old.app.advance("own").catch((error: unknown) => error));
      expect(seen).toMatchObject(stale ? { status: "suspended" } : refusal);
      expect(await world.run(failureOf(old.app.resume(token, "end")))).toMatchObject(
        stale
          ? { code: "storage-failed", message: expect.stringMatching(/dropped chapters.*Upgrade/) }
          : refusal,
      );
      for (const by of [old, processOf(site, past)])
        for (const [name, deed] of Object.entries(deeds))
          expect(await world.run(failureOf(deed(by, "own", token))), name).toMatchObject(refusal);
      expect(await contentOf(now.host.storage)).toEqual(before);
      expect(await world.run(now.app.resume(token, "end"))).toEqual({ status: "unknown" });
      expect(await answer(now, "own", "end")).toMatchObject({ output: { n: 2 } });
    },
  );

  test("leaves due runs of format 3 to others, and drives its own", async () => {
    const site = siteOf(kind);
    const { world } = site;
    const [old, now] = [processOf(site, past), processOf(site, present)];
    const input = { to: "sea" };
    for (const n of [1, 2, 3]) {
      await old.app.start("journey", input, { id: `old-${n}`, drive: false });
      await now.app.start("journey", input, { id: `now-${n}`, drive: false });
    }
    const news = ["now-1", "now-2", "now-3"];
    const swept = await world.run(old.app.sweep());
    expect(swept.outcomes.map(({ runId, status }) => `${runId} ${status}`).toSorted()).toEqual(
      [1, 2, 3].map((n) => `old-${n} suspended`),
    );
    expect(swept.failed.map(({ runId }) => runId).toSorted()).toEqual(news);
    for (const { error } of swept.failed) expect(error).toMatchObject(refusal);

    await old.app.start("journey", input, { id: "old-4", drive: false });
    const worker = past.core.createWorker(old.app);
    await world.advance(10_000);
    expect(await old.app.get("old-4").outcome()).toMatchObject({ status: "suspended" });
    const skipped = world.warnings.filter((warning) => warning.includes("is skipped"));
    expect(skipped.map((warning) => /run (\S+) is/.exec(warning)?.[1] ?? "").toSorted()).toEqual(news);
    const other = present.core.createWorker(now.app);
    await world.advance(10_000);
    for (const id of news) expect(await now.app.get(id).outcome()).toMatchObject({ status: "suspended" });
    await world.run(Promise.all([worker.stop(), other.stop()]));
    expect(old.flows.ran.filter((ran) => ran.startsWith("now-"))).toEqual([]);
    expect(now.flows.ran.filter((ran) => ran.startsWith("old-"))).toEqual([]);
  });
});
