/** Starting, listing, reading, forking and cancelling runs. */

import { durable, DurableError, MemoryStorage } from "@durable/core";
import { expect, test, vi } from "vitest";
import { lab, stopped } from "./support/lab.ts";

test("POST /runs records a run, GET /runs/:id reads it", async () => {
  const { app, get, post } = lab();
  const started = await post("/runs", { workflow: "echo", input: { a: [1, "x"] }, id: "one" });
  expect(started.status).toBe(202);
  expect(await started.json()).toEqual({ runId: "one", status: "running", repeated: false });
  expect(started.headers.get("location")).toBe("/runs/one");
  await stopped(app, "one");
  const read = await get("/runs/one");
  expect(read.status).toBe(200);
  expect(await read.json()).toEqual({
    runId: "one",
    status: "completed",
    state: "completed",
    output: { a: [1, "x"] },
  });
});

test("a run without an id gets one, and may go without input", async () => {
  const { app, get, post } = lab();
  const { runId } = (await (await post("/runs", { workflow: "echo" })).json()) as { runId: string };
  await stopped(app, runId);
  expect(await (await get(`/runs/${runId}`)).json()).toEqual({
    runId,
    status: "completed",
    state: "completed",
    output: null,
  });
});

test("the same start again is the same run, with another input it is refused", async () => {
  const { app, post } = lab();
  await post("/runs", { workflow: "echo", input: 1, id: "one" });
  await stopped(app, "one");
  const again = await post("/runs", { workflow: "echo", input: 1, id: "one" });
  expect([again.status, await again.json()]).toEqual([
    202,
    { runId: "one", status: "completed", repeated: true },
  ]);
  const other = await post("/runs", { workflow: "echo", input: 2, id: "one" });
  expect([other.status, await codeOf(other)]).toEqual([409, "input-mismatch"]);
  const elsewhere = await post("/runs", { workflow: "open", input: 1, id: "one" });
  expect([elsewhere.status, await codeOf(elsewhere)]).toEqual([409, "run-exists"]);
});

test.each([
  ["an unknown workflow", { workflow: "nope" }, 404, "unknown-workflow"],
  ["no workflow", { input: 1 }, 400, "invalid-body"],
  ["a workflow that is not a string", { workflow: 7 }, 400, "invalid-body"],
  ["a further member", { workflow: "echo", delete: true }, 400, "invalid-body"],
  ["a list", ["echo"], 400, "invalid-body"],
  ["null", null, 400, "invalid-body"],
  ["a bad id", { workflow: "echo", id: "../x" }, 400, "invalid-id"],
  ["an id that is not a string", { workflow: "echo", id: 7 }, 400, "invalid-body"],
  ["an input that does not fit", { workflow: "typed", input: { n: "x" } }, 422, "invalid-input"],
])("a start with %s is refused and records nothing", async (_what, body, status, code) => {
  const { get, post, errors } = lab();
  const response = await post("/runs", body);
  expect([response.status, await codeOf(response)]).toEqual([status, code]);
  expect(await (await get("/runs")).json()).toEqual({ runs: [], next: null });
  expect(errors).toEqual([]);
});

test("GET /runs filters and pages", async () => {
  const { app, get } = lab();
  for (const id of ["a", "b", "c"]) {
    await app.start("echo", id, { id });
    await stopped(app, id);
  }
  await app.start("open", undefined, { id: "w" });
  await stopped(app, "w");
  const forked = await app.get("a").fork({ from: "say", id: "f" });
  await forked.result();
  const ids = async (query: string): Promise<string[]> =>
    ((await (await get(`/runs${query}`)).json()) as { runs: { runId: string }[] }).runs.map(
      (run) => run.runId,
    );
  expect(await ids("")).toEqual(["f", "w", "c", "b", "a"]);
  expect(await ids("?workflow=open")).toEqual(["w"]);
  expect(await ids("?status=suspended")).toEqual(["w"]);
  expect(await ids("?parent=a")).toEqual(["f"]);
  expect(await ids("?workflow=none")).toEqual([]);
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const next = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = (await (await get(`/runs?limit=2${next}`)).json()) as {
      runs: { runId: string }[];
      next: string | null;
    };
    seen.push(...page.runs.map((run) => run.runId));
    cursor = page.next;
  } while (cursor !== null);
  expect(seen).toEqual(["f", "w", "c", "b", "a"]);
});

