/** Every surface says the same word about a run, and answers a wait while other work of its run goes on. */

import { createApp, durable, FatalError, Journal, type App, type RunStateName } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Session } from "../../packages/cli/src/session.ts";
import { toolsOf } from "../../packages/cli/src/mcp/tools.ts";
import { Project } from "../../packages/cli/test/support/lab.ts";
import type { Inbox, RunWaits, RunList, RunPage } from "../../packages/dashboard/src/api.ts";
import { Site } from "../../packages/dashboard/test/support/ask.ts";
import { createHandler } from "../../packages/http/src/index.ts";
import { observeRuns } from "../../packages/otel/src/gauges.ts";

const secret = "SoYi7qPpiBsm1QGmyS9d0WNVnE9pYBYNZ4ZxP2VpL0g";

const hold = Promise.withResolvers<void>();
const asks = durable("asks", (ctx) => ctx.suspend<boolean>("approve", { note: "may I?" }));
const works = durable("works", (ctx) =>
  ctx.parallel({
    person: (c) => c.suspend<boolean>("approve", { note: "may I?" }),
    work: (c) => c.step("long", () => hold.promise),
  }),
);
const naps = durable("naps", (ctx) => ctx.sleep("3 days"));
const fails = durable("fails", (ctx) =>
  ctx.step("no", () => Promise.reject(new Error("no")), { retry: { attempts: 1 } }),
);
const gives = durable("gives", () => Promise.resolve(1));
const cleans = durable("cleans", (ctx) => {
  ctx.onCancel((c) => c.step("tell", () => hold.promise));
  return ctx.suspend("never");
});
const undoes = durable("undoes", async (ctx) => {
  await ctx.step("book", () => 1, { compensate: () => hold.promise });
  throw new FatalError("no room");
});
const first = durable("changes", async (ctx) => {
  await ctx.step("a", () => 1);
  return ctx.suspend("go");
});
const changed = durable("changes", (ctx) => ctx.sleep(1, { name: "a" }));

interface Surfaces {
  readonly app: App;
  readonly project: Project;
  readonly http: (path: string, init?: RequestInit) => Promise<Response>;
  readonly site: Site;
  readonly tool: (name: string, args: object) => Promise<Record<string, unknown>>;
  readonly cli: (...args: string[]) => Promise<Record<string, unknown>>;
}

function surfaces(): Surfaces & { readonly path: string; readonly storage: SqliteStorage } {
  const project = new Project();
  const path = join(project.folder, "runs.db");
  const storage = new SqliteStorage(path);
  onTestFinished(async () => {
    await storage.close();
    project.remove();
  });
  const workflows = [asks, works, naps, fails, gives, cleans, undoes, first];
  const app = createApp({ storage, secret, workflows, patience: 0 });
  const handler = createHandler(app, { authorize: () => true });
  const session = {
    app,
    storage,
    place: null,
    label: "",
    appFile: null,
    prices: undefined,
  } as unknown as Session;
  const tools = toolsOf(session, new Set(["resume"]), Date.now);
  return {
    app,
    path,
    storage,
    project,
    http: (given, init) => handler(new Request(`http://localhost${given}`, init)),
    site: new Site({ app }),
    tool: async (name, args) =>
      (await tools.find((each) => each.name === name)?.call(args as never)) as Record<string, unknown>,
    cli: (...args) =>
      project.json([...args, "-s", "runs.db"], { now: Date.now(), env: { DURABLE_SECRET: secret } }),
  };
}

/** Makes a run of each state. */
async function makeAll({ app, storage }: { app: App; storage: SqliteStorage }): Promise<void> {
  const run = async (workflow: string, id: string): Promise<void> => {
    const started = await app.start(workflow, undefined, { id });
    await expect.poll(async () => (await started.outcome()).state).not.toMatch(/running|queued/);
  };
  await run("gives", "completed");
  await run("fails", "failed");
  await run("asks", "cancelled");
  await app.cancel("cancelled");
  await run("changes", "blocked");
  const other = createApp({ storage, secret, workflows: [changed] });
  await other.advance("blocked").catch(() => {});
  await run("asks", "paused");
  await app.get("paused").pause({ reason: "wait" });
  await run("cleans", "cancelling");
  await app.cancel("cancelling");
  await run("undoes", "failing");
  await run("asks", "waiting");
  await run("naps", "sleeping");
  await app.start("asks", undefined, { id: "queued", drive: false });
  const driven = await app.start("works", undefined, { id: "running" });
  await expect.poll(async () => (await driven.outcome()).state).toBe("running");
  const journal = await Journal.open("open", { storage });
  await journal.record("one", () => 1);
}

/** The gauges of an app, each as its sum over all workflows. */
async function gaugesOf(app: App): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  const callbacks: ((result: unknown) => Promise<void>)[] = [];
  const meter = {
    createObservableGauge: (name: string) => name,
    addBatchObservableCallback: (callback: (result: unknown) => Promise<void>) => callbacks.push(callback),
    removeBatchObservableCallback: () => {},
  };
  onTestFinished(observeRuns(meter as never, app, { everyMs: 1_000, most: 1_000 }));
  const observe = (name: string, value: number): void => void sums.set(name, (sums.get(name) ?? 0) + value);
  for (const callback of callbacks) await callback({ observe });
  return sums;
}

