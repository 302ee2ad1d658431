/** Permissions: nothing is allowed by default, except an answer by token. */

import { createApp, MemoryStorage } from "@durable/core";
import { type Action, createHandler, HttpError } from "@durable/http";
import { expect, test } from "vitest";
import { lab, labSecret, origin, stopped, workflows } from "./support/lab.ts";

/** A valid request to every route that needs permission. */
const asks: readonly [method: string, path: string, body?: unknown][] = [
  ["POST", "/runs", { workflow: "echo", id: "new" }],
  ["GET", "/runs"],
  ["HEAD", "/runs"],
  ["GET", "/runs?workflow=echo"],
  ["GET", "/runs/one"],
  ["HEAD", "/runs/one"],
  ["GET", "/runs/one/entries"],
  ["GET", "/runs/one/streams/x"],
  ["HEAD", "/runs/one/streams/x"],
  ["POST", "/runs/one/fork", { from: "say" }],
  ["POST", "/runs/one/plan", { from: "say" }],
  ["POST", "/runs/one/cancel"],
  ["POST", "/runs/one/pause", { reason: "later" }],
  ["POST", "/runs/one/unpause"],
  ["POST", "/runs/one/retry"],
  ["POST", "/workflows/echo/pause"],
  ["POST", "/workflows/echo/unpause"],
  ["GET", "/paused"],
  ["POST", "/runs/one/messages/note", { payload: 1 }],
  ["GET", "/runs/one/report"],
  ["POST", "/runs/one/score", { name: "helpful", value: 1 }],
  ["DELETE", "/runs/one"],
  ["POST", "/purge", { keep: 0 }],
  ["GET", "/schedules"],
  ["GET", "/schedules?workflow=echo"],
  ["GET", "/schedules/daily"],
  ["POST", "/schedules/daily/pause"],
  ["POST", "/schedules/daily/unpause"],
  ["POST", "/schedules/daily/trigger"],
  ["DELETE", "/schedules/daily"],
  ["GET", "/openapi.json"],
];

function requestOf(
  [method, path, body]: (typeof asks)[number],
  headers: Record<string, string> = {},
): Request {
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  return new Request(origin + path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...json,
  });
}

const refusals = {
  "none is given": {},
  "it says false": { authorize: () => false },
  "it says false later": { authorize: () => Promise.resolve(false) },
  "it says something that is not true": { authorize: () => "yes" as unknown as boolean },
  "it throws a refusal": {
    authorize: () => {
      throw new HttpError("forbidden", "Not you.");
    },
  },
};

test.each(Object.entries(refusals))(
  "when %s, everything but an answer is refused and nothing happens",
  async (_, options) => {
    const storage = new MemoryStorage();
    const app = createApp({ storage, secret: labSecret, workflows });
    await app.start("echo", 1, { id: "one" });
    await stopped(app, "one");
    const before = [await app.list(), (await app.get("one").entries()).length];
    const handler = createHandler(app, options);
    for (const ask of asks) {
      const response = await handler(requestOf(ask));
      expect([ask[1], response.status]).toEqual([ask[1], 403]);
      if (ask[0] !== "HEAD") expect(await response.json()).toMatchObject({ error: { code: "forbidden" } });
    }
    expect([await app.list(), (await app.get("one").entries()).length]).toEqual(before);
  },
);

test("without authorize a refusal says how to allow, whatever else is wrong with the request", async () => {
  const handler = createHandler(createApp({ storage: new MemoryStorage(), workflows }));
  for (const request of [
    new Request(`${origin}/runs/..%2Fx`),
    new Request(`${origin}/runs?drop=table`),
    new Request(`${origin}/runs`, { method: "POST", body: "{" }),
  ]) {
    const response = await handler(request);
    expect(response.status).toBe(403);
    expect(await response.text()).toContain("createHandler(app, { authorize })");
  }
});

test("the hook gets the action, with its run and workflow", async () => {
  const seen: Action[] = [];
  const { app, handler } = lab({
    authorize: (_request, action) => {
      seen.push(action);
      return false;
    },
  });
  await app.start("echo", 1, { id: "one" });
  for (const ask of asks) await handler(requestOf(ask));
  expect(seen).toEqual([
    { type: "start", workflow: "echo", runId: "new" },
    { type: "list" },
    { type: "list" },
    { type: "list", workflow: "echo" },
    { type: "read", runId: "one" },
    { type: "read", runId: "one" },
    { type: "read", runId: "one" },
    { type: "stream", runId: "one" },
    { type: "stream", runId: "one" },
    { type: "fork", runId: "one" },
    { type: "fork", runId: "one" },
    { type: "cancel", runId: "one" },
    { type: "pause", runId: "one" },
    { type: "unpause", runId: "one" },
    { type: "retry", runId: "one" },
    { type: "pause", workflow: "echo" },
    { type: "unpause", workflow: "echo" },
    { type: "overview" },
    { type: "send", runId: "one", topic: "note" },
    { type: "report", runId: "one" },
    { type: "score", runId: "one" },
    { type: "delete", runId: "one" },
    { type: "purge" },
    { type: "schedules" },
    { type: "schedules", workflow: "echo" },
    { type: "schedules", schedule: "daily" },
    { type: "schedule", schedule: "daily", change: "pause" },
    { type: "schedule", schedule: "daily", change: "unpause" },
    { type: "schedule", schedule: "daily", change: "trigger" },
    { type: "schedule", schedule: "daily", change: "delete" },
    { type: "describe" },
  ]);
});

