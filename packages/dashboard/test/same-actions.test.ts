/** An action through the page and through the handler: asked alike, decided alike, with the same effect. */

import { createApp, durable, MemoryStorage, type Action, type App, type Verdict } from "@durable/core";
import { createHandler } from "@durable/http";
import { routes as httpRoutes } from "@durable/http/kit";
import { expect, test } from "vitest";
import { createDashboard } from "../src/index.ts";
import { routes } from "../src/dashboard.ts";

const origin = "http://localhost:4777";

interface Case {
  readonly path: string;
  readonly body?: object;
  /** Where the handler has another method or path. */
  readonly http?: readonly [method: string, path: string];
}

const cases: readonly Case[] = [
  { path: "runs/ask/cancel", body: { reason: "enough" } },
  { path: "runs/ask/pause", body: { reason: "later" } },
  { path: "runs/paused/unpause", body: {} },
  { path: "runs/failed/retry", body: {} },
  { path: "runs/failed/score", body: { name: "helpful", value: 0, note: "it failed" } },
  { path: "runs/letter/messages/mail", body: { payload: 1 } },
  { path: "runs/family/fork", body: { edit: { draft: 2 } } },
  { path: "runs/family/fork", body: { edit: { kid: true } } },
  { path: "runs/letter/fork", body: { edit: { mail: true } } },
  { path: "runs/family/plan", body: { edit: { draft: 2 } } },
  { path: "runs/family/plan", body: { edit: { kid: true } } },
  { path: "schedules/daily/pause", body: {} },
  { path: "schedules/daily/unpause", body: {} },
  { path: "schedules/daily/trigger", body: {} },
  { path: "schedules/daily/delete", body: {}, http: ["DELETE", "schedules/daily"] },
  { path: "workflows/ask/pause", body: { reason: "later" } },
  { path: "workflows/ask/unpause", body: {} },
  { path: "purge", body: { olderThan: "0s", status: ["failed"], workflow: "broken", dryRun: false } },
  { path: "purge", body: { olderThan: "0s", status: ["failed"], dryRun: true } },
];

const verdicts: Readonly<Record<string, (action: Action) => Verdict>> = {
  yes: () => true,
  "a scope": () => ({ scope: "m" }),
  no: () => false,
  "a text": () => "yes" as never,
  "an empty scope": () => ({ scope: "" }),
  "a response": () => new Response("log in", { status: 401 }),
  "yes, without answers": ({ type }) => type !== "resume" && type !== "send",
  "yes, without forks": ({ type }) => type !== "fork",
};

async function scene(): Promise<App> {
  const ask = durable("ask", (ctx) => ctx.suspend("approve"));
  const family = durable("family", async (ctx) => [
    await ctx.step("draft", () => 1),
    await ctx.child(ask, undefined, { name: "kid" }),
  ]);
  const letter = durable("letter", (ctx) => ctx.receive("mail"));
  const broken = durable("broken", (ctx) =>
    ctx.step("fail", () => Promise.reject(new Error("as it must")), { retry: false }),
  );
  const app = createApp({
    storage: new MemoryStorage(),
    secret: "only for this test, 32 characters",
    workflows: [ask, family, letter, broken],
    bind: false,
  });
  for (const [id, workflow] of [
    ["ask", "ask"],
    ["paused", "ask"],
    ["family", "family"],
    ["letter", "letter"],
    ["failed", "broken"],
  ] as const)
    await (await app.start(workflow, undefined, { id })).result().catch(() => {});
  await app.get("paused").pause();
  await app.schedule("daily", ask, { cron: "0 0 1 1 *", input: undefined });
  return app;
}

/** Runs with the kinds of their entries, schedules and pauses; ids of chance are left out. */
async function effects(app: App): Promise<unknown> {
  const runs = (await app.list({ limit: 100 })).runs.map(async ({ runId, workflow, status }) => [
    workflow,
    status,
    (await app.get(runId).entries()).map(({ kind }) => kind),
  ]);
  const { schedules } = await app.schedules.list();
  const found = (await Promise.all(runs)).map((run) => JSON.stringify(run)).toSorted();
  return [found, schedules.map(({ name, paused }) => [name, paused]), (await app.paused()).length];
}

async function through(
  surface: "http" | "dashboard",
  { path, body, http = ["POST", path] }: Case,
  verdict: (action: Action) => Verdict,
) {
  const app = await scene();
  const asked: Action[] = [];
  const authorize = (_: Request, action: Action): Verdict => (asked.push(action), verdict(action));
  const [handler, method, url] =
    surface === "http"
      ? ([createHandler(app, { authorize }), http[0], `${origin}/${http[1]}`] as const)
      : ([createDashboard({ app, authorize }), "POST", `${origin}/api/${path}`] as const);
  const headers = { host: "localhost:4777", "content-type": "application/json" };
  const response = await handler(new Request(url, { method, headers, body: JSON.stringify(body) }));
  const { status } = response;
  await response.text();
  // The handler answers before a run has gone on, and the page after that.
  const isThere = (runId: string): boolean => ["ask", "paused", "family", "letter", "failed"].includes(runId);
  for (const { runId } of (await app.list({ limit: 100 })).runs)
    if (!isThere(runId) || (runId === "letter" && path.includes("messages")))
      await app
        .get(runId)
        .result()
        .catch(() => {});
  // The handler says 202 where a run goes on.
  return { status: status === 202 ? 200 : status, asked, effects: await effects(app) };
}

const all = cases.flatMap((one) =>
  Object.keys(verdicts).map((verdict) => [one.path, JSON.stringify(one.body), verdict, one] as const),
);

test.each(all)("%s %s: %s", async (_path, _body, verdict, one) => {
  const decide = verdicts[verdict] as (action: Action) => Verdict;
  const [page, handler] = [await through("dashboard", one, decide), await through("http", one, decide)];
  expect(page).toEqual(handler);
});

test("every action of the page that the handler has is compared", () => {
  const shared = routes.filter(([path, methods]) => {
    const known = httpRoutes.some(([other]) => other === path) || path === "schedules/{schedule}/delete";
    return known && "POST" in methods;
  });
  const samples = cases.map(({ path }) => path.split("/"));
  const missing = shared.filter(
    ([path]) =>
      !samples.some(
        (sample) =>
          sample.length === path.split("/").length &&
          path.split("/").every((part, i) => part.startsWith("{") || part === sample[i]),
      ),
  );
  expect(missing).toEqual([]);
});
