import { createApp, durable, DurableError, FatalError } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { faultyStorage, type Fault } from "@durable/testing";
import { describe, expect, test } from "vitest";
import {
  failureOf,
  kindsOf,
  lab,
  outputOf,
  pause,
  sqliteLab,
  tokenOf,
  type Lab,
} from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";
import { open } from "../support/worker-lab.ts";

/** `a`, then `b`, which fails while `broken` is true. */
function fragile(state: { broken: boolean }, ran: string[] = []) {
  return durable("fragile", async (ctx) => {
    const a = await ctx.step("a", () => ran.push("a"));
    const b = await ctx.step(
      "b",
      () => {
        ran.push("b");
        if (state.broken) throw new FatalError("broken");
        return "fixed";
      },
      { retry: false },
    );
    return [a, b];
  });
}

async function failed(on: Lab, flow: ReturnType<typeof fragile>): Promise<void> {
  expect((await on.world.run(flow.with(on).run(undefined, { id: "r" }))).status).toBe("failed");
}

describe("run.retry", () => {
  test("the failed step runs again, recorded work stays, under the same id", async () => {
    const on = lab();
    const state = { broken: true };
    const ran: string[] = [];
    const flow = fragile(state, ran);
    await failed(on, flow);
    state.broken = false;
    const app = createApp({ ...on, workflows: [flow] });
    expect(await app.get("r").retry()).toMatchObject({ runId: "r", recorded: false, status: "running" });
    expect(await on.world.run(app.get("r").result())).toEqual([1, "fixed"]);
    expect(ran).toEqual(["a", "b", "b"]);
    expect(await kindsOf(app.get("r"))).toEqual([
      "run.started",
      "step.completed a",
      "run.retried",
      "step.completed b",
      "run.completed",
    ]);
    expect((await batchesOf(on)).join("\n")).toContain('"kind":"run.retried","failed":["b"]');
  });

  test("the idempotency key stays, and the step has all its attempts again", async () => {
    const on = lab();
    const keys: string[] = [];
    let broken = true;
    const flow = durable("keys", (ctx) =>
      ctx.step(
        "s",
        ({ idempotencyKey, attempt }) => {
          keys.push(`${idempotencyKey} ${attempt}`);
          if (broken) throw new Error("no");
          return attempt;
        },
        { retry: { attempts: 2, delay: 1 } },
      ),
    ).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    broken = false;
    await flow.get("r").retry();
    expect(await on.world.run(flow.get("r").result())).toBe(1);
    const [first = ""] = keys;
    const key = first.split(" ")[0];
    expect(keys).toEqual([`${key} 1`, `${key} 2`, `${key} 1`]);
  });

  test("is due for a worker, and the head says running", async () => {
    const on = lab();
    const state = { broken: true };
    const flow = fragile(state);
    await failed(on, flow);
    const app = createApp({ ...on, workflows: [flow] });
    await app.get("r").retry({ drive: false });
    expect((await on.storage.list()).runs).toMatchObject([{ status: "running", wakeAt: 0 }]);
    state.broken = false;
    const { until, heard } = open(on, [flow]);
    await until(1);
    expect(heard).toMatchObject([{ status: "completed" }]);
  });

  test("a run may fail and be retried again and again", async () => {
    const on = lab();
    const state = { broken: true };
    const flow = fragile(state).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    for (let i = 0; i < 3; i++) {
      await flow.get("r").retry();
      expect(await on.world.run(failureOf(flow.get("r").result()))).toMatchObject({ code: "step-failed" });
    }
    state.broken = false;
    await flow.get("r").retry();
    expect(await on.world.run(flow.get("r").result())).toEqual([1, "fixed"]);
  });

  test("an error of the code itself: the code runs again over the same record", async () => {
    const on = lab();
    const before = durable("code", async (ctx) => {
      await ctx.step("a", () => 1);
      throw new TypeError("a bug");
    });
    const after = durable("code", (ctx) => ctx.step("a", () => 2));
    await on.world.run(before.with(on).run(undefined, { id: "r" }));
    const run = after.with(on).get("r");
    await run.retry();
    expect(await on.world.run(run.result())).toBe(1);
  });

  test("the failure is found behind an error that the code wrapped", async () => {
    const on = lab();
    let broken = true;
    const flow = durable("wrap", async (ctx) => {
      try {
        return await ctx.step("s", () => (broken ? Promise.reject(new FatalError("x")) : "ok"));
      } catch (cause) {
        throw new Error("wrapped", { cause });
      }
    }).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    broken = false;
    await flow.get("r").retry();
    expect(await on.world.run(flow.get("r").result())).toBe("ok");
  });

  test("a wait that expired opens again, with the same token", async () => {
    const on = lab();
    const flow = durable("ask", (ctx) => ctx.suspend<string>("ok", { timeout: "1h" }));
    const app = createApp({ ...on, workflows: [flow] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    await on.world.advance(3_600_000);
    expect((await on.world.run(app.advance("r"))).status).toBe("failed");
    await app.get("r").retry({ drive: false });
    expect(await on.world.run(app.advance("r"))).toMatchObject({
      status: "suspended",
      wakeAt: on.world.now() + 3_600_000,
    });
    expect(outputOf((await on.world.run(app.resume(token, "yes"))).outcome)).toBe("yes");
  });

  test("a stream that failed gets another attempt with a number of its own", async () => {
    const on = lab();
    let broken = true;
    const flow = durable("feed", (ctx) =>
      ctx.stream(
        "s",
        async function* () {
          yield 1;
          await pause(on.world, 1_000);
          if (broken) throw new FatalError("cut");
          yield 2;
        },
        { retry: false },
      ),
    ).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    broken = false;
    await flow.get("r").retry();
    expect(await on.world.run(flow.get("r").result())).toEqual([1, 2]);
    const attempts = (await flow.get("r").entries()).flatMap((entry) =>
      entry.kind === "stream.completed" ? [entry.attempt] : [],
    );
    expect(attempts).toEqual([2]);
  });

  test("a deadline that passed is removed, or replaced", async () => {
    const on = lab();
    const flow = durable("ask", (ctx) => ctx.suspend("ok"), { deadline: "1h" });
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    await on.world.advance(3_600_000);
    await on.world.run(app.advance("r"));
    await app.get("r").retry({ deadline: "2h", drive: false });
    expect(await on.world.run(app.advance("r"))).toMatchObject({ wakeAt: on.world.now() + 7_200_000 });
    await on.world.advance(7_200_000);
    expect(await on.world.run(app.advance("r"))).toMatchObject({ error: { code: "deadline" } });
    await app.get("r").retry({ drive: false });
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "suspended", wakeAt: null });
  });

  test("a group that missed its deadline gets the time again", async () => {
    const on = lab();
    const flow = durable("group", (ctx) =>
      ctx.parallel([(c) => c.suspend<string>("ok")], { deadline: "1h" }),
    );
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    await on.world.advance(3_600_000);
    expect((await on.world.run(app.advance("r"))).status).toBe("failed");
    await app.get("r").retry({ drive: false });
    const again = await on.world.run(app.advance("r"));
    expect(again).toMatchObject({ status: "suspended", wakeAt: on.world.now() + 3_600_000 });
    expect(outputOf((await on.world.run(app.resume(tokenOf(again), "yes"))).outcome)).toEqual(["yes"]);
  });
});

