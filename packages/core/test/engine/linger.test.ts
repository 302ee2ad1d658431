import { createApp, durable, type Context, type Storage, type Workflow } from "@durable/core";
import { describe, expect, test } from "vitest";
import { hooked, kindsOf, lab, pause, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf, dieAt } from "../support/behaviour-lives.ts";
import { open, outputs } from "../support/worker-lab.ts";
import { numbered, record } from "../support/worker-runs.ts";

type Flow = Workflow<unknown, unknown>;

/** A step that ends `ms` after it began, and a body that does not wait longer than ten seconds for it. */
function impatient(on: Lab, ms: number, end: (ctx: Context) => unknown = () => "ended") {
  const seen = { aborted: 0, ended: 0 };
  const flow: Flow = durable("impatient", async (ctx) => {
    const floating = ctx.step("floating", async ({ signal }) => {
      signal.addEventListener("abort", () => (seen.aborted = on.world.now()));
      await pause(on.world, ms);
      seen.ended = on.world.now();
      return "late";
    });
    await Promise.race([floating, ctx.sleep("10s")]);
    return end(ctx);
  });
  return { flow, seen };
}

const forEver = 1_000 * 3_600_000;

describe("work that its workflow no longer waits for", () => {
  test("gets five seconds, then its signal aborts, and the run ends", async () => {
    const on = lab();
    const start = on.world.now();
    const { flow, seen } = impatient(on, forEver);
    expect(await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }))).toEqual({
      runId: "r",
      recorded: false,
      state: "completed",
      status: "completed",
      output: "ended",
      abandoned: ["floating"],
    });
    expect(on.world.now() - start).toBe(15_000);
    expect(seen.aborted - start).toBe(15_000);
    expect(on.world.warnings).toEqual([expect.stringContaining("without waiting for: floating")]);
    expect(
      await flow
        .with({ ...on })
        .get("r")
        .outcome(),
    ).toMatchObject({
      status: "completed",
      abandoned: ["floating"],
    });
  });

  test.each([
    ["0s", 0],
    ["1s", 1_000],
    ["10m", 600_000],
  ] as const)("gets the time that `linger` says: %s", async (linger, ms) => {
    const on = lab();
    const start = on.world.now();
    const { flow } = impatient(on, forEver);
    const outcome = await on.world.run(flow.with({ ...on, linger }).run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({ status: "completed", abandoned: ["floating"] });
    expect(on.world.now() - start).toBe(10_000 + ms);
  });

  test("gets it by an app, too", async () => {
    const on = lab();
    const start = on.world.now();
    const { flow } = impatient(on, forEver);
    await record(on, "r", { workflow: "impatient" });
    const app = createApp({ ...on, workflows: [flow], linger: "2s" });
    expect(await on.world.run(app.advance("r"))).toMatchObject({ abandoned: ["floating"] });
    expect(on.world.now() - start).toBe(12_000);
  });

  test("is kept when it ends within the time", async () => {
    const on = lab();
    const start = on.world.now();
    const { flow, seen } = impatient(on, 13_000);
    const outcome = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    expect(outcome).toEqual({
      runId: "r",
      recorded: false,
      state: "completed",
      status: "completed",
      output: "ended",
    });
    expect(on.world.now() - start).toBe(13_000);
    expect(seen.aborted).toBe(0);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).toContain("step.completed floating");
  });

  test("is dropped when it ends later", async () => {
    const on = lab();
    const { flow, seen } = impatient(on, 20_000);
    await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    const before = await batchesOf(on);
    await on.world.advance(60_000);
    expect(seen.ended).toBeGreaterThan(seen.aborted);
    expect(await batchesOf(on)).toEqual(before);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).not.toContain("step.completed floating");
  });

  test("is named by a run that failed", async () => {
    const on = lab();
    const { flow } = impatient(on, forEver, () => {
      throw new Error("no use");
    });
    expect(await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }))).toMatchObject({
      status: "failed",
      error: { code: "run-failed" },
      abandoned: ["floating"],
    });
  });

  test("is not tried again when it fails meanwhile", async () => {
    const on = lab();
    const tries: number[] = [];
    const flow: Flow = durable("failing", async (ctx) => {
      void ctx.step("floating", async ({ attempt }) => {
        tries.push(attempt);
        await pause(on.world, 1_000);
        throw new Error("no");
      });
      await ctx.step("quick", () => 1);
      return "ended";
    });
    expect(await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }))).toMatchObject({
      status: "completed",
      abandoned: ["floating"],
    });
    expect(tries).toEqual([1]);
  });

  test("gets its time once more after a crash, and the run ends the same way", async () => {
    const on = lab();
    const { flow } = impatient(on, forEver);
    // run.started, sleep.opened, sleep.fired; then the process dies at the end.
    await dieAt(on, flow, 4, { fault: "crash-before" });
    const start = on.world.now();
    const app = createApp({ ...on, workflows: [flow] });
    expect(await on.world.run(app.advance("r"))).toMatchObject({
      status: "completed",
      output: "ended",
      abandoned: ["floating"],
    });
    expect(on.world.now() - start).toBe(5_000);
  });

  test("does not hold the places of a worker", async () => {
    const on = lab();
    const start = on.world.now();
    const { flow } = impatient(on, forEver);
    const quick = durable("quick", (ctx) => ctx.step("work", () => "quick"));
    for (const id of numbered("impatient", 10)) await record(on, id, { workflow: "impatient" });
    await record(on, "quick", { workflow: "quick" });
    // A sleep of ten seconds is held in memory, so that each run needs its place all the time.
    const { heard, until, worker } = open(on, [flow, quick], { concurrency: 2, interval: "20s" });
    await until(11);
    expect(outputs(heard).filter((output) => output === "ended")).toHaveLength(10);
    expect(outputs(heard)).toContain("quick");
    expect(on.world.now() - start).toBeLessThanOrEqual(5 * 15_000 + 1_000);
    expect(worker.active).toBe(0);
  });
});

