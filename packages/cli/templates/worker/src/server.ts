/** Accepts work. It runs none: the workers do. */

import { createHandler } from "@durable/http";
import { serve } from "@durable/http/node";
import { app } from "./app.ts";

const key = process.env["API_KEY"];
const handler = createHandler(app, {
  // Without a key, every request is refused.
  authorize: ({ headers }) => key !== undefined && headers.get("authorization") === `Bearer ${key}`,
  // Runs are only recorded here. The storage tells the workers.
  handOn: () => {},
});
const port = Number(process.env["PORT"] ?? 3000);
const server = await serve(handler, { port, hostname: process.env["HOST"] ?? "127.0.0.1" });
console.log(`server: ${server.url}`);
process.once("SIGTERM", () => void server.close().then(() => app.close()));
