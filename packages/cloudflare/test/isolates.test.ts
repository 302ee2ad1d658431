import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundle } from "./support/bundle.ts";
import { workerdOf, workerds } from "./support/workerds.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-isolates-"));
const living: Miniflare[] = [];
let script = "";
beforeAll(async () => {
  script = await bundle(new URL("support/run-worker.ts", import.meta.url));
});
afterAll(async () => {
  await Promise.all(living.map((server) => server.dispose()));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

interface Answer {
  readonly isolate: string;
  readonly reply: { status: string; output?: string; waiting?: { token: string }[] };
  readonly bodies: string[];
}

/** workerd, with a bucket that outlives it and a queue that does not. */
async function start() {
  const before = workerds();
  const server = new Miniflare({
    modules: true,
    script,
    cf: false,
    compatibilityDate: "2026-07-01",
    host: "127.0.0.1",
    port: 0,
    r2Buckets: ["JOURNAL"],
    r2Persist: folder,
    queueProducers: { RUNS: "runs" },
    queueConsumers: { runs: { maxBatchSize: 1, maxBatchTimeout: 0 } },
  });
  living.push(server);
  const url = await server.ready;
  const ask = async (path: string, body?: unknown): Promise<Answer> => {
    const post = { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(new URL(path, url), body === undefined ? {} : post);
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return JSON.parse(text) as Answer;
  };
  const stop = async (): Promise<void> => {
    living.splice(living.indexOf(server), 1);
    await server.dispose();
  };
  return { ask, stop, pid: workerdOf(before) };
}

describe("isolates that share a bucket", () => {
  test("H33 a run that one instance started is resumed by another, which repeats no recorded call", async () => {
    const first = await start();
    const parked = await first.ask("/run", { id: "r", topic: "tides" });
    expect(parked).toMatchObject({ reply: { status: "suspended" }, bodies: ["plan", "draft"] });
    process.kill(first.pid, "SIGKILL");
    await expect(first.ask("/r")).rejects.toBeInstanceOf(Error);
    await first.stop();

    const second = await start();
    const token = parked.reply.waiting?.[0]?.token;
    const resumed = await second.ask("/resume", { token, value: true });
    expect(resumed).toMatchObject({ reply: { status: "accepted" }, bodies: ["publish"] });
    expect(resumed.isolate).not.toBe(parked.isolate);
    expect((await second.ask("/r")).reply).toMatchObject({
      status: "completed",
      output: "published a draft of a plan for tides",
    });
    expect((await second.ask("/resume", { token, value: false })).reply.status).toBe("duplicate");
    await second.stop();
  }, 300_000);

  test("an answer that comes by the queue is recorded, and its run driven on", async () => {
    const server = await start();
    const parked = await server.ask("/run", { id: "queued", topic: "rain" });
    const message = { type: "resume", token: parked.reply.waiting?.[0]?.token, value: true };
    await server.ask("/send", message);
    await server.ask("/send", message);
    let answer: Answer;
    do {
      await new Promise((resolve) => setTimeout(resolve, 50));
      answer = await server.ask("/queued");
    } while (answer.reply.status !== "completed");
    expect(answer.bodies).toEqual(["plan", "draft", "publish"]);
    await server.stop();
  }, 300_000);

  test("no app of a request binds a workflow, so the second request behaves like the first (binding.2)", async () => {
    const server = await start();
    for (const id of ["one", "two"]) {
      expect((await server.ask("/unbound", { id, topic: "wind" })).reply).toBe("no-storage");
      expect((await server.ask("/run", { id, topic: "wind" })).reply.status).toBe("suspended");
      expect((await server.ask("/unbound", { id, topic: "wind" })).reply).toBe("no-storage");
    }
    await server.stop();
  }, 300_000);

  test("the bundle has no Node modules, and its size is printed", () => {
    expect(script).not.toMatch(/from\s*"node:|require\(/);
    const { length } = gzipSync(script);
    console.log(`worker bundle: ${script.length} characters, ${length} bytes gzipped, not minified`);
    // A Worker is one file, so it has the parts that others load at their first use, too.
    expect(length).toBeLessThan(168_500);
  });
});
