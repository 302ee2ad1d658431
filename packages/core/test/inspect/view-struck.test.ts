import { createApp, durable, FatalError } from "@durable/core";
import { allRows, viewRun } from "@durable/core/inspect";
import { expect, test } from "vitest";
import { lab, pause, type Lab } from "../support/behaviour-lab.ts";

const prices = { m: { input: 1_000_000, output: 0 } };

/** `plan`, then in a group `ask`, which costs 3 and fails twice while `broken` is true. */
function costly(state: { broken: boolean }) {
  return durable("costly", async (ctx) => {
    await ctx.step("plan", (info) => info.meter({ model: "m", inputTokens: 1, outputTokens: 0 }));
    await ctx.parallel({
      ask: (c) =>
        c.step(
          "ask",
          (info) => {
            info.meter({ model: "m", inputTokens: 3, outputTokens: 0 });
            if (state.broken) throw new Error(`429 at attempt ${info.attempt}`);
          },
          { retry: { attempts: 2, delay: 10 } },
        ),
    });
  });
}

async function retried(on: Lab, broken: boolean) {
  const state = { broken: true };
  const flow = costly(state);
  const app = createApp({ ...on, workflows: [flow] });
  const run = await app.start("costly", undefined, { id: "r" });
  await on.world.run(run.result().catch(() => {}));
  await on.world.advance(60_000);
  state.broken = broken;
  await run.retry();
  await on.world.run(
    app
      .get("r")
      .result()
      .catch(() => {}),
  );
  return app.get("r");
}

test("taken-back.2, view.3: what a retry struck stays in the view, and in every sum", async () => {
  const run = await retried(lab(), true);
  const view = viewRun(await run.entries({ struck: true }), { prices });
  expect(view.status).toBe("failed");
  // One plan, and two attempts before and after the retry.
  expect(view.totals).toMatchObject({ settled: 3, attempts: 5, failedAttempts: 4, spent: { cost: 13 } });
  const [retry] = view.retries;
  expect(retry).toMatchObject({
    error: { code: "step-failed" },
    rows: [{ key: "parallel[ask]/ask", status: "failed", struck: retry?.at, depth: 0, attempts: [{}, {}] }],
  });
  expect(allRows(view).map(({ key, struck }) => [key, struck !== undefined])).toEqual([
    ["plan", false],
    ["parallel", false],
    ["parallel[ask]", false],
    ["parallel[ask]/ask", false],
    ["parallel[ask]/ask", true],
  ]);
});

test("entries() are those that count; with struck they are all, in order, and say which retry struck them", async () => {
  const run = await retried(lab(), false);
  const counted = await run.entries();
  expect(counted.map(({ kind }) => kind)).toEqual([
    "run.started",
    "step.completed",
    "parallel.opened",
    "run.retried",
    "step.completed",
    "run.completed",
  ]);
  const all = await run.entries({ struck: true });
  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
  const seq = all.find(({ kind }) => kind === "run.retried")?.seq;
  expect(all.flatMap(({ kind, struck }) => (struck === undefined ? [] : [[kind, struck]]))).toEqual([
    ["attempt.failed", seq],
    ["step.failed", seq],
    ["run.failed", seq],
  ]);
  expect(viewRun(all)).toMatchObject({ status: "completed", retries: [{ seq }] });
  expect(await run.entries({ struck: true, after: 3, limit: 1 })).toMatchObject([{ kind: "attempt.failed" }]);
});

test("a head counts as many steps as the view", async () => {
  const on = lab();
  const run = await retried(on, true);
  const { runs } = await createApp({ ...on, workflows: [] }).list();
  const { totals } = viewRun(await run.entries({ struck: true }));
  expect(runs[0]?.steps).toBe(totals.settled);
});

test("a stream that failed counts each attempt once", async () => {
  const on = lab();
  const state = { broken: true };
  const flow = durable("talks", (ctx) =>
    ctx
      .stream(
        "words",
        async function* (info) {
          yield "one";
          // Long enough for the chunk to be recorded.
          await pause(on.world, 5_000);
          info.meter({ model: "m", inputTokens: 2, outputTokens: 0 });
          if (state.broken) throw new FatalError("cut");
        },
        { retry: false },
      )
      .then(() => "said"),
  );
  const app = createApp({ ...on, workflows: [flow] });
  const run = await app.start("talks", undefined, { id: "r" });
  await on.world.run(run.result().catch(() => {}));
  await on.world.advance(60_000);
  state.broken = false;
  await run.retry();
  await on.world.run(app.get("r").result());
  const { totals, retries } = viewRun(await run.entries({ struck: true }), { prices });
  expect(totals).toMatchObject({ attempts: 2, failedAttempts: 1, spent: { cost: 4 } });
  expect(retries).toHaveLength(1);
});
