/** The description: served, complete, and correct for real responses (support/described.ts checks each one). */

import { openApi } from "@durable/http";
import { expect, test } from "vitest";
import { requestSchedules } from "./support/schedules.ts";
import { met } from "./support/described.ts";
import { lab, origin, stopped } from "./support/lab.ts";
import { problems } from "./support/schema.ts";

type Part = Record<string, unknown>;

test("GET /openapi.json serves the description, with where the handler is mounted", async () => {
  const { get } = lab({ basePath: "/api/durable" });
  const served = await get("/api/durable/openapi.json");
  expect(served.status).toBe(200);
  expect(await served.json()).toEqual(openApi({ basePath: "/api/durable" }));
});

test("it is OpenAPI 3.1: every operation has a name of its own, parameters for its path, and answers", () => {
  const document = openApi();
  expect(document["openapi"]).toBe("3.1.0");
  const names = new Set<unknown>();
  const paths = document["paths"] as Record<string, Record<string, Part>>;
  for (const [path, item] of Object.entries(paths)) {
    const shared = (item["parameters"] ?? []) as unknown as Part[];
    const templates = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect([path, shared.map((one) => one["name"])]).toEqual([path, templates]);
    for (const [method, operation] of Object.entries(item)) {
      if (method === "parameters") continue;
      expect(names.has(operation["operationId"])).toBe(false);
      names.add(operation["operationId"]);
      const responses = operation["responses"] as Record<string, Part>;
      for (const response of Object.values(responses))
        expect("description" in response || "$ref" in response).toBe(true);
      expect(responses["default"]).toBeDefined();
    }
  }
  expect(names.size).toBe(28);
});

test("every reference leads somewhere, and every shape is used", () => {
  const text = JSON.stringify(openApi());
  const refs = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name = ""]) => name));
  const { schemas } = openApi()["components"] as { schemas: Part };
  expect([...refs].toSorted()).toEqual(Object.keys(schemas).toSorted());
});

test("good requests fit the shapes of requests, bad ones do not", () => {
  const document = openApi();
  const { schemas } = document["components"] as { schemas: Record<string, Part> };
  const fits = (name: string, value: unknown): boolean =>
    problems(value, schemas[name] as Part, document).length === 0;
  expect(fits("StartRequest", { workflow: "echo", input: [1], id: "a-1" })).toBe(true);
  expect(fits("StartRequest", { input: 1 })).toBe(false);
  expect(fits("StartRequest", { workflow: "echo", id: "../x" })).toBe(false);
  expect(fits("ForkRequest", { from: ["a"], edit: { a: 1 } })).toBe(true);
  expect(fits("ForkRequest", { from: 1 })).toBe(false);
  expect(fits("ResumeRequest", { value: null })).toBe(true);
  expect(fits("ResumeRequest", { error: { message: "no" } })).toBe(true);
  expect(fits("ResumeRequest", { value: 1, error: { message: "no" } })).toBe(false);
  expect(fits("ResumeRequest", { id: "x" })).toBe(false);
  expect(fits("SendRequest", { payload: null, id: "x" })).toBe(true);
  expect(fits("SendRequest", { id: "x" })).toBe(false);
  expect(fits("Outcome", { runId: "a", status: "completed" })).toBe(false);
  expect(fits("Outcome", { runId: "a", status: "running", token: "t" })).toBe(false);
});

test("every answer that is described was given once, and was as described", async () => {
  met.clear();
  const { app, handler, get, post, form, waiting } = lab();
  await app.start("echo", { big: 1n, when: new Date(0) }, { id: "e" });
  await stopped(app, "e");
  const [token] = await waiting("review", "r");
  const [other] = await waiting("open", "o");
  await app.start("broken", undefined, { id: "b" });
  await stopped(app, "b");
  await waiting("two", "c");
  for (const id of ["e", "r", "b"]) await get(`/runs/${id}`);
  await get("/runs/none");
  await get("/runs");
  await get("/runs?nope=1");
  await get("/runs/e/entries");
  await get("/runs/none/entries");
  await get("/runs/e/streams/x");
  const live = await get("/runs/o/streams/x");
  await live.body?.cancel();
  await get("/runs/o/streams/x", { "last-event-id": "1:end" });
  await post("/runs", { workflow: "echo" });
  await post("/runs", {});
  await post("/runs/e/fork", { from: "say" });
  await post("/runs/e/fork", {});
  await post("/runs/e/plan", { from: "say" });
  await post("/runs/e/plan", { from: "nothing" });
  await post("/runs/c/cancel");
  await post("/runs/none/cancel");
  for (const verb of ["pause", "unpause"]) {
    await post(`/runs/r/${verb}`);
    await post(`/runs/none/${verb}`);
    await post(`/workflows/typed/${verb}`);
    await post(`/workflows/typed/${verb}`, { nope: 1 });
  }
  await post("/runs/e/score", { name: "helpful", value: true, note: "yes" });
  await post("/runs/e/score", { name: "two words", value: 1 });
  await stopped(app, "r");
  await post("/runs/b/retry");
  await post("/runs/none/retry");
  await get("/paused");
  await get("/paused?nope=1");
  await get(`/resume/${token}`);
  await get("/resume/x?value=1&value=2");
  await post(`/resume/${token}`, { value: 1 });
  await form(`/resume/${token}`, { value: '{"approved":true}' }, { accept: "text/html" });
  await post(`/resume/${token}`, { value: 1 });
  await post("/resume/forged", { value: 1 });
  await app.cancel("o");
  await post(`/resume/${other}`, { value: 1 });
  await post(`/resume/${token}`, {});
  await app.start("mail", undefined, { id: "m" });
  const note = (path: string, payload: unknown, id: string) => post(path, { payload, id });
  await note("/runs/m/messages/note", 1, "one");
  await note("/runs/m/messages/note", 1, "one");
  await note("/runs/m/messages/note", 2, "one");
  await note("/runs/m/messages/note", "x", "two");
  await note("/runs/none/messages/note", 1, "one");
  await note("/runs/e/messages/note", 1, "one");
  await post("/runs/m/messages/note", {});
  await get("/runs/m/report");
  await get("/runs/none/report");
  const remove = (path: string): Promise<Response> =>
    handler(new Request(origin + path, { method: "DELETE" }));
  await remove("/runs/b");
  await remove("/runs/b");
  await post("/purge", { keep: 1 });
  await post("/purge", {});
  await requestSchedules(lab());
  await get("/openapi.json");
  const closed = lab({ authorize: () => false });
  await closed.get("/openapi.json");
  const paths = openApi()["paths"] as Record<string, Record<string, { responses: Part }>>;
  const described = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== "parameters")
      .flatMap(([method, { responses }]) =>
        Object.keys(responses).map((status) => `${method} ${path} ${status}`),
      ),
  );
  expect([...met].toSorted()).toEqual(described.toSorted());
});
