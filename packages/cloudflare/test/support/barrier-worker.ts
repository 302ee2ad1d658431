/** A workflow that takes its time between a wait and its next step, without leaving the queue of microtasks. */

import { createApp, durable, MemoryStorage } from "@durable/core";

const slow = durable("slow", async (ctx) => {
  const approval = ctx.suspend<boolean>("approve");
  for (let i = 0; i < 100; i++) await Promise.resolve();
  await ctx.step("work", () => "done");
  return approval;
});

const handler = {
  async fetch(): Promise<Response> {
    const storage = new MemoryStorage();
    const secret = "a secret for tests, of no worth";
    const app = createApp({ workflows: [slow], storage, secret, patience: 0 });
    const { runId, status } = await app.run(slow, undefined, { id: "r" });
    const entries = await app.get(runId).entries();
    const { process } = globalThis as { process?: { versions?: { node?: string } } };
    return Response.json({
      status,
      kinds: entries.map(({ kind }) => kind),
      node: process?.versions?.node ?? null,
    });
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
