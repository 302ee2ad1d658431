/** What a person can do with a run, over the routes of the page. */

import { createApp, durable, MemoryStorage, type Run } from "@durable/core";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { ActionReply, Inbox, PlanReply, RunPage, RunWaits } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { prices, secret } from "./support/journals.ts";

type Refused = { error: { code: string; message: string } };

let fails = true;
let calls: string[] = [];

const review = durable("review", async (ctx, topic: string) => {
  const draft = await ctx.step("draft", (info) => {
    calls.push("draft");
    info.meter({ model: "scripted", inputTokens: 1_000, outputTokens: 200 });
    return `about ${topic}`;
  });
  const { approved } = await ctx.suspend("approve", {
    schema: z.object({ approved: z.boolean() }),
    note: "Publish?",
  });
  return ctx.step("publish", () => {
    calls.push("publish");
    return approved ? draft : "nothing";
  });
});
const flaky = durable("flaky", async (ctx) => {
  await ctx.step("before", () => void calls.push("before"));
  return ctx.step(
    "after",
    () => {
      calls.push("after");
      if (fails) throw new Error("not today");
      return "done";
    },
    { retry: { attempts: 1 } },
  );
});
const nap = durable("nap", async (ctx) => {
  await ctx.sleep("3 days");
  return ctx.step("awake", () => "awake");
});

let storage: MemoryStorage;
let site: Site;
let bare: Site;
let get: (id: string) => Run;

beforeEach(async () => {
  storage = new MemoryStorage();
  const app = createApp({ storage, secret, workflows: [review, flaky, nap], patience: 0 });
  site = new Site({ app, prices });
  bare = new Site({ storage, secret });
  get = (id) => app.get(id);
  [fails, calls] = [true, []];
  await review.with({ storage, secret }).run("tides", { id: "r1" });
});

const entriesOf = async (id: string): Promise<number> => (await get(id).entries()).length;

describe("an answer", () => {
  test("is in the inbox, is checked against the schema, continues the run, and counts once", async () => {
    const inbox = await site.get<Inbox>("inbox");
    expect(inbox.items).toMatchObject([{ runId: "r1", workflow: "review", question: "Publish?", count: 1 }]);
    const { waits } = await site.get<RunWaits>("runs/r1/waits");
    expect(waits).toMatchObject([{ key: "approve", note: "Publish?" }]);
    const wrong = await site.post<Refused>("runs/r1/answer", { key: "approve", value: { approved: "yes" } });
    expect(wrong.status).toBe(422);
    expect(wrong.body.error.message).toMatch(/does not fit the schema.*approved/);
    const right = await site.post<ActionReply>("runs/r1/answer", {
      key: "approve",
      value: { approved: true },
    });
    expect(right).toEqual({ status: 200, body: { message: "Your answer was received.", runId: "r1" } });
    expect(await get("r1").result()).toBe("about tides");
    const again = await site.post<Refused>("runs/r1/answer", { key: "approve", value: { approved: false } });
    expect(again.status).toBe(409);
    expect(await get("r1").result()).toBe("about tides");
    expect((await site.get<Inbox>("inbox")).items).toEqual([]);
    expect((await site.post("runs/r1/answer", { key: "approve" })).status).toBe(400);
  });

  test("needs no code: it is recorded, and the process that has the code goes on", async () => {
    const reply = await bare.post<ActionReply>("runs/r1/answer", {
      key: "approve",
      value: { approved: true },
    });
    expect(reply.status).toBe(200);
    expect(calls).toEqual(["draft"]);
    expect((await bare.get<Inbox>("inbox")).items).toEqual([]);
    expect(await get("r1").result()).toBe("about tides");
  });

  test("without a secret says so", async () => {
    const { status, body } = await new Site({ storage }).post<Refused>("runs/r1/answer", {
      key: "approve",
      value: 1,
    });
    expect([status, body.error.code]).toEqual([409, "no-secret"]);
  });
});

