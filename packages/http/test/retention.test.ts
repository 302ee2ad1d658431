/** Deleting runs over HTTP: one, or old ones. */

import { expect, test } from "vitest";
import type { Action } from "@durable/http";
import { lab, origin, stopped, type Lab } from "./support/lab.ts";

const remove = ({ handler }: Lab, path: string): Promise<Response> =>
  handler(new Request(origin + path, { method: "DELETE" }));

async function filled(on: Lab, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await on.app.start("echo", 1, { id });
    await stopped(on.app, id);
  }
}

const idsOf = async ({ app }: Lab): Promise<string[]> =>
  (await app.list()).runs.map(({ runId }) => runId).toSorted();

test("DELETE /runs/{runId} removes a run, and a missing one is 404", async () => {
  const on = lab();
  await filled(on, "one", "two");
  const response = await remove(on, "/runs/one");
  expect([response.status, await response.json()]).toEqual([200, { runId: "one", deleted: true }]);
  expect(await idsOf(on)).toEqual(["two"]);
  expect((await remove(on, "/runs/one")).status).toBe(404);
  expect((await remove(on, "/runs/..%2Fx")).status).toBe(400);
});

test("POST /purge deletes what has ended, and says what it would delete", async () => {
  const on = lab();
  await filled(on, "one", "two", "three");
  await on.waiting("open", "waits");
  const would = await on.post("/purge", { keep: 1, dryRun: true });
  const counts = { runs: 2, children: 0, left: 0, byWorkflow: { echo: 2 }, more: false };
  expect([would.status, await would.json()]).toEqual([200, counts]);
  expect(await idsOf(on)).toEqual(["one", "three", "two", "waits"]);
  const limited = await on.post("/purge", {
    olderThan: 0,
    limit: 1,
    workflow: ["echo"],
    status: ["completed"],
  });
  expect(await limited.json()).toMatchObject({ runs: 1, more: true });
  expect(await (await on.post("/purge", { olderThan: "0 ms" })).json()).toMatchObject({
    runs: 2,
    more: false,
  });
  expect(await idsOf(on)).toEqual(["waits"]);
});

test("POST /purge refuses what it does not understand, and deletes nothing", async () => {
  const on = lab();
  await filled(on, "one");
  for (const body of [
    {},
    { status: "completed" },
    { olderThan: "soon" },
    { olderThan: 1, status: "running" },
    { olderThan: 1, status: [1] },
    { olderThan: [1] },
    { keep: "1" },
    { keep: -1 },
    { keep: 0, workflow: { a: 1 } },
    { keep: 0, tags: ["a"] },
    { keep: 0, tags: { a: 1 } },
    { keep: 0, dryRun: "true" },
    { keep: 0, signal: {} },
    [],
  ])
    expect([body, (await on.post("/purge", body)).status]).toEqual([body, 400]);
  expect((await on.get("/purge")).status).toBe(405);
  expect(await idsOf(on)).toEqual(["one"]);
  expect(on.errors).toEqual([]);
});

test("both ask for permissions of their own", async () => {
  const asked: Action[] = [];
  const on = lab({
    authorize: (_request, action) => {
      asked.push(action);
      return action.type !== "delete" && action.type !== "purge";
    },
  });
  await filled(on, "one");
  expect((await remove(on, "/runs/one")).status).toBe(403);
  expect((await on.post("/purge", { keep: 0, workflow: "echo" })).status).toBe(403);
  expect((await on.post("/purge", { keep: 0 })).status).toBe(403);
  expect(asked).toEqual([
    { type: "delete", runId: "one" },
    { type: "purge", workflow: "echo" },
    { type: "purge" },
  ]);
  expect(await idsOf(on)).toEqual(["one"]);
  const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
  const open = lab();
  expect((await open.post("/purge", { keep: 0 }, foreign)).status).toBe(403);
});
