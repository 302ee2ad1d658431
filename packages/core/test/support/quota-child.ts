/** A process that drives runs, each of which asks a provider on loopback under a quota. */

import { createApp, createWorker, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";

const [path = "", url = ""] = process.argv.slice(2);

const flow = durable("ask", (ctx, n: number) =>
  ctx.step(
    "model",
    async () => {
      const { status, headers } = await fetch(`${url}/${n}?at=${Date.now()}`);
      if (status !== 200) throw Object.assign(new Error("Too many requests."), { status, headers });
    },
    { quota: "openai", retry: { attempts: 20, delay: "1 s" } },
  ),
);
const app = createApp({
  workflows: [flow],
  storage: new SqliteStorage(path),
  quotas: { openai: { requests: 90, per: "2 s" } },
});
createWorker(app, { concurrency: 200 });
process.send?.("ready");
