/** Tags of a start, and the filters of lists. */

import { expect, test } from "vitest";
import { lab, stopped } from "./support/lab.ts";

test("POST /runs takes tags, GET /runs finds by them", async () => {
  const { app, get, post } = lab();
  const runs = { one: { customer: "42", team: "red" }, two: { customer: "4=2&x" }, three: {} };
  for (const [id, tags] of Object.entries(runs)) {
    expect((await post("/runs", { workflow: "echo", id, tags })).status).toBe(202);
    await stopped(app, id);
  }
  const idsOf = async (query: string): Promise<unknown> => {
    const response = await get(`/runs?${query}`);
    expect(response.status, query).toBe(200);
    return ((await response.json()) as { runs: { runId: string }[] }).runs.map(({ runId }) => runId);
  };
  expect(await idsOf("tag=customer=42")).toEqual(["one"]);
  expect(await idsOf(`tag=${encodeURIComponent("customer=4=2&x")}`)).toEqual(["two"]);
  expect(await idsOf("tag=customer=42&tag=team=red&status=completed")).toEqual(["one"]);
  expect(await idsOf("tag=customer=42&tag=team=blue")).toEqual([]);
  expect(await idsOf("q=t")).toEqual(["three", "two"]);
  expect(await idsOf("version=1")).toEqual([]);
  expect(await idsOf("createdAfter=0&createdBefore=9999999999999&workflow=echo")).toHaveLength(3);
  const { runs: heads } = (await (await get("/runs?tag=team=red")).json()) as { runs: unknown[] };
  expect(heads).toMatchObject([{ runId: "one", tags: runs.one, version: null }]);
});

test.each([
  ["tag=customer", "invalid-query"],
  ["tag==1", "invalid-query"],
  ["tag=a=1&tag=a=2", "invalid-query"],
  ["tag=a%20b=1", "invalid-options"],
  ["createdAfter=today", "invalid-query"],
  ["q=a&q=b", "invalid-query"],
])("GET /runs?%s is refused", async (query, code) => {
  const response = await lab().get(`/runs?${query}`);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code } });
});

test("tags that are none are refused, and record nothing", async () => {
  const { get, post } = lab();
  for (const tags of [{ a: 1 }, "a", ["a"], { "a b": "1" }]) {
    const response = await post("/runs", { workflow: "echo", tags });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: "invalid-options" } },
    ]);
  }
  expect(await (await get("/runs")).json()).toEqual({ runs: [], next: null });
});
