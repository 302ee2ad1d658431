/** A misspelt option is refused by name wherever options are taken: ignored, it would do harm in silence. */
import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { MemoryBucket } from "@durable/core/remote";
import * as ai from "@durable/ai-sdk";
import { createChatHandler } from "@durable/ai-sdk/chat";
import { createBudget, createConsumer, r2Bucket } from "@durable/cloudflare";
import { createDashboard } from "@durable/dashboard";
import { createHandler, github, slack, standardWebhooks, stripe, webhook } from "@durable/http";
import { serve } from "@durable/http/node";
import { telemetry } from "@durable/otel";
import { PostgresStorage } from "@durable/postgres";
import { s3Bucket } from "@durable/s3";
import { explore } from "@durable/simulator";
import {
  crashEverywhere,
  faultyBucket,
  faultyStorage,
  recordGolden,
  replayGolden,
  scriptedModel,
  seeded,
  virtualWorld,
} from "@durable/testing";
import { describe, expect, test } from "vitest";

const flow = durable("hi", () => 1);
const storage = new MemoryStorage();
const app = createApp({ workflows: [flow], storage });
const model = scriptedModel(["hi"]);
const pay = { execute: () => "paid" };
const secrets = "a secret of tests, long enough";

/** A context that no call may use: options are checked before. */
const ctx = { runId: "r", continueAs: () => {} } as unknown as Context;

/** What is called, with a misspelt name, and the name that the message must give. */
const calls: readonly (readonly [string, string, (given: never) => unknown])[] = [
  ["durableModel", "onChange", (given) => ai.durableModel(model, given)],
  ["durableProvider", "onChange", (given) => ai.durableProvider({}, given)],
  ["durableMiddleware", "retry", (given) => ai.durableMiddleware(ctx, given)],
  ["durableTools, a tool", "pay", (given) => ai.durableTools(ctx, { pay }, given)],
  ["durableTools, of a tool", "approve", (given) => ai.durableTools(ctx, { pay }, { pay: given })],
  [
    "durableTools, of an approval",
    "timeout",
    (on) => ai.durableTools(ctx, { pay }, { pay: { approve: on } }),
  ],
  ["durableApproval", "timeout", (given) => ai.durableApproval(ctx, "pay", given)],
  ["durableMCPTools", "schemas", (given) => ai.durableMCPTools(ctx, () => ({}) as never, given)],
  ["durableDownload", "maxBytes", (given) => ai.durableDownload(ctx, () => ({}) as never, given)],
  ["usageOf", "prices", (given) => ai.usageOf([], given)],
  ["createChatHandler", "authorize", (given) => createChatHandler(app, given)],
  ["createHandler", "authorize", (given) => createHandler(app, given)],
  ["limits of createHandler", "bytes", (limits) => createHandler(app, { limits })],
  ["serve", "hostname", (given) => serve(() => Promise.resolve(new Response()), given)],
  ["webhook", "profile", (given) => webhook(given, () => {})],
  ["standardWebhooks", "secrets", (given) => standardWebhooks(given)],
  ["github", "secrets", (given) => github(given)],
  ["stripe", "toleranceSeconds", (given) => stripe({ secrets, ...(given as object) })],
  ["slack", "toleranceSeconds", (given) => slack({ secrets, ...(given as object) })],
  ["PostgresStorage", "schema", (given) => new PostgresStorage(given)],
  ["s3Bucket", "endpoint", (given) => s3Bucket(given)],
  ["createDashboard", "authorize", (given) => createDashboard(given)],
  ["telemetry", "tracer", (given) => telemetry(given)],
  ["telemetry().observe", "most", (given) => telemetry().observe(app, given)],
  ["createBudget", "operations", (given) => createBudget(given)],
  ["createConsumer", "queue", (given) => createConsumer(app, given)],
  ["r2Bucket", "prefix", (given) => r2Bucket({} as never, given)],
  ["virtualWorld", "start", (given) => virtualWorld(given)],
  ["faultyStorage", "latency", (given) => faultyStorage(storage, given)],
  [
    "faultyBucket",
    "random",
    (on) => faultyBucket(new MemoryBucket(), { random: seeded(1), rate: 1, ...(on as object) }),
  ],
  ["replayGolden", "against", (given) => replayGolden([], given)],
  ["recordGolden", "encryption", (given) => recordGolden(storage, "r", given)],
  ["crashEverywhere", "effects", (given) => crashEverywhere(flow, given)],
  ["explore", "seeds", (given) => explore(flow, given)],
  ["scriptedModel", "modelId", (given) => scriptedModel([], given)],
];

/** The name with its last two letters in the wrong order. */
const misspelt = (name: string): string => name.replace(/(.)(.)$/, "$2$1");

describe("a misspelt option", () => {
  test.each(calls)("of %s is refused", async (_what, name, call) => {
    const wrong = misspelt(name);
    const refused = await Promise.resolve()
      .then(() => call({ [wrong]: true } as never))
      .then(
        () => null,
        (error: unknown) => error,
      );
    expect(refused).toMatchObject({ name: "DurableError", code: "invalid-options" });
    expect((refused as Error).message).toContain(`"${wrong}"`);
    expect((refused as Error).message).toContain(`"${name}"`);
  });
});