test.each([
  "limit=0",
  "limit=1001",
  "limit=1e2",
  "limit=-1",
  "status=parked",
  "limit=1&limit=2",
  "order=asc",
])("GET /runs?%s is refused", async (query) => {
  const response = await lab().get(`/runs?${query}`);
  expect([response.status, await codeOf(response)]).toEqual([400, "invalid-query"]);
});

test("an invalid cursor is refused", async () => {
  const response = await lab().get("/runs?cursor=%27%20or%201=1");
  expect([response.status, await codeOf(response)]).toEqual([400, "invalid-options"]);
});

test("GET /runs/:id/entries pages through the journal, with values as JSON and without stacks", async () => {
  const { app, get } = lab();
  await app.start("broken", undefined, { id: "b" });
  await stopped(app, "b");
  const whole = (await (await get("/runs/b/entries")).json()) as { entries: { kind: string; seq: number }[] };
  expect(whole.entries.map(({ kind }) => kind)).toEqual(["run.started", "step.failed", "run.failed"]);
  expect(JSON.stringify(whole)).toContain("as it must");
  expect(JSON.stringify(whole)).not.toContain("lab.ts");
  const second = (await (await get("/runs/b/entries?after=1&limit=1")).json()) as typeof whole & {
    next: number;
  };
  expect([second.entries.map(({ seq }) => seq), second.next]).toEqual([[2], 2]);
  expect(await (await get("/runs/b/entries?after=3")).json()).toEqual({ entries: [], next: null });
});

test("a failed run is read with code and message, without a stack", async () => {
  const { app, get } = lab();
  await app.start("broken", undefined, { id: "b" });
  await stopped(app, "b");
  const read = await get("/runs/b");
  expect([read.status, await read.json()]).toEqual([
    200,
    {
      runId: "b",
      status: "failed",
      state: "failed",
      error: {
        code: "step-failed",
        message: 'Step "fail" of run b failed: Error: as it must',
      },
    },
  ]);
});

test("POST fork goes back to a step, with edits, input and label", async () => {
  const { app, get, post } = lab();
  await app.start("echo", 1, { id: "one" });
  await stopped(app, "one");
  const forked = await post("/runs/one/fork", { from: "say", input: 2, label: "again", id: "two" });
  expect([forked.status, await forked.json()]).toEqual([202, { runId: "two", status: "running" }]);
  expect(forked.headers.get("location")).toBe("/runs/two");
  await stopped(app, "two");
  expect(await (await get("/runs/two")).json()).toMatchObject({ output: 2 });
  await post("/runs/one/fork", { edit: { say: "other" }, id: "three" });
  await stopped(app, "three");
  expect(await (await get("/runs/three")).json()).toMatchObject({ output: "other" });
  await post("/runs/one/fork", { after: ["say"], id: "four" });
  await stopped(app, "four");
  expect(await (await get("/runs/four")).json()).toMatchObject({ output: 1 });
  expect(await (await get("/runs?parent=one")).json()).toMatchObject({
    runs: [{ runId: "four" }, { runId: "three" }, { runId: "two", label: "again", parent: "one" }],
  });
});

