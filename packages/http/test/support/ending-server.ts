/** A server as the guides show it: `<folder>`. Each step of a run ends shortly after the process was asked to end. */

import { createApp, createWorker, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { createHandler } from "@durable/http";
import { serve } from "@durable/http/node";

const [folder = ""] = process.argv.slice(2);

const asked = new Promise<void>((resolve) => void process.once("SIGTERM", () => resolve()));
const order = durable("order", async (ctx) => {
  for (const name of ["reserve", "ship"])
    await ctx.step(name, async () => {
      console.log(`begins ${name}`);
      await asked;
      await new Promise((resolve) => setTimeout(resolve, 100));
    });
});

const storage = new SqliteStorage(`${folder}/journal.db`);
const app = createApp({ workflows: [order], storage, secret: "a secret for tests, of no worth" });
const server = await serve(createHandler(app, { authorize: () => true }), { port: 0 });
const worker = createWorker(app);
process.once("SIGTERM", () => {
  void server
    .close()
    .then(() => Promise.all([worker.stop(), app.close({ drain: "30s" })]))
    .then(() => console.log("all runs are released"));
});
console.log(server.url);
