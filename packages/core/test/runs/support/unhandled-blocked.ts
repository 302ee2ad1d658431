/** A run whose code leaves a rejection behind: prints what is seen of it, and how it ends with the code corrected. */

import { createApp, createWorker, durable, MemoryStorage, type Outcome } from "@durable/core";

const flow = (fails: boolean) =>
  durable("flow", async (ctx) => {
    await ctx.step("a", () => 1);
    if (fails) void Promise.reject(new Error("lost in the code"));
    return ctx.step("b", async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 2;
    });
  });

const storage = new MemoryStorage();
const app = createApp({ storage, workflows: [flow(true)] });
await app.start("flow", undefined, { id: "r", drive: false });
const heard = await new Promise<Outcome<unknown>>((resolve) => {
  const worker = createWorker(app, {
    interval: 10,
    onStop: (outcome) => void worker.stop().then(() => resolve(outcome)),
  });
});
const read = await app.get("r").outcome();
const { runs: listed } = await app.list({ status: "blocked" });
const kinds = (await app.get("r").entries()).map(({ kind }) => kind);
const ended = await createApp({ storage, workflows: [flow(false)] }).advance("r");
const { runs: left } = await app.list({ status: "blocked" });
const told = (outcome: Outcome<unknown>) =>
  outcome.status === "blocked"
    ? {
        status: outcome.status,
        code: outcome.error.code,
        message: outcome.error.message,
        since: outcome.since,
      }
    : outcome;
console.log(JSON.stringify({ heard: told(heard), read: told(read), listed, kinds, ended, left }));
