/** One policy: what each action names, and that nothing is read or changed before it is allowed. */

import { createApp, durable, MemoryStorage, type Storage } from "@durable/core";
import { type Action, type Authorize, createHandler } from "@durable/http";
import { describe, expect, test } from "vitest";
import { lab, labSecret, origin, stopped } from "./support/lab.ts";

/** Every id that an action names begins with the tenant; nobody answers. */
const byPrefix: Authorize = (request, { type, runId, forkId }) => {
  const tenant = request.headers.get("x-tenant") ?? "?";
  const isOwn = (id: string | undefined): boolean => id === undefined || id.startsWith(`${tenant}-`);
  return type !== "resume" && type !== "send" && isOwn(runId) && isOwn(forkId);
};

const as = (tenant: string): Record<string, string> => ({ "x-tenant": tenant });

async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

describe("keys of other tenants", () => {
  const later = { key: "customer-42", wait: "1h" };

  test("a debounced start does not replace the input of another tenant's run, or move it", async () => {
    const { app, post } = lab({ authorize: byPrefix });
    const start = (id: string, input: string, tenant: string): Promise<Response> =>
      post("/runs", { workflow: "echo", id, input, debounce: later }, as(tenant));
    expect((await start("v-1", "pay the victim", "v")).status).toBe(202);
    const before = await app.get("v-1").entries();
    const reply = await start("m-1", "pay the attacker", "m");
    expect(reply.status).toBe(403);
    expect(await reply.text()).not.toContain("v-1");
    expect(await app.get("v-1").entries()).toEqual(before);
    expect((await app.list()).runs.map(({ runId }) => runId)).toEqual(["v-1"]);
    // The victim still moves its own run.
    expect(await bodyOf(await start("v-2", "pay the other victim", "v"))).toMatchObject({ runId: "v-1" });
  });

  test("a singleton does not name the run of another tenant", async () => {
    const { post, app } = lab({ authorize: byPrefix });
    const start = (id: string, tenant: string): Promise<Response> =>
      post("/runs", { workflow: "review", id, input: 1, singleton: "one" }, as(tenant));
    expect((await start("v-1", "v")).status).toBe(202);
    await stopped(app, "v-1");
    const reply = await start("m-1", "m");
    expect([reply.status, (await reply.text()).includes("v-1")]).toEqual([403, false]);
    // Without an id the run that has the key is asked for, too.
    const unnamed = await post("/runs", { workflow: "review", input: 1, singleton: "one" }, as("m"));
    expect([unnamed.status, (await unnamed.text()).includes("v-1")]).toEqual([403, false]);
  });

  test("with a scope, tenants use the same key side by side, and no key reaches into another scope", async () => {
    const { app, post } = lab({ authorize: (request) => ({ scope: request.headers.get("x-tenant") ?? "" }) });
    const start = (id: string, tenant: string, singleton: string): Promise<Response> =>
      post("/runs", { workflow: "review", id, input: 1, singleton }, as(tenant));
    expect(await bodyOf(await start("v-1", "v", "k"))).toMatchObject({ runId: "v-1", repeated: false });
    expect(await bodyOf(await start("m-1", "m", "k"))).toMatchObject({ runId: "m-1", repeated: false });
    expect(await bodyOf(await start("v-2", "v", "k"))).toMatchObject({ runId: "v-1", repeated: true });
    // Keys and scopes that look like each other when they are put together.
    for (const [id, tenant, key] of [
      ["n-1", "m k", "k"],
      ["n-2", "m", "k k"],
      ["n-3", "m/v", "k"],
      ["n-4", "v%20k", ""],
    ] as const)
      expect(await bodyOf(await start(id, tenant, key))).toMatchObject({ runId: id, repeated: false });
    await app.start("review", 1, { id: "plain", singleton: "k" });
    const [first] = await app.get("m-1").entries({ limit: 1 });
    expect(first).toMatchObject({ kind: "run.started", scope: "m", flow: { singleton: "one/m k" } });
  });

  test("a start names keys, priority and tags, and again the run that has its key", async () => {
    const seen: Action[] = [];
    const { post } = lab({ authorize: (_, action) => seen.push(action) > 0 });
    const body = { workflow: "echo", priority: 5, tags: { customer: "42" }, debounce: later };
    await post("/runs", { ...body, id: "a" });
    await post("/runs", { ...body, id: "b" });
    const names = { workflow: "echo", debounce: "customer-42", priority: 5, tags: { customer: "42" } };
    expect(seen).toEqual([
      { type: "start", ...names, runId: "a" },
      { type: "start", ...names, runId: "b" },
      { type: "start", ...names, runId: "a" },
    ]);
  });

  test.each([{ scope: "" }, { scope: 5 }, {}, [], "true", 1, null])("%j allows nothing", async (verdict) => {
    const { get } = lab({ authorize: () => verdict as never });
    expect((await get("/runs")).status).toBe(403);
  });

  test("an invalid scope starts nothing", async () => {
    const { app, post } = lab({ authorize: () => ({ scope: "x".repeat(129) }) });
    expect((await post("/runs", { workflow: "echo", id: "a" })).status).toBe(400);
    expect((await app.list()).runs).toEqual([]);
  });
});

