import { createApp, durable, type DurableError, type Run } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, pause, tokenOf, type Lab } from "../../support/behaviour-lab.ts";
import { batchesOf, runOf } from "../../support/behaviour-lives.ts";
import { childOf, childrenOf, Ran, standings } from "./support/child-family.ts";
import { heads } from "../../support/worker-runs.ts";

/** Steps around a child with a step; who ran what. */
function chain() {
  const ran = new Ran();
  const kid = durable("kid", async (ctx, n: number) => n + (await ctx.step("work", ran.work(ctx, 10))));
  const flow = durable("parent", async (ctx) => {
    const a = await ctx.step("a", ran.work(ctx, 1));
    const b = await ctx.child(kid, a);
    const c = await ctx.step("c", ran.work(ctx, 2));
    return [a, b, c];
  });
  return { ran, kid, flow };
}

/** Every run's batches, by id. */
async function bytesOf({ storage }: Lab): Promise<Record<string, readonly string[]>> {
  const found: Record<string, readonly string[]> = {};
  for (const { runId, locator } of await heads(storage)) found[runId] = (await storage.read(locator)).batches;
  return found;
}

describe("a fork of a parent", () => {
  test("keeps children that ended: no new run, nothing of theirs runs again", async () => {
    const on = lab();
    const { ran, flow } = chain();
    await runOf(on, flow);
    const before = ran.bodies.length;
    const fork = await flow.with({ ...on }).fork("r", { from: "c", id: "f" });
    expect(await on.world.run(fork.result())).toEqual([1, 11, 2]);
    expect(ran.bodies.slice(before)).toEqual(["f c"]);
    expect(await childrenOf(on.storage, "f")).toEqual([]);
    // A fork of the fork reads it through both.
    const again = await flow.with({ ...on }).fork("f", { after: "kid", id: "g" });
    expect(await on.world.run(again.result())).toEqual([1, 11, 2]);
    expect(ran.bodies.slice(before)).toEqual(["f c", "g c"]);
  });

  test("goes back to a child: that one begins anew, as a run of the fork with an id of its own", async () => {
    const on = lab();
    const { ran, flow } = chain();
    await runOf(on, flow);
    const first = await childOf(on);
    const before = ran.bodies.length;
    const fork = await flow.with({ ...on }).fork("r", { from: "kid", id: "f" });
    expect(await on.world.run(fork.result())).toEqual([1, 11, 2]);
    const second = await childOf(on, "f");
    expect(second.runId).not.toBe(first.runId);
    expect(ran.bodies.slice(before)).toEqual([`${second.runId} work`, "f c"]);
    expect(await childOf(on)).toEqual(first);
  });

  test("keeps a child that failed, and names the run that did", async () => {
    const on = lab();
    const bad = durable("bad", () => Promise.reject(new Error("no")));
    const flow = durable("parent", async (ctx) => {
      const { details, cause } = (await failureOf(ctx.child(bad))) as DurableError & { cause: Error };
      return [details["runId"], cause.message, await ctx.step("after", () => 1)];
    });
    const output = outputOf(await runOf(on, flow));
    const { runId } = await childOf(on);
    expect(output).toEqual([runId, "no", 1]);
    const fork = await flow.with({ ...on }).fork("r", { from: "after", id: "f" });
    expect(await on.world.run(fork.result())).toEqual([runId, "no", 1]);
  });

  /** A child that waits, after a step or beside one. */
  const waiting = (on: Lab, place: "after" | "beside") => {
    const kid = durable("kid", (ctx) => ctx.suspend<string>("ok"));
    return durable("parent", async (ctx) => {
      if (place === "beside")
        return (await ctx.parallel({ a: (c) => c.step("a", () => "a"), b: (c) => c.child(kid) })).b;
      await ctx.step("a", () => "a");
      return ctx.child(kid);
    }).with({ ...on });
  };
  const places = [
    ["after", "kid/ok", { after: "a" }],
    ["beside", "parallel[b]/kid/ok", { from: "parallel[a]/a" }],
  ] as const;

  test.each(places)(
    "begins unfinished children anew, %s the step it goes back to; neither's token answers the other",
    async (place, key, cut) => {
      const on = lab();
      const flow = waiting(on, place);
      const parked = await on.world.run(flow.run(undefined, { id: "r" }));
      const fork = await flow.fork("r", { ...cut, id: "f" });
      await failureOf(on.world.run(fork.result()));
      const [one, two] = [tokenOf(parked, key), tokenOf(await fork.outcome(), key)];
      expect(one).not.toBe(two);
      const ids = [await childOf(on), await childOf(on, "f")].map(({ runId }) => runId);
      expect(new Set(ids).size).toBe(2);
      await on.world.run(flow.resume(two, "fork"));
      expect(outputOf(await fork.outcome())).toBe("fork");
      expect(await flow.get("r").outcome()).toMatchObject({ status: "suspended" });
      await on.world.run(flow.resume(one, "parent"));
      expect(outputOf(await flow.get("r").outcome())).toBe("parent");
      expect(outputOf(await fork.outcome())).toBe("fork");
    },
  );

  test.each(places)(
    "cancelled, it ends its own children %s that step, and not its parent's",
    async (place, _, cut) => {
      const on = lab();
      const flow = waiting(on, place);
      await on.world.run(flow.run(undefined, { id: "r" }));
      const fork = await flow.fork("r", { ...cut, id: "f" });
      await failureOf(on.world.run(fork.result()));
      await fork.cancel();
      const [ours, theirs] = [await childOf(on), await childOf(on, "f")];
      expect([ours.status, theirs.status]).toEqual(["suspended", "cancelled"]);
    },
  );

  test.each([
    ["that ended", true],
    ["that waits", false],
  ])(
    "is given another output for a child %s: what follows runs again, the child does not",
    async (_, ended) => {
      const on = lab();
      const ran = new Ran();
      const kid = durable("kid", async (ctx, wait: boolean) => {
        const n = await ctx.step("work", ran.work(ctx, 10));
        return wait ? ctx.suspend<number>("n") : n;
      });
      const flow = durable("parent", async (ctx) => {
        const a = await ctx.step("a", ran.work(ctx, 1));
        const b = await ctx.child(kid, !ended);
        return [a, b, await ctx.step("c", ran.work(ctx, b + 1))];
      }).with({ ...on });
      await on.world.run(flow.run(undefined, { id: "r" }));
      const before = ran.bodies.length;
      const fork = await flow.fork("r", { edit: { kid: 70 }, id: "f" });
      expect(await on.world.run(fork.result())).toEqual([1, 70, 71]);
      expect(ran.bodies.slice(before)).toEqual(["f c"]);
      expect(await childrenOf(on.storage, "f")).toEqual([]);
    },
  );
});

