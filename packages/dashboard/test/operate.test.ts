/** Pauses, messages, schedules, workers, limits and the removal of old runs, over the routes of the page. */

import { createApp, durable, MemoryStorage, type App } from "@durable/core";
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { ActionReply, Inbox, Operations, Purge, RunList, RunPage, RunWaits } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { secret } from "./support/journals.ts";

type Refused = { error: { code: string; message: string } };

const mail = durable(
  "mail",
  async (ctx) => {
    ctx.report({ reads: "notes" });
    return ctx.receive("note");
  },
  { messages: { note: z.object({ text: z.string() }) } },
);
const echo = durable("echo", (_ctx, input: unknown) => input);

let app: App;
let site: Site;
let bare: Site;

beforeEach(async () => {
  const storage = new MemoryStorage();
  app = createApp({ storage, secret, workflows: [mail, echo] });
  site = new Site({ app });
  bare = new Site({ storage, secret });
  const run = await app.start("mail", undefined, { id: "m1", tags: { customer: "42" } });
  await run.result().catch(() => {});
});

test("tags and report are part of the list and of the page, also without the code", async () => {
  for (const one of [site, bare]) {
    const { runs } = await one.get<RunList>("runs");
    expect(runs).toMatchObject([{ runId: "m1", tags: { customer: "42" }, report: '{"reads":"notes"}' }]);
    expect(await one.get<RunPage>("runs/m1")).toMatchObject({
      tags: { customer: "42" },
      report: { reads: "notes" },
      paused: null,
      waits: [{ key: "note", topic: "note" }],
    });
  }
});

test("a run is paused with a reason, and unpaused, also without the code", async () => {
  for (const one of [site, bare]) {
    const { body } = await one.post<ActionReply>("runs/m1/pause", { reason: "later" });
    expect(body).toEqual({ message: "The run is paused.", runId: "m1" });
    expect(await one.get<RunPage>("runs/m1")).toMatchObject({
      status: "paused",
      paused: { reason: "later" },
    });
    expect((await one.post<ActionReply>("runs/m1/unpause")).body.message).toBe("The run continues.");
    expect((await app.get("m1").outcome()).status).not.toBe("paused");
  }
  await app.cancel("m1");
  expect((await site.post<Refused>("runs/m1/pause")).status).toBe(409);
});

test("a message is checked, recorded and read; a wait for one is not in the inbox", async () => {
  expect((await site.get<Inbox>("inbox")).items).toEqual([]);
  expect((await site.get<RunWaits>("runs/m1/waits")).waits).toEqual([]);
  const answered = await site.post<Refused>("runs/m1/answer", { key: "note", value: 1 });
  expect([answered.status, answered.body.error.message]).toEqual([
    409,
    expect.stringContaining('send one to "note"'),
  ]);
  expect((await site.post<Refused>("runs/m1/messages/note", {})).status).toBe(400);
  const wrong = await site.post<Refused>("runs/m1/messages/note", { payload: 1 });
  expect([wrong.status, wrong.body.error.code]).toEqual([422, "invalid"]);
  const sent = await bare.post<ActionReply>("runs/m1/messages/note", { payload: { text: "hello" } });
  expect(sent.body).toEqual({ message: "The message is recorded.", runId: "m1" });
  await app.sweep();
  expect(await app.get("m1").result()).toEqual({ text: "hello" });
  expect((await site.post<Refused>("runs/m1/messages/note", { payload: { text: "x" } })).status).toBe(409);
  expect((await site.post<Refused>("runs/none/messages/note", { payload: 1 })).status).toBe(404);
});