test("POST plan says what a fork would do, and makes none", async () => {
  const { app, get, post } = lab();
  await app.start("echo", 1, { id: "one" });
  await stopped(app, "one");
  const nothing = { usage: [], inputTokens: 0, outputTokens: 0, cost: null };
  const planned = await post("/runs/one/plan", { from: "say" });
  expect([planned.status, await planned.json()]).toEqual([
    200,
    {
      parent: "one",
      calls: [{ key: "say", kind: "step", what: "runs", next: true, usage: [] }],
      saved: nothing,
      atStake: nothing,
      blocked: null,
    },
  ]);
  expect((await post("/runs/one/plan", { edit: { say: 2 }, from: "say" })).status).toBe(400);
  expect((await post("/runs/none/plan", { from: "say" })).status).toBe(404);
  expect(await (await get("/runs?parent=one")).json()).toMatchObject({ runs: [] });
});

test.each([
  [{}, 400, "invalid-options"],
  [{ from: 7 }, 400, "invalid-body"],
  [{ from: ["say", 7] }, 400, "invalid-body"],
  [{ edit: ["say"] }, 400, "invalid-body"],
  [{ from: "say", id: "a b" }, 400, "invalid-id"],
  [{ from: "say", label: "a\nb" }, 400, "invalid-options"],
  [{ from: "say", id: "one" }, 409, "conflict"],
  [{ from: "nope" }, 404, "unknown-step"],
])("a fork with %j is refused", async (body, status, code) => {
  const { app, get, post, errors } = lab();
  await app.start("echo", 1, { id: "one" });
  await stopped(app, "one");
  const response = await post("/runs/one/fork", body);
  expect([response.status, await codeOf(response)]).toEqual([status, code]);
  expect(((await (await get("/runs")).json()) as { runs: unknown[] }).runs.length).toBe(1);
  expect(errors).toEqual([]);
});

test("POST cancel ends a run, with or without a body, and returns the outcome of a run that has ended", async () => {
  const { app, post, waiting } = lab();
  await waiting("open", "a");
  await waiting("open", "b");
  const first = await post("/runs/a/cancel");
  expect([first.status, await first.json()]).toEqual([
    200,
    { runId: "a", status: "cancelled", state: "cancelled" },
  ]);
  expect((await post("/runs/b/cancel", { reason: "no need" })).status).toBe(200);
  expect((await app.get("b").entries()).at(-1)).toMatchObject({ kind: "run.cancelled", reason: "no need" });
  await app.start("echo", 1, { id: "c" });
  await stopped(app, "c");
  expect(await (await post("/runs/c/cancel")).json()).toEqual({
    runId: "c",
    status: "completed",
    state: "completed",
    output: 1,
  });
  const wrong = await post("/runs/a/cancel", { why: "x" });
  expect([wrong.status, await codeOf(wrong)]).toEqual([400, "invalid-body"]);
});

test("a run that is not there is 404 on every route", async () => {
  const { get, post } = lab();
  const responses = [
    await get("/runs/none"),
    await get("/runs/none/entries"),
    await get("/runs/none/streams/x"),
    await post("/runs/none/fork", { from: "x" }),
    await post("/runs/none/cancel"),
  ];
  for (const response of responses)
    expect([response.status, await codeOf(response)]).toEqual([404, "not-found"]);
});

test("other addresses are 404, other methods 405 with what is allowed", async () => {
  const { get, handler } = lab();
  for (const path of [
    "/",
    "/run",
    "/runs/",
    "/runs/a/b",
    "/runs//entries",
    "/resume/",
    "/resume/a/b",
    "/openapi",
  ])
    expect([path, (await get(path)).status]).toEqual([path, 404]);
  const ask = (method: string, path: string): Promise<Response> =>
    handler(new Request(`http://lab.example${path}`, { method }));
  const wrong = await ask("DELETE", "/runs");
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  expect((await ask("PUT", "/runs/a")).headers.get("allow")).toBe("GET, HEAD, DELETE");
  expect((await ask("OPTIONS", "/resume/x")).headers.get("access-control-allow-origin")).toBeNull();
});

test("a base path is taken off, and nothing outside of it is answered", async () => {
  const { get, post } = lab({ basePath: "api/durable/", authorize: () => true });
  expect((await get("/api/durable/runs")).status).toBe(200);
  const started = await post("/api/durable/runs", { workflow: "echo", id: "x" });
  expect(started.headers.get("location")).toBe("/api/durable/runs/x");
  for (const path of ["/runs", "/api/durablex/runs", "/api/durable", "/api"])
    expect((await get(path)).status).toBe(404);
});

