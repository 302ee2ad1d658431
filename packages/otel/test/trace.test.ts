import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { startReceiver, type ReceivedSpan } from "./support/receiver.ts";

const program = fileURLToPath(new URL("./support/child.ts", import.meta.url));
const cache = fileURLToPath(new URL("../../../node_modules/.cache/node-compile", import.meta.url));

/** Runs one process to its end; returns the last line that it printed. */
function drive(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = spawn(process.execPath, ["--conditions=durable-source", "--no-warnings", program, ...args], {
    env: { ...process.env, NODE_COMPILE_CACHE: cache, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  let complained = "";
  child.stdout.on("data", (text: Buffer) => (said += text.toString()));
  child.stderr.on("data", (text: Buffer) => (complained += text.toString()));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) =>
      code === 0 || signal === "SIGKILL"
        ? resolve(said.trim().split("\n").at(-1) ?? "")
        : reject(new Error(`The process ended with ${code}: ${complained}`)),
    );
  });
}

// Three processes, the last of which forks: on a busy machine each takes its time.
test("one trace per run across three processes and a fork", { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "durable-otel-"));
  const receiver = await startReceiver();
  onTestFinished(async () => {
    await receiver.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const at = [join(folder, "journal.db"), receiver.url];
  await drive([...at, "start", "trip-1"], { DIES: "true" });
  const token = await drive([...at, "advance", "trip-1"]);
  expect(await drive([...at, "resume", "trip-1", token])).toBe("completed");

  const of = (runId: string): ReceivedSpan[] =>
    receiver.spans.filter(({ attributes }) => attributes["durable.run.id"] === runId);
  const own = of("trip-1");
  const [root] = own.filter(({ name }) => name === "run trip");
  expect(new Set(own.map(({ traceId }) => traceId))).toEqual(new Set([root?.traceId]));
  expect(root?.parentSpanId).toBe("");
  const names = own.map(({ name }) => name).toSorted();
  // The drive of the process that was killed is lost. Its attempts, which had ended, are not.
  expect(names).toEqual([
    "attempt flaky",
    "attempt flaky",
    "attempt weather",
    "child notify",
    "drive trip",
    "drive trip",
    "run trip",
    "step flaky",
    "step weather",
    "suspend approve",
  ]);

  const byId = new Map(receiver.spans.map((span) => [span.spanId, span]));
  const path = (span: ReceivedSpan | undefined): string[] =>
    span === undefined ? [] : [span.name, ...path(byId.get(span.parentSpanId))];
  const http = receiver.spans.filter(({ name }) => name === "GET /weather");
  expect(http.map(path)).toEqual([["GET /weather", "attempt weather", "step weather", "run trip"]]);
  const attempts = own.filter(({ name }) => name === "attempt flaky");
  expect(attempts.map(path)).toEqual(attempts.map(() => ["attempt flaky", "step flaky", "run trip"]));
  expect(attempts.filter(({ isError }) => isError)).toHaveLength(1);
  const [step] = own.filter(({ name }) => name === "step flaky");
  expect(step?.startMs).toBe(Math.min(...attempts.map(({ startMs }) => startMs)));
  const replayed = own
    .filter(({ name }) => name === "drive trip")
    .map(({ attributes }) => attributes["durable.replayed"]);
  expect(new Set(replayed.map(Number))).toEqual(new Set([1, 2]));

  // A child and a fork have traces of their own, and links.
  const [toChild] = own.filter(({ name }) => name === "child notify");
  const [child] = receiver.spans.filter(({ name }) => name === "run notify");
  expect(toChild?.links).toEqual([{ traceId: child?.traceId, spanId: child?.spanId }]);
  expect(child?.links).toEqual([{ traceId: root?.traceId, spanId: root?.spanId }]);
  const fork = of("trip-1-fork");
  const [forkRoot] = fork.filter(({ name }) => name === "run trip");
  expect(forkRoot?.traceId).not.toBe(root?.traceId);
  expect(forkRoot?.links).toEqual([{ traceId: root?.traceId, spanId: root?.spanId }]);
  expect(
    fork.map(({ name }) => name),
    "recorded work is not repeated",
  ).not.toContain("step weather");
  expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(receiver.spans.length);
});
