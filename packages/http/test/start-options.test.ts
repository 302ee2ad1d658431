import { createApp, durable, MemoryStorage } from "@durable/core";
import { describe, expect, it } from "vitest";
import { createHandler } from "../src/index.ts";

const secret = "a secret for tests, of no worth";

function server() {
  const storage = new MemoryStorage();
  const flow = durable("index", (ctx, input: number) => ctx.suspend("ok", { note: input }));
  const handler = createHandler(createApp({ storage, secret, workflows: [flow] }), { authorize: () => true });
  const start = async (body: object) => {
    const request = new Request("http://localhost/runs", {
      method: "POST",
      headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
      body: JSON.stringify({ workflow: "index", input: 1, ...body }),
    });
    const response = await handler(request);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return { storage, start };
}

describe("options of a start over HTTP", () => {
  it("are recorded with the run", async () => {
    const { storage, start } = server();
    const at = Date.now() + 3_600_000;
    expect(await start({ id: "a", delay: "1 hour", priority: 5 })).toMatchObject({
      status: 202,
      body: { runId: "a", status: "suspended", repeated: false },
    });
    await start({ id: "b", at: new Date(at).toISOString() });
    const [first, second] = [
      await start({ id: "c", singleton: "k", delay: 60_000 }),
      await start({ id: "d", singleton: "k" }),
    ];
    expect([first.body["runId"], second.body]).toMatchObject(["c", { runId: "c", repeated: true }]);
    const third = await start({ debounce: { key: "x", wait: "1 hour" } });
    const fourth = await start({ debounce: { key: "x", wait: "1 hour" }, input: 2 });
    expect(fourth.body["runId"]).toBe(third.body["runId"]);
    const { runs } = await storage.list();
    expect(runs.map(({ flow }) => Object.keys(flow ?? {}))).toEqual([
      ["startAt", "singleton"],
      ["startAt", "singleton"],
      ["startAt"],
      ["priority", "startAt"],
    ]);
    expect(runs.find(({ runId }) => runId === "b")?.wakeAt).toBe(at);
  });

  it.each([
    [{ priority: "high" }, "priority"],
    [{ priority: 1.5 }, "priority"],
    [{ delay: {} }, "delay"],
    [{ delay: "soon" }, "soon"],
    [{ at: "soon" }, "at"],
    [{ debounce: { key: "a" } }, "debounce"],
    [{ debounce: { key: "a", wait: 1, more: 1 } }, "members"],
    [{ singleton: 5 }, "singleton"],
  ])("refuses %j", async (body, word) => {
    const { storage, start } = server();
    expect(await start(body)).toMatchObject({
      status: 400,
      body: { error: { code: "invalid-body", message: expect.stringContaining(word) } },
    });
    expect((await storage.list()).runs).toEqual([]);
  });
});
