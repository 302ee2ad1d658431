import { durable, FatalError, type Context, type DurableError } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, kindsOf, lab, pause, type Lab } from "../support/behaviour-lab.ts";
import { dieAt, runOf } from "../support/behaviour-lives.ts";

/** A log of what was done and undone. */
function ledger() {
  const log: string[] = [];
  const book = (name: string) => (): string => {
    log.push(`book ${name}`);
    return `${name} 1`;
  };
  const refund = ({
    key,
    status,
    value,
  }: {
    key: string;
    status: string;
    value: string | undefined;
  }): void => {
    log.push(`undo ${key.replace("/compensate", "")} ${status} ${value ?? ""}`.trim());
  };
  return { log, book, refund };
}

const once = { retry: false } as const;
const fatal = (): never => {
  throw new FatalError("sold out");
};

describe("a run that fails undoes what it began", () => {
  test("in reverse order of start, each under a key of its own, and then it has failed", async () => {
    const on = lab();
    const { log, book, refund } = ledger();
    const flow = durable("trip", async (ctx) => {
      await ctx.step("flight", book("flight"), { compensate: refund });
      await ctx.step("plain", book("plain"));
      await ctx.step("hotel", book("hotel"), { compensate: refund });
      await ctx.step("car", fatal, { compensate: refund });
    });
    const outcome = await runOf(on, flow);
    expect(outcome).toMatchObject({
      status: "failed",
      error: { code: "step-failed", details: { key: "car" } },
    });
    expect(outcome).not.toHaveProperty("uncompensated");
    expect(log).toEqual([
      "book flight",
      "book plain",
      "book hotel",
      "undo car failed",
      "undo hotel completed hotel 1",
      "undo flight completed flight 1",
    ]);
    expect(await kindsOf(flow.with(on).get("r"))).toEqual([
      "run.started",
      "step.started flight",
      "step.completed flight",
      "step.completed plain",
      "step.started hotel",
      "step.completed hotel",
      "step.started car",
      "step.failed car",
      "run.failing",
      "step.completed car/compensate",
      "step.completed hotel/compensate",
      "step.completed flight/compensate",
      "run.failed",
    ]);
  });

  test("a run that completes undoes nothing, and neither does one that failed before anything began", async () => {
    const { log, book, refund } = ledger();
    const good = durable("good", (ctx) => ctx.step("flight", book("flight"), { compensate: refund }));
    expect(await runOf(lab(), good)).toMatchObject({ status: "completed", output: "flight 1" });
    const on = lab();
    const bad = durable("bad", async (ctx) => {
      await ctx.step("check", fatal);
      await ctx.step("flight", book("flight"), { compensate: refund });
    });
    expect(await runOf(on, bad)).toMatchObject({ status: "failed" });
    expect(await kindsOf(bad.with(on).get("r"))).toEqual(["run.started", "step.failed check", "run.failed"]);
    expect(log).toEqual(["book flight"]);
  });

  test("steps in branches are undone in one line, the latest start first", async () => {
    const on = lab();
    const { log, refund } = ledger();
    const slow = (ms: number) => async (): Promise<string> => {
      await pause(on.world, ms);
      return `${ms}`;
    };
    const flow = durable("branches", async (ctx) => {
      await ctx.parallel({
        a: async (c: Context) => {
          await c.step("one", slow(10), { compensate: refund });
          await c.step("two", slow(10), { compensate: refund });
        },
        b: async (c: Context) => {
          await c.sleep(5);
          await c.step("one", slow(100), { compensate: refund });
        },
      });
      throw new Error("late");
    });
    expect(await runOf(on, flow)).toMatchObject({ status: "failed" });
    expect(log).toEqual([
      "undo parallel[a]/two completed 10",
      "undo parallel[b]/one completed 100",
      "undo parallel[a]/one completed 10",
    ]);
  });

  test("a compensation is tried again like any step; one that fails for good is named, and the others still run", async () => {
    const on = lab();
    const { log, book, refund } = ledger();
    const flow = durable("trip", async (ctx) => {
      await ctx.step("flight", book("flight"), { compensate: refund });
      await ctx.step("hotel", book("hotel"), {
        compensate: ({ attempt }) => {
          log.push(`try ${attempt}`);
          throw new Error("closed");
        },
      });
      throw new Error("no car");
    });
    const outcome = await runOf(on, flow);
    expect(outcome).toMatchObject({
      status: "failed",
      uncompensated: ["hotel"],
      error: { code: "uncompensated", details: { uncompensated: ["hotel"] } },
    });
    const { error } = outcome as { error: DurableError };
    expect(error.message).toContain('Not undone: "hotel".');
    expect((error.cause as Error).message).toBe("no car");
    expect(log).toEqual([
      "book flight",
      "book hotel",
      "try 1",
      "try 2",
      "try 3",
      "undo flight completed flight 1",
    ]);
  });

  test("the work gets the same idempotency key as the compensation is told of", async () => {
    const on = lab();
    const keys: string[] = [];
    const flow = durable("keys", async (ctx) => {
      await ctx.step("flight", ({ idempotencyKey }) => void keys.push(idempotencyKey), {
        compensate: ({ started, idempotencyKey }) => void keys.push(started.idempotencyKey, idempotencyKey),
      });
      throw new Error("no");
    });
    await runOf(on, flow);
    expect(keys).toHaveLength(3);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  test("work that was interrupted by a crash is repeated like that of any step, and undone once", async () => {
    const on = lab();
    const { log, book, refund } = ledger();
    const flow = durable("trip", async (ctx) => {
      await ctx.step("flight", book("flight"), { compensate: refund });
      throw new Error("no");
    });
    // Dies when the outcome of the flight is written: only its start is recorded.
    await dieAt(on, flow, 3, { fault: "crash-before" });
    expect(await runOf(on, flow)).toMatchObject({ status: "failed" });
    expect(log).toEqual(["book flight", "book flight", "undo flight completed flight 1"]);
  });

  test("a lost outcome that a person is asked about does not hold the undoing up", async () => {
    const on = lab();
    const { log, book, refund } = ledger();
    let fails = false;
    const flow = durable("lost", async (ctx) => {
      await ctx.parallel({
        pay: (c: Context) => c.step("charge", book("charge"), { compensate: refund, onUncertain: "suspend" }),
        stop: async (c: Context) => {
          await c.sleep("1m");
          if (fails) throw new Error("stopped");
        },
      });
    });
    await dieAt(on, flow, 3, { fault: "crash-before" });
    fails = true;
    expect(await runOf(on, flow)).toMatchObject({ status: "failed", error: { code: "run-failed" } });
    expect(log).toEqual(["book charge", "undo parallel[pay]/charge unknown"]);
  });

  test("work that does not end is abandoned after its time, and its late result is dropped", async () => {
    const on = lab();
    const { log, refund } = ledger();
    let end: (value: string) => void = () => {};
    const flow = durable("late", async (ctx) => {
      void ctx.step("slow", () => new Promise<string>((resolve) => (end = resolve)), { compensate: refund });
      await ctx.step("hotel", () => "h", {
        compensate: async () => {
          end("too late");
          await pause(on.world, 10);
        },
      });
      throw new Error("no");
    });
    const outcome = await runOf(on, flow.with({ linger: "1s" }));
    expect(outcome).toMatchObject({ status: "failed", abandoned: ["slow"] });
    expect(log).toEqual(["undo slow unknown"]);
    expect((await kindsOf(flow.with(on).get("r"))).filter((line) => line.endsWith(" slow"))).toEqual([
      "step.started slow",
    ]);
  });

  test("code that no longer undoes what it did blocks the run, and continues when it is right again", async () => {
    const on = lab();
    const { log, book, refund } = ledger();
    const trip = (compensate: typeof refund | undefined) =>
      durable("trip", async (ctx) => {
        await ctx.step("flight", book("flight"), { compensate, onUncertain: "retry" });
        throw new Error("no");
      });
    await dieAt(on, trip(refund), 4);
    expect(await runOf(on, trip(undefined))).toMatchObject({
      status: "blocked",
      error: { code: "diverged", details: { key: "flight" } },
      failing: { code: "run-failed" },
    });
    expect(await runOf(on, trip(refund))).toMatchObject({ status: "failed" });
    expect(log).toEqual(["book flight", "undo flight completed flight 1"]);
  });

  test("an answer that comes while steps are undone does not continue the code", async () => {
    const on = lab();
    const seen: string[] = [];
    const flow = durable("answered", async (ctx) => {
      const wait = ctx.suspend("ok");
      void wait.then(() => seen.push("answered"));
      await ctx.step("flight", () => "f", {
        compensate: async () => {
          await pause(on.world, 60_000);
        },
      });
      await ctx.sleep(10);
      throw new Error("no");
    });
    const bound = flow.with(on);
    await bound.start(undefined, { id: "r" });
    await on.world.advance(1_000);
    const outcome = await bound.get("r").outcome();
    expect(outcome).toMatchObject({ status: "running", failing: { code: "run-failed" } });
    const opened = (await bound.get("r").entries()).find(({ kind }) => kind === "suspend.opened");
    expect(opened).toBeDefined();
    await on.world.advance(120_000);
    expect(await bound.get("r").outcome()).toMatchObject({ status: "failed" });
    expect(seen).toEqual([]);
  });
});

describe("forks and chapters", () => {
  function trip(on: Lab) {
    const book = ledger();
    let fails = true;
    const flow = durable("trip", async (ctx) => {
      await ctx.step("plan", book.book("plan"));
      const flight = await ctx.step("flight", book.book("flight"), { compensate: book.refund });
      await ctx.step("mail", () => void book.log.push(`mail ${flight}`));
      await ctx.step("car", () => {
        if (fails) throw new FatalError("none left");
      });
      return "done";
    }).with(on);
    return { ...book, flow, mend: () => void (fails = false) };
  }

  test("a fork of a run that was undone does the undone work again, with what depends on it", async () => {
    const on = lab();
    const { log, flow, mend } = trip(on);
    await runOf(on, flow);
    log.length = 0;
    mend();
    const fork = await on.world.run(flow.fork("r", { from: "car", id: "f" }));
    expect(await on.world.run(fork.result())).toBe("done");
    expect(log).toEqual(["book flight", "mail flight 1"]);
  });

  test("a fork does not undo what it has inherited, because it is the work of another run", async () => {
    const on = lab();
    const { log, flow, mend } = trip(on);
    mend();
    await runOf(on, flow);
    log.length = 0;
    const fork = await on.world.run(flow.fork("r", { from: "mail", id: "f", edit: {} }));
    await on.world.run(fork.result());
    expect(log).toEqual(["mail flight 1"]);
  });

  test("a fork cannot begin at a compensation", async () => {
    const on = lab();
    const { flow } = trip(on);
    await runOf(on, flow);
    const refused = await failureOf(on.world.run(flow.fork("r", { from: "flight/compensate" })));
    expect(refused).toMatchObject({ code: "unknown-step" });
  });

  test("a chapter keeps what it did: the next one does not undo it", async () => {
    const on = lab();
    const { log, book, refund } = ledger();
    const flow = durable("chapters", async (ctx: Context, chapter: number) => {
      await ctx.step("flight", book(`flight ${chapter}`), { compensate: refund });
      if (chapter === 1) return ctx.continueAs(2);
      throw new Error("no");
    });
    const outcome = await on.world.run(flow.with(on).run(1, { id: "r" }));
    expect(outcome).toMatchObject({ status: "failed" });
    expect(log).toEqual(["book flight 1", "book flight 2", "undo flight completed flight 2 1"]);
  });

  test("a child undoes its own work; a parent that fails does not undo a child that has completed", async () => {
    const on = lab();
    const { log, book, refund } = ledger();
    const child = (name: string, fails: boolean) =>
      durable(name, async (ctx) => {
        await ctx.step("room", book(name), { compensate: refund });
        if (fails) throw new Error("no breakfast");
      });
    const flow = durable("parent", async (ctx) => {
      await ctx.step("flight", book("flight"), { compensate: refund });
      await ctx.child(child("good", false), undefined);
      await ctx.child(child("bad", true), undefined);
    });
    expect(await runOf(on, flow)).toMatchObject({ status: "failed", error: { details: { key: "bad" } } });
    expect(log).toEqual([
      "book flight",
      "book good",
      "book bad",
      "undo room completed bad 1",
      "undo flight completed flight 1",
    ]);
  });
});

test("compensate must be a function, and is refused in a clean-up", async () => {
  const on = lab();
  const flow = durable("wrong", (ctx) => ctx.step("x", () => 1, { compensate: "undo" as never, ...once }));
  expect(await runOf(on, flow)).toMatchObject({ status: "failed", error: { code: "invalid-options" } });
});
