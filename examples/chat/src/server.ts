/** The server: journal, workflow, worker, the routes of the chat, and the page. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createChatHandler } from "@durable/ai-sdk/chat";
import { createApp, createWorker } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { createHandler } from "@durable/http";
import { serve } from "@durable/http/node";
import { chooseModel, isAddressedHere, paceOf, type Environment, type Terminal } from "example-llm";
import { showFacts } from "example-llm/show-run";
import { createAnswer, steerTopic } from "./answer.ts";
import { notesHandler } from "./notes.ts";
import { folderOutbox } from "./outbox.ts";
import { buildPage, pageHandler } from "./page-files.ts";
import { scriptOf } from "./script.ts";

export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface Config {
  readonly port: number;
  /** Where the journal and the e-mails are kept. */
  readonly folder: string;
  /** The same, for people. */
  readonly shownFolder: string;
}

/** Dollars for a million tokens: add the model that you use. Those of the offline model are made up. */
const prices = { scripted: { input: 1, output: 5 } };

/** The offline model writes slowly enough for a person to kill the server in between. */
const slowness = 3;

export async function openServer(config: Config, env: Environment, out: Terminal): Promise<RunningServer> {
  const script = scriptOf({ usesOtherWords: env["DEMO_WORDS"] === "other" });
  const { model, line } = await chooseModel(env, { script, pace: slowness * paceOf(env["DEMO_PACE"]) });
  mkdirSync(config.folder, { recursive: true, mode: 0o700 });
  const storage = new SqliteStorage(join(config.folder, "journal.db"));
  const outbox = folderOutbox(join(config.folder, "outbox"), env["DEMO_EFFECTS"]);
  const app = createApp({ storage, workflows: [createAnswer({ model, outbox })], prices });

  // On this machine only. A real server checks who the user is, and whether the chat is theirs.
  const chat = createChatHandler(app, { workflow: "answer", authorize: isAddressedHere });
  // The page answers open questions by their token, and steers an answer by a message to its run.
  const runs = createHandler(app, {
    basePath: "/api",
    authorize: (request, { type, topic }) =>
      type === "send" && topic === steerTopic && isAddressedHere(request),
  });
  const notes = notesHandler(app, isAddressedHere);
  if (await buildPage()) out.line("The page is built.");
  const page = pageHandler();
  const server = await serve(
    (request) => {
      const { pathname } = new URL(request.url);
      if (pathname.startsWith("/api/notes/")) return notes(request);
      if (pathname === "/api/chat" || pathname.startsWith("/api/chat/")) return chat(request);
      return pathname.startsWith("/api/") ? runs(request) : page(request);
    },
    { port: config.port },
  );
  // Continues runs whose process died, also when no page is open.
  const worker = createWorker(app, { interval: 200 });
  showFacts(out, {
    page: server.url,
    model: line,
    folder: config.shownFolder,
    try: `kill -9 ${process.pid} in the middle of an answer, and start the server again`,
  });
  return {
    url: server.url,
    close: async () => {
      await server.close();
      await worker.stop();
    },
  };
}