test("schedules are listed, paused, resumed, triggered and removed", async () => {
  await app.schedule("daily", echo, { cron: "0 9 * * *", input: "morning" });
  const listed = async (): Promise<Operations["schedules"]> =>
    (await site.get<Operations>("operations")).schedules;
  expect(await listed()).toMatchObject([{ name: "daily", workflow: "echo", paused: false }]);
  await site.post("schedules/daily/pause");
  expect(await listed()).toMatchObject([{ paused: true, nextAt: null }]);
  await site.post("schedules/daily/unpause");
  expect(await listed()).toMatchObject([{ paused: false }]);
  const { body } = await site.post<ActionReply>("schedules/daily/trigger");
  await app.sweep();
  expect(await app.get(body.runId).result()).toBe("morning");
  expect((await bare.post<Refused>("schedules/daily/trigger")).status).toBe(409);
  expect((await site.post("schedules/daily/delete")).status).toBe(200);
  expect(await listed()).toEqual([]);
  expect((await site.post("schedules/daily/delete")).status).toBe(404);
  expect((await site.post("schedules/%zz/delete")).status).toBe(400);
});

test("workers, limits and paused workflows are shown; a workflow is paused and unpaused", async () => {
  expect(await site.get<Operations>("operations")).toMatchObject({
    fleet: { workers: [], load: [], more: false },
    limits: { slots: [], windows: [] },
    paused: [],
  });
  await site.post("workflows/echo/pause", { reason: "a bug" });
  expect(await site.get<Operations>("operations")).toMatchObject({
    fleet: { load: [{ workflow: "echo", paused: true }] },
    paused: [{ workflow: "echo", reason: "a bug" }],
  });
  await bare.post("workflows/echo/unpause");
  expect((await bare.get<Operations>("operations")).paused).toEqual([]);
});

test("a purge counts first, removes then, and refuses what it does not understand", async () => {
  for (const id of ["e1", "e2"]) await (await app.start("echo", 1, { id })).result();
  await new Promise((resolve) => setTimeout(resolve, 3));
  const body = { olderThan: "0 ms", status: ["completed"], workflow: "" };
  const would = await site.post<Purge>("purge", { ...body, dryRun: true });
  expect(would.body).toMatchObject({ runs: 2, byWorkflow: { echo: 2 }, dryRun: true });
  expect((await app.list({ workflow: "echo" })).runs).toHaveLength(2);
  for (const wrong of [
    {},
    { ...body, dryRun: "no" },
    { ...body, dryRun: true, status: "completed" },
    { ...body, dryRun: true, status: ["running"] },
    { ...body, dryRun: true, olderThan: "long ago" },
    { status: ["completed"], dryRun: true },
  ])
    expect((await site.post<Refused>("purge", wrong)).status, JSON.stringify(wrong)).toBe(400);
  const other = await site.post<Purge>("purge", { ...body, workflow: "mail", dryRun: false });
  expect(other.body).toMatchObject({ runs: 0 });
  expect((await site.post<Purge>("purge", { ...body, dryRun: false })).body).toMatchObject({ runs: 2 });
  expect((await app.list()).runs.map(({ runId }) => runId)).toEqual(["m1"]);
});

test("each action is asked for by its name, with what it is about", async () => {
  const asked: unknown[] = [];
  const closed = new Site({ app, authorize: (_, action) => asked.push(action) < 0 });
  const headers = { authorization: "", "content-type": "application/json" };
  for (const path of [
    "runs/m1/pause",
    "runs/m1/unpause",
    "runs/m1/retry",
    "runs/m1/messages/note",
    "schedules/daily/delete",
    "workflows/a%20b/pause",
    "purge",
  ]) {
    const response = await closed.fetch(`/api/${path}`, { method: "POST", headers, body: "{}" });
    expect(response.status, path).toBe(403);
  }
  expect(asked).toEqual([
    { type: "pause", runId: "m1" },
    { type: "unpause", runId: "m1" },
    { type: "retry", runId: "m1" },
    { type: "send", runId: "m1", topic: "note" },
    { type: "schedule", schedule: "daily", change: "delete" },
    { type: "pause", workflow: "a b" },
    { type: "purge" },
  ]);
});
