import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { bundle } from "./support/bundle.ts";
import { workerdOf, workerds } from "./support/workerds.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-objects-"));
const living: Miniflare[] = [];
let script = "";
beforeAll(async () => {
  script = await bundle(new URL("support/runs-worker.ts", import.meta.url));
});
afterAll(async () => {
  await Promise.all(living.map((server) => server.dispose()));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

interface Seen {
  readonly outcome: { readonly status: string; readonly output?: Readonly<Record<string, unknown>> };
  readonly runs: readonly string[];
  readonly kinds: readonly string[];
}

/** workerd, with objects that outlive it. There is no queue, no cron trigger and no bucket. */
async function start() {
  const before = workerds();
  const server = new Miniflare({
    modules: true,
    script,
    cf: false,
    compatibilityDate: "2026-07-01",
    host: "127.0.0.1",
    port: 0,
    durableObjects: { RUNS: { className: "Runs", useSQLite: true } },
    durableObjectsPersist: folder,
  });
  living.push(server);
  const url = await server.ready;
  const ask = async (path: string, body?: unknown): Promise<Seen> => {
    const post = { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(new URL(path, url), body === undefined ? {} : post);
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return JSON.parse(text) as Seen;
  };
  const stop = async (): Promise<void> => {
    living.splice(living.indexOf(server), 1);
    await server.dispose();
  };
  return { ask, stop, pid: workerdOf(before) };
}

const pause = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms));

/** Asks rarely, and only by GET, which sets no alarm. */
async function ended(ask: (path: string) => Promise<Seen>, path: string): Promise<Seen> {
  for (let tries = 0; tries < 200; tries++) {
    await pause(500);
    const seen = await ask(path);
    if (!["running", "suspended"].includes(seen.outcome.status)) return seen;
  }
  throw new Error(`${path} did not end.`);
}

const [sleep, retry] = inject("full") ? (["60s", "5s"] as const) : (["5s", "1s"] as const);
const seconds = (text: string): number => Number.parseInt(text, 10) * 1_000;

test(`a run sleeps ${sleep} and retries, and its object wakes it to the second; two objects at once`, async () => {
  const server = await start();
  const input = { sleep, retry };
  await Promise.all(["one", "two"].map((name) => server.ask(`/${name}/start/r`, { workflow: "nap", input })));
  for (const name of ["one", "two"]) {
    const { outcome, runs, kinds } = await ended(server.ask, `/${name}/run/r`);
    expect(outcome).toMatchObject({ status: "completed", output: { answer: "nobody answered" } });
    const { slept, retried } = outcome.output as { slept: number; retried: number };
    expect(slept).toBeGreaterThanOrEqual(seconds(sleep));
    expect(retried).toBeGreaterThanOrEqual(2 * seconds(retry));
    console.log(
      `object ${name}: slept ${slept} ms of ${sleep}, retried twice in ${retried} ms with ${retry} each`,
    );
    expect(runs, "each object has its own runs").toEqual(["r"]);
    expect(kinds.filter((kind) => kind === "step.completed")).toHaveLength(3);
  }
  await server.stop();
}, 300_000);

test.runIf(inject("full"))(
  "kill -9 while one run sleeps and another is inside a step: alarms of the next life drive both",
  async () => {
    const first = await start();
    await first.ask("/killed/start/sleeps", { workflow: "nap", input: { sleep: "5s", retry: "1s" } });
    await first.ask("/killed/start/stuck", { workflow: "stuck" });
    await pause(1_000);
    expect((await first.ask("/killed/run/stuck")).outcome.status).toBe("running");
    process.kill(first.pid, "SIGKILL");
    await expect(first.ask("/killed/run/stuck")).rejects.toBeInstanceOf(Error);
    await first.stop();

    const second = await start();
    // No request before the object has woken by itself.
    await pause(10_000);
    const slept = await ended(second.ask, "/killed/run/sleeps");
    expect(slept.outcome).toMatchObject({ status: "completed" });
    expect(slept.kinds.filter((kind) => kind === "step.completed")).toHaveLength(3);
    const stuck = await ended(second.ask, "/killed/run/stuck");
    expect(stuck.outcome).toMatchObject({ status: "completed", output: "done" });
    expect(stuck.kinds.filter((kind) => kind === "step.completed")).toHaveLength(2);
    await second.stop();
  },
  300_000,
);
