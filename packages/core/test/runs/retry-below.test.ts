/** A retry, and the runs below: children and spawned runs that the failure has cancelled. */

import { createApp, durable, FatalError, type AnyWorkflow, type Outcome } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, sqliteLab, tokenOf, type Lab } from "../support/behaviour-lab.ts";

const hour = 3_600_000;

const below = async (on: Lab, parent = "r"): Promise<string[]> =>
  (await on.storage.list({ parent })).runs.map(({ status }) => status).toSorted();

/** Retries a run and advances it, as a worker would; asserts that this takes no time. */
async function again(on: Lab, workflows: AnyWorkflow[], id = "r"): Promise<Outcome<unknown>> {
  const app = createApp({ ...on, workflows });
  await app.get(id).retry({ drive: false });
  const start = on.world.now();
  const outcome = await on.world.run(app.advance(id, { patience: 0 }));
  expect(on.world.now() - start, "nothing is waited for").toBeLessThan(1_000);
  return outcome;
}

/** A step that fails while `state.broken`. */
const fragile = (state: { broken: boolean }) => () =>
  state.broken ? Promise.reject(new FatalError("broken")) : Promise.resolve("fixed");

function asking(ran: string[] = []) {
  return durable("asking", async (ctx) => {
    await ctx.step("paid", () => ran.push("paid"));
    return ctx.suspend<string>("ok");
  });
}