const states =
  "completed failed cancelled blocked paused cancelling failing open running queued waiting sleeping".split(
    " ",
  ) as RunStateName[];

test("outcome, list, HTTP, CLI, dashboard, MCP and metrics say the same word about a run", async () => {
  const on = surfaces();
  await makeAll(on);
  const metrics = await gaugesOf(on.app);
  const listed = (await on.app.list()).runs;
  const http = (await (await on.http("/runs")).json()) as { runs: { runId: string; state: string }[] };
  const ls = (await on.cli("ls", "--limit", "50"))["runs"] as typeof http.runs;
  const page = (await on.site.get<RunList>("runs")).runs;
  const mcp = (await on.tool("list_runs", {}))["runs"] as typeof http.runs;
  for (const state of states) {
    const id = state;
    const among = (runs: readonly { runId: string; state: string }[]): unknown =>
      runs.find(({ runId }) => runId === id)?.state;
    const said = {
      outcome: (await on.app.get(id).outcome()).state,
      list: among(listed),
      "HTTP list": among(http.runs),
      "HTTP run": ((await (await on.http(`/runs/${id}`)).json()) as { state: string }).state,
      ls: among(ls),
      show: ((await on.cli("show", id))["run"] as { state: string }).state,
      "dashboard list": among(page),
      "dashboard run": (await on.site.get<RunPage>(`runs/${id}`)).state,
      "MCP list": among(mcp),
      "MCP show": (await on.tool("show_run", { run: id }))["state"],
    };
    expect(said, id).toEqual(Object.fromEntries(Object.keys(said).map((surface) => [surface, state])));
    const isCounted = !["completed", "failed", "cancelled", "open"].includes(state);
    if (isCounted) expect(metrics.get(`durable.runs.${state}`), id).toBe(1);
  }
  hold.resolve();
});

/** How each surface answers the one wait of a run that works. */
const answers: Readonly<Record<string, (on: Surfaces, id: string) => Promise<void>>> = {
  app: async ({ app }, id) => {
    const { waiting } = (await app.get(id).outcome()) as { waiting: readonly { token: string }[] };
    expect(await app.resume(waiting[0]?.token ?? "", true, { drive: false })).toMatchObject({
      status: "accepted",
    });
  },
  HTTP: async ({ http }, id) => {
    const { runs } = (await (await http("/runs?waiting=true")).json()) as { runs: unknown[] };
    expect(runs).toMatchObject([{ runId: id, waits: { count: 1, expiresAt: null, question: "may I?" } }]);
    const { waiting } = (await (await http(`/runs/${id}`)).json()) as { waiting: { token: string }[] };
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"value":true}' };
    expect((await http(`/resume/${waiting[0]?.token ?? ""}`, init)).status).toBe(200);
  },
  CLI: async ({ cli }, id) => {
    expect(await cli("resume", id, "--data", "true", "--no-drive")).toMatchObject({ status: "accepted" });
  },
  dashboard: async ({ site }, id) => {
    const { items } = await site.get<Inbox>("inbox");
    expect(items).toMatchObject([{ runId: id, question: "may I?" }]);
    const { waits } = await site.get<RunWaits>(`runs/${id}/waits`);
    expect(waits).toMatchObject([{ note: "may I?" }]);
    const key = waits[0]?.key;
    const unknown = await site.post<{ error: { message: string } }>(`runs/${id}/answer`, {
      key: "x",
      value: 1,
    });
    expect([unknown.status, unknown.body.error.message]).toEqual([404, `Run ${id} has no open wait "x".`]);
    const post = () =>
      site.post<{ message?: string; error?: unknown }>(`runs/${id}/answer`, { key, value: true });
    expect(await post()).toMatchObject({ status: 200, body: { message: "Your answer was received." } });
    expect(await post()).toMatchObject({ status: 409, body: { error: { message: /answered before/ } } });
  },
  MCP: async ({ tool }, id) => {
    const { waits } = await tool("list_waits", {});
    expect(waits).toMatchObject([{ runId: id, note: "may I?" }]);
    expect(await tool("resume_run", { run: id, value: true })).toMatchObject({ status: "accepted" });
  },
};

test.each(Object.keys(answers))(
  "a wait is answered through %s while a step of its run works",
  async (name) => {
    const on = surfaces();
    const work = Promise.withResolvers<string>();
    const flow = durable("busy", (ctx) =>
      ctx.parallel({
        person: (c) => c.suspend<boolean>("approve", { note: "may I?" }),
        work: (c) => c.step("long", () => work.promise),
      }),
    ).with({ storage: on.storage, secret });
    const run = await flow.start(undefined, { id: "r1" });
    await expect.poll(async () => (await on.app.list({ waiting: true })).runs.length).toBe(1);
    await answers[name]?.(on, "r1");
    expect((await on.app.list({ waiting: true })).runs).toEqual([]);
    work.resolve("done");
    expect(await run.result({ wait: true })).toEqual({ person: true, work: "done" });
  },
);