test("a hook may answer itself, with 401 for instance", async () => {
  const authorize = (): Response =>
    new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });
  const app = createApp({ storage: new MemoryStorage(), workflows });
  const handler = createHandler(app, { authorize });
  for (const ask of asks) {
    const response = await handler(requestOf(ask));
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  }
  expect((await app.list()).runs).toEqual([]);
});

test("a hook that throws is a server error, and allows nothing", async () => {
  const { handler, app, errors } = lab({ authorize: () => Promise.reject(new Error("no database")) });
  const response = await handler(requestOf(["POST", "/runs", { workflow: "echo" }]));
  expect([response.status, errors.length]).toEqual([500, 1]);
  expect((await app.list()).runs).toEqual([]);
});

test("tokens are shown only to clients that may see them", async () => {
  const { waiting, get } = lab({ authorize: (_request, { type }) => type === "read" });
  const [token = ""] = await waiting("open", "one");
  const text = await (await get("/runs/one")).text();
  expect(text).toContain('"waiting"');
  expect(text).not.toContain(token);
  const open = lab();
  const [shown] = await open.waiting("open", "one");
  expect(await (await open.get("/runs/one")).json()).toMatchObject({ waiting: [{ token: shown }] });
  expect(await (await open.get("/runs/one/entries")).text()).not.toContain(shown);
  expect(await (await open.post("/runs/one/cancel")).text()).not.toContain(shown);
});

test("nothing but true shows tokens", async () => {
  for (const verdict of [false, "yes", 1, new Response(null), undefined]) {
    const authorize = (_request: Request, { type }: Action): boolean =>
      type === "tokens" ? (verdict as boolean) : true;
    const { waiting, get } = lab({ authorize });
    const [token = ""] = await waiting("open", "one");
    const shown = await get("/runs/one");
    expect(shown.status).toBe(200);
    expect(await shown.text()).not.toContain(token);
  }
});

test("a hook never gets an invalid id", async () => {
  const seen: Action[] = [];
  const { handler } = lab({ authorize: (_request, action) => (seen.push(action), true) });
  for (const ask of [
    ["POST", "/runs", { workflow: "echo", id: "../one" }],
    ["GET", "/runs/..%2Fone"],
    ["GET", "/runs/..%2Fone/entries"],
    ["GET", "/runs/..%2Fone/streams/x"],
    ["POST", "/runs/..%2Fone/fork", { from: "say" }],
    ["POST", "/runs/..%2Fone/cancel"],
    ["POST", "/runs/..%2Fone/pause"],
    ["POST", "/runs/..%2Fone/unpause"],
    ["POST", "/runs/..%2Fone/retry"],
    ["POST", "/runs/..%2Fone/messages/note", { payload: 1 }],
    ["GET", "/runs/..%2Fone/report"],
    ["DELETE", "/runs/..%2Fone"],
    ["GET", "/schedules/..%2Fone"],
    ["POST", "/schedules/..%2Fone/pause"],
  ] as const)
    expect((await handler(requestOf([...ask]))).status, ask[1]).toBe(400);
  expect(seen).toEqual([]);
});

test("an answer by token needs no permission", async () => {
  const { waiting, post } = lab({ authorize: () => false });
  const [token] = await waiting("open", "one");
  expect((await post(`/resume/${token}`, { value: 1 })).status).toBe(200);
});

test("another site's page may not act, even where a hook goes by cookies", async () => {
  const { app, handler } = lab();
  await app.start("open", undefined, { id: "one" });
  const foreign = { "sec-fetch-site": "cross-site" };
  for (const ask of asks.filter(([method]) => method === "POST" || method === "DELETE")) {
    const response = await handler(requestOf(ask, foreign));
    expect([response.status, await response.json()]).toMatchObject([403, { error: { code: "cross-site" } }]);
  }
  expect((await app.list()).runs.length).toBe(1);
  // A form of another site cannot send JSON, and a start takes nothing else.
  const form = await handler(
    new Request(`${origin}/runs`, { method: "POST", body: new URLSearchParams({ workflow: "echo" }) }),
  );
  expect(form.status).toBe(415);
  expect((await handler(requestOf(["GET", "/runs/one"], foreign))).status).toBe(200);
});
