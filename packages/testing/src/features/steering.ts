/** What operators do with runs and workflows: pause, retry, cancel, purge, and inspect what is blocked. */

import { durable, FatalError, type App, type RunHead } from "@durable/core";
import { expect } from "vitest";
import type { Feature } from "./feature.ts";
import { refuses, tokenOf, type FeatureLab } from "./lab.ts";

const ask = durable("ask", async (ctx, _input: unknown) => {
  const answer = await ctx.suspend<string>("go");
  return ctx.step("after", () => `got ${answer}`);
});

/** A run of `ask` that waits, and its token. */
async function asked(lab: FeatureLab, app: App, id: string): Promise<string> {
  await lab.run(app.start("ask", 1, { id, drive: false }));
  return tokenOf(await lab.run(app.advance(id)));
}

export const pausedRuns: Feature = {
  name: "Pausing a run",
  page: "guides/operate/steering-runs.md",
  programs: {
    "a paused run keeps its answers, and continues when it is unpaused": async (lab) => {
      const app = lab.app([ask]);
      const token = await asked(lab, app, "r");
      const run = app.get("r");
      await lab.run(run.pause({ reason: "a look at it" }));
      lab.worker(app);
      await lab.run(app.resume(token, "yes"));
      await lab.pass(60_000);
      expect(await run.outcome()).toMatchObject({ status: "paused", reason: "a look at it" });
      expect(await lab.ids(app, { status: "paused" })).toEqual(["r"]);
      await lab.run(run.unpause({ drive: false }));
      expect(await lab.ended(run)).toMatchObject({ status: "completed", output: "got yes" });
    },
  },
};

export const pausedWorkflows: Feature = {
  name: "Pausing a workflow",
  page: "guides/operate/steering-runs.md",
  needs: "pause",
  programs: {
    "its runs are recorded and not driven, in every process, until it is unpaused": async (lab) => {
      const quick = durable("quick", (ctx) => ctx.step("work", () => 1));
      const app = lab.app([ask, quick]);
      const other = lab.app([ask, quick], { storage: await lab.another() });
      await lab.run(app.pause("quick", { reason: "a bad deploy" }));
      lab.worker(other);
      const run = await lab.run(app.start("quick", undefined, { drive: false }));
      await lab.run(app.start("ask", 1, { id: "beside", drive: false }));
      await lab.until("the other workflow goes on", async () => (await lab.statuses(app))["suspended"]);
      await lab.pass(60_000);
      expect(await lab.run(other.advance(run.id))).toMatchObject({
        status: "paused",
        reason: "a bad deploy",
      });
      await lab.run(app.pause("another"));
      await lab.pass(2_000);
      expect(await lab.run(other.paused())).toMatchObject([
        { workflow: "another", reason: null },
        { workflow: "quick", reason: "a bad deploy" },
      ]);
      await lab.run(app.unpause("another"));
      await lab.run(app.unpause("quick"));
      expect(await lab.ended(run)).toMatchObject({ status: "completed", output: 1 });
      await lab.pass(2_000);
      expect(await lab.run(other.paused())).toEqual([]);
    },
  },
  without: (lab) => refuses(() => lab.app([ask]).pause("ask"), /cannot pause a workflow. Pause its runs/),
};

export const scoring: Feature = {
  name: "Scores",
  page: "guides/test/datasets.md",
  programs: {
    "a run gets scores before and after its end, and its head has the last of each name": async (lab) => {
      const app = lab.app([ask]);
      const token = await asked(lab, app, "r");
      const run = app.get("r");
      await lab.run(run.score("helpful", 0.5, "too early to say"));
      expect(await lab.run(run.outcome())).toMatchObject({ status: "suspended" });
      lab.worker(app);
      await lab.run(app.resume(token, "yes"));
      expect(await lab.ended(run)).toMatchObject({ status: "completed", output: "got yes" });
      const { updatedAt } = (await lab.list(app))[0] as RunHead;
      await lab.pass(60_000);
      await lab.run(run.score("helpful", true));
      expect(await lab.run(run.score("short", 3))).toEqual({ helpful: 1, short: 3 });
      const entries = await lab.run(run.entries());
      await lab.run(run.score("short", 3));
      expect(await lab.run(run.entries())).toHaveLength(entries.length);
      expect(await lab.list(app)).toMatchObject([
        { status: "completed", updatedAt, scores: { helpful: 1, short: 3 } },
      ]);
      await lab.run(run.score("short", null));
      expect((await lab.list(app))[0]?.scores).toEqual({ helpful: 1 });
    },
  },
};

