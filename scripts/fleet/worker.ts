/**
 * One worker process of a fleet: `<storage> <log> <options as JSON>`. Says `up`; on SIGUSR2 the kilobytes of its heap after
 * a collection. Ends by itself on SIGTERM.
 */
import { writeSync } from "node:fs";
import { createWorker } from "@durable/core";
import { fleetApp, fleetFlows, versionFlows } from "./flows.ts";
import { limitedApp, limitedFlow } from "./limited.ts";
import { openStorage } from "./storage.ts";

export interface ChildOptions {
  readonly concurrency?: number;
  readonly stepMs?: number;
  /** One of two versions of a program, instead of the workflows of the long tests. */
  readonly code?: "old" | "new";
  /** A workflow with this limit, instead of the workflows of the long tests. */
  readonly limit?: number;
  readonly leaseMs?: number;
}

const [url = "", log = "", options = "{}"] = process.argv.slice(2);
const { concurrency = 20, stepMs = 0, code, limit, leaseMs = 30_000 } = JSON.parse(options) as ChildOptions;
const storage = await openStorage(url);
const workflows = code === undefined ? fleetFlows(log, stepMs) : versionFlows(code);
const app =
  limit === undefined
    ? fleetApp(storage, workflows)
    : limitedApp(storage, limitedFlow(log, limit, stepMs), leaseMs);
const worker = createWorker(app, { concurrency, drain: "10s" });
process.once("SIGTERM", () => void worker.stop().then(() => storage.close()));
process.on("SIGUSR2", () => {
  (globalThis as { gc?: () => void }).gc?.();
  writeSync(1, `heap ${Math.round(process.memoryUsage().heapUsed / 1024)} ${worker.active}\n`);
});
writeSync(1, "up\n");
