/**
 * Announcements over HTTP, in a Durable Object: its SQLite has the journals, and its alarm wakes runs that sleep, wait for
 * a retry, or lost their driver. The routes are those of @durable/http.
 */

import { runsObject } from "@durable/cloudflare";
import { createApp } from "@durable/core";
import { createHandler } from "@durable/http";
import { chooseModel, paceOf, type Environment } from "example-llm";
import { mayAccess, type AccessEnv } from "example-llm/edge";
import { announcement } from "./announcement.ts";
import { script } from "./script.ts";

interface Env extends AccessEnv {
  readonly RUNS: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
  readonly SITE: { put(name: string, text: string): Promise<unknown> };
  /** Signs resume tokens. */
  readonly SECRET?: string;
  readonly DEMO_PACE?: string;
}

export const Runs = runsObject<Env>({
  // A run whose object was killed goes on after this time.
  lease: "10s",

  async app(host, env) {
    // Keys and other variables are next to the bindings.
    const variables = env as unknown as Environment;
    const { model } = await chooseModel(variables, { script, pace: paceOf(env.DEMO_PACE) });
    const publish = (name: string, text: string) => env.SITE.put(name, text);
    const secret = env.SECRET || (env.DEV === "1" ? "for the emulator on this machine alone" : undefined);
    return createApp({ ...host, workflows: [announcement({ model, publish })], secret });
  },

  fetch: (app, request, { env, host: { waitUntil } }) =>
    createHandler(app, { authorize: (asked) => mayAccess(asked, env), waitUntil })(request),
});

const handler = {
  // One object has all runs. For more than an object can do, name one for each customer.
  fetch: (request: Request, { RUNS }: Env): Promise<Response> =>
    RUNS.get(RUNS.idFromName("all")).fetch(request),
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