describe("edits that answer", () => {
  const ask = durable("ask", (ctx) => ctx.suspend("approve"));
  const family = durable("family", async (ctx) => {
    const draft = await ctx.step("draft", () => "text");
    return { draft, approved: await ctx.child(ask, undefined, { name: "kid" }) };
  });
  const deep = durable("deep", (ctx) => ctx.child(family, undefined, { name: "outer" }));
  const letter = durable("letter", async (ctx) => {
    await ctx.step("first", () => 1);
    return ctx.receive("mail");
  });
  const many = durable("many", (ctx) =>
    ctx.parallel({ a: (c) => c.suspend("yes"), b: (c) => c.receive("mail") }),
  );
  const workflows = [ask, family, deep, letter, many];
  const opened = (refused: string, seen: Action[] = []) =>
    lab({ workflows, authorize: (_, action) => (seen.push(action), action.type !== refused) });

  test.each([
    ["family", "kid"],
    ["deep", "outer"],
    ["ask", "approve"],
    ["many", "yes"],
  ])("an edit of %s/%s answers a wait, and needs `resume`", async (workflow, key) => {
    for (const route of ["fork", "plan"]) {
      const { app, post, waiting } = opened("resume");
      await waiting(workflow, "one");
      const before = (await app.list()).runs.length;
      const reply = await post(`/runs/one/${route}`, { edit: { [key]: { approved: true } }, id: "two" });
      expect(reply.status).toBe(403);
      expect((await app.list()).runs.length).toBe(before);
    }
  });

  test("an edit of a message needs `send` with its topic, and no `resume`", async () => {
    const seen: Action[] = [];
    const { post, waiting } = opened("send", seen);
    await waiting("letter", "one");
    expect((await post("/runs/one/fork", { edit: { mail: 1 } })).status).toBe(403);
    expect(seen.at(-1)).toEqual({ type: "send", runId: "one", edits: ["mail"], topic: "mail" });
    const other = opened("resume");
    await other.waiting("letter", "one");
    expect((await other.post("/runs/one/fork", { edit: { mail: 1 } })).status).toBe(202);
  });

  test("an edit of a step beside a wait needs `fork` alone", async () => {
    const { post, waiting } = opened("resume");
    await waiting("family", "one");
    expect((await post("/runs/one/fork", { edit: { draft: "other" } })).status).toBe(202);
  });

  test("an answer that was given before is an answer, too", async () => {
    const { app, post, waiting } = opened("resume");
    const [token = ""] = await waiting("ask", "one");
    await app.resume(token, { approved: false });
    expect((await post("/runs/one/fork", { edit: { approve: { approved: true } } })).status).toBe(403);
  });
});

describe("refusals", () => {
  test("a refused request reads nothing", async () => {
    const storage = new MemoryStorage();
    await createApp({
      storage,
      secret: labSecret,
      workflows: [durable("w", (ctx) => ctx.step("s", () => 1))],
    })
      .start("w", undefined, { id: "one" })
      .then((run) => run.result());
    const reads: string[] = [];
    const watched = new Proxy<Storage>(storage, {
      get: (target, name) => {
        const found = Reflect.get(target, name, target) as unknown;
        if (typeof found !== "function") return found;
        return (...args: unknown[]) => (reads.push(String(name)), found.apply(target, args) as unknown);
      },
    });
    const app = createApp({ storage: watched, secret: labSecret, workflows: [], bind: false });
    const handler = createHandler(app, { authorize: () => false });
    reads.length = 0;
    for (const [method, path, body] of [
      ["POST", "/runs/one/fork", { edit: { s: 1 } }],
      ["POST", "/runs/one/plan", { edit: { s: 1 } }],
      ["GET", "/runs"],
      ["GET", "/runs/one"],
      ["DELETE", "/runs/one"],
      ["POST", "/purge", { keep: 0 }],
    ] as const) {
      const init = body === undefined ? {} : { body: JSON.stringify(body) };
      const headers = { "content-type": "application/json" };
      expect((await handler(new Request(origin + path, { method, headers, ...init }))).status).toBe(403);
    }
    expect(reads).toEqual([]);
  });

  test("a purge of a list of workflows asks for each of them", async () => {
    const seen: Action[] = [];
    const { app, post } = lab({
      authorize: (_, action) => (
        seen.push(action),
        action.workflow !== undefined && action.workflow !== "review"
      ),
    });
    await app.start("echo", 1, { id: "one" });
    await stopped(app, "one");
    for (const workflow of [["review"], ["echo", "review"], "review", undefined])
      expect((await post("/purge", { keep: 0, ...(workflow && { workflow }) })).status).toBe(403);
    expect(seen.map(({ workflow }) => workflow)).toEqual(["review", "echo", "review", "review", undefined]);
    expect((await post("/purge", { keep: 0, workflow: [] })).status).toBe(400);
    expect((await app.list()).runs.length).toBe(1);
    const allowed = await post("/purge", { keep: 0, workflow: ["echo"] });
    expect([allowed.status, (await app.list()).runs.length]).toEqual([200, 0]);
  });

  test("a list leaves out the rows that may not be read", async () => {
    const { app, get } = lab({ authorize: byPrefix });
    for (const id of ["v-1", "m-1", "v-2", "m-2"]) await app.start("echo", id, { id });
    for (const id of ["v-1", "m-1", "v-2", "m-2"]) await stopped(app, id);
    const found: unknown[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const reply = await get(`/runs?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`, as("m"));
      const text = await reply.text();
      expect(text).not.toContain("v-");
      const page = JSON.parse(text) as { runs: { runId: string }[]; next: string | null };
      found.push(...page.runs.map(({ runId }) => runId));
      cursor = page.next;
    }
    expect(found).toEqual(["m-2", "m-1"]);
  });

  test("a pause of one workflow does not show the others", async () => {
    const { app, post } = lab({ authorize: (_, { workflow }) => workflow === "echo" });
    await app.pause("review", { reason: "the victim's reason" });
    const reply = await post("/workflows/echo/pause");
    expect(await bodyOf(reply)).toMatchObject({ paused: [{ workflow: "echo" }] });
  });
});
