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
  const get = async (id: string): Promise<{ question: { token: string } }> => {
    const response = await worker.fetch(new Request(`http://w/runs/${id}`), env);
    return (await response.json()) as { question: { token: string } };
  };
  return { sent, post, work, get, question: async (id: string) => (await get(id)).question };
}

test("a flood of forged tokens puts nothing into the queue", async () => {
  const { sent, post } = open();
  const forged = ["", "x", "a".repeat(55), "b2".repeat(27).slice(0, 55), "a".repeat(60_000)];
  for (const token of [...forged, undefined, null, 7, {}])
    expect(await post("/resume", { token, value: { approved: true } })).toMatchObject({ status: 404 });
  expect(sent).toEqual([]);
});

test("a genuine token is taken, and the message that goes out carries neither it nor the answer", async () => {
  const { sent, post, work, question } = open();
  await post("/runs", { id: "r", topic: "the wind" });
  await work();
  sent.length = 0;
  const { token } = await question("r");
  const value = { approved: true };
  const one = token.endsWith("a") ? "b" : "a";
  expect((await post("/resume", { token: token.slice(0, -1) + one, value })).status).toBe(404);
  expect(sent).toEqual([]);
  expect(await post("/resume", { token, value })).toEqual({ status: 202, body: { status: "accepted" } });
  expect(sent).toEqual([{ type: "advance", runId: "r" }]);
});

test("a good answer behind two bad ones counts, and each reply says what became of the answer", async () => {
  const { post, get, work, question } = open();
  await post("/runs", { id: "r", topic: "the wind" });
  await work();
  const { token } = await question("r");
  for (const value of ["yes", { approved: "yes" }, { approved: true }])
    expect(await post("/resume", { token, value })).toEqual({ status: 202, body: { status: "accepted" } });
  await work();
  const why = [/expected object/, /approved/].map((text) => expect.stringMatching(text) as string);
  expect(await get("r")).toMatchObject({ status: "completed", refused: why });
  expect(await post("/resume", { token, value: { approved: false } })).toEqual({
    status: 409,
    body: { status: "duplicate" },
  });
});