export const purging: Feature = {
  name: "Purging",
  page: "guides/operate/retention.md",
  programs: {
    "old runs go with their children, and others stay": async (lab) => {
      const child = durable("child", (ctx) => ctx.step("work", () => 1));
      const parent = durable("parent", (ctx) => ctx.child(child));
      const app = lab.app([child, parent, ask]);
      for (const id of ["a", "b"]) await lab.run((await app.start("parent", undefined, { id })).result());
      await asked(lab, app, "waits");
      await lab.pass(2 * 86_400_000);
      await lab.run((await app.start("parent", undefined, { id: "new" })).result());
      const would = await lab.run(app.purge({ olderThan: "1 day", dryRun: true }));
      expect(would).toMatchObject({ runs: 2, children: 2 });
      expect(await lab.run(app.purge({ olderThan: "1 day" }))).toMatchObject({
        runs: 2,
        children: 2,
        left: 0,
      });
      expect(await lab.ids(app, { workflow: ["parent", "ask"] })).toEqual(["new", "waits"]);
      expect(await lab.ids(app, { workflow: "child" })).toHaveLength(1);
      expect(await lab.run(app.purge({ keep: 0, status: "completed", workflow: "parent" }))).toMatchObject({
        runs: 1,
      });
    },
    "a worker purges in the background": async (lab) => {
      const quick = durable("quick", (ctx) => ctx.step("work", () => 1));
      const app = lab.app([quick, ask]);
      for (const id of ["a", "b"]) await lab.run((await app.start("quick", undefined, { id })).result());
      await asked(lab, app, "waits");
      lab.worker(app, { purge: { olderThan: "5 minutes", every: "1 minute" } });
      await lab.until("the old runs are gone", async () => (await lab.ids(app)).join() === "waits");
    },
  },
};

export const blocked: Feature = {
  name: "Blocked runs in lists",
  page: "guides/operate/blocked-runs.md",
  needs: "note",
  otherwise: "recorded status",
  programs: {
    "a run whose code has changed is listed as blocked, and goes on with the right code": async (lab) => {
      const { app, wrong } = await changed(lab);
      expect(await lab.run(wrong.advance("r"))).toMatchObject({
        status: "blocked",
        error: { code: "diverged" },
      });
      expect(await lab.list(app, { status: "blocked" })).toMatchObject([
        { runId: "r", status: "blocked", blocked: { code: "diverged" } },
      ]);
      expect(await app.get("r").outcome()).toMatchObject({ status: "blocked", error: { code: "diverged" } });
      lab.worker(app);
      expect(await lab.ended(app.get("r"))).toMatchObject({ status: "completed", output: 1 });
      expect(await lab.list(app, { status: "blocked" })).toEqual([]);
    },
  },
  without: async (lab) => {
    const { app, wrong } = await changed(lab);
    expect(await lab.run(wrong.advance("r"))).toMatchObject({
      status: "blocked",
      error: { code: "diverged" },
    });
    expect(await lab.list(app)).toMatchObject([{ runId: "r", status: "suspended" }]);
  },
};

/** A run that is due, and an app whose code does not fit its journal. */
async function changed(lab: FeatureLab): Promise<{ readonly app: App; readonly wrong: App }> {
  const app = lab.app([
    durable("flow", async (ctx) => {
      const value = await ctx.step("a", () => 1);
      await ctx.sleep("1 hour");
      return value;
    }),
  ]);
  const wrong = lab.app([durable("flow", (ctx) => ctx.suspend("a"))]);
  await lab.run(app.start("flow", undefined, { id: "r", drive: false }));
  expect(await lab.run(app.advance("r"))).toMatchObject({ status: "suspended" });
  await lab.pass(3_600_000);
  return { app, wrong };
}

export const retrying: Feature = {
  name: "Retry in place",
  page: "guides/operate/steering-runs.md",
  programs: {
    "a failed run continues under its id: only the call that failed runs again": async (lab) => {
      const ran: string[] = [];
      const flow = durable("fragile", async (ctx) => {
        const a = await ctx.step("a", () => ran.push("a"));
        return [
          a,
          await ctx.step("b", () => {
            ran.push("b");
            if (ran.length < 3) throw new FatalError("broken");
            return "fixed";
          }),
        ];
      });
      const app = lab.app([flow]);
      lab.worker(app);
      const run = await lab.run(app.start("fragile", undefined, { id: "r", drive: false }));
      expect(await lab.ended(run)).toMatchObject({ status: "failed" });
      await lab.run(run.retry({ drive: false }));
      expect(await lab.ended(run)).toMatchObject({ status: "completed", output: [1, "fixed"] });
      expect(ran).toEqual(["a", "b", "b"]);
    },
  },
};
