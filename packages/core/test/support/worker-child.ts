/**
 * A worker process: `<path> <doing as JSON> <options as JSON>`. Says `up`, then each stop, and ends by itself
 * when it is asked to by SIGTERM.
 */

import { writeSync } from "node:fs";
import { createWorker, type WorkerOptions } from "../../src/index.ts";
import { SqliteStorage } from "../../src/adapters/sqlite/index.ts";
import { workerApp, type Doing } from "./worker-flows.ts";

const [path = "", doing = "", options = ""] = process.argv.slice(2);
const say = (text: string): void => void writeSync(1, `${text}\n`);
const rss = (): number => Math.round(process.memoryUsage.rss() / 1024 / 1024);

const before = rss();
const app = workerApp(new SqliteStorage(path), JSON.parse(doing) as Doing);
const worker = createWorker(app, {
  ...(JSON.parse(options) as WorkerOptions),
  onStop: ({ runId, status }) => say(`stop ${status} ${runId}`),
});
say("up");
process.on("SIGUSR2", () => say(`rss ${before} ${rss()} ${worker.active}`));
