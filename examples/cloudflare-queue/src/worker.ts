/**
 * Reports, fire and forget: a submission is recorded and answered, and a queue drives the run. All state is
 * in the journal in the bucket; a message only names a run. The routes are those of @durable/http.
 */

import { createBudget, createConsumer, r2Bucket, type Budget } from "@durable/cloudflare";
import type { Consumer, QueueBinding, QueueMessage, R2Binding } from "@durable/cloudflare";
import { createApp, type App } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { createHandler } from "@durable/http";
import { chooseModel, paceOf, type Environment } from "example-llm";
import { mayAccess, type AccessEnv } from "example-llm/edge";
import { crashing, type Site } from "./crash.ts";
import { report } from "./report.ts";
import { script } from "./script.ts";

export interface Env extends AccessEnv {
  readonly JOURNAL: R2Binding;
  readonly SITE: Site;
  readonly RUNS: QueueBinding;
  /** Signs resume tokens: the same in every isolate. */
  readonly SECRET?: string;
  readonly LEASE_SECONDS?: string;
  readonly DEMO_PACE?: string;
}

// Nothing random may happen before the first request.
let isolate = "";

/** One for each invocation, which brings the bindings and the budget. */
async function appOf(env: Env, budget: Budget): Promise<App> {
  isolate ||= crypto.randomUUID().slice(0, 8);
  // Keys and other variables are next to the bindings.
  const variables = env as unknown as Environment;
  const { model } = await chooseModel(variables, { script, pace: paceOf(env.DEMO_PACE) });
  const put = (name: string, text: string) => env.SITE.put(name, text);
  return createApp({
    workflows: [report({ model: crashing(model, env), put })],
    storage: new RemoteStorage(budget.count(r2Bucket(env.JOURNAL))),
    secret: env.SECRET || (env.DEV === "1" ? "for the emulator on this machine alone" : undefined),
    lease: leaseSecondsOf(env) * 1_000,
    // A Worker should not hold a sleep in memory.
    patience: 0,
    hooks: {
      onStep: ({ runId, key, replayed }) =>
        console.log(`run ${runId}: isolate ${isolate} ${replayed ? "journal" : "ran"} ${key}`),
    },
  });
}

function leaseSecondsOf({ LEASE_SECONDS }: Env): number {
  return Number(LEASE_SECONDS || 30);
}

async function consumerOf(env: Env): Promise<Consumer> {
  const budget = createBudget();
  return createConsumer(await appOf(env, budget), {
    queue: env.RUNS,
    budget,
    lookAgainSeconds: leaseSecondsOf(env),
    // On this machine, sweeps are made by hand.
    sweepSeconds: env.DEV === "1" ? 0 : 60,
  });
}

const handler = {
  async fetch(request: Request, env: Env): Promise<Response> {
    const app = await appOf(env, createBudget());
    return createHandler(app, {
      authorize: (asked) => mayAccess(asked, env),
      // No model is called while the client waits. If this message is lost, the sweep finds the run.
      handOn: (runId) => env.RUNS.send({ type: "advance", runId }),
    })(request);
  },

  async queue(batch: { readonly messages: readonly QueueMessage[] }, env: Env): Promise<void> {
    const consumer = await consumerOf(env);
    for (const { body, attempts } of batch.messages) {
      const { type, runId = "" } = body as Readonly<Record<string, string>>;
      console.log(`queue: isolate ${isolate} is handed "${`${type} ${runId}`.trim()}", delivery ${attempts}`);
    }
    await consumer.queue(batch);
  },

  async scheduled(_event: unknown, env: Env): Promise<void> {
    const due = await (await consumerOf(env)).scheduled();
    console.log(`sweep: ${due} due`);
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
