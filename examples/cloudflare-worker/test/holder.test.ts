/** What the holder of a token learns: the result of the answer, and nothing that belongs to the next question. */

import { MemoryR2 } from "example-llm/memory-r2";
import { expect, test } from "vitest";
import worker, { type Env } from "../src/worker.ts";

const vars = { DEV: "1", LLM_PROVIDER: "offline", DEMO_PACE: "0" };
const env = { ...vars, JOURNAL: new MemoryR2(), SITE: new MemoryR2() } as unknown as Env;

async function post(path: string, body: unknown): Promise<string> {
  const headers = { "content-type": "application/json" };
  const request = new Request(`http://w${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return (await worker.fetch(request, env)).text();
}

test("the holder of a token probes with answers that do not fit, and gets no token and no note", async () => {
  const started = JSON.parse(await post("/runs", { id: "r", topic: "Rain" })) as {
    waiting: { token: string; note: { draft: string } }[];
  };
  const { token = "", note } = started.waiting[0] ?? {};
  expect(note?.draft).toBeTruthy();
  for (const value of ["yes", {}, { approved: "yes" }]) {
    const text = await post("/resume", { token, value });
    expect(JSON.parse(text)).toMatchObject({ status: "invalid", outcome: { status: "suspended" } });
    expect(text).not.toContain("waiting");
    expect(text).not.toContain(token);
    expect(text).not.toContain(note?.draft);
  }
  const accepted = JSON.parse(await post("/resume", { token, value: { approved: false } })) as unknown;
  expect(accepted).toMatchObject({
    status: "accepted",
    outcome: { status: "completed", output: { published: false } },
  });
});