describe("run.retry and other runs", () => {
  const family = (state: { broken: boolean }) => {
    const child = durable("child", (ctx) =>
      ctx.step("s", () => (state.broken ? Promise.reject(new FatalError("x")) : "grown")),
    );
    return { child, parent: durable("parent", (ctx) => ctx.child(child)) };
  };

  test("a fork that inherited the failure of a child runs a child of its own", async () => {
    const on = lab();
    const state = { broken: true };
    const { parent, child } = family(state);
    const flow = parent.with(on);
    await on.world.run(flow.run(undefined, { id: "p" }));
    const fork = await on.world.run(flow.fork("p", { after: "child", id: "f" }));
    expect((await on.world.run(fork.outcome())).status).toBe("failed");
    state.broken = false;
    const app = createApp({ ...on, workflows: [parent, child] });
    await on.world.run(app.get("f").retry());
    await on.world.run(app.get("f").result());
    const kinds = await kindsOf(app.get("f"));
    expect(kinds.lastIndexOf("child.opened child")).toBeGreaterThan(kinds.indexOf("run.retried"));
    const children = (await on.storage.list({ workflow: "child" })).runs;
    expect(children.map(({ parent: above, status }) => `${above} ${status}`).toSorted()).toEqual([
      "f completed",
      "p failed",
    ]);
  });

  test("a parent is retried with the child that failed, and a child alone is refused", async () => {
    const on = lab();
    const state = { broken: true };
    const { parent, child } = family(state);
    await on.world.run(parent.with(on).run(undefined, { id: "p" }));
    const app = createApp({ ...on, workflows: [parent, child] });
    const [head] = (await on.storage.list({ workflow: "child" })).runs;
    const refusal = await failureOf(app.get(head!.runId).retry());
    expect(refusal).toMatchObject({ code: "retry-refused" });
    expect((refusal as Error).message).toContain("Retry the parent");
    state.broken = false;
    await app.get("p").retry();
    expect(await on.world.run(app.get("p").result())).toBe("grown");
    expect((await on.storage.list({ workflow: "child" })).runs).toMatchObject([
      { runId: head!.runId, status: "completed" },
    ]);
  });

  test("a process that dies between the two retries: the second try completes it", async () => {
    const on = lab();
    const state = { broken: true };
    const { parent, child } = family(state);
    await on.world.run(parent.with(on).run(undefined, { id: "p" }));
    state.broken = false;
    const storage = faultyStorage(on.storage, {
      world: on.world,
      plan: (operation, index) => (operation === "append" && index === 2 ? "crash-before" : null),
    });
    const dying = createApp({ ...on, storage, workflows: [parent, child] });
    await on.world.run(Promise.race([dying.get("p").retry(), storage.died]));
    const { app } = open(on, [parent, child]);
    await on.world.advance(120_000);
    expect((await on.storage.list({ workflow: "child" })).runs).toMatchObject([{ status: "completed" }]);
    await app.get("p").retry();
    expect(await on.world.run(app.get("p").result())).toBe("grown");
  });

  test("a fork keeps what the run has after its retry, and not the failure", async () => {
    const on = lab();
    const state = { broken: true };
    const ran: string[] = [];
    const flow = fragile(state, ran).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    const early = await flow.fork("r", { after: "b", id: "early" });
    expect(await on.world.run(failureOf(early.result()))).toMatchObject({ code: "step-failed" });
    state.broken = false;
    await flow.get("r").retry();
    await on.world.run(flow.get("r").result());
    const late = await flow.fork("r", { after: "b", id: "late" });
    expect(await on.world.run(late.result())).toEqual([1, "fixed"]);
    expect(ran).toEqual(["a", "b", "b"]);
    expect(await on.world.run(failureOf(early.result())), "what was forked before stays").toMatchObject({
      code: "step-failed",
    });
    // The failure that `early` inherited is taken back in it, and in forks of it.
    await early.retry();
    expect(await on.world.run(early.result())).toEqual([1, "fixed"]);
    const deeper = await early.fork({ after: "b", id: "deeper" });
    expect(await on.world.run(deeper.result())).toEqual([1, "fixed"]);
  });

  test("is refused where the run did not fail, or a compensation ran", async () => {
    const on = lab();
    const flow = durable("ask", (ctx) => ctx.suspend("a")).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    expect(await failureOf(flow.get("r").retry())).toMatchObject({ code: "retry-refused" });
    await on.world.run(flow.cancel("r"));
    expect(await failureOf(flow.get("r").retry())).toMatchObject({ code: "retry-refused" });
  });

  test("two at a time: one entry, and both answer", async () => {
    const on = lab();
    const state = { broken: true };
    const flow = fragile(state);
    await failed(on, flow);
    state.broken = false;
    const apps = [1, 2].map(() => createApp({ ...on, workflows: [flow] }));
    const outcomes = await on.world.run(Promise.all(apps.map((app) => app.get("r").retry())));
    for (const { status } of outcomes) expect(status).toMatch(/running|completed/);
    await on.world.run(apps[0]!.get("r").result());
    const retried = (await batchesOf(on)).filter((text) => text.includes("run.retried"));
    expect(retried.length).toBe(1);
    expect(await apps[1]!.get("r").retry()).toMatchObject({ status: "completed" });
  });

  test("under encryption, and in a chapter", async () => {
    const on = lab();
    const encryption = aesGcm({
      current: "k",
      keys: { k: Uint8Array.from({ length: 32 }, (_, at) => at + 1) },
    });
    let broken = true;
    const flow = durable("story", async (ctx, n: number): Promise<string> => {
      await ctx.step("s", () => {
        if (broken && n === 2) throw new FatalError("x");
      });
      return n === 3 ? "done" : ctx.continueAs(n + 1);
    }).with({ ...on, encryption });
    await on.world.run(flow.run(1, { id: "r" }));
    broken = false;
    await flow.get("r").retry();
    expect(await on.world.run(flow.get("r").result())).toBe("done");
  });
});

