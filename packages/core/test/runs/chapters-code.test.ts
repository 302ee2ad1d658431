import { createApp, createWorker, durable, type Outcome } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf } from "../support/behaviour-lab.ts";
import { open } from "../support/worker-lab.ts";
import { runOf } from "../support/behaviour-lives.ts";

describe("where ctx.continueAs is called", () => {
  test("in a branch: the whole run continues, and the other branches are left behind", async () => {
    const on = lab();
    const ran: string[] = [];
    const flow = durable("f", (ctx, n: number | null): unknown => {
      if (n === 2) return "second";
      return ctx.parallel({
        a: async (c) => {
          await c.step("a", () => 1);
          return c.continueAs(2);
        },
        b: async (c) => {
          await c.suspend("never");
          ran.push("b went on");
        },
      });
    });
    expect(outputOf(await runOf(on, flow as never))).toBe("second");
    expect(ran).toEqual([]);
  });

  test("without a return: what the function returns afterwards is not the end", async () => {
    const on = lab();
    const flow = durable("f", async (ctx, n: number | null) => {
      if (n === 2) return "second";
      void ctx.continueAs(2);
      return "first";
    });
    expect(outputOf(await runOf(on, flow as never))).toBe("second");
  });

  test("and an error that the function throws afterwards is not the end either", async () => {
    const on = lab();
    const flow = durable("f", async (ctx, n: number | null) => {
      if (n === 2) return "second";
      void ctx.continueAs(2);
      throw new Error("first");
    });
    expect(outputOf(await runOf(on, flow as never))).toBe("second");
  });

  test("twice: the first one counts", async () => {
    const on = lab();
    const flow = durable("f", (ctx, n: number | null) => {
      if (typeof n === "number") return n;
      void ctx.continueAs(2);
      return ctx.continueAs(3);
    });
    expect(outputOf(await runOf(on, flow as never))).toBe(2);
  });

  test("inside try and finally: they see nothing of it", async () => {
    const on = lab();
    const seen: string[] = [];
    const flow = durable("f", async (ctx, n: number | null) => {
      if (n === 2) return "second";
      try {
        return await ctx.continueAs(2);
      } catch {
        seen.push("caught");
      } finally {
        seen.push("finally");
      }
      return "first";
    });
    expect(outputOf(await runOf(on, flow as never))).toBe("second");
    expect(seen).toEqual([]);
  });

  test("at once, without any step, many times", async () => {
    const on = lab();
    const flow = durable("f", (ctx, n: number): unknown => (n === 100 ? n : ctx.continueAs(n + 1))).with(on);
    expect(outputOf(await on.world.run(flow.run(1)))).toBe(100);
  });
});

describe.each([0, 10])("answers to a run of chapters, with `warm: %i`", (warm) => {
  test("arrive in the chapter that waits", async () => {
    const on = lab();
    const flow = durable("talk", async (ctx, log: string[]): Promise<string[]> => {
      const one = await ctx.suspend<string>("say");
      const two = await ctx.suspend<string>("say");
      const next = [...log, one, two];
      return next.length >= 6 ? next : ctx.continueAs(next);
    });
    const app = createApp({ ...on, warm, workflows: [flow] });
    await app.start("talk", [], { id: "r", drive: false });
    let outcome: Outcome<unknown> = await on.world.run(app.advance("r"));
    for (const word of ["a", "b", "c", "d", "e", "f"]) {
      const { status, outcome: next } = await on.world.run(app.resume(tokenOf(outcome), word));
      expect(status, word).toBe("accepted");
      outcome = next!;
    }
    expect(outputOf(outcome)).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  test("a foreign await that ends after the run was parked may continue it", async () => {
    const on = lab();
    const flow = durable("foreign", async (ctx, n: number | null): Promise<unknown> => {
      if (n === 2) return ctx.step("second", () => "second");
      void ctx.suspend("open");
      await pause(on.world, 1_000);
      await ctx.step("first", () => 1);
      return ctx.continueAs(2);
    });
    const app = createApp({ ...on, warm, workflows: [flow] });
    await app.start("foreign", null, { id: "r", drive: false });
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "suspended" });
    await on.world.advance(5_000);
    await on.world.run(app.sweep());
    expect(outputOf(await app.get("r").outcome())).toBe("second");
  });
});

describe("a worker", () => {
  const ticks = (on: ReturnType<typeof lab>, ran: string[]) =>
    durable("ticks", async (ctx, n: number): Promise<number> => {
      await ctx.step("work", async () => {
        ran.push(`${ctx.runId} ${n}`);
        await pause(on.world, 1_000);
      });
      return n === 5 ? n : ctx.continueAs(n + 1);
    });

  test("drives chapter after chapter, and reports the end once", async () => {
    const on = lab();
    const ran: string[] = [];
    const { app, heard, until } = open(on, [ticks(on, ran)]);
    await app.start("ticks", 1, { id: "r", drive: false });
    await until(1);
    expect(heard.map(outputOf)).toEqual([5]);
    expect(ran).toEqual(["r 1", "r 2", "r 3", "r 4", "r 5"]);
    expect(on.world.warnings).toEqual([]);
  });

  test("that is stopped hands the run over, in a chapter or at its border; each step runs once", async () => {
    for (const ms of [500, 999, 1_000, 1_001, 1_500, 2_000, 3_700]) {
      const on = lab(ms);
      const ran: string[] = [];
      const flow = ticks(on, ran);
      const app = createApp({ ...on, workflows: [flow] });
      await app.start("ticks", 1, { id: "r", drive: false });
      const first = createWorker(app, { interval: 100 });
      await on.world.advance(ms);
      await on.world.run(first.stop());
      const stopped = ran.length;
      await on.world.advance(10_000);
      expect(ran.length, `stopped after ${ms} ms`).toBe(stopped);
      const [head] = (await on.storage.list({ dueAt: on.world.now() })).runs;
      expect(head, "due at once").toMatchObject({ runId: "r" });
      expect(await on.storage.lease(head!.locator, "probe", 1)).toMatchObject({ starts: 1 });
      await on.world.advance(10);
      const { heard, until } = open(on, [flow]);
      await until(1);
      expect(heard.map(outputOf)).toEqual([5]);
      expect(ran, `stopped after ${ms} ms`).toEqual(["r 1", "r 2", "r 3", "r 4", "r 5"]);
    }
  });

  test("app.advance with a signal that is aborted stops before the next chapter begins its work", async () => {
    const on = lab();
    const ran: string[] = [];
    const flow = ticks(on, ran);
    const app = createApp({ ...on, workflows: [flow] });
    await app.start("ticks", 1, { id: "r", drive: false });
    const abort = new AbortController();
    const advancing = app.advance("r", { signal: abort.signal });
    await on.world.advance(1_500);
    abort.abort();
    expect(await on.world.run(advancing)).toMatchObject({ status: "running" });
    expect(ran).toEqual(["r 1", "r 2"]);
    expect(outputOf(await on.world.run(app.advance("r")))).toBe(5);
    expect(ran).toEqual(["r 1", "r 2", "r 3", "r 4", "r 5"]);
  });
});
