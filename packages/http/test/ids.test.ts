/** H65: ids and names that look like paths, patterns, headers or other ids, in every place a client can put one. */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryStorage, type Storage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { lab, stopped } from "./support/lab.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-http-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const hostileIds = [
  "..",
  "../",
  "../../etc/passwd",
  "..\\..\\windows",
  "....//",
  "a/b",
  "a\\b",
  ".",
  "a.",
  "a ",
  " a",
  "a\u0000b",
  "\u0000",
  "CON.",
  "nul:",
  "a:b",
  "a'b",
  'a"b',
  "a`b",
  "a;drop table runs",
  "' OR '1'='1",
  "a%",
  "a_%",
  "*",
  "a?b",
  "a#b",
  "$.a",
  "$[0]",
  "a[0]",
  "{a}",
  "<script>",
  "a\r\nx: y",
  "é",
  "e\u0301",
  "\u212A", // Kelvin sign
  "ａ",
  "\uD800",
  "\u202Ea",
  "a".repeat(129),
  "a".repeat(10_000),
  "-a",
  "_a",
  "",
];

const refused = [400, 404, 405];

describe.each<[string, () => Storage]>([
  ["memory", () => new MemoryStorage()],
  ["sqlite", () => new SqliteStorage(join(folder, "journal.db"))],
])("H65 hostile ids on %s", (name, open) => {
  test("are refused in every place, and touch nothing", async () => {
    const storage = open();
    const { app, get, post, errors } = lab({ storage });
    await app.start("echo", 1, { id: `${name}-real` });
    await stopped(app, `${name}-real`);
    const before = [await app.list(), readdirSync(folder).toSorted()];
    for (const id of hostileIds) {
      const part = encodeURIComponent(id.toWellFormed());
      const asked = [
        await get(`/runs/${part}`),
        await get(`/runs/${part}/entries`),
        await get(`/runs/${part}/streams/x`),
        await post(`/runs/${part}/fork`, { from: "say" }),
        await post(`/runs/${part}/cancel`),
        await get(`/runs?parent=${part}`),
        await post("/runs", { workflow: "echo", id }),
        await post(`/runs/${name}-real/fork`, { from: "say", id }),
      ];
      // A dot segment is removed from the path before routing, so the rest may be another address.
      for (const { status } of asked) expect(refused, id).toContain(status);
      // As names of workflows, steps and streams they are looked up and not found.
      const named = [
        await post("/runs", { workflow: id }),
        await post(`/runs/${name}-real/fork`, { from: id }),
        await post(`/runs/${name}-real/fork`, { edit: { [id]: 1 } }),
        await get(`/runs/${name}-real/streams/${part}`),
      ];
      for (const { status } of named) expect(refused, id).toContain(status);
      expect(await (await get(`/runs?workflow=${part}`)).json()).toEqual({ runs: [], next: null });
    }
    expect([await app.list(), readdirSync(folder).toSorted()]).toEqual(before);
    expect(errors).toEqual([]);
  });

  test("twins by case are two runs", async () => {
    const { app, get, post } = lab({ storage: open() });
    for (const id of [`${name}-Twin`, `${name}-twin`, `${name}-TWIN`]) {
      await post("/runs", { workflow: "echo", input: id, id });
      await stopped(app, id);
    }
    for (const id of [`${name}-Twin`, `${name}-twin`, `${name}-TWIN`])
      expect(await (await get(`/runs/${id}`)).json()).toEqual({
        runId: id,
        status: "completed",
        state: "completed",
        output: id,
      });
  });

  test("filter keys and values that are SQL or paths are refused or plain text", async () => {
    const { app, get, errors } = lab({ storage: open() });
    await app.start("echo", 1, { id: `${name}-x` });
    await stopped(app, `${name}-x`);
    const keys = [
      "workflow'--",
      "status=1;drop",
      "$.workflow",
      "workflow[]",
      "__proto__",
      "constructor",
      "dueAt",
    ];
    for (const key of keys) expect((await get(`/runs?${encodeURIComponent(key)}=x`)).status).toBe(400);
    for (const cursor of ["'", "1", "1:2:3", "NaN:1", "Infinity:1", "1e400:1", "a:b", "0;drop table runs:1"])
      expect([cursor, (await get(`/runs?cursor=${encodeURIComponent(cursor)}`)).status]).toEqual([
        cursor,
        400,
      ]);
    for (const cursor of ["1e300:1", "-1:-1", "0:0", "1.5:2.5", ":", "0x10:1"])
      expect([cursor, (await get(`/runs?cursor=${encodeURIComponent(cursor)}`)).status]).toEqual([
        cursor,
        200,
      ]);
    expect((await get("/runs?workflow=echo'%20OR%201=1--")).status).toBe(200);
    expect(errors).toEqual([]);
  });
});

test("H65 paths with dot segments and invalid escapes lead nowhere", async () => {
  const { get } = lab({ basePath: "/durable" });
  const climbing = [
    "/durable/../runs",
    "/durable/%2e%2e/runs",
    "/durable/runs/../../x",
    "//durable/runs",
    "/durable//runs",
  ];
  for (const path of climbing) expect([path, (await get(path)).status]).toEqual([path, 404]);
  for (const path of ["/durable/runs/%", "/durable/runs/%zz", "/durable/runs/%ff", "/durable/resume/%c0%af"])
    expect([path, (await get(path)).status]).toEqual([path, 400]);
});
