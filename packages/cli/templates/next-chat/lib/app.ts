import { createApp, type App } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { PostgresStorage } from "@durable/postgres";
import { after } from "next/server";
import { answer } from "./answer";

const { DATABASE_URL: url, RESUME_SECRET: secret } = process.env;

// One app for all routes, also while you develop, when modules are loaded again and again.
const shared = globalThis as { durableApp?: App };

export function durableApp(): App {
  return (shared.durableApp ??= createApp({
    workflows: [answer],
    // A serverless host has no disk that lasts: set DATABASE_URL and RESUME_SECRET there.
    ...(url === undefined
      ? { storage: new SqliteStorage(".durable/journal.db") }
      : { storage: new PostgresStorage(url), secret }),
    // The host keeps the process until the work in the background has ended.
    waitUntil: (work) => after(work),
    // After a kill, another request may go on with a run when the lease has ended.
    lease: "10s",
  }));
}