describe("a child that the end of its parent has cancelled", () => {
  test.each([
    ["memory", lab],
    ["SQLite", sqliteLab],
  ])("a missed deadline: it goes on, with its work and its token (%s)", async (_, labOf) => {
    const on = labOf();
    const ran: string[] = [];
    const child = asking(ran);
    const flow = durable("late", (ctx) => ctx.child(child), { deadline: "1h" });
    const app = createApp({ ...on, workflows: [flow, child] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    await on.world.advance(hour);
    expect(await on.world.run(app.advance("r"))).toMatchObject({ error: { code: "deadline" } });
    expect(await below(on)).toEqual(["cancelled"]);
    expect((await on.world.run(app.resume(token, "early"))).status).toBe("expired");
    expect(tokenOf(await again(on, [flow, child]))).toBe(token);
    expect((await on.world.run(app.resume(token, "yes"))).status).toBe("accepted");
    expect(await on.world.run(app.get("r").result())).toBe("yes");
    expect(ran).toEqual(["paid"]);
    expect(await below(on)).toEqual(["completed"]);
  });

  test("it may miss one deadline after the other", async () => {
    const on = lab();
    const child = asking();
    const flow = durable("late", (ctx) => ctx.child(child), { deadline: "1h" });
    const app = createApp({ ...on, workflows: [flow, child] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    for (let n = 0; n < 3; n++) {
      await on.world.advance(hour);
      expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "failed" });
      await app.get("r").retry({ drive: false, deadline: "1h" });
      expect(tokenOf(await on.world.run(app.advance("r", { patience: 0 })))).toBe(token);
    }
    await on.world.run(app.resume(token, "yes"));
    expect(await on.world.run(app.get("r").result())).toBe("yes");
  });

  test("one that has cleaned up begins anew, under another id", async () => {
    const on = lab();
    const ran: string[] = [];
    const child = durable("child", async (ctx) => {
      ctx.onCancel(() => void ran.push("cleaned"));
      await ctx.step("paid", () => ran.push("paid"));
      return ctx.suspend<string>("ok");
    });
    const flow = durable("late", (ctx) => ctx.child(child), { deadline: "1h" });
    const app = createApp({ ...on, workflows: [flow, child] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    await on.world.advance(hour);
    await on.world.run(app.advance("r"));
    await on.world.run(app.sweep());
    const token = tokenOf(await again(on, [flow, child]));
    expect(ran).toEqual(["paid", "cleaned", "paid"]);
    await on.world.run(app.resume(token, "yes"));
    expect(await on.world.run(app.get("r").result())).toBe("yes");
    expect(await below(on)).toEqual(["cancelled", "completed"]);
  });

  test("one that was cancelled before it began begins anew, under another id", async () => {
    const on = lab();
    const child = asking();
    const flow = durable("late", (ctx) => ctx.child(child), { deadline: "1h" });
    // The process dies after it has recorded that the child is opened.
    const storage = faultyStorage(on.storage, {
      world: on.world,
      plan: (operation, index) => (operation === "append" && index === 3 ? "crash-before" : null),
    });
    await on.world.run(
      Promise.race([flow.with({ ...on, storage }).run(undefined, { id: "r" }), storage.died]),
    );
    const app = createApp({ ...on, workflows: [flow, child] });
    expect((await app.get("r").entries()).at(-1)?.kind).toBe("child.opened");
    await on.world.advance(hour);
    expect(await on.world.run(app.advance("r"))).toMatchObject({ error: { code: "deadline" } });
    expect(await below(on)).toEqual(["cancelled"]);
    const token = tokenOf(await again(on, [flow, child]));
    await on.world.run(app.resume(token, "yes"));
    expect(await on.world.run(app.get("r").result())).toBe("yes");
    expect(await below(on)).toEqual(["cancelled", "completed"]);
  });

  test.each<[string, (state: { broken: boolean }) => (c: { step: never }) => unknown]>([
    [
      "a step",
      (state) => (c) => (c as never as { step(n: string, w: unknown): unknown }).step("s", fragile(state)),
    ],
    ["the code", (state) => async () => (state.broken ? Promise.reject(new Error("a bug")) : "fixed")],
  ])("by a group in which %s failed: it goes on, and reports from another process", async (_, branch) => {
    const on = lab();
    const ran: string[] = [];
    const child = asking(ran);
    const state = { broken: true };
    const flow = durable("group", async (ctx) => {
      await ctx.sleep(1);
      return ctx.parallel({
        child: (c) => c.child(child),
        other: async (c) => {
          await c.sleep("2h");
          return branch(state)(c as never);
        },
      });
    });
    const app = createApp({ ...on, workflows: [flow, child] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    await on.world.advance(2 * hour);
    expect((await on.world.run(app.advance("r"))).status).toBe("failed");
    expect(await below(on)).toEqual(["cancelled"]);
    state.broken = false;
    expect(tokenOf(await again(on, [flow, child]))).toBe(token);
    const other = createApp({ ...on, workflows: [child] });
    expect((await on.world.run(other.resume(token, "yes"))).status).toBe("accepted");
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual({ child: "yes", other: "fixed" });
    expect(ran).toEqual(["paid"]);
  });

  test("the loser of a race that stays decided is not continued", async () => {
    const on = lab();
    const state = { broken: true };
    const child = asking();
    const flow = durable("race", async (ctx) => {
      await ctx.race({ child: (c) => c.child(child), time: (c) => c.sleep("1h") });
      return ctx.step("s", fragile(state));
    });
    const app = createApp({ ...on, workflows: [flow, child] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    await on.world.advance(hour);
    expect((await on.world.run(app.advance("r"))).status).toBe("failed");
    state.broken = false;
    expect(outputOf(await again(on, [flow, child]))).toBe("fixed");
    expect(await below(on)).toEqual(["cancelled"]);
  });

  test("one that missed its own deadline goes on", async () => {
    const on = lab();
    const child = asking();
    const flow = durable("own", (ctx) => ctx.child(child, undefined, { deadline: "1h" }));
    const app = createApp({ ...on, workflows: [flow, child] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    await on.world.advance(hour);
    expect(await on.world.run(app.advance("r"))).toMatchObject({ error: { code: "deadline" } });
    expect(tokenOf(await again(on, [flow, child]))).toBe(token);
    await on.world.run(app.resume(token, "yes"));
    expect(await on.world.run(app.get("r").result())).toBe("yes");
  });

  test("children of a child, too", async () => {
    const on = lab();
    const grandchild = asking();
    const child = durable("child", (ctx) => ctx.child(grandchild));
    const flow = durable("late", (ctx) => ctx.child(child), { deadline: "1h" });
    const all = [flow, child, grandchild];
    const app = createApp({ ...on, workflows: all });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    await on.world.advance(hour);
    await on.world.run(app.advance("r"));
    expect(tokenOf(await again(on, all))).toBe(token);
    await on.world.run(app.resume(token, "yes"));
    expect(await on.world.run(app.get("r").result())).toBe("yes");
  });
});

describe("the child of a run that failed", () => {
  const family = () => {
    const state = { broken: true };
    const child = asking();
    const flow = durable("plain", async (ctx) => {
      const [answer] = await Promise.all([ctx.child(child), failing(ctx.sleep("1h"))]);
      return answer;
      async function failing(time: Promise<void>): Promise<unknown> {
        await time;
        return ctx.step("s", fragile(state), { retry: false });
      }
    });
    return { state, child, flow };
  };

  test("is cancelled: it does not wait for ever, and its token is expired", async () => {
    const on = lab();
    const { state, child, flow } = family();
    const app = createApp({ ...on, workflows: [flow, child] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    await on.world.advance(hour);
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "failed", abandoned: ["asking"] });
    expect(await below(on)).toEqual(["cancelled"]);
    expect((await on.world.run(app.resume(token, "late"))).status).toBe("expired");
    state.broken = false;
    expect(tokenOf(await again(on, [flow, child]))).toBe(token);
    expect((await on.world.run(app.resume(token, "yes"))).status).toBe("accepted");
    expect(await on.world.run(app.get("r").result())).toBe("yes");
  });

  test("a process that dies before the failure is recorded: the same", async () => {
    for (const fault of ["crash-before", "crash-after"] as const)
      for (let append = 1; append <= 4; append++) {
        const on = lab(append);
        const { child, flow } = family();
        await on.world.run(flow.with(on).run(undefined, { id: "r" }));
        await on.world.advance(hour);
        const storage = faultyStorage(on.storage, {
          world: on.world,
          plan: (operation, index) => (operation === "append" && index === append ? fault : null),
        });
        const dying = createApp({ ...on, storage, workflows: [flow, child] });
        await on.world.run(Promise.race([dying.advance("r").catch(() => {}), storage.died]));
        await on.world.advance(60_000);
        const app = createApp({ ...on, workflows: [flow, child] });
        expect((await on.world.run(app.advance("r"))).status).toBe("failed");
        expect(await below(on)).toEqual(["cancelled"]);
      }
  });
});

describe("spawned runs that end with a run", () => {
  const spawning = (kid: AnyWorkflow, state: { broken: boolean }, chapters = 1) =>
    durable("spawning", async (ctx, n: number): Promise<unknown> => {
      if (n === 1) await ctx.spawn(kid, undefined, { onParentEnd: "cancel" });
      if (n < chapters) return ctx.continueAs(n + 1);
      await ctx.step("s", fragile(state), { retry: false });
      return ctx.suspend("wait");
    });

  test.each([1, 2])("go on with it after a retry, under their ids (chapter %i)", async (chapters) => {
    const on = lab();
    const state = { broken: true };
    const ran: string[] = [];
    const kid = asking(ran);
    const flow = spawning(kid, state, chapters);
    const app = createApp({ ...on, workflows: [flow, kid] });
    await on.world.run(flow.with(on).run(1, { id: "r" }));
    await on.world.run(app.sweep());
    const [head] = (await on.storage.list({ parent: "r" })).runs;
    expect(head).toMatchObject({ status: "cancelled" });
    state.broken = false;
    await on.world.run(app.get("r").retry());
    await on.world.advance(1_000);
    expect(await on.world.run(app.get("r").outcome())).toMatchObject({ status: "suspended" });
    const point = await on.world.run(app.get(head!.runId).outcome());
    await on.world.run(app.resume(tokenOf(point), "yes"));
    expect(await on.world.run(app.get(head!.runId).result())).toBe("yes");
    expect(ran.length).toBeLessThanOrEqual(2);
  });

  test("a process that dies after the retry was recorded: a second call continues them", async () => {
    const on = lab();
    const state = { broken: true };
    const kid = asking();
    const flow = spawning(kid, state);
    const app = createApp({ ...on, workflows: [flow, kid] });
    await on.world.run(flow.with(on).run(1, { id: "r" }));
    state.broken = false;
    const storage = faultyStorage(on.storage, {
      world: on.world,
      plan: (operation, index) => (operation === "append" && index === 1 ? "crash-after" : null),
    });
    const dying = createApp({ ...on, storage, workflows: [flow, kid] });
    await on.world.run(Promise.race([dying.get("r").retry({ drive: false }), storage.died]));
    expect(await below(on)).toEqual(["cancelled"]);
    await on.world.run(app.get("r").retry({ drive: false }));
    expect(await below(on)).toEqual(["running"]);
  });

  test("one that has cleaned up cannot go on: the retry is refused", async () => {
    const on = lab();
    const state = { broken: true };
    const kid = durable("kid", async (ctx) => {
      ctx.onCancel(() => {});
      return ctx.suspend("ok");
    });
    const flow = durable("spawning", async (ctx) => {
      await ctx.spawn(kid, undefined, { onParentEnd: "cancel" });
      await ctx.sleep("1h");
      return ctx.step("s", fragile(state), { retry: false });
    });
    const app = createApp({ ...on, workflows: [flow, kid] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    await on.world.advance(hour);
    await on.world.run(app.advance("r"));
    await on.world.run(app.sweep());
    const refusal = await failureOf(app.get("r").retry());
    expect(refusal).toMatchObject({ code: "retry-refused" });
    expect((refusal as Error).message).toContain("which it spawned");
  });
});
