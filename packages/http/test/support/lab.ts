/** An app with a few workflows, its handler, and helpers that send requests. */

import {
  type App,
  createApp,
  durable,
  MemoryStorage,
  type Secret,
  type Storage,
  type World,
} from "@durable/core";
import { createHandler, type Handler, type HandlerOptions } from "@durable/http";
import { z } from "zod";
import { described } from "./described.ts";

const echo = durable("echo", async (ctx, input: unknown) => ctx.step("say", () => input));

const Verdict = z.object({ approved: z.boolean() });
const review = durable("review", async (ctx, input: unknown) => {
  const verdict = await ctx.suspend("verdict", { schema: Verdict, note: { asked: input } });
  const after = await ctx.step("act", () => (verdict.approved ? "done" : "left"));
  return { after, verdict };
});

const open = durable("open", async (ctx) => ({ answer: await ctx.suspend("anything") }));
const two = durable("two", (ctx) => ctx.parallel({ a: (c) => c.suspend("ask"), b: (c) => c.suspend("ask") }));
const late = durable("late", (ctx) => ctx.suspend("soon", { timeout: 1 }));
const broken = durable("broken", (ctx) =>
  ctx.step("fail", () => Promise.reject(new Error("as it must")), { retry: { attempts: 1 } }),
);
const typed = durable("typed", (_ctx, input: { n: number }) => input.n, {
  input: z.object({ n: z.number() }),
});

const mail = durable(
  "mail",
  async (ctx) => {
    ctx.report({ waits: true });
    return [await ctx.receive("note"), await ctx.receive("note")];
  },
  { messages: { note: z.number() } },
);

export const workflows = [echo, review, open, two, late, broken, typed, mail];

export const labSecret = "a secret of the lab, 32 characters";

export interface Lab {
  readonly app: App;
  readonly storage: Storage;
  readonly handler: Handler;
  /** What was answered with 5xx. */
  readonly errors: unknown[];
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>;
  readonly post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>;
  readonly form: (
    path: string,
    fields: Record<string, string>,
    headers?: Record<string, string>,
  ) => Promise<Response>;
  /** Starts a run and returns the tokens of its waits. */
  readonly waiting: (workflow: string, id: string, input?: unknown) => Promise<string[]>;
}

interface LabOptions extends HandlerOptions {
  readonly storage?: Storage;
  readonly secret?: Secret;
  readonly world?: World;
  readonly workflows?: Parameters<typeof createApp>[0]["workflows"];
  readonly prices?: Parameters<typeof createApp>[0]["prices"];
}

export const origin = "http://lab.example";

/** Allows everything unless `authorize` is given. */
export function lab({
  storage = new MemoryStorage(),
  secret = labSecret,
  world,
  workflows: flows = workflows,
  prices,
  ...options
}: LabOptions = {}): Lab {
  const errors: unknown[] = [];
  const app = createApp({ storage, secret, world, prices, workflows: flows });
  const given = { authorize: () => true, onError: (error: unknown) => errors.push(error), ...options };
  const handler = described(createHandler(app, given), options.basePath);
  const ask = (path: string, init: RequestInit): Promise<Response> =>
    handler(new Request(origin + path, init));
  return {
    app,
    storage,
    handler,
    errors,
    get: (path, headers = {}) => ask(path, { headers }),
    post: (path, body, headers = {}) =>
      ask(path, {
        method: "POST",
        ...(body === undefined
          ? { headers }
          : {
              headers: { "content-type": "application/json", ...headers },
              body: typeof body === "string" ? body : JSON.stringify(body),
            }),
      }),
    form: (path, fields, headers = {}) =>
      ask(path, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
        body: String(new URLSearchParams(fields)),
      }),
    waiting: async (workflow, id, input) => {
      const run = await app.start(workflow, input, { id });
      await run.result().catch(() => {});
      const outcome = await run.outcome();
      return outcome.status === "suspended" ? outcome.waiting.map(({ token }) => token) : [];
    },
  };
}

/** Settles when a run has stopped. */
export async function stopped(app: App, id: string): Promise<void> {
  await app
    .get(id)
    .result()
    .catch(() => {});
}