describe("a fork of a child's own run", () => {
  test("is a run of its own: it ends without a word to the parent, which keeps what the child gave", async () => {
    const on = lab();
    const { ran, kid, flow } = chain();
    await runOf(on, flow);
    const child = await childOf(on);
    const before = await batchesOf(on);
    const fork = await kid.with({ ...on }).fork(child.runId, { edit: { work: 90 }, id: "f" });
    expect(await on.world.run(fork.result())).toBe(91);
    expect(await batchesOf(on)).toEqual(before);
    expect((await on.storage.list({ parent: child.runId })).runs).toMatchObject([
      { runId: "f", workflow: "kid" },
    ]);
    expect(await childrenOf(on.storage, "r")).toEqual([child]);
    expect(ran.bodies.filter((body) => body.startsWith("f "))).toEqual([]);
  });

  test("does not end the parent's wait while the child itself still waits", async () => {
    const on = lab();
    const kid = durable("kid", async (ctx) => [
      await ctx.step("a", () => 1),
      await ctx.suspend<string>("ok"),
    ]);
    const flow = durable("parent", async (ctx) => ctx.child(kid));
    const parked = await runOf(on, flow);
    const { runId } = await childOf(on);
    const fork = await kid.with({ ...on }).fork(runId, { after: "a", id: "f" });
    await failureOf(on.world.run(fork.result()));
    const app = createApp({ ...on, workflows: [flow, kid] });
    await on.world.run(app.resume(tokenOf(await fork.outcome()), "fork"));
    expect(outputOf(await fork.outcome())).toEqual([1, "fork"]);
    await on.world.run(app.sweep());
    expect(await app.get("r").outcome()).toMatchObject({ status: "suspended" });
    await on.world.run(app.resume(tokenOf(parked), "child"));
    await on.world.advance(1_000);
    expect(outputOf(await app.get("r").outcome())).toEqual([1, "child"]);
  });
});

describe("H44 a parent with children and a stream that is being driven", () => {
  test("is forked at each of its keys, at every moment: not a byte of it or its children changes", async () => {
    const on = lab();
    const work = (name: string) => async () => {
      await pause(on.world, 1_000);
      return name;
    };
    const kid = durable("kid", async (ctx) => [
      await ctx.step("x", work("x")),
      await ctx.step("y", work("y")),
    ]);
    const flow = durable("parent", async (ctx) => {
      const a = await ctx.step("a", work("a"));
      const both = await ctx.parallel({
        kid: (c) => c.child(kid),
        words: (c) =>
          c.stream("words", async function* () {
            for (const word of ["p", "q", "r"]) {
              yield word;
              await pause(on.world, 700);
            }
          }),
      });
      return [a, both, await ctx.child(kid, undefined, { name: "last" })];
    }).with({ ...on });
    const driving = flow.run(undefined, { id: "r" });
    const forks: Run<unknown[]>[] = [];
    for (let moment = 0; moment < 10; moment++) {
      await on.world.advance(600);
      const keys = new Set(
        (await flow.get("r").entries()).flatMap((entry) =>
          "key" in entry && /completed|opened|chunks/.test(entry.kind) ? [entry.key] : [],
        ),
      );
      const before = await bytesOf(on);
      for (const from of keys) forks.push(await flow.fork("r", { from, id: `f-${moment}-${forks.length}` }));
      const after = await bytesOf(on);
      for (const [runId, bytes] of Object.entries(before)) expect(after[runId], runId).toEqual(bytes);
    }
    const output = outputOf(await on.world.run(driving));
    expect(output).toEqual(["a", { kid: ["x", "y"], words: ["p", "q", "r"] }, ["x", "y"]]);
    const before = await bytesOf(on);
    expect(forks.length).toBeGreaterThan(25);
    for (const fork of forks) expect(await on.world.run(fork.result()), fork.id).toEqual(output);
    const after = await bytesOf(on);
    const family = ["r", ...(await childrenOf(on.storage, "r")).map(({ runId }) => runId)];
    expect(family).toHaveLength(3);
    for (const runId of family) expect(after[runId], runId).toEqual(before[runId]);
    expect(new Set(Object.values(await standings(on.storage)))).toEqual(new Set(["completed"]));
  });
});
