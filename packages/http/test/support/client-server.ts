/** A server with a page for the client: `<folder> <port> <script> <most>`. Says its address when it listens, and tells at most so many words. */

import { readFileSync } from "node:fs";
import { createApp, createWorker, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { createHandler } from "@durable/http";
import { serve } from "@durable/http/node";

const [folder = "", port = "0", script = "", most = ""] = process.argv.slice(2);

const words = 30;

const tale = durable("tale", async (ctx, name: string) => {
  const told = await ctx.stream("tell", async function* () {
    for (let i = 0; i < words; i++) {
      // Here it is killed.
      if (i === Number(most)) await new Promise(() => {});
      await new Promise((resolve) => setTimeout(resolve, 30));
      yield `${name} ${i}`;
    }
  });
  return { last: told.at(-1), end: new Date(0) };
});

const app = createApp({
  workflows: [tale],
  storage: new SqliteStorage(`${folder}/journal.db`),
  secret: "a secret for tests, of no worth",
  lease: 300,
});
export type ServedApp = typeof app;

const handler = createHandler(app, { basePath: "/api", authorize: () => true });
const html = "<!doctype html><title>A client</title><script type=module src=/client.js></script>";
const server = await serve(
  (request) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/api/")) return handler(request);
    return Promise.resolve(
      pathname === "/client.js"
        ? new Response(readFileSync(script, "utf8"), { headers: { "content-type": "text/javascript" } })
        : new Response(html, { headers: { "content-type": "text/html" } }),
    );
  },
  { port: Number(port) },
);
createWorker(app, { interval: 50 });
console.log(server.url);