test("HEAD says what GET says, without a body", async () => {
  const { app, handler } = lab();
  await app.start("echo", 1, { id: "one" });
  await stopped(app, "one");
  for (const path of ["/runs", "/runs/one", "/runs/one/entries", "/openapi.json"]) {
    const response = await handler(new Request(`http://lab.example${path}`, { method: "HEAD" }));
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("content-type")).toBe("application/json");
  }
});

test("a storage that is down is 503 with retry-after; the reason stays in the log", async () => {
  const storage = new MemoryStorage();
  const fault = new DurableError("storage-failed", "The file /srv/private/journal.db cannot be opened.");
  storage.list = () => Promise.reject(fault);
  const { get, errors } = lab({ storage });
  const response = await get("/runs");
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await response.json()).toEqual({
    error: { code: "storage-failed", message: "The storage is not available. Try again later." },
  });
  expect(errors).toEqual([fault]);
});

test("a fault of our own is 500 without a word about it", async () => {
  const storage = new MemoryStorage();
  storage.list = () => Promise.reject(new TypeError("undefined is not /srv/private"));
  const { get, errors } = lab({ storage });
  const response = await get("/runs");
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("private");
  expect(errors.length).toBe(1);
});

test("an error that a workflow throws in the background changes no response", async () => {
  const odd = durable("odd", () => {
    throw new Error("thrown by the workflow");
  });
  const { app, get, post, errors } = lab({ workflows: [odd] });
  expect((await post("/runs", { workflow: "odd", id: "o" })).status).toBe(202);
  await stopped(app, "o");
  expect(await (await get("/runs/o")).json()).toMatchObject({
    status: "failed",
    error: { code: "run-failed" },
  });
  expect(errors).toEqual([]);
});

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code;
}

test("with handOn, a start and an answer are only recorded, and somebody else drives the run", async () => {
  const handed: string[] = [];
  const { app, get, post } = lab({ handOn: (runId: string) => handed.push(runId) });
  const body = { workflow: "review", input: "a", id: "one" };
  expect((await post("/runs", body)).status).toBe(202);
  expect(handed).toEqual(["one"]);
  expect((await app.get("one").entries()).map(({ kind }) => kind)).toEqual(["run.started"]);
  await app.advance("one");
  const { waiting } = (await (await get("/runs/one")).json()) as { waiting: { token: string }[] };
  const path = `/resume/${waiting[0]!.token}`;
  for (const [status, count] of [
    ["accepted", 2],
    ["duplicate", 2],
  ] as const) {
    expect(await (await post(path, { value: { approved: true } })).json()).toMatchObject({ status });
    expect(handed).toHaveLength(count);
  }
  expect(await app.advance("one")).toMatchObject({ status: "completed" });
  expect((await post("/resume/none", { value: true })).status).toBe(404);
  expect(handed).toHaveLength(2);
});

test("the entries say how far a step is that has not settled", async () => {
  const copy = durable("copy", (ctx) =>
    ctx.step(
      "pages",
      ({ heartbeat }) => {
        heartbeat({ page: 7, of: 12 });
        throw new Error("page 8 is torn");
      },
      { retry: { delay: "1 day", maxDelay: "1 day", jitter: false } },
    ),
  );
  const { app, get } = lab({ workflows: [copy] });
  await app.start(copy, undefined, { id: "c1" });
  await vi.waitFor(async () => {
    const { entries } = (await (await get("/runs/c1/entries")).json()) as { entries: { kind: string }[] };
    expect(entries.filter(({ kind }) => kind === "step.progress")).toMatchObject([
      { key: "pages", value: { page: 7, of: 12 }, attempt: 1 },
    ]);
  }, 10_000);
  await app.get("c1").cancel();
});
