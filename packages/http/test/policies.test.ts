/** The policies of the guide, attacked: each by what the others could not express. */

import { readFileSync } from "node:fs";
import { createApp, durable, MemoryStorage, type Action } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, stopped } from "./support/lab.ts";
import { byPrefix, byWorkflow, oneTeam } from "./support/policies.ts";

test("the guide has these policies, word for word", () => {
  const guide = readFileSync("docs/guides/operate/who-may-what.md", "utf8");
  const source = readFileSync("packages/http/test/support/policies.ts", "utf8");
  const blocks = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  expect(blocks).toHaveLength(3);
  for (const block of blocks) expect(source).toContain(block.replace(/^import[^;]*;\n\n/, ""));
});

describe("one team", () => {
  const { post, get, waiting, app } = lab({ authorize: oneTeam });
  const as = (role: string) => ({ "x-role": role });

  test("a guest sees nothing, a member looks, an operator acts, an approver answers", async () => {
    await waiting("review", "one");
    expect((await get("/runs/one")).status).toBe(403);
    expect((await get("/runs/one", as("member"))).status).toBe(200);
    expect((await post("/runs/one/pause", undefined, as("member"))).status).toBe(403);
    expect((await post("/runs/one/pause", undefined, as("operator"))).status).toBe(200);
    const edit = { edit: { verdict: { approved: true } } };
    expect((await post("/runs/one/fork", edit, as("operator"))).status).toBe(403);
    const forked = await post("/runs/one/fork", edit, as("approver"));
    expect(forked.status).toBe(202);
    await stopped(app, ((await forked.json()) as { runId: string }).runId);
    for (const role of ["member", "operator"])
      expect(await (await get("/runs/one", as(role))).text()).not.toContain('"token"');
  });
});

describe("tenants by id prefix", () => {
  const request = (tenant: string): Request => new Request("http://x", { headers: { "x-tenant": tenant } });

  test.each<[Action, string]>([
    [{ type: "read", runId: "v-1" }, "m"],
    [{ type: "read", runId: "m" }, "m"],
    [{ type: "read", runId: "mm-1" }, "m"],
    [{ type: "read", runId: "-1" }, ""],
    [{ type: "start", workflow: "w" }, "m"],
    [{ type: "start", workflow: "w", runId: "m-1", priority: 9 }, "m"],
    [{ type: "start", workflow: "w", runId: "v-1", singleton: "k" }, "m"],
    [{ type: "fork", runId: "m-1" }, "m"],
    [{ type: "fork", runId: "m-1", forkId: "v-1" }, "m"],
    [{ type: "fork", runId: "v-1", forkId: "m-1" }, "m"],
    [{ type: "purge" }, "m"],
    [{ type: "purge", workflow: "m-w" }, "m"],
    [{ type: "overview" }, "m"],
    [{ type: "pause", workflow: "w" }, "m"],
    [{ type: "schedule", schedule: "v-daily", change: "trigger" }, "m"],
    [{ type: "schedules" }, "m"],
    [{ type: "list", runId: "v-1" }, "m"],
    [{ type: "start", workflow: "w", chatId: "v-chat" }, "m"],
    [{ type: "stream", workflow: "w", chatId: "v-chat", runId: "m-1" }, "m"],
    [{ type: "cancel", workflow: "w", chatId: "" }, "m"],
  ])("%j is refused for tenant %j", (action, tenant) => {
    expect(byPrefix(request(tenant), action)).toBe(false);
  });

  test("its own runs, schedules and keys are allowed, in its scope", () => {
    for (const action of [
      { type: "read", runId: "m-1" },
      { type: "start", workflow: "w", runId: "m-1", singleton: "k" },
      { type: "fork", runId: "m-1", forkId: "m-2" },
      { type: "schedule", schedule: "m-daily", change: "pause" },
      { type: "stream", workflow: "w", chatId: "m-chat", runId: "chat-1" },
    ] as const)
      expect(byPrefix(request("m"), action)).toEqual({ scope: "m" });
  });
});

describe("tenants by workflow", () => {
  test("runs, keys, ids and schedules of other workflows are out of reach", async () => {
    const [mine, theirs] = ["mine", "theirs"].map((name) =>
      durable(name, (ctx, input: unknown) => ctx.suspend("go", { note: input })),
    ) as [ReturnType<typeof durable>, ReturnType<typeof durable>];
    const storage = new MemoryStorage();
    const secret = "only for this test, 32 characters";
    const known = createApp({ storage, secret, workflows: [mine, theirs] as never, bind: false });
    const { post, get, app } = lab({
      storage,
      workflows: [mine, theirs] as never,
      authorize: byWorkflow(known),
    });
    for (const id of ["mine", "theirs"]) {
      await app.start(id, "data", { id: `${id}-1`, singleton: "k" });
      await stopped(app, `${id}-1`);
    }
    await app.schedule("theirs-daily", theirs, { cron: "0 0 * * *", input: 1 });
    const as = { "x-workflows": "mine" };
    for (const [path, body] of [
      ["/runs", { workflow: "theirs" }],
      ["/runs", { workflow: "mine", id: "theirs-daily-20991231T000000Z" }],
      ["/runs", { workflow: "mine", id: "theirs-daily-20991231T000000Z", singleton: "k" }],
      ["/runs", { workflow: "mine", priority: 5 }],
      ["/runs/theirs-1/cancel", {}],
      ["/runs/theirs-1/fork", { from: "go" }],
      ["/runs/mine-1/fork", { from: "go", id: "theirs-daily-20991231T000000Z" }],
      ["/runs/none/cancel", {}],
      ["/purge", { keep: 0 }],
      ["/purge", { keep: 0, workflow: ["mine", "theirs"] }],
      ["/workflows/theirs/pause", {}],
      ["/schedules/theirs-daily/trigger", {}],
    ] as const)
      expect([path, (await post(path, body, as)).status]).toEqual([path, 403]);
    for (const path of [
      "/runs/theirs-1",
      "/paused",
      "/schedules",
      "/schedules/theirs-daily",
      "/runs?parent=theirs-1",
    ])
      expect([path, (await get(path, as)).status]).toEqual([path, 403]);
    expect(await (await get("/runs", as)).text()).not.toContain("theirs");
    expect((await get("/runs/mine-1", as)).status).toBe(200);
    const joined = await post("/runs", { workflow: "mine", input: 1, singleton: "k" }, as);
    expect(await joined.json()).toMatchObject({ runId: "mine-1", repeated: true });
    expect((await post("/runs", { workflow: "mine", input: 1 }, as)).status).toBe(202);
    expect((await post("/workflows/mine/pause", {}, as)).status).toBe(200);
  });
});
