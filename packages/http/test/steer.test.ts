/** Pausing, unpausing and retrying runs, and pausing workflows. */

import { createApp, durable, FatalError, MemoryStorage } from "@durable/core";
import { createHandler, type Action } from "@durable/http";
import { expect, test } from "vitest";
import { lab, stopped } from "./support/lab.ts";

test("pause, answer, unpause", async () => {
  const { app, get, post } = lab();
  await post("/runs", { workflow: "open", id: "one" });
  await stopped(app, "one");
  const paused = await post("/runs/one/pause", { reason: "stock-taking" });
  expect([paused.status, await paused.json()]).toMatchObject([
    200,
    { runId: "one", status: "paused", reason: "stock-taking", waiting: [{ key: "anything" }] },
  ]);
  const listed = (await (await get("/runs?status=paused")).json()) as { runs: unknown[] };
  expect(listed.runs).toMatchObject([{ runId: "one", status: "paused", wakeAt: null }]);
  expect(await (await get("/runs/one")).json()).toMatchObject({ status: "paused" });
  const unpaused = await post("/runs/one/unpause");
  expect([unpaused.status, await unpaused.json()]).toMatchObject([200, { runId: "one", status: "running" }]);
  await stopped(app, "one");
  expect(await (await get("/runs/one")).json()).toMatchObject({ status: "suspended" });
});

test("a score is recorded after the end, listed, taken back, and refused where it is none", async () => {
  const { app, get, post } = lab();
  await post("/runs", { workflow: "echo", id: "one" });
  await stopped(app, "one");
  const scored = await post("/runs/one/score", { name: "helpful", value: false, note: "wrong city" });
  expect([scored.status, await scored.json()]).toEqual([200, { runId: "one", scores: { helpful: 0 } }]);
  expect(await (await get("/runs")).json()).toMatchObject({
    runs: [{ runId: "one", scores: { helpful: 0 } }],
  });
  const entries = (await (await get("/runs/one/entries")).json()) as { entries: unknown[] };
  expect(entries.entries.at(-1)).toMatchObject({ kind: "run.scored", note: "wrong city", outside: true });
  expect(await (await post("/runs/one/score", { name: "helpful", value: null })).json()).toMatchObject({
    scores: {},
  });
  for (const [body, status] of [
    [{ name: "helpful" }, 400],
    [{ name: "helpful", value: "1" }, 400],
    [{ name: "two words", value: 1 }, 400],
    [{ name: "helpful", value: 1, more: 1 }, 400],
  ] as const)
    expect((await post("/runs/one/score", body)).status, JSON.stringify(body)).toBe(status);
  expect((await post("/runs/none/score", { name: "helpful", value: 1 })).status).toBe(404);
});

test("retry continues a failed run, and refuses any other", async () => {
  let broken = true;
  const fragile = durable("fragile", (ctx) =>
    ctx.step("s", () => (broken ? Promise.reject(new FatalError("no")) : "yes")),
  );
  const app = createApp({ storage: new MemoryStorage(), workflows: [fragile] });
  const handler = createHandler(app, { authorize: () => true });
  const post = (path: string, body?: unknown): Promise<Response> =>
    handler(
      new Request(`http://localhost${path}`, {
        method: "POST",
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      }),
    );
  await post("/runs", { workflow: "fragile", id: "one" });
  await stopped(app, "one");
  broken = false;
  const wrong = await post("/runs/one/retry", { deadline: true });
  expect(wrong.status).toBe(400);
  expect((await post("/runs/one/retry", { steps: "s" })).status).toBe(400);
  const unknown = await post("/runs/one/retry", { steps: ["none"] });
  expect(await unknown.json()).toMatchObject({ error: { code: "unknown-step" } });
  const retried = await post("/runs/one/retry", { deadline: "1 day" });
  expect([retried.status, await retried.json()]).toMatchObject([200, { runId: "one", status: "running" }]);
  expect(await app.get("one").result()).toBe("yes");
  const kindsOf = async (query: string): Promise<string[]> => {
    const response = await handler(new Request(`http://localhost/runs/one/entries${query}`));
    const { entries } = (await response.json()) as { entries: { kind: string; struck?: number }[] };
    return entries.map(({ kind, struck }) => `${kind}${struck === undefined ? "" : " struck"}`);
  };
  expect(await kindsOf("")).not.toContain("step.failed");
  expect(await kindsOf("?struck=true")).toContain("step.failed struck");
  expect((await handler(new Request("http://localhost/runs/one/entries?struck=yes"))).status).toBe(400);
  expect((await post("/runs/none/retry")).status).toBe(404);
  await post("/runs", { workflow: "fragile", id: "two" });
  await app.get("two").result();
  const refused = await post("/runs/two/retry");
  expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: "retry-refused" } }]);
});

test("a workflow is paused, listed and unpaused", async () => {
  const { app, get, post } = lab();
  const paused = await post("/workflows/echo/pause", { reason: "a bug" });
  expect([paused.status, await paused.json()]).toMatchObject([
    200,
    { paused: [{ workflow: "echo", reason: "a bug" }] },
  ]);
  await post("/runs", { workflow: "echo", input: 1, id: "one" });
  expect((await app.advance("one")).status).toBe("paused");
  expect(await (await get("/paused")).json()).toMatchObject({ paused: [{ workflow: "echo" }] });
  expect(await (await post("/workflows/echo/unpause")).json()).toEqual({ paused: [] });
  expect((await app.advance("one")).status).toBe("completed");
});

test("each verb has an action of its own", async () => {
  const asked: Action[] = [];
  const app = createApp({ storage: new MemoryStorage(), workflows: [] });
  const handler = createHandler(app, {
    authorize: (_request, action) => {
      asked.push(action);
      return false;
    },
  });
  const paths = [
    "runs/r/pause",
    "runs/r/unpause",
    "runs/r/retry",
    "workflows/w/pause",
    "workflows/w/unpause",
  ];
  for (const path of paths)
    expect((await handler(new Request(`http://localhost/${path}`, { method: "POST" }))).status).toBe(403);
  expect((await handler(new Request("http://localhost/paused"))).status).toBe(403);
  expect(asked).toEqual([
    { type: "pause", runId: "r" },
    { type: "unpause", runId: "r" },
    { type: "retry", runId: "r" },
    { type: "pause", workflow: "w" },
    { type: "unpause", workflow: "w" },
    { type: "overview" },
  ]);
  const foreign = new Request("http://localhost/runs/r/pause", {
    method: "POST",
    headers: { origin: "https://elsewhere.example", "sec-fetch-site": "cross-site" },
  });
  expect(await (await handler(foreign)).json()).toMatchObject({ error: { code: "cross-site" } });
});
