/** What callers without a key can make the Worker do. They call its handler as Cloudflare would. */

import type { RunMessage } from "@durable/cloudflare";
import { MemoryR2 } from "example-llm/memory-r2";
import { expect, test } from "vitest";
import worker, { type Env } from "../src/worker.ts";

function open() {
  const sent: RunMessage[] = [];
  const RUNS = { send: async (message: RunMessage) => void sent.push(message) };
  const vars = { DEV: "1", LLM_PROVIDER: "offline", DEMO_PACE: "0" };
  const env = { ...vars, JOURNAL: new MemoryR2(), SITE: new MemoryR2(), RUNS } as unknown as Env;
  const post = async (path: string, body: unknown): Promise<{ status: number; body: unknown }> => {
    const headers = { "content-type": "application/json" };
    const request = new Request(`http://w${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const response = await worker.fetch(request, env);
    return { status: response.status, body: await response.json() };
  };
  /** Drives what the queue has, as far as it goes. */
  const work = async (): Promise<void> => {
    const messages = sent.splice(0).map((body, at) => ({
      id: `m${at}`,
      body,
      attempts: 1,
      ack: () => {},
      retry: () => {},
    }));
    await worker.queue({ messages }, env);
  };
  const get = async (path: string): Promise<unknown> =>
    (await worker.fetch(new Request(`http://w${path}`), env)).json();
  const start = () => post("/runs", { workflow: "report", id: "r", input: { topic: "the wind" } });
  const token = async (): Promise<string> => {
    const { waiting } = (await get("/runs/r")) as { waiting: readonly { token: string }[] };
    return waiting[0]?.token ?? "";
  };
  return { sent, post, work, get, start, token };
}

test("a flood of forged tokens puts nothing into the queue", async () => {
  const { sent, post } = open();
  for (const token of ["x", "a".repeat(55), "b2".repeat(27).slice(0, 55), "a".repeat(2_000), "%00", "null"])
    expect(await post(`/resume/${token}`, { value: { approved: true } })).toMatchObject({ status: 404 });
  expect(sent).toEqual([]);
});

test("a submission calls no model: it is recorded, and a message names it", async () => {
  const { sent, get, start } = open();
  expect(await start()).toMatchObject({ status: 202, body: { runId: "r", status: "running" } });
  expect(sent).toEqual([{ type: "advance", runId: "r" }]);
  const { entries } = (await get("/runs/r/entries")) as { entries: readonly { kind: string }[] };
  expect(entries.map(({ kind }) => kind)).toEqual(["run.started"]);
  expect(await start(), "the same id again is the same run").toMatchObject({
    status: 202,
    body: { repeated: true },
  });
});

test("a genuine token is taken, and the message that goes out carries neither it nor the answer", async () => {
  const { sent, post, work, start, token: tokenOf } = open();
  await start();
  await work();
  sent.length = 0;
  const token = await tokenOf();
  const value = { approved: true };
  const one = token.endsWith("a") ? "b" : "a";
  expect((await post(`/resume/${token.slice(0, -1) + one}`, { value })).status).toBe(404);
  expect(sent).toEqual([]);
  expect(await post(`/resume/${token}`, { value })).toMatchObject({
    status: 200,
    body: { status: "accepted" },
  });
  expect(sent).toEqual([{ type: "advance", runId: "r" }]);
});

test("a good answer behind two bad ones counts, and each reply says what became of the answer", async () => {
  const { post, get, work, start, token: tokenOf } = open();
  await start();
  await work();
  const token = await tokenOf();
  for (const value of ["yes", { approved: "yes" }, { approved: true }])
    expect(await post(`/resume/${token}`, { value })).toMatchObject({ body: { status: "accepted" } });
  await work();
  expect(await get("/runs/r")).toMatchObject({ status: "completed" });
  const { entries } = (await get("/runs/r/entries")) as { entries: readonly { issues?: string }[] };
  const why = entries.flatMap(({ issues = [] }) => issues);
  expect(why).toEqual([/expected object/, /approved/].map((text) => expect.stringMatching(text) as string));
  expect(await post(`/resume/${token}`, { value: { approved: false } })).toMatchObject({
    status: 409,
    body: { status: "duplicate" },
  });
});