describe("a fork", () => {
  test("shows its plan and its cost first, which writes nothing", async () => {
    const before = await entriesOf("r1");
    const { status, body } = await site.post<PlanReply>("runs/r1/plan", { from: "draft" });
    expect(status).toBe(200);
    expect(body.calls.map(({ key, what }) => [key, what])).toEqual([
      ["draft", "runs"],
      ["approve", "waits"],
    ]);
    expect(body.atStake.cost).toBeCloseTo(0.006, 9);
    const edit = await site.post<PlanReply>("runs/r1/plan", { edit: { draft: "better" } });
    expect(edit.body.calls[0]).toMatchObject({ key: "draft", what: "edited" });
    expect(await entriesOf("r1")).toBe(before);
    expect((await site.get<{ runs: unknown[] }>("runs")).runs).toHaveLength(1);
  });

  test("with an edited output leaves its parent as it is", async () => {
    const before = JSON.stringify(await get("r1").entries());
    const { body } = await site.post<ActionReply>("runs/r1/fork", {
      edit: { draft: "better" },
      label: "by hand",
    });
    expect(body.runId).not.toBe("r1");
    await site.post(`runs/${body.runId}/answer`, { key: "approve", value: { approved: true } });
    expect(await get(body.runId).result()).toBe("better");
    expect(calls.filter((call) => call === "draft")).toHaveLength(1);
    expect(JSON.stringify(await get("r1").entries())).toBe(before);
    expect(await site.get<RunPage>(`runs/${body.runId}`)).toMatchObject({
      lineage: { parent: "r1", label: "by hand", edited: ["draft"] },
    });
  });

  test("from an unknown call, or with a wrong body, is refused", async () => {
    expect((await site.post<Refused>("runs/r1/fork", { from: "nothing" })).status).toBe(404);
    expect((await site.post<Refused>("runs/r1/fork", {})).status).toBe(400);
    expect((await site.post<Refused>("runs/r1/fork", { edit: [] })).status).toBe(400);
    expect((await site.post<Refused>("runs/r1/fork", { from: 1 })).status).toBe(400);
  });

  test("needs the code", async () => {
    for (const action of ["plan", "fork"]) {
      const { status, body } = await bare.post<Refused>(`runs/r1/${action}`, { from: "draft" });
      expect([status, body.error.code], action).toEqual([409, "no-code"]);
    }
  });
});

test("retry continues a failed run in place, with and without the code", async () => {
  await flaky.with({ storage, secret }).run(undefined, { id: "f1" });
  expect(await site.get<RunPage>("runs/f1")).toMatchObject({ status: "failed" });
  [fails, calls] = [false, []];
  const { body } = await site.post<ActionReply>("runs/f1/retry");
  expect(body).toEqual({ message: "The run continues.", runId: "f1" });
  expect(await get("f1").result()).toBe("done");
  expect(calls).toEqual(["after"]);
  expect((await site.post<Refused>("runs/f1/retry")).status).toBe(409);
  fails = true;
  await flaky.with({ storage, secret }).run(undefined, { id: "f2" });
  const bared = await bare.post<ActionReply>("runs/f2/retry");
  expect(bared.body.message).toBe("The run continues when a worker takes it.");
  expect(await bare.get<RunPage>("runs/f2")).toMatchObject({ status: "running" });
  expect((await bare.post<Refused>("runs/f2/retry")).body.error.code).toBe("no-code");
});

test("wake ends a sleep; what does not sleep says so", async () => {
  await nap.with({ storage, secret, patience: 0 }).run(undefined, { id: "n1" });
  expect(await site.get<RunPage>("runs/n1")).toMatchObject({ sleeping: true });
  const { status, body } = await site.post<ActionReply>("runs/n1/wake");
  expect([status, body.message]).toEqual([200, "The run was woken: sleep."]);
  expect(await get("n1").result()).toBe("awake");
  expect((await site.post<Refused>("runs/n1/wake")).status).toBe(409);
});

test("cancel ends a run with its reason, once", async () => {
  const { status } = await bare.post<ActionReply>("runs/r1/cancel", { reason: "not needed" });
  expect(status).toBe(200);
  expect(await site.get<RunPage>("runs/r1")).toMatchObject({ status: "cancelled", error: "not needed" });
  await flaky.with({ storage, secret }).run(undefined, { id: "f1" });
  expect((await site.post<Refused>("runs/f1/cancel")).status).toBe(409);
});
