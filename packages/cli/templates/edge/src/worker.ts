import { runsObject } from "@durable/cloudflare";
import { createApp, durable } from "@durable/core";
import { createHandler } from "@durable/http";

interface Env {
  readonly RUNS: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
  /** Signs the tokens of waits. */
  readonly RESUME_SECRET: string;
  readonly API_KEY: string;
}

/** Stands for a model: replace it by a call of yours. */
const model = async (prompt: string): Promise<string> => {
  await new Promise((resolve) => setTimeout(resolve, 500));
  return prompt.toUpperCase();
};

export const letter = durable("letter", async (ctx, name: string) => {
  const draft = await ctx.step("draft", () => model(`dear ${name}`));
  await ctx.sleep("5s"); // or "5 days": the alarm of the object wakes the run
  const approved = await ctx.suspend<boolean>("approve", { note: draft });
  return ctx.step("send", () => (approved ? `sent: ${draft}` : "not sent"));
});

export const Runs = runsObject<Env>({
  app: (host, env) => createApp({ ...host, secret: env.RESUME_SECRET, workflows: [letter] }),
  fetch: (app, request, { env, host: { waitUntil } }) =>
    createHandler(app, {
      authorize: ({ headers }) => headers.get("authorization") === `Bearer ${env.API_KEY}`,
      waitUntil,
    })(request),
  lease: "10s",
});

export default {
  fetch: (request: Request, { RUNS }: Env) => RUNS.get(RUNS.idFromName("all")).fetch(request),
};
