/** The fuzzed server, in a process of its own that reports its memory on request. */

import { createApp, MemoryStorage } from "@durable/core";
import { createHandler, github, webhook } from "@durable/http";
import { serve } from "@durable/http/node";
import { labSecret, workflows } from "./lab.ts";

const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows });
let faults = 0;
const onError = (error: unknown): void => {
  faults += 1;
  console.error(error);
};
const limits = { bodyTimeout: 1_000, bytes: 16 * 1024 };
const api = createHandler(app, { authorize: () => true, limits, onError });
const hook = webhook({ profile: github({ secrets: "a secret of webhooks" }), limits, onError }, () => {});
const server = await serve(
  (request) => (new URL(request.url).pathname === "/hook" ? hook(request) : api(request)),
  { onError, requestTimeout: 2_000 },
);
// One run that the requests name and may cancel, and one they do not know.
await app.start("open", undefined, { id: "one" });
const run = await app.start("review", undefined, { id: "kept" });
await run.result().catch(() => {});
const outcome = await run.outcome();
const token = outcome.status === "suspended" ? outcome.waiting[0]?.token : "";

process.on("message", () => {
  (globalThis as { gc?: () => void }).gc?.();
  process.send?.({ rss: process.memoryUsage().rss, faults });
});
process.send?.({ port: server.port, token });
