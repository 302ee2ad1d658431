import {
  createApp,
  createWorker,
  durable,
  Journal,
  MemoryStorage,
  type App,
  type Context,
} from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, secret } from "./support/behaviour-lab.ts";

/** Options that TypeScript would refuse. */
const bad = (options: Record<string, unknown>): never => options as never;

const inner = durable("inner", () => 1);

describe("an option of a call that does not exist fails it, with the name that was meant:", () => {
  const calls: [string, string, (ctx: Context) => Promise<unknown>][] = [
    ["ctx.step", "retry", (ctx) => ctx.step("s", () => 1, bad({ retries: 1 }))],
    ["ctx.step", "attempts", (ctx) => ctx.step("s", () => 1, { retry: bad({ attempt: 1 }) })],
    ["ctx.stream", "timeout", (ctx) => ctx.stream("s", () => [1], bad({ timeOut: 1 }))],
    ["ctx.suspend", "timeout", (ctx) => ctx.suspend("s", bad({ time: 1 }))],
    ["ctx.parallel", "concurrency", (ctx) => ctx.parallel([() => 1], bad({ concurency: 1 }))],
    ["ctx.race", "name", (ctx) => ctx.race({ a: () => 1 }, bad({ names: "x" }))],
    ["ctx.map", "key", (ctx) => ctx.map([1], () => 1, bad({ keys: () => "x" }))],
    ["ctx.sleep", "name", (ctx) => ctx.sleep(1, bad({ Name: "x" }))],
    ["ctx.child", "name", (ctx) => ctx.child(inner, 1, bad({ nam: "x" }))],
  ];

  test.each(calls)("%s (%s)", async (_, meant, call) => {
    const on = lab();
    const flow = durable("f", async (ctx) => call(ctx)).with(on);
    const outcome = await on.world.run(flow.run());
    expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-options" } });
    expect((outcome as { error: Error }).error.message).toMatch(
      new RegExp(`has no option ".*"\\. Did you mean "${meant}"`),
    );
  });
});

describe("an option of a function that does not exist is refused, with the name that was meant:", () => {
  const flow = durable("f", (ctx) => ctx.step("s", () => 1));
  type Try = (given: { app: App; own: ReturnType<typeof flow.with>; journal: Journal }) => unknown;
  const doors: [string, string, Try][] = [
    ["durable", "version", () => durable("x", () => 1, bad({ versions: 1 }))],
    ["flow.with", "storage", () => flow.with(bad({ store: 1 }))],
    ["createApp", "workflows", () => createApp(bad({ workflow: [flow] }))],
    ["createApp", "patience", () => createApp(bad({ workflows: [], patient: 1 }))],
    ["createWorker", "concurrency", ({ app }) => createWorker(app, bad({ concurency: 1 }))],
    ["flow.run", "id", ({ own }) => own.run(undefined, bad({ runId: "x" }))],
    ["flow.start", "drive", ({ own }) => own.start(undefined, bad({ drives: false }))],
    ["app.start", "drive", ({ app }) => app.start("f", undefined, bad({ driven: false }))],
    ["flow.fork", "from", ({ own }) => own.fork("r", bad({ form: "s" }))],
    ["run.fork", "edit", ({ own }) => own.get("r").fork(bad({ from: "s", edits: {} }))],
    ["run.plan", "from", ({ own }) => own.get("r").plan(bad({ fro: "s" }))],
    ["flow.list", "status", ({ own }) => own.list(bad({ state: "running" }))],
    ["app.list", "workflow", ({ app }) => app.list(bad({ workflows: [] }))],
    ["app.sweep", "limit", ({ app }) => app.sweep(bad({ limits: 1 }))],
    ["app.purge", "olderThan", ({ app }) => app.purge(bad({ olderThen: 1 }))],
    ["createWorker", "every", ({ app }) => createWorker(app, { purge: bad({ evry: 1, keep: 1 }) })],
    ["app.advance", "patience", ({ app }) => app.advance("r", bad({ patient: 1 }))],
    ["run.result", "wait", ({ own }) => own.get("r").result(bad({ waits: true }))],
    [
      "run.stream",
      "from",
      ({ own }) =>
        own
          .get("r")
          .stream("s", bad({ form: 1 }))
          .next(),
    ],
    ["app.resume", "id", ({ app }) => app.resume("token", 1, bad({ ID: "x" }))],
    ["app.cancel", "reason", ({ app }) => app.cancel("r", bad({ reasons: "x" }))],
    ["app.pause", "reason", ({ app }) => app.pause("w", bad({ reasons: "x" }))],
    ["run.pause", "reason", ({ app }) => app.get("r").pause(bad({ reasons: "x" }))],
    ["app.resume", "drive", ({ app }) => app.resume("token", 1, bad({ drives: false }))],
    ["flow.resume", "id", ({ own }) => own.resume("token", 1, bad({ iD: "x" }))],
    ["Journal.open", "storage", () => Journal.open("j", bad({ storages: 1 }))],
    ["journal.record", "input", ({ journal }) => journal.record("k", () => 1, bad({ inputs: 1 }))],
    [
      "journal.recordStream",
      "signal",
      ({ journal }) => journal.recordStream("k", () => [1], bad({ signals: 1 })),
    ],
  ];

  test.each(doors)("%s (%s)", async (_, meant, call) => {
    const on = lab();
    const app = createApp({ ...on, workflows: [flow] });
    const own = flow.with({ ...on });
    await on.world.run(own.run(undefined, { id: "r" }));
    const before = (await on.storage.list()).runs.length;
    const journal = await Journal.open("other", on);
    const error = await failureOf(
      on.world.run(new Promise((resolve) => resolve(call({ app, own, journal })))),
    );
    expect(error).toMatchObject({ code: "invalid-options" });
    expect((error as Error).message).toMatch(
      new RegExp(`has no option ".*"\\. Did you mean (".*", )*"${meant}"`),
    );
    expect((await on.storage.list()).runs.length, "nothing was recorded").toBe(before);
  });

  test.each([null, 7, "x"])("options that are no object (%j) are refused as well", async (options) => {
    const storage = new MemoryStorage();
    expect(() => flow.with(options as never)).toThrow(/has no option/);
    const own = flow.with({ storage, secret });
    await expect(own.run(undefined, options as never)).rejects.toMatchObject({ code: "invalid-options" });
  });

  test("undefined options and undefined values are no mistake", async () => {
    const on = lab();
    const own = flow.with({ ...on });
    const outcome = await on.world.run(own.run(undefined, { id: undefined }));
    expect(outcome.status).toBe("completed");
    const app = createApp({ ...on, workflows: [flow] });
    expect(await app.list(undefined)).toMatchObject({ runs: [{}] });
    expect(await app.sweep(undefined)).toMatchObject({ outcomes: [] });
  });
});
