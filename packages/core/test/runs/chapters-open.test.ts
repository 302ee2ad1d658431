import { createApp, durable, type Context } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, pause, tokenOf } from "../support/behaviour-lab.ts";
import { runOf } from "../support/behaviour-lives.ts";

describe("waits that are open when a chapter ends", () => {
  const twice = durable("twice", async (ctx, n: number | null): Promise<string> => {
    if (n === 2) return ctx.suspend<string>("late");
    const { token } = ctx.suspend("late");
    await ctx.step("send", () => token);
    await ctx.suspend("next");
    return ctx.continueAs(2);
  });

  test("are gone: their tokens are unknown, and the same name is another wait", async () => {
    const on = lab();
    const app = createApp({ ...on, workflows: [twice] });
    const first = await on.world.run(twice.with(on).run(null, { id: "r" }));
    const old = tokenOf(first, "late");
    const second = (await on.world.run(app.resume(tokenOf(first, "next"), 1))).outcome!;
    expect(second.status === "suspended" && second.waiting.map(({ key }) => key)).toEqual(["late"]);
    const fresh = tokenOf(second, "late");
    expect(fresh).not.toBe(old);
    expect(await on.world.run(app.resume(old, "old"))).toEqual({ status: "unknown", repeated: false });
    expect(await on.world.run(app.resume(old, "old", { drive: false }))).toEqual({
      status: "unknown",
      repeated: false,
    });
    // Nor an answer that was given in the chapter before.
    expect(await on.world.run(app.resume(tokenOf(first, "next"), 1))).toEqual({
      status: "unknown",
      repeated: false,
    });
    expect(outputOf((await on.world.run(app.resume(fresh, "new"))).outcome)).toBe("new");
  });
});

describe("what is still to be written when a chapter ends", () => {
  test.each([false, true])("is not in the batch that begins the next one (sealed: %s)", async (sealed) => {
    const keys = { k: Uint8Array.from({ length: 32 }, (_, at) => at + 3) };
    const on = { ...lab(), ...(sealed && { encryption: aesGcm({ current: "k", keys }) }) };
    const text = "x".repeat(5_000);
    const flow = durable("left", async (ctx, state: { n: number; text: string }): Promise<string> => {
      if (state.n === 1) {
        // Neither the wait nor the group has been written when the function ends.
        void ctx.suspend("left open");
        void ctx.parallel({ a: (c) => c.suspend("a"), b: (c) => c.suspend("b") });
        return ctx.continueAs({ n: 2, text: state.text });
      }
      return `${await ctx.suspend<string>("ok")} ${state.text.length}`;
    });
    const first = await on.world.run(flow.with(on).run({ n: 1, text }, { id: "r" }));
    const [entry, ...rest] = await flow.with(on).get("r").entries();
    expect([entry?.kind, ...rest.map(({ kind }) => kind)]).toEqual([
      "run.continued",
      "suspend.opened",
      "run.suspended",
    ]);
    // Another process reads the chapter alone, and needs nothing from before.
    const { locator, chapter = 0 } = (await on.storage.list()).runs[0]!;
    await on.storage.dropChapters!(locator, chapter);
    const app = createApp({ ...on, workflows: [flow] });
    expect(outputOf((await on.world.run(app.resume(tokenOf(first, "ok"), "yes"))).outcome)).toBe("yes 5000");
  });
});

