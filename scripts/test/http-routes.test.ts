/** docs/reference/http-routes.md against the handler: its routes, parameters, statuses and actions. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createApp, durable, FatalError, MemoryStorage } from "@durable/core";
import { createHandler, HttpError, openApi, type Action, type HttpErrorCode } from "@durable/http";
import { describe, expect, it } from "vitest";
import { root } from "../lib/workspace.ts";

const page = readFileSync(join(root, "docs", "reference", "http-routes.md"), "utf8");

interface Route {
  readonly method: string;
  readonly path: string;
  readonly text: string;
}

const routes = page.split(/^(?=### )/m).flatMap((text): Route[] => {
  const [, method = "", path = ""] = /^### (GET|POST|DELETE) (\S+)$/m.exec(text) ?? [];
  return method === "" ? [] : [{ method, path, text: text.split(/^## /m)[0] ?? "" }];
});

/** First cells of the rows of the table with this heading. */
function cells(text: string, heading: string): string[] {
  const table =
    new RegExp(`^\\| ${heading} \\|.*\\n\\|[-|]+\\|\\n((?:\\|.*\\n?)+)`, "m").exec(text)?.[1] ?? "";
  return [...table.matchAll(/^\| `?([^`|]+?)`? \|/gm)].map(([, cell = ""]) => cell);
}

const actionNames =
  /`(start|read|tokens|list|overview|stream|fork|cancel|delete|purge|send|report|score|pause|unpause|retry|schedules|schedule|describe)`/g;

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}

const paths = openApi()["paths"] as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
const operationOf = ({ method, path }: Route): Operation => {
  const operation = paths[path]?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`${method} ${path} is not a route`);
  return operation;
};

it("has a section for every route", () => {
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    ["get", "post", "delete"]
      .filter((method) => method in methods)
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(described.toSorted());
});

describe.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
  it("lists its query parameters", () => {
    const inQuery = (operationOf(route).parameters ?? []).filter((parameter) => parameter.in === "query");
    expect(cells(route.text, "Query")).toEqual(inQuery.map(({ name }) => name));
  });

  it("lists its statuses", () => {
    const known = Object.keys(operationOf(route).responses).filter((status) => status !== "default");
    expect(cells(route.text, "Status")).toEqual(expect.arrayContaining(known));
  });

  it("names the actions that are asked for", async () => {
    const [, named = ""] = /^Action: (.*)$/m.exec(route.text) ?? [];
    const actions = [...named.replaceAll(/with `\w+`/g, "").matchAll(actionNames)];
    expect(named === "none.").toBe(actions.length === 0);
    expect(await asked(route)).toEqual(actions.map(([, action]) => action));
  });
});

/** What `authorize` is asked when the route is called with the body of the page, on a run that waits. */
async function asked({ method, path, text }: Route): Promise<string[]> {
  const greet = durable("greet", async (ctx, name: string) => {
    const draft = await ctx.step("draft", () => `hello ${name}`);
    return ctx.suspend("approve", { note: draft });
  });
  const broken = durable("broken", (ctx) => ctx.step("s", () => Promise.reject(new FatalError("no"))));
  const app = createApp({
    workflows: [greet, broken],
    storage: new MemoryStorage(),
    secret: "only for this test, 32 characters",
  });
  const run = await app.start("greet", "Ada", { id: "greet-0" });
  await run.result().catch(() => {});
  await app.schedule("daily", greet, { cron: "0 9 * * *", input: "Ada" });
  const failed = await app.start("broken", undefined, { id: "broken-0" });
  await failed.result().catch(() => {});
  const outcome = await run.outcome();
  const token = outcome.status === "suspended" ? (outcome.waiting[0]?.token ?? "") : "";
  const actions: Action[] = [];
  const handler = createHandler(app, { authorize: (_, action) => actions.push(action) > 0 });
  const address = path
    .replace("{runId}", path.endsWith("/retry") ? "broken-0" : "greet-0")
    .replace("{name}", path.startsWith("/schedules") ? "daily" : "draft")
    .replace("{workflow}", "greet")
    .replace("{topic}", "note")
    .replace("{token}", token);
  const [, body] = /^```json\n([\s\S]*?)\n```$/m.exec(text) ?? [];
  const response = await handler(
    new Request(`http://localhost${address}`, {
      method,
      ...(body === undefined ? {} : { body, headers: { "content-type": "application/json" } }),
    }),
  );
  await response.body?.cancel();
  expect(cells(text, "Status")).toContain(String(response.status));
  expect(response.status).toBeLessThan(300);
  // Lists ask for each row.
  return [...new Set(actions.map(({ type }) => type))];
}

it("lists the codes of the package with their statuses", () => {
  const rows = [...page.matchAll(/^\| `([\w-]+)` \| (\d{3}) \|/gm)];
  const source = readFileSync(join(root, "docs", "reference", "http.md"), "utf8");
  const type = /type HttpErrorCode =([^;]*);/.exec(source)?.[1] ?? "";
  const codes = [...type.matchAll(/"([\w-]+)"/g)].map(([, code]) => code as HttpErrorCode);
  expect(codes.length).toBeGreaterThan(0);
  expect(new Map(rows.map(([, code, status]) => [code, Number(status)]))).toEqual(
    new Map(codes.map((code) => [code, new HttpError(code, "").status])),
  );
});
