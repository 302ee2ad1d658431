/** The dashboard with a policy by run id: it holds for every route, as it does for the handler. */

import { type Action, createApp, durable, MemoryStorage } from "@durable/core";
import { createHandler } from "@durable/http";
import { routes as httpRoutes, type Route } from "@durable/http/kit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { routes } from "../src/dashboard.ts";
import { createDashboard, type Dashboard } from "../src/index.ts";

const ask = durable("ask", (ctx, input: unknown) => ctx.suspend("approve", { note: input }));
const family = durable("family", async (ctx, input: unknown) => {
  const draft = await ctx.step("draft", () => input);
  return [draft, await ctx.child(ask, input, { name: "kid" })];
});
const letter = durable("letter", (ctx) => ctx.receive("mail"));
const fails = durable("fails", (ctx, input: unknown) =>
  ctx.step("s", () => Promise.reject(new Error(String(input))), { retry: false }),
);

const canary = "data of the victim";
const secret = "only for this test, 32 characters";

/** Every id that an action names begins with "m-". */
const own = ({ runId = "m-", forkId = "m-" }: Action): boolean =>
  runId.startsWith("m-") && forkId.startsWith("m-");

let app: ReturnType<typeof createApp>;
let seen: Action[];
let allows: (action: Action) => boolean;
let dashboard: Dashboard;

beforeEach(async () => {
  const workflows = [ask, family, letter, fails];
  app = createApp({ storage: new MemoryStorage(), secret, workflows, bind: false });
  for (const tenant of ["v", "m"])
    for (const { name } of workflows) {
      const run = await app.start(name, tenant === "v" ? canary : "mine", { id: `${tenant}-${name}` });
      await run.result().catch(() => {});
    }
  await app.schedule("v-daily", letter, { cron: "0 9 * * *" });
  seen = [];
  allows = own;
  dashboard = createDashboard({
    app,
    onError: () => {},
    authorize: (_, action) => (seen.push(action), allows(action)),
  });
});
afterEach(() => app.close());

const origin = "http://localhost:4777";

function send(path: string, body?: unknown): Promise<Response> {
  const headers = { host: "localhost:4777", "content-type": "application/json" };
  const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  return dashboard(new Request(`${origin}/api/${path}`, { headers, ...post }));
}

/** The text of a response, up to the first events of a stream. */
async function textOf(response: Response): Promise<string> {
  if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return response.text();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return value;
}

