import { createApp, durable, type Context, type DurableError } from "@durable/core";
import { describe, expect, test } from "vitest";
import { hooked, kindsOf, lab, outputOf, pause, tokenOf, type Lab } from "../../support/behaviour-lab.ts";
import { batchesOf, dieAt, replayOf, runOf } from "../../support/behaviour-lives.ts";
import { childOf, childrenOf, standings } from "./support/child-family.ts";

describe("a child that is cancelled alone", () => {
  const kid = durable("kid", (ctx) => ctx.suspend<string>("n"));

  test("fails the parent's call with code cancelled, and the parent may go on", async () => {
    const on = lab();
    const flow = durable("parent", async (ctx) => {
      const code = await ctx
        .child(kid)
        .catch(({ code: found, details }: DurableError) => [found, details["key"]]);
      return [code, await ctx.step("after", () => 1)];
    });
    await runOf(on, flow);
    const { runId } = await childOf(on);
    const app = createApp({ ...on, workflows: [flow, kid] });
    expect(await app.cancel(runId, { reason: "not this one" })).toMatchObject({ status: "cancelled", runId });
    // Its end is reported to its parent, which is driven where its code is.
    await on.world.advance(1_000);
    expect(outputOf(await app.get("r").outcome())).toEqual([["cancelled", "kid"], 1]);
    expect(outputOf(await replayOf(on, flow))).toEqual([["cancelled", "kid"], 1]);
  });

  test("while its parent drives it: the parent hears of it at once", async () => {
    const on = lab();
    const long = durable("long", (ctx) => ctx.step("work", () => pause(on.world, 3_600_000)));
    const flow = durable("parent", (ctx) => ctx.child(long).catch(({ code }: DurableError) => code));
    const driving = flow.with({ ...on }).run(undefined, { id: "r" });
    await on.world.advance(1_000);
    const at = on.world.now();
    await long.with({ ...on }).cancel((await childOf(on)).runId);
    expect(outputOf(await on.world.run(driving))).toBe("cancelled");
    expect(on.world.now() - at).toBeLessThan(10_000);
    const kinds = await kindsOf(flow.with({ ...on }).get("r"));
    expect(kinds).toEqual(["run.started", "child.opened long", "child.failed long", "run.completed"]);
  });

  test("not caught, it fails the parent; a flow of another workflow may not end it", async () => {
    const on = lab();
    const flow = durable("parent", (ctx) => ctx.child(kid));
    await runOf(on, flow);
    const { runId } = await childOf(on);
    await expect(flow.with({ ...on }).cancel(runId)).rejects.toMatchObject({ code: "unknown-workflow" });
    await kid.with({ ...on }).cancel(runId);
    expect(await runOf(on, flow)).toMatchObject({ status: "failed", error: { code: "cancelled" } });
  });
});