describe("children", () => {
  const child = durable("child", (ctx, n: number) => ctx.suspend<string>(`child ${n}`));

  test("that are open keep the chapter from ending: open-child, and the run goes on", async () => {
    const on = lab();
    const codes: unknown[] = [];
    const flow = durable("parent", async (ctx, n: number | null): Promise<unknown> => {
      if (n === 2) return "second";
      const open = ctx.child(child, 1);
      await ctx.step("s", () => 1);
      try {
        return await ctx.continueAs(2);
      } catch (error) {
        codes.push(error);
      }
      await open;
      return ctx.continueAs(2);
    });
    const app = createApp({ ...on, workflows: [flow, child] });
    await app.start("parent", null, { id: "r", drive: false });
    const parked = await on.world.run(app.advance("r"));
    expect(codes).toMatchObject([
      {
        code: "open-child",
        message: 'Run r cannot begin a chapter before its child "child" has ended. Await it first.',
        details: { key: "child" },
      },
    ]);
    await on.world.run(app.resume(tokenOf(parked), "yes"));
    await on.world.advance(1_000);
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("second");
  });

  test("that nothing catches fail the run with open-child", async () => {
    const on = lab();
    const flow = durable("parent", async (ctx, n: number | null): Promise<unknown> => {
      void ctx.child(child, 1);
      await ctx.step("s", () => 1);
      return n === 2 ? "second" : ctx.continueAs(2);
    });
    expect(await runOf(on, flow as never)).toMatchObject({ status: "failed", error: { code: "open-child" } });
  });

  test("that have settled, failed or lost a race are no obstacle; each chapter has its own", async () => {
    const on = lab();
    const quick = durable("quick", (ctx, n: number) => ctx.step("s", () => `quick ${n}`));
    const bad = durable("bad", () => Promise.reject(new Error("no")));
    const ids: string[] = [];
    const flow = durable("parent", async (ctx, n: number): Promise<unknown> => {
      ids.push(await ctx.child(durable("id", (c: Context) => c.runId)));
      const output = await ctx.child(quick, n);
      await ctx.child(bad).catch(() => {});
      await ctx.race({ ask: (c) => c.child(child, n), now: (c) => c.step("now", () => 1) });
      return n === 3 ? output : ctx.continueAs(n + 1);
    }).with(on);
    const outcome = await on.world.run(flow.run(1, { id: "r" }));
    expect(outputOf(outcome)).toBe("quick 3");
    expect(new Set(ids).size).toBe(3);
    const { runs } = await on.storage.list({ parent: "r" });
    expect(runs.length).toBe(12);
    expect(runs.filter(({ status }) => status === "cancelled").length).toBe(3);
    expect(runs.some(({ status }) => status === "running" || status === "suspended")).toBe(false);
  });

  test("of all chapters go when the run is deleted", async () => {
    const on = lab();
    const quick = durable("quick", (ctx, n: number) => ctx.step("s", () => n));
    const flow = durable("parent", async (ctx, n: number): Promise<unknown> => {
      await ctx.child(quick, n);
      return n === 3 ? n : ctx.continueAs(n + 1);
    });
    const app = createApp({ ...on, workflows: [flow, quick] });
    await on.world.run(flow.with(on).run(1, { id: "r" }));
    await on.world.run(app.delete("r"));
    expect((await on.storage.list()).runs).toEqual([]);
  });

  test("that continue report the end of their last chapter to the parent", async () => {
    const on = lab();
    const counts = durable("counts", async (ctx, n: number): Promise<string> => {
      await ctx.step("s", () => pause(on.world, 100));
      if (n === 9) throw new Error("too far");
      return n >= 3 && n < 5 ? `ended at ${n}` : ctx.continueAs(n + 1);
    });
    const flow = durable("parent", async (ctx) => [
      await ctx.child(counts, 1),
      await ctx.child(counts, 6).catch((error: Error) => error.message),
    ]);
    const outcome = await runOf(on, flow);
    expect(outputOf(outcome)).toEqual(["ended at 3", expect.stringContaining("too far")]);
    const { runs } = await on.storage.list({ parent: "r" });
    expect(runs.map(({ status }) => status).toSorted()).toEqual(["completed", "failed"]);
  });

  test("that continue while parked, and whose parent is parked, too", async () => {
    const on = lab();
    const asks = durable("asks", async (ctx, n: number): Promise<string> => {
      const answer = await ctx.suspend<string>("next");
      return answer === "end" ? `ended in ${n}` : ctx.continueAs(n + 1);
    });
    const flow = durable("parent", (ctx) => ctx.child(asks, 1));
    const app = createApp({ ...on, workflows: [flow, asks] });
    await app.start("parent", undefined, { id: "r", drive: false });
    await on.world.run(app.advance("r"));
    for (const answer of ["go", "go", "end"]) {
      const parent = await app.get("r").outcome();
      expect(parent, answer).toMatchObject({ status: "suspended", waiting: [{ name: "next" }] });
      await on.world.run(app.resume(tokenOf(parent), answer));
      await on.world.advance(1_000);
    }
    expect(outputOf(await app.get("r").outcome())).toBe("ended in 3");
  });

  test("a parent that is cancelled ends a child in its third chapter", async () => {
    const on = lab();
    const asks = durable("asks", async (ctx, n: number): Promise<unknown> =>
      n === 3 ? ctx.suspend("ok") : ctx.continueAs(n + 1),
    );
    const flow = durable("parent", (ctx) => ctx.child(asks, 1));
    const app = createApp({ ...on, workflows: [flow, asks] });
    await app.start("parent", undefined, { id: "r", drive: false });
    await on.world.run(app.advance("r"));
    expect(await on.world.run(app.cancel("r"))).toMatchObject({ status: "cancelled" });
    const { runs } = await on.storage.list();
    expect(runs.map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
  });
});

describe("work that is under way when a chapter ends", () => {
  const border = (on: ReturnType<typeof lab>, ms: number) => {
    const ran: string[] = [];
    const reasons: unknown[] = [];
    const flow = durable("f", async (ctx, n: number | null): Promise<unknown> => {
      if (n === 2) return ctx.step("slow", () => pause(on.world, 30_000).then(() => "second"));
      void ctx.step("slow", async ({ signal }) => {
        signal.addEventListener("abort", () => reasons.push(signal.reason));
        await pause(on.world, ms);
        ran.push("slow");
        return "first";
      });
      await ctx.step("quick", () => 1);
      return ctx.continueAs(2);
    });
    return { flow, ran, reasons };
  };

  test("is recorded before the border if it ends within `linger`", async () => {
    const on = lab();
    const { flow, ran, reasons } = border(on, 2_000);
    expect(outputOf(await runOf(on, flow as never))).toBe("second");
    expect([ran, reasons]).toEqual([["slow"], []]);
    expect(on.world.warnings).toEqual([]);
  });

  test("is abandoned after `linger`: aborted, named in a warning, and without effect on the next chapter", async () => {
    const on = lab();
    const { flow, ran, reasons } = border(on, 20_000);
    expect(outputOf(await runOf(on, flow as never))).toBe("second");
    expect(ran, "it ran to its end").toEqual(["slow"]);
    expect(reasons).toMatchObject([{ code: "cancelled" }]);
    expect(on.world.warnings).toEqual([
      "run r ended without waiting for: slow. Await these calls, or race them with ctx.race.",
    ]);
    const [first] = await flow
      .with({ ...on })
      .get("r")
      .entries();
    expect(first).toMatchObject({ kind: "run.continued", abandoned: ["slow"] });
  });

  test("code of the chapter before that goes on reaches nothing, with one warning", async () => {
    const on = lab();
    const flow = durable("f", async (ctx, n: number | null): Promise<unknown> => {
      if (n === 2) return ctx.step("second", () => pause(on.world, 10_000).then(() => "second"));
      void pause(on.world, 1_000).then(() => ctx.step("late", () => "late"));
      return ctx.continueAs(2);
    });
    expect(outputOf(await runOf(on, flow as never))).toBe("second");
    expect(on.world.warnings).toEqual([expect.stringContaining('called ctx.step("late") after its end')]);
    const keys = (
      await flow
        .with({ ...on })
        .get("r")
        .entries()
    ).flatMap((one) => ("key" in one ? one.key : []));
    expect(keys).toEqual(["second"]);
  });

  test("failures that nothing looked at, and orphans, are named with the chapter", async () => {
    const on = lab();
    const flow = durable("f", async (ctx, n: number | null): Promise<unknown> => {
      if (n === 2) return "second";
      void ctx.step("bad", () => Promise.reject(new Error("no")), { retry: false });
      await ctx.step("slow", () => pause(on.world, 100));
      return ctx.continueAs(2);
    });
    const outcome = await runOf(on, flow as never);
    expect(outcome).toEqual({
      runId: "r",
      recorded: false,
      state: "completed",
      status: "completed",
      output: "second",
    });
    expect(on.world.warnings).toEqual([expect.stringContaining("never looked at the failure of: bad")]);
    expect(
      (
        await flow
          .with({ ...on })
          .get("r")
          .entries()
      )[0],
    ).toMatchObject({ unawaited: ["bad"] });
  });
});

test("a value that cannot be recorded is refused where it is given", async () => {
  const on = lab();
  const flow = durable("f", async (ctx) => {
    const error = await failureOf((async () => ctx.continueAs(() => 1))());
    return (error as { code: string }).code;
  });
  expect(outputOf(await runOf(on, flow))).toBe("not-serializable");
});