describe("a policy by run id", () => {
  test.each([
    "diff?before=v-ask&after=v-ask",
    "diff?before=m-ask&after=v-ask",
    "diff?before=v-ask&after=m-ask",
    "attention",
    "attention?range=7d&group=fails%20",
    "inbox",
    "runs",
    "runs?status=failed",
    "runs?parent=v-family",
    "runs?text=v-",
    "events?run=v-ask",
    "runs/v-ask",
    "runs/v-family/tree",
    "inbox?q=data",
    "runs/v-ask/waits",
    "runs/v-ask/journal",
    "runs/v-ask/export",
  ])("%s shows nothing of another's run", async (path) => {
    const response = await send(path);
    const text = await textOf(response);
    expect(text).not.toContain(canary);
    expect(text).not.toMatch(/"v-|v-(ask|family|letter|fails)/);
    expect(response.status === 200 || response.status === 403).toBe(true);
  });

  test.each(["diff?before=m-ask&after=m-fails", "inbox", "runs", "runs/m-family"])(
    "%s shows its own runs",
    async (path) => {
      const response = await send(path);
      expect(response.status).toBe(200);
      expect(await textOf(response)).toMatch(/m-/);
    },
  );

  test("counts, workers and limits are one action, and schedules are asked for one by one", async () => {
    allows = ({ type }) => type !== "overview";
    for (const path of ["counts", "operations"]) expect((await send(path)).status).toBe(403);
    allows = ({ type, schedule }) => type === "overview" || schedule === "m-daily";
    expect(await (await send("operations")).json()).toMatchObject({ schedules: [] });
    allows = () => true;
    expect(await (await send("operations")).json()).toMatchObject({ schedules: [{ name: "v-daily" }] });
  });
});

describe("edits that answer", () => {
  test.each([
    ["m-ask", "approve", "resume"],
    ["m-family", "kid", "resume"],
    ["m-letter", "mail", "send"],
  ])("an edit of %s/%s needs `%s` besides `fork`", async (run, key, type) => {
    allows = (action) => action.type !== type;
    const before = (await app.list()).runs.length;
    for (const route of ["fork", "plan"])
      expect((await send(`runs/${run}/${route}`, { edit: { [key]: { approved: true } } })).status).toBe(403);
    expect(seen.at(-1)).toMatchObject({ type, runId: run, edits: [key] });
    expect((await app.list()).runs.length).toBe(before);
    allows = () => true;
    expect((await send(`runs/${run}/fork`, { edit: { [key]: 1 } })).status).toBe(200);
  });

  test("an answer names its wait", async () => {
    allows = ({ type }) => type !== "resume";
    expect((await send("runs/m-ask/answer", { key: "approve", value: 1 })).status).toBe(403);
    expect(seen).toEqual([{ type: "resume", runId: "m-ask", waits: ["approve"] }]);
  });

  test("an edit of a step needs `fork` alone", async () => {
    allows = ({ type }) => type === "fork";
    expect((await send("runs/m-family/fork", { edit: { draft: 1 } })).status).toBe(200);
  });
});

describe("every route has an action", () => {
  /** Bodies and queries without which a route does not know what it is asked for. */
  const given: Readonly<Record<string, string | object>> = {
    "POST runs": { workflow: "ask" },
    "POST runs/{runId}/fork": { from: "draft" },
    "POST runs/{runId}/plan": { from: "draft" },
    "POST runs/{runId}/answer": { key: "approve", value: 1 },
    "POST runs/{runId}/messages/{topic}": { payload: 1 },
    "POST purge": { keep: 0 },
    "GET diff": "?before=v-ask&after=v-ask",
  };
  const values = {
    runId: "v-ask",
    name: "x",
    topic: "mail",
    schedule: "v-daily",
    workflow: "ask",
    token: "t",
  };

  function cases<R extends Pick<Route, "asks">>(
    table: readonly (readonly [string, Readonly<Record<string, R>>])[],
  ) {
    return table.flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { asks }]) => ({
        method,
        path,
        asks,
        name: `${method} ${path}`,
      })),
    );
  }

  const requestOf = (at: string, { method, path, name }: { method: string; path: string; name: string }) => {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, key: string) => values[key as keyof typeof values]);
    const extra = given[name] ?? {};
    const init = method === "POST" ? { body: JSON.stringify(typeof extra === "string" ? {} : extra) } : {};
    const query = typeof extra === "string" ? extra : "";
    const headers = { host: "localhost:4777", "content-type": "application/json" };
    return new Request(`${origin}${at}${filled}${query}`, { method, headers, ...init });
  };

  test.each(cases(routes))("dashboard: $name", async (route) => {
    allows = () => false;
    // The purge of the page has members of its own.
    const asked = route.path === "purge" ? { ...route, name: "" } : route;
    const response = await dashboard(requestOf("/api/", asked));
    if (route.asks === null) return expect(["POST session", "DELETE session"]).toContain(route.name);
    expect([response.status, seen[0]?.type]).toEqual([403, route.asks.type]);
    expect(seen).toHaveLength(1);
  });

  test.each(cases(httpRoutes))("http: $name", async (route) => {
    const asked: Action[] = [];
    const handler = createHandler(app, { authorize: (_, action) => (asked.push(action), false) });
    const response = await handler(requestOf("/", route));
    if (route.asks === null) return expect(route.path).toBe("resume/{token}");
    expect([response.status, asked[0]?.type]).toEqual([403, route.asks.type]);
    expect(asked).toHaveLength(1);
  });
});