describe("what else its workflow no longer waits for", () => {
  test("a stream is named as abandoned", async () => {
    const on = lab();
    let aborted = false;
    const flow: Flow = durable("streaming", async (ctx) => {
      const tokens = ctx.stream("tokens", async function* ({ signal }) {
        signal.addEventListener("abort", () => (aborted = true));
        yield "first";
        await pause(on.world, forEver);
        yield "never";
      });
      await Promise.race([tokens, ctx.sleep("10s")]);
      return "ended";
    });
    const start = on.world.now();
    const outcome = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({ status: "completed", output: "ended", abandoned: ["tokens"] });
    expect(on.world.now() - start).toBe(15_000);
    expect(aborted).toBe(true);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).toContain("stream.chunks tokens");
  });

  test("a child that is being driven is named as abandoned", async () => {
    const on = lab();
    const inner = durable("inner", (ctx) => ctx.step("work", () => pause(on.world, 60_000)));
    const flow: Flow = durable("outer", async (ctx) => {
      await Promise.race([ctx.child(inner), ctx.sleep("10s")]);
      return "ended";
    });
    const start = on.world.now();
    const outcome = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({ status: "completed", output: "ended", abandoned: ["inner"] });
    expect(on.world.now() - start).toBe(15_000);
    const before = await batchesOf(on);
    await on.world.advance(120_000);
    expect(await batchesOf(on), "what the child reports later changes nothing").toEqual(before);
  });

  test("the loser of ctx.race costs no time and is not named", async () => {
    const on = lab();
    const flow: Flow = durable("race", async (ctx) => {
      await ctx.race({
        floating: (c) => c.step("floating", () => pause(on.world, forEver)),
        limit: (c) => c.sleep("10s"),
      });
      return "ended";
    });
    const start = on.world.now();
    const outcome = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    expect(outcome).toEqual({
      runId: "r",
      recorded: false,
      state: "completed",
      status: "completed",
      output: "ended",
    });
    expect(on.world.now() - start).toBe(10_000);
    expect(on.world.warnings).toEqual([]);
  });

  test.each(["completed", "continued"])(
    "a child of a lost branch is cancelled before the run has %s, also when that takes longer",
    async (how) => {
      const on = lab();
      const inner = durable("inner", (ctx) => ctx.suspend("never"));
      const flow: Flow = durable("outer", async (ctx, again) => {
        if (again === true) return "ended";
        await ctx.race({ child: (c) => c.child(inner), limit: (c) => c.sleep("10s") });
        return how === "continued" ? ctx.continueAs(true) : "ended";
      });
      const ends: string[] = [];
      const storage: Storage = {
        ...hooked(on.storage, () => {}),
        append: async (request) => {
          const end = /"run\.(completed|continued|cancelled)"/.exec(request.batch)?.[1];
          if (end === "cancelled") await pause(on.world, 60_000);
          if (end !== undefined) ends.push(end);
          return on.storage.append(request);
        },
      };
      const outcome = await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" }));
      expect(outcome).toMatchObject({ status: "completed", output: "ended" });
      expect(outcome).not.toHaveProperty("abandoned");
      expect(ends.slice(0, 2)).toEqual(["cancelled", how]);
    },
  );
});
