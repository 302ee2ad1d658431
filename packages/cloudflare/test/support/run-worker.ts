/** A Worker that starts, answers and shows runs, and says which isolate it is and which bodies it ran. */

import { createApp, durable, type DurableError } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { createBudget, createConsumer, r2Bucket } from "../../src/index.ts";
import type { QueueBinding, QueueMessage, R2Binding } from "../../src/index.ts";

interface Env {
  readonly JOURNAL: R2Binding;
  readonly RUNS: QueueBinding;
}

// Nothing random may happen before the first request.
let isolate = "";
const bodies: string[] = [];

const story = durable("story", async (ctx, topic: string) => {
  const call = (name: string, work: () => string | Promise<string>) =>
    ctx.step(name, () => {
      bodies.push(name);
      return work();
    });
  const plan = await call("plan", () => `a plan for ${topic}`);
  const draft = await call("draft", () => `a draft of ${plan}`);
  const approved = await ctx.suspend<boolean>("approve");
  return call("publish", () => (approved ? `published ${draft}` : "nothing"));
});

function appOf({ JOURNAL }: Env, budget = createBudget()) {
  const storage = new RemoteStorage(budget.count(r2Bucket(JOURNAL)));
  return createApp({
    storage,
    secret: "a secret for tests, of no worth",
    workflows: [story],
    patience: 0,
    warm: 0,
  });
}

async function route(request: Request, env: Env): Promise<unknown> {
  const { pathname } = new URL(request.url);
  const body = request.method === "POST" ? ((await request.json()) as Record<string, never>) : {};
  const app = appOf(env);
  const { id = "", topic = "", token = "", value } = body as Record<string, string>;
  if (pathname === "/run") return app.run(story, topic, { id });
  if (pathname === "/unbound") return story.run(topic, { id }).catch((error: DurableError) => error.code);
  if (pathname === "/resume") return app.resume(token, value);
  if (pathname === "/send") return env.RUNS.send(body as never).then(() => null);
  return app.get(pathname.slice(1)).outcome();
}

const handler = {
  async fetch(request: Request, env: Env): Promise<Response> {
    isolate ||= crypto.randomUUID();
    return Response.json({ isolate, reply: await route(request, env), bodies });
  },
  async queue(batch: { readonly messages: readonly QueueMessage[] }, env: Env): Promise<void> {
    const budget = createBudget();
    await createConsumer(appOf(env, budget), { queue: env.RUNS, budget }).queue(batch);
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