describe("faults", () => {
  const faults: readonly Fault[] = [
    "crash-before",
    "crash-after",
    "crash-then-apply",
    "lose-reply",
    "conflict",
  ];

  test.each(faults)("%s at every append of the retry and after it", async (fault) => {
    for (let append = 1; append <= 3; append++) {
      const on = lab(append);
      const state = { broken: true };
      const flow = fragile(state);
      await failed(on, flow);
      state.broken = false;
      const storage = faultyStorage(on.storage, {
        world: on.world,
        plan: (operation, index) => (operation === "append" && index === append ? fault : null),
      });
      const dying = createApp({ ...on, storage, workflows: [flow] });
      const retried = dying
        .get("r")
        .retry()
        .then(() => dying.get("r").result());
      await on.world.run(Promise.race([retried.catch(() => {}), storage.died]));
      await on.world.advance(60_000);
      const app = createApp({ ...on, workflows: [flow] });
      await app.get("r").retry();
      expect(await on.world.run(app.get("r").result()), `${fault} at ${append}`).toEqual([1, "fixed"]);
      const kinds = await kindsOf(app.get("r"));
      expect(kinds.filter((kind) => kind === "step.completed b").length).toBe(1);
    }
  });

  test("the error of a retry is one of this library", async () => {
    const on = lab();
    const app = createApp({ ...on, workflows: [] });
    expect(DurableError.is(await failureOf(app.get("none").retry()), "not-found")).toBe(true);
  });
});

test.each([
  ["memory", lab],
  ["SQLite", sqliteLab],
])("one singleton key, one run: a retry is a conflict while another run has it (%s)", async (_, labOf) => {
  const on = labOf();
  let broken = true;
  const flow = durable("one", async (ctx) => {
    await ctx.step("s", () => (broken ? Promise.reject(new FatalError("x")) : null));
    return ctx.suspend<string>("ok");
  });
  const app = createApp({ ...on, workflows: [flow] });
  const start = (id: string) => app.start("one", undefined, { id, singleton: "k" });
  await on.world.run(failureOf((await start("a")).result()));
  broken = false;
  const b = await start("b");
  const { length } = await app.get("a").entries();
  expect(await failureOf(app.get("a").retry())).toMatchObject({
    code: "conflict",
    details: { singleton: "b" },
    message: expect.stringContaining("run b has the same singleton key"),
  });
  expect((await app.get("a").entries()).length).toBe(length);
  await b.cancel();
  await app.get("a").retry({ drive: false });
  expect(await on.world.run(app.advance("a"))).toMatchObject({ status: "suspended" });
  expect((await start("c")).id).toBe("a");
});