describe("a child that is no longer needed", () => {
  const mute = durable("mute", (ctx) => ctx.suspend<string>("never"));
  /** Long work that notes whether it was aborted. */
  const busy = (on: Lab, seen: string[]) =>
    durable("busy", (ctx) =>
      ctx.step("long", async ({ signal }) => {
        signal.addEventListener("abort", () => seen.push("told"));
        await pause(on.world, 60_000);
        seen.push("ended");
      }),
    );

  test("is cancelled when its branch loses a race: parked or at work, and below it", async () => {
    const on = lab();
    const seen: string[] = [];
    const kid = busy(on, seen);
    const nest = durable("nest", (ctx) => ctx.child(mute));
    const flow = durable("parent", (ctx) =>
      ctx.race({
        quick: (c) => c.sleep("5s"),
        mute: (c) => c.child(mute),
        busy: (c) => c.child(kid),
        nest: (c) => c.child(nest),
      }),
    );
    const at = on.world.now();
    expect(outputOf(await runOf(on, flow))).toMatchObject({ name: "quick" });
    expect(on.world.now() - at).toBeLessThan(10_000);
    const { r, ...others } = await standings(on.storage);
    expect([r, ...Object.values(others)]).toEqual([
      "completed",
      "cancelled",
      "cancelled",
      "cancelled",
      "cancelled",
    ]);
    expect(seen).toEqual(["told"]);
    const closed = (await kindsOf(flow.with({ ...on }).get("r"))).filter((line) =>
      line.startsWith("child.closed"),
    );
    expect(closed.toSorted()).toEqual([
      "child.closed race[busy]/busy",
      "child.closed race[mute]/mute",
      "child.closed race[nest]/nest",
    ]);
  });

  test("is cancelled when a sibling fails: the failure reaches the workflow, which may catch it", async () => {
    const on = lab();
    const seen: string[] = [];
    const kid = busy(on, seen);
    const bad = durable("bad", async (ctx) => {
      await ctx.sleep("2s");
      throw new Error("no");
    });
    const flow = durable("parent", async (ctx) => {
      const beside: readonly ((c: Context) => Promise<unknown>)[] = [
        (c) => c.child(bad),
        (c) => c.child(kid),
        (c) => c.child(mute),
      ];
      const code = await ctx.parallel(beside).catch((error: DurableError) => error.code);
      return [code, await ctx.step("after", () => 1)];
    });
    expect(outputOf(await runOf(on, flow))).toEqual(["step-failed", 1]);
    const statuses = (await childrenOf(on.storage, "r")).map(
      ({ workflow, status }) => `${workflow} ${status}`,
    );
    expect(statuses).toEqual(["bad failed", "busy cancelled", "mute cancelled"]);
    expect(seen).toEqual(["told"]);
  });

  test("is cancelled once: a crash at every append, and replay, close it once and cancel nothing again", async () => {
    const flow = durable("parent", async (ctx) => {
      const { name } = await ctx.race({ quick: (c) => c.sleep("5s"), slow: (c) => c.child(mute) });
      await ctx.sleep("5s");
      return [name, await ctx.step("after", () => 1)];
    });
    const calm = lab();
    await runOf(calm, flow);
    const appends = (await batchesOf(calm)).length + 3;
    for (let append = 1; append <= appends; append++) {
      const on = lab();
      await dieAt(on, flow, append).catch(() => null);
      expect(outputOf(await runOf(on, flow)), `append ${append}`).toEqual(["quick", 1]);
      const kinds = await kindsOf(flow.with({ ...on }).get("r"));
      expect(
        kinds.filter((line) => line.startsWith("child.")),
        `append ${append}`,
      ).toEqual(["child.opened race[slow]/mute", "child.closed race[slow]/mute"]);
      const child = await childOf(on);
      expect(child.status).toBe("cancelled");
      const ended = await kindsOf(mute.with({ ...on }).get(child.runId));
      expect(ended.filter((kind) => kind === "run.cancelled")).toHaveLength(1);
      // Replayed where there is no child at all: none is made.
      expect(outputOf(await replayOf(on, flow))).toEqual(["quick", 1]);
    }
  });

  test("is cancelled though the storage fails for a while; its token is over", async () => {
    const on = lab();
    const flow = durable("parent", (ctx) =>
      ctx.race({ quick: (c) => c.sleep("5s"), slow: (c) => c.child(mute) }),
    );
    const begun = on.world.now();
    const bad = (): boolean => on.world.now() - begun >= 5_000 && on.world.now() - begun < 8_000;
    const storage = hooked(on.storage, (operation, moment) => {
      if (moment === "before" && operation === "read" && bad()) throw new Error("down");
    });
    const run = flow.with({ ...on, storage });
    const driving = run.run(undefined, { id: "r" });
    await on.world.advance(1_000);
    const { runId } = await childOf(on);
    const token = tokenOf(
      await mute
        .with({ ...on })
        .get(runId)
        .outcome(),
    );
    expect(outputOf(await on.world.run(driving))).toMatchObject({ name: "quick" });
    expect(await childOf(on)).toMatchObject({ status: "cancelled" });
    expect(await on.world.run(mute.with({ ...on }).resume(token, "late"))).toMatchObject({
      status: "expired",
    });
    expect(on.world.warnings).toEqual([]);
  });

  test("that ended as its race was decided stays ended, and its output is not delivered", async () => {
    for (let ms = 0; ms <= 12; ms++) {
      const on = lab();
      const quick = durable("quick", (ctx) => ctx.step("work", () => pause(on.world, 1_000)));
      const flow = durable("parent", (ctx) =>
        ctx.race({ a: (c) => c.sleep(1_000 - 6 + ms), b: (c) => c.child(quick) }),
      );
      const storage = hooked(on.storage, () => pause(on.world, 1));
      const outcome = await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" }));
      const { name } = outputOf(outcome) as { name: string };
      const { status } = await childOf(on);
      expect(["completed", "cancelled"], `${ms}`).toContain(status);
      if (name === "b") expect(status).toBe("completed");
      const kinds = await kindsOf(flow.with({ ...on }).get("r"));
      expect(
        kinds.filter((line) => /^child\.(completed|closed)/.test(line)).length,
        `${ms}`,
      ).toBeLessThanOrEqual(2);
      expect(outputOf(await replayOf(on, flow)), `${ms}`).toEqual(outputOf(outcome));
    }
  });
});
