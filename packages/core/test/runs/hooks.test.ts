import { createApp, durable, FatalError } from "@durable/core";
import type { AttemptEnd, EndEvent, Hooks, RunEvent, RunStop } from "@durable/core/hooks";
import { AsyncLocalStorage } from "node:async_hooks";
import { crashEverywhere } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { lab, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { unhandled } from "../support/behaviour-unhandled.ts";
import { open } from "../support/worker-lab.ts";

/** Hooks that note every event as a short line, and keep the events. */
function noting() {
  const lines: string[] = [];
  const runs: RunEvent[] = [];
  const stops: RunStop[] = [];
  const ends: EndEvent[] = [];
  const attempts: AttemptEnd[] = [];
  const hooks: Hooks = {
    onRun: (event) => {
      runs.push(event);
      lines.push(`run ${event.runId}${event.isNew ? " new" : ""}`);
      return (stop) => {
        stops.push(stop);
        lines.push(`stop ${stop.runId} ${stop.outcome} replayed ${stop.replayed} appends ${stop.appends}`);
      };
    },
    onStep: ({ key, outcome, attempt, replayed }) =>
      lines.push(`step ${key} ${outcome} ${attempt}${replayed ? " replayed" : ""}`),
    onAttempt: ({ key, attempt }) => {
      lines.push(`attempt ${key} ${attempt}`);
      return (work) =>
        work().then((end) => {
          attempts.push(end);
          lines.push(`attempt ${key} ${attempt} ${end.outcome}`);
        });
    },
    onWait: ({ key, kind, outcome, replayed }) =>
      lines.push(`wait ${kind} ${key} ${outcome}${replayed ? " replayed" : ""}`),
    onEnd: (event) => {
      ends.push(event);
      lines.push(`end ${event.runId} ${event.outcome}`);
    },
    onBlocked: ({ error }) => lines.push(`blocked ${error.code}`),
  };
  return { hooks, lines, runs, stops, ends, attempts };
}

const review = durable("review", async (ctx, text: string) => {
  const draft = await ctx.step("draft", () => `${text}!`);
  const answer = await ctx.suspend<string>("approve");
  return ctx.step("publish", () => `${draft} ${answer}`);
});

describe("hooks", () => {
  test("learn of a run, its steps, its wait and its end", async () => {
    const on = lab();
    const { hooks, lines, ends, runs } = noting();
    const flow = review.with({ ...on, hooks, version: "7" });
    const outcome = await on.world.run(flow.run("hello", { id: "r" }));
    await on.world.run(flow.resume(tokenOf(outcome), "yes"));
    expect(lines).toEqual([
      "run r new",
      "attempt draft 1",
      "step draft completed 1",
      "attempt draft 1 completed",
      "wait suspend approve open",
      "stop r suspended replayed 0 appends 2",
      "run r",
      "step draft completed 1 replayed",
      "wait suspend approve completed",
      "attempt publish 1",
      "step publish completed 1",
      "attempt publish 1 completed",
      "end r completed",
      "stop r completed replayed 1 appends 3",
    ]);
    expect(ends).toMatchObject([{ workflow: "review", version: "7", steps: 2, parent: null, chapter: 1 }]);
    expect(runs[0]?.seed).toBe(runs[1]?.seed);
    expect(runs[0]?.seed).toMatch(/^r ./);
  });

  test("report no recorded work for an execution that stayed in memory", async () => {
    const on = lab();
    const { hooks, lines } = noting();
    const flow = review.with({ ...on, hooks, warm: 10 });
    const outcome = await on.world.run(flow.run("hello", { id: "r" }));
    lines.length = 0;
    await on.world.run(flow.resume(tokenOf(outcome), "yes"));
    expect(lines).toEqual([
      "run r",
      "wait suspend approve completed",
      "attempt publish 1",
      "step publish completed 1",
      "attempt publish 1 completed",
      "end r completed",
      "stop r completed replayed 0 appends 3",
    ]);
  });

  test("learn of attempts, with their usage and their errors", async () => {
    const on = lab();
    const { hooks, lines, attempts, stops } = noting();
    const usage = { model: "m", inputTokens: 3, outputTokens: 4 };
    const flow = durable("retries", async (ctx) => {
      await ctx.step("flaky", ({ attempt, meter }) => {
        meter(usage);
        if (attempt === 1) throw new Error("not yet");
      });
      await ctx.step("fatal", () => {
        throw new FatalError("never");
      });
    }).with({ ...on, hooks });
    await on.world.run(flow.run(undefined, { id: "r" }));
    expect(lines.filter((line) => !line.startsWith("run"))).toEqual([
      "attempt flaky 1",
      "attempt flaky 1 retried",
      "attempt flaky 2",
      "step flaky completed 2",
      "attempt flaky 2 completed",
      "attempt fatal 1",
      "step fatal failed 1",
      "attempt fatal 1 failed",
      "end r failed",
      "stop r failed replayed 0 appends 4",
    ]);
    expect(attempts[0]).toMatchObject({ usage: [usage], error: { message: "not yet" } });
    expect(attempts[0]?.retryAt).toBeGreaterThanOrEqual(attempts[0]?.endedAt ?? Infinity);
    expect(attempts[1]).toMatchObject({ usage: [usage], retryAt: null });
    expect(stops[0]).toMatchObject({ error: { code: "step-failed" } });
  });

  test("learn of children, of forks and of their parents", async () => {
    const on = lab();
    const { hooks, lines, runs } = noting();
    const child = durable("child", (ctx) => ctx.step("c", () => 1));
    const flow = durable("parent", async (ctx) => {
      const one = await ctx.child(child);
      await ctx.sleep(1_000);
      return ctx.step("add", () => one + 1);
    }).with({ ...on, hooks });
    await on.world.run(flow.run(undefined, { id: "r" }));
    await on.world.run((await flow.fork("r", { from: "add", id: "f" })).result());
    expect(lines).toContain("wait child child open");
    expect(lines).toContain("wait child child completed");
    expect(lines).toContain("wait sleep sleep completed");
    expect(lines).toContain("wait sleep sleep completed replayed");
    const [parent, ofChild, fork] = runs;
    expect(ofChild?.parent).toEqual({ kind: "child", runId: "r", key: "child", seed: parent?.seed });
    expect(ofChild?.seed).toBe(ofChild?.runId);
    expect(fork?.parent).toEqual({ kind: "fork", runId: "r", key: null, seed: parent?.seed });
  });

  test("learn of a cancelled run that no process drives, and of a blocked one", async () => {
    const on = lab();
    const { hooks, lines } = noting();
    const flow = review.with({ ...on, hooks });
    await on.world.run(flow.run("a", { id: "r" }));
    await on.world.run(flow.cancel("r"));
    await on.world.advance(0);
    expect(lines).toContain("end r cancelled");

    await on.world.run(flow.run("b", { id: "s" }));
    const changed = durable("review", (ctx) => ctx.step("other", () => 1)).with({ ...on, hooks });
    lines.length = 0;
    const app = createApp({ ...on, workflows: [changed], bind: false, hooks });
    await on.world.run(app.advance("s"));
    expect(lines).toContain("blocked diverged");
    expect(lines.at(-1)).toMatch(/^stop s blocked /);
  });

  test("of a worker are called beside those of its app", async () => {
    const base = lab();
    const { hooks, lines } = noting();
    await review.with(base).start("hello", { id: "r", drive: false });
    const { until } = open(base, [review], { hooks });
    await until(1);
    expect(lines).toContain("step draft completed 1");
  });

  test("surround the work of a step with their async context", async () => {
    const on = lab();
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const around = (name: string): Hooks => ({
      onAttempt:
        ({ key }) =>
        (work) =>
          context.run(`${context.getStore() ?? ""}${name} ${key};`, work),
    });
    const flow = durable("f", async (ctx) => {
      await ctx.step("a", async () => {
        await Promise.resolve();
        seen.push(context.getStore());
      });
      seen.push(context.getStore());
    }).with({ ...on, hooks: [around("outer"), around("inner")] });
    await on.world.run(flow.run());
    expect(seen).toEqual(["outer a;inner a;", undefined]);
  });
});

const names = ["onRun", "onStep", "onAttempt", "onWait", "onEnd", "onBlocked"] as const;

/** Hooks that misbehave in one way. */
function bad(how: () => unknown): Hooks {
  return Object.fromEntries(names.map((name) => [name, how]));
}

function nested(how: () => unknown): Hooks {
  return { onRun: () => how, onAttempt: () => how };
}

const fail = (): never => {
  throw new Error("bad hook");
};

describe("hooks cannot affect a run:", () => {
  const cases: [string, Hooks][] = [
    ["they throw", bad(fail)],
    ["they reject", bad(() => Promise.reject(new Error("bad hook")))],
    ["they hang", bad(() => new Promise(() => {}))],
    ["what they return throws", nested(fail)],
    ["what they return rejects", nested(() => Promise.reject(new Error("bad hook")))],
    ["what they return never calls the work", nested(() => "ignored")],
    [
      "they call the work twice, and late",
      {
        onAttempt: () => async (work) => {
          void work();
          await work();
          void work();
        },
      },
    ],
    [
      "they leave a rejection behind",
      { onAttempt: () => (work) => void work().then(() => void Promise.reject(new Error("left behind"))) },
    ],
    [
      "they change their events",
      {
        onAttempt: (event) => (work) =>
          work().then((end) => Object.assign(event, { key: "x" }, end.usage[0] && { model: "y" })),
        onStep: (event) => {
          for (const used of event.usage) Object.assign(used, { model: "changed", inputTokens: 1e9 });
        },
      },
    ],
  ];

  async function run(on: Lab, hooks: Hooks | undefined) {
    const bodies: string[] = [];
    const flow = durable("f", async (ctx) => {
      const one = await ctx.step("one", ({ attempt, meter }) => {
        bodies.push(`one ${attempt}`);
        meter({ model: "m", inputTokens: 1, outputTokens: 1 });
        if (attempt === 1) throw new Error("again");
        return "one";
      });
      const answer = await ctx.suspend("ask");
      return [one, answer];
    }).with({ ...on, ...(hooks && { hooks }) });
    const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
    const { outcome: end } = await on.world.run(flow.resume(tokenOf(outcome), "yes"));
    return { bodies, end, entries: await flow.get("r").entries() };
  }

  test.each(cases)("%s", async (_, hooks) => {
    const seen = unhandled();
    const [plain, on] = [lab(), lab()];
    const expected = await run(plain, undefined);
    const found = await run(on, hooks);
    expect({ ...found, entries: [] }).toEqual({ ...expected, entries: [] });
    expect(found.entries.map(({ kind }) => kind)).toEqual(expected.entries.map(({ kind }) => kind));
    expect(JSON.stringify(found.entries)).not.toContain("changed");
    expect(on.world.now(), "no timer").toBe(plain.world.now());
    const left = (await seen()).map(String);
    expect(left.every((text) => text.includes("left behind"))).toBe(true);
    const warned = on.world.warnings.filter((text) => text.startsWith("the hook "));
    expect(new Set(warned.map((text) => text.split(" ")[2])).size).toBe(warned.length);
  });

  test("a failure is reported once for each kind of hook", async () => {
    const on = lab();
    const hooks = bad(fail);
    const flow = review.with({ ...on, hooks });
    for (const id of ["a", "b"]) await on.world.run(flow.run("x", { id }));
    expect(on.world.warnings.map((text) => text.split(" ").slice(0, 4).join(" "))).toEqual([
      "the hook onRun failed;",
      "the hook onAttempt failed;",
      "the hook onStep failed;",
      "the hook onWait failed;",
    ]);
  });

  test("a misspelt hook is refused", () => {
    const wrong = { onSteps: () => {} } as Hooks;
    expect(() => review.with({ hooks: wrong })).toThrow(
      'hooks has no option "onSteps". Did you mean "onStep"',
    );
    expect(() => review.with({ hooks: [{}, wrong] })).toThrow("onSteps");
  });
});

test("crashes at every append, with hooks", async () => {
  const { hooks, lines } = noting();
  const { calm, cases } = await crashEverywhere(review, {
    input: "x",
    hooks,
    resume: { approve: "yes" },
  });
  expect(calm.outcome.status).toBe("completed");
  expect(cases.every(({ hit }) => hit)).toBe(true);
  expect(lines).toContain("step draft completed 1 replayed");
});
