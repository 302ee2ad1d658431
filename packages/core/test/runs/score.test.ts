import { copyRuns, createApp, durable, limits, MemoryStorage, type Context } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { scoresIn, viewRun } from "@durable/core/inspect";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { countingStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { lab, secret, sqliteLab, tokenOf } from "../support/behaviour-lab.ts";

const asks = durable("asks", async (ctx: Context) => {
  await ctx.step("first", () => 1);
  const answer = await ctx.suspend<string>("ok");
  if (answer === "fail") throw new Error("no");
  if (answer === "again") return ctx.continueAs(undefined);
  return ctx.step("second", () => answer);
});

const key = { "2026": crypto.getRandomValues(new Uint8Array(32)) };

describe.each([
  ["memory", lab],
  ["SQLite", sqliteLab],
] as const)("run.score on %s", (_, labOf) => {
  async function parked(storage?: MemoryStorage) {
    const on = labOf();
    const app = createApp({ ...on, ...(storage && { storage }), workflows: [asks], bind: false });
    const outcome = await on.world.run(app.run("asks", undefined, { id: "r" }));
    const run = app.get("r");
    const answer = async (value: string): Promise<void> =>
      void (await on.world.run(app.resume(tokenOf(await run.outcome()), value)));
    const head = async () => (await app.list()).runs.find(({ runId }) => runId === "r");
    return { on, app, run, outcome, answer, head };
  }

  test("changes neither what the run does nor when it is due, and the code goes on after it", async () => {
    const { run, answer, head } = await parked();
    const before = await head();
    expect(await run.score("helpful", 0.5, "let us see")).toEqual({ helpful: 0.5 });
    expect(await head()).toEqual({ ...before, scores: { helpful: 0.5 } });
    await answer("yes");
    expect(await run.outcome()).toMatchObject({ status: "completed", output: "yes" });
    const ended = await head();
    await run.score("helpful", true, "it was");
    await run.score("checked", false);
    expect(await head()).toEqual({ ...ended, scores: { helpful: 1, checked: 0 } });
    expect(scoresIn(await run.entries())).toMatchObject([
      { name: "helpful", value: 1, note: "it was" },
      { name: "checked", value: 0 },
    ]);
    expect(viewRun(await run.entries())).toMatchObject({ status: "completed", endedAt: ended?.updatedAt });
    await run.score("helpful", null);
    await run.score("checked", null);
    expect(await head()).toEqual({ ...ended, scores: undefined });
  });

  test("leaves a run blocked that is blocked, since the same time", async () => {
    const on = labOf();
    const stuck = durable("stuck", (ctx) => ctx.step("ask", () => 1, { quota: "missing" }));
    const app = createApp({
      ...on,
      encryption: aesGcm({ current: "2026", keys: key }),
      workflows: [stuck],
      bind: false,
    });
    await on.world.run(app.run("stuck", undefined, { id: "r" }));
    const [before] = (await app.list()).runs;
    await on.world.advance(1_000);
    await app.get("r").score("helpful", 0);
    const [after] = (await app.list()).runs;
    expect(after).toMatchObject({ status: "blocked", state: "blocked", scores: { helpful: 0 } });
    expect(after?.blocked).toEqual({ ...before?.blocked, length: 2 });
  });

  test("stays when the run is retried, and with its chapters; a fork begins without any", async () => {
    const { app, on, run, answer, head } = await parked();
    await run.score("helpful", 1, "so far");
    await answer("again");
    expect(await head()).toMatchObject({ chapter: expect.any(Number), scores: { helpful: 1 } });
    expect(scoresIn(await run.entries())).toMatchObject([{ name: "helpful", value: 1 }]);
    const fork = await app.fork(asks, "r", { from: "first", id: "fork" });
    await on.world.run(fork.outcome());
    await answer("fail");
    await run.score("checked", 0, "it failed");
    await on.world.run(run.retry({ drive: false }));
    expect(await head()).toMatchObject({ status: "running", scores: { helpful: 1, checked: 0 } });
    await on.world.run(app.advance("r"));
    expect(await head()).toMatchObject({ status: "failed", scores: { helpful: 1, checked: 0 } });
    const { runs } = await app.list();
    expect(runs.find(({ runId }) => runId === "fork")?.scores).toBeUndefined();
  });

  test("a purge counts from the end of the run, and a copy has the scores", async () => {
    const { app, on, run, answer } = await parked();
    await answer("yes");
    await on.world.advance(86_400_000);
    await run.score("helpful", 1, "a day later");
    const to = new MemoryStorage();
    await on.world.run(copyRuns(on.storage, to));
    expect((await createApp({ storage: to, workflows: [], bind: false }).list()).runs).toMatchObject([
      { runId: "r", status: "completed", scores: { helpful: 1 } },
    ]);
    expect(await on.world.run(app.purge({ olderThan: "12 hours" }))).toMatchObject({ runs: 1 });
  });
});

test("in a bucket, a score after the end is in the journal, the head and the list", async () => {
  const bucket = new MemoryBucket();
  const app = createApp({ storage: new RemoteStorage(bucket), workflows: [asks], secret, bind: false });
  const outcome = await app.run("asks", undefined, { id: "r" });
  await app.get("r").score("helpful", 0);
  await app.resume(tokenOf(outcome), "yes");
  await app.get("r").score("helpful", 1, "after all");
  const other = new RemoteStorage(bucket);
  const reader = createApp({ storage: other, workflows: [], bind: false });
  await expect
    .poll(async () => (await reader.list()).runs, { timeout: 30_000 })
    .toMatchObject([{ runId: "r", status: "completed", scores: { helpful: 1 } }]);
  expect(scoresIn(await reader.get("r").entries())).toMatchObject([{ value: 1, note: "after all" }]);
});

test("a score beside a driver is learned by it, and both are kept", async () => {
  const on = lab();
  const counted = countingStorage(on.storage);
  const flow = durable("busy", async (ctx: Context) => {
    await ctx.step("one", async () => {
      await app.get("r").score("early", 1, "while it runs");
      return 1;
    });
    return ctx.step("two", () => 2);
  });
  const app = createApp({ ...on, storage: counted, workflows: [flow], bind: false });
  const outcome = await on.world.run(app.run("busy", undefined, { id: "r" }));
  expect(outcome).toMatchObject({ status: "completed", output: 2 });
  expect((await app.list()).runs).toMatchObject([{ status: "completed", scores: { early: 1 } }]);
  expect((await app.get("r").entries()).filter(({ kind }) => kind === "step.completed")).toHaveLength(2);
});

test("the same score again appends nothing", async () => {
  const on = lab();
  const counted = countingStorage(on.storage);
  const app = createApp({ ...on, storage: counted, workflows: [asks], bind: false });
  await on.world.run(app.run("asks", undefined, { id: "r" }));
  const run = app.get("r");
  await run.score("helpful", 1, "yes");
  const { appends } = counted.counts;
  await run.score("helpful", true, "yes");
  await run.score("other", null);
  expect(counted.counts.appends).toBe(appends);
  await Promise.all([run.score("helpful", 0, "no"), run.score("other", 2), run.score("helpful", 0, "no")]);
  expect((await app.list()).runs[0]?.scores).toEqual({ helpful: 0, other: 2 });
});

test("with encryption the note is sealed, and the score is readable", async () => {
  const on = lab();
  const app = createApp({
    ...on,
    workflows: [asks],
    encryption: aesGcm({ keys: key, current: "2026" }),
    bind: false,
  });
  await on.world.run(app.run("asks", undefined, { id: "r" }));
  await app.get("r").score("helpful", 0.25, "it names the customer Lovelace");
  const [head] = (await on.storage.list({})).runs;
  const { batches } = await on.storage.read(head!.locator);
  expect(batches.join("\n")).not.toContain("Lovelace");
  expect(JSON.stringify(head)).not.toContain("Lovelace");
  expect(head?.scores).toEqual({ helpful: 0.25 });
  expect(scoresIn(await app.get("r").entries())).toMatchObject([{ note: "it names the customer Lovelace" }]);
});

test("what is no score is refused, and a run has a limit of them", async () => {
  const on = lab();
  const app = createApp({ ...on, workflows: [asks], bind: false });
  await on.world.run(app.run("asks", undefined, { id: "r" }));
  const run = app.get("r");
  for (const [name, value, note] of [
    ["", 1, undefined],
    ["two words", 1, undefined],
    ["helpful", Number.NaN, undefined],
    ["helpful", "1", undefined],
    ["helpful", 1, "x".repeat(limits.scoreNote + 1)],
  ] as [string, number, string | undefined][])
    await expect(run.score(name, value, note)).rejects.toMatchObject({ code: "invalid-options" });
  await expect(app.get("none").score("helpful", 1)).rejects.toMatchObject({ code: "not-found" });
  for (let n = 0; n < limits.scores; n++) await run.score(`s${n}`, n);
  await expect(run.score("more", 1)).rejects.toMatchObject({ code: "limit" });
  await run.score("s3", 7);
  await run.score("s4", null);
  expect(await run.score("more", 1)).toMatchObject({ s3: 7, more: 1 });
});
