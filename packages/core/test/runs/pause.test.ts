import { createApp, durable, Journal } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { countingStorage, crashEverywhere, faultyStorage, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { failureOf, kindsOf, lab, outputOf, secret, sqliteLab, tokenOf } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";
import { open, slow } from "../support/worker-lab.ts";
import { record } from "../support/worker-runs.ts";

const hour = 3_600_000;

describe("a paused run", () => {
  test("is driven by no one until it is unpaused; sleeps that passed meanwhile fire then", async () => {
    const on = lab();
    const flow = durable("nap", async (ctx) => {
      await ctx.sleep("1h");
      return ctx.step("after", () => "done");
    });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    const { app, heard } = open(on, [flow]);
    expect(await app.get("r").pause({ reason: "maintenance" })).toMatchObject({
      status: "paused",
      reason: "maintenance",
      since: on.world.now(),
    });
    expect((await on.storage.list()).runs).toMatchObject([{ status: "paused", wakeAt: null }]);
    await on.world.advance(5 * hour);
    expect(heard).toEqual([]);
    expect((await on.world.run(app.sweep())).outcomes).toEqual([]);
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "paused" });
    expect(await on.world.run(flow.with(on).run(undefined, { id: "r" }))).toMatchObject({ status: "paused" });
    expect(await app.get("r").unpause()).toMatchObject({ status: "running" });
    expect(await on.world.run(app.get("r").result())).toBe("done");
    expect(await kindsOf(app.get("r"))).toEqual([
      "run.started",
      "sleep.opened sleep",
      "run.suspended",
      "run.paused",
      "run.unpaused",
      "sleep.fired sleep",
      "step.completed after",
      "run.completed",
    ]);
  });

  test("costs an idle worker no lease and no list of its own", async () => {
    const on = lab();
    await record(on, "r", { workflow: "slow", input: "x" });
    const { flow } = slow(on.world);
    const app = createApp({ ...on, workflows: [flow] });
    await app.get("r").pause();
    const storage = countingStorage(on.storage);
    const { heard } = open(on, [flow], { storage });
    await on.world.advance(hour);
    expect([heard.length, storage.counts.leases, storage.counts.reads]).toEqual([0, 0, 0]);
    expect(storage.counts.claims + storage.counts.lists).toBeGreaterThan(0);
    expect(on.world.warnings).toEqual([]);
  });

  test("finishes and records the work under way, and begins nothing more", async () => {
    const on = lab();
    const { flow, ran } = slow(on.world);
    const app = createApp({ ...on, workflows: [flow] });
    const driving = flow.with(on).run("t", { id: "r" });
    await on.world.advance(1_500);
    await app.get("r").pause();
    expect(await on.world.run(driving)).toMatchObject({ status: "paused" });
    expect(ran).toEqual(["r a 1", "r b 1"]);
    expect((await on.storage.list()).runs).toMatchObject([{ status: "paused", steps: 2, wakeAt: null }]);
    await app.get("r").unpause();
    expect(await on.world.run(app.get("r").result())).toEqual(["t a", "t b", "t c"]);
    expect(ran).toEqual(["r a 1", "r b 1", "r c 1"]);
  });

  test("takes answers, checks them, and uses them when it is unpaused", async () => {
    const on = lab();
    const flow = durable("ask", async (ctx) => [await ctx.suspend("a"), await ctx.suspend("b")]);
    const app = createApp({ ...on, workflows: [flow] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    await app.get("r").pause();
    const paused = await app.get("r").outcome();
    expect(paused).toMatchObject({ status: "paused", waiting: [{ key: "a", token }] });
    expect(await on.world.run(app.resume(token, 1))).toMatchObject({
      status: "accepted",
      outcome: { status: "paused", waiting: [] },
    });
    expect((await app.resume(token, 2, { drive: false })).status).toBe("duplicate");
    await app.get("r").unpause({ drive: false });
    const next = await on.world.run(app.advance("r"));
    expect(outputOf((await on.world.run(app.resume(tokenOf(next), 2))).outcome)).toEqual([1, 2]);
  });

  test("is cancelled at once, and its deadline waits for unpause", async () => {
    const on = lab();
    const flow = durable("ask", (ctx) => ctx.suspend("a"), { deadline: "1h" });
    const app = createApp({ ...on, workflows: [flow] });
    for (const id of ["a", "b"]) {
      await on.world.run(flow.with(on).run(undefined, { id }));
      await app.get(id).pause();
    }
    expect((await on.world.run(app.cancel("a"))).status).toBe("cancelled");
    await on.world.advance(2 * hour);
    expect((await on.world.run(app.advance("b"))).status).toBe("paused");
    await app.get("b").unpause({ drive: false });
    expect(await on.world.run(app.advance("b"))).toMatchObject({
      status: "failed",
      error: { code: "deadline" },
    });
  });

  test("does not pause its children, and sees their end later", async () => {
    const on = lab();
    const child = durable("child", async (ctx) => {
      await ctx.sleep("1h");
      return "grown";
    });
    const flow = durable("parent", (ctx) => ctx.child(child));
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    const { app } = open(on, [flow, child]);
    await app.get("r").pause();
    await on.world.advance(2 * hour);
    expect((await on.storage.list({ workflow: "child" })).runs).toMatchObject([{ status: "completed" }]);
    expect((await app.get("r").outcome()).status).toBe("paused");
    await app.get("r").unpause();
    expect(await on.world.run(app.get("r").result())).toBe("grown");
  });

  test("a parent waits for a child that is paused", async () => {
    const on = lab();
    const child = durable("child", async (ctx) => {
      await ctx.sleep("1h");
      return "grown";
    });
    const flow = durable("parent", (ctx) => ctx.child(child));
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    const { app } = open(on, [flow, child]);
    const [head] = (await on.storage.list({ workflow: "child" })).runs;
    await app.get(head!.runId).pause();
    await on.world.advance(10 * hour);
    expect((await app.get("r").outcome()).status).toBe("suspended");
    await app.get(head!.runId).unpause();
    expect(await on.world.run(app.get("r").result())).toBe("grown");
  });

  test("repeating a verb changes nothing, and an ended run answers with its end", async () => {
    const on = lab();
    const flow = durable("ask", (ctx) => ctx.suspend("a"));
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    const run = app.get("r");
    expect((await run.unpause()).status).toBe("suspended");
    await run.pause({ reason: "first" });
    expect(await run.pause({ reason: "second" })).toMatchObject({ reason: "first" });
    const before = (await batchesOf(on)).length;
    await run.pause();
    expect((await batchesOf(on)).length).toBe(before);
    await on.world.run(app.cancel("r"));
    expect((await run.pause()).status).toBe("cancelled");
    expect((await run.unpause()).status).toBe("cancelled");
  });

  test("a fork of a paused run is not paused, and a deleted id that is used again is not", async () => {
    const on = lab();
    const flow = durable("two", async (ctx) => {
      await ctx.step("s", () => 1);
      await ctx.suspend("a");
    });
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    await app.get("r").pause();
    const fork = await app.get("r").fork({ from: "a", id: "f" });
    await on.world.advance(1_000);
    expect((await fork.outcome()).status).toBe("suspended");
    await app.delete("r");
    await app.delete("f");
    expect((await on.world.run(flow.with(on).run(undefined, { id: "r" }))).status).toBe("suspended");
  });

  test("with encryption the pause and its reason are sealed", async () => {
    const on = lab();
    const encryption = aesGcm({
      current: "k",
      keys: { k: Uint8Array.from({ length: 32 }, (_, at) => at + 1) },
    });
    const flow = durable("ask", (ctx) => ctx.suspend("a"));
    const app = createApp({ ...on, encryption, workflows: [flow] });
    await on.world.run(flow.with({ ...on, encryption }).run(undefined, { id: "r" }));
    await app.get("r").pause({ reason: "a private reason" });
    expect((await batchesOf(on)).join("\n")).not.toContain("private");
    expect(await app.get("r").outcome()).toMatchObject({ status: "paused", reason: "a private reason" });
    await app.get("r").unpause({ drive: false });
    expect((await on.world.run(app.advance("r"))).status).toBe("suspended");
  });

  test("a journal without a workflow cannot be paused or retried", async () => {
    const on = lab();
    const journal = await Journal.open("j", on);
    await on.world.run(journal.record("k", () => 1));
    const app = createApp({ ...on, workflows: [] });
    for (const verb of ["pause", "unpause", "retry"] as const)
      expect(await failureOf(app.get("j")[verb]())).toMatchObject({ code: "invalid-options" });
  });
});

describe("faults", () => {
  const faults: readonly Fault[] = ["crash-before", "crash-after", "lose-reply", "lose-request", "conflict"];

  test.each(faults)("%s at every append around a pause: no work is lost or repeated", async (fault) => {
    for (let append = 1; append <= 6; append++) {
      const on = lab(append);
      const { flow, ran } = slow(on.world);
      const app = createApp({ ...on, workflows: [flow] });
      const storage = faultyStorage(on.storage, {
        world: on.world,
        plan: (operation, index) => (operation === "append" && index === append ? fault : null),
      });
      const driving = flow.with({ ...on, storage }).run("t", { id: "r" });
      await on.world.advance(1_500);
      await app
        .get("r")
        .pause()
        .catch(() => {});
      await on.world.run(Promise.race([driving, storage.died]));
      await on.world.advance(60_000);
      const begun = ran.length;
      await on.world.run(app.sweep());
      const where = `${fault} at append ${append}`;
      if (
        (
          await app
            .get("r")
            .outcome()
            .catch(() => null)
        )?.status === "paused"
      )
        expect(ran.length, where).toBe(begun);
      await app
        .get("r")
        .unpause({ drive: false })
        .catch(() => {});
      const outcome = await on.world.run(flow.with(on).run("t", { id: "r" }));
      expect(outputOf(outcome), where).toEqual(["t a", "t b", "t c"]);
      expect(ran.length, where).toBeLessThanOrEqual(4);
    }
  });

  test("crashEverywhere: a step that pauses its own run", { timeout: 300_000 }, async () => {
    const some = inject("full") ? {} : { faults: ["crash-after", "lose-reply"] as const };
    const report = await crashEverywhere(({ storage, world }) => {
      const flow = durable("self", async (ctx) => {
        await ctx.step("before", () => 1);
        await ctx.parallel({
          pause: (c) =>
            c.step("pause", async () => {
              await flow.with({ storage, world, secret }).get(ctx.runId).pause({ reason: "by itself" });
            }),
          beside: (c) => c.step("beside", () => 2),
        });
        await ctx.sleep("1m");
        return ctx.step("after", () => "done");
      });
      return flow;
    }, some);
    expect(outputOf(report.calm.outcome)).toBe("done");
  });
});

describe("a paused workflow", () => {
  test("its runs are recorded and not driven, those of others are", async () => {
    const on = lab();
    const one = durable("one", (ctx) => ctx.step("s", () => 1));
    const two = durable("two", (ctx) => ctx.step("s", () => 2));
    const { app, heard } = open(on, [one, two]);
    await app.pause("one", { reason: "a bug" });
    expect(await app.paused()).toEqual([{ workflow: "one", reason: "a bug", since: on.world.now() }]);
    const first = await app.start("one", undefined, { id: "a" });
    await app.start("two", undefined, { id: "b" });
    await on.world.advance(hour);
    expect((await first.outcome()).status).toBe("running");
    expect((await app.get("b").outcome()).status).toBe("completed");
    expect(heard.map(({ runId }) => runId)).not.toContain("a");
    expect(await on.world.run(app.advance("a"))).toMatchObject({ status: "paused", reason: "a bug" });
    expect((await on.world.run(app.sweep())).outcomes).toEqual([]);
    await app.unpause("one");
    await on.world.advance(hour);
    expect(outputOf(await first.outcome())).toBe(1);
    expect(await app.paused()).toEqual([]);
  });

  test("another process hands its runs over at a step boundary", async () => {
    const on = lab();
    const { flow, ran } = slow(on.world, 10_000);
    const { heard } = open(on, [flow]);
    await record(on, "r", { workflow: "slow", input: "t" });
    await on.world.advance(12_000);
    const operator = createApp({ ...on, workflows: [flow] });
    await operator.pause("slow");
    await on.world.advance(60_000);
    expect(ran.length).toBeLessThan(3);
    expect(heard.length).toBe(1);
    await operator.unpause("slow");
    await on.world.advance(60_000);
    expect(ran).toEqual(["r a 1", "r b 1", "r c 1"]);
  });

  test.each([
    ["memory", lab],
    ["SQLite", sqliteLab],
  ])("is paused again, although another process has unpaused it a moment ago: %s", async (_, make) => {
    const on = make();
    const flow = durable("one", (ctx) => ctx.step("s", () => 1));
    const [a, b] = [1, 2].map(() => createApp({ ...on, workflows: [flow] }));
    await a?.pause("one", { reason: "first" });
    await on.world.advance(100);
    await b?.unpause("one");
    await a?.pause("one", { reason: "second" });
    expect(await on.storage.paused?.()).toMatchObject([{ workflow: "one", reason: "second" }]);
    expect(await a?.paused()).toMatchObject([{ reason: "second" }]);
    await a?.start("one", undefined, { id: "r", drive: false });
    expect(await on.world.run(a!.advance("r"))).toMatchObject({ status: "paused", reason: "second" });
    await b?.pause("one", { reason: "third" });
    expect(await on.storage.paused?.(), "the first pause stays").toMatchObject([{ reason: "second" }]);
  });

  test("answers are recorded, and used later", async () => {
    const on = lab();
    const flow = durable("ask", async (ctx) => ctx.suspend("a"));
    const app = createApp({ ...on, workflows: [flow] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    await app.pause("ask");
    expect(await on.world.run(app.resume(token, 7))).toMatchObject({
      status: "accepted",
      outcome: { status: "paused" },
    });
    await app.unpause("ask");
    expect(outputOf(await on.world.run(app.advance("r")))).toBe(7);
  });

  test("a storage that cannot keep it says so", async () => {
    const on = lab();
    const { pause: _, ...rest } = { ...on.storage, pause: undefined };
    const app = createApp({ ...on, storage: rest, workflows: [] });
    expect(await failureOf(app.pause("w"))).toMatchObject({ code: "invalid-options" });
    expect(await app.paused()).toEqual([]);
  });
});
