/** Drives all due runs. Start as many of these as you need, on any hosts. */

import { createWorker } from "@durable/core";
import { app } from "./app.ts";

createWorker(app, { concurrency: 10, onStop: ({ runId, status }) => console.log(runId, status) });
console.log("worker: ready");
