/** A server that is asked to end while it drives a run that a request began. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createApp } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, onTestFinished, test } from "vitest";

const program = fileURLToPath(new URL("support/ending-server.ts", import.meta.url));

test("on SIGTERM, runs that requests began are handed over with those of the worker", async () => {
  const folder = mkdtempSync(join(tmpdir(), "durable-ending-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const args = ["--conditions=durable-source", program, folder];
  const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void server.kill("SIGKILL"));
  const lines: string[] = [];
  for await (const line of createInterface({ input: server.stdout })) {
    lines.push(line);
    if (line.startsWith("http"))
      await fetch(`${line}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ workflow: "order", id: "order-17" }),
      });
    if (line === "begins reserve") server.kill("SIGTERM");
  }
  if (server.exitCode === null) await once(server, "exit");
  expect(lines.slice(1)).toEqual(["begins reserve", "all runs are released"]);

  const storage = new SqliteStorage(`${folder}/journal.db`);
  onTestFinished(() => storage.close());
  const app = createApp({ workflows: [], storage, secret: "a secret for tests, of no worth" });
  const kinds = (await app.get("order-17").entries()).map((entry) =>
    `${entry.kind} ${"key" in entry ? entry.key : ""}`.trim(),
  );
  expect(kinds).toEqual(["run.started", "step.completed reserve"]);
  const [row] = (await app.list()).runs;
  expect(row, "any process may take it at once").toMatchObject({ state: "queued", driven: false });
});
