/** The API, a worker, and the page: by Vite while you develop, else from `dist`. */

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { createChatHandler } from "@durable/ai-sdk/chat";
import { createWorker } from "@durable/core";
import { nodeListener } from "@durable/http/node";
import { app } from "./app.ts";

// This server listens on this machine only. For others, check here who the user is, and whether the chat is theirs.
const api = nodeListener(createChatHandler(app, { workflow: "answer", authorize: () => true }));
// Continues answers whose process died, also when no page is open.
const worker = createWorker(app);

const page = process.env["NODE_ENV"] === "production" ? built("dist") : await developed();
const port = Number(process.env["PORT"] ?? 3000);
createServer((request, response) => {
  const isApi = request.url?.startsWith("/api/") === true;
  void (isApi ? api : page)(request, response);
}).listen(port, "127.0.0.1", () => console.log(`page: http://127.0.0.1:${port}`));
// Steps under way are finished; the next server continues the answers.
process.once("SIGTERM", () => {
  void Promise.all([worker.stop(), app.close({ drain: "30s" })]).then(() => process.exit());
});

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

async function developed(): Promise<Listener> {
  const { createServer: createVite } = await import("vite");
  const vite = await createVite({ server: { middlewareMode: true } });
  return vite.middlewares;
}

const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
};

function built(folder: string): Listener {
  return ({ url = "/" }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    // Names of built files have letters, digits, dots, dashes and underscores only.
    const file = /^\/assets\/[\w.-]+$/.test(pathname) ? pathname : "/index.html";
    try {
      const body = readFileSync(join(folder, file));
      response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream").end(body);
    } catch {
      response.writeHead(404).end("not found");
    }
  };
}
