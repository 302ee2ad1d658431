/**
 * A process that runs an agent with two tools to its end, streaming:
 *
 *     node agent-child.ts <journal> <provider> <receiver>
 */

import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { durableCall, durableModel, durableTools } from "../../src/index.ts";
import { latest } from "./versions.ts";

const [journal = "", provider = "", receiver = ""] = process.argv.slice(2);

/** An effect on the outside: a request that names its call, with the idempotency key. */
const send = (name: string) =>
  tool({
    inputSchema: z.object({ what: z.string() }),
    execute: async ({ what }, options) => {
      const { idempotencyKey = "" } = durableCall(options);
      const headers = { "idempotency-key": idempotencyKey, "x-call": `${name} ${options.toolCallId}` };
      const response = await fetch(`${receiver}/${name}`, { method: "POST", headers, body: what });
      return response.text();
    },
  });

const trip = durable(
  "trip",
  async (ctx) => {
    const result = streamText({
      model: durableModel(ctx, latest.models.chat(provider)),
      prompt: "Plan the trip.",
      tools: durableTools(ctx, { book: send("book"), pay: send("pay") }),
      stopWhen: isStepCount(6),
    });
    return result.text;
  },
  { storage: new SqliteStorage(journal) },
);

const outcome = await trip.run(undefined, { id: "trip" });
console.log(outcome.status === "completed" ? outcome.output : JSON.stringify(outcome));
process.exit(outcome.status === "completed" ? 0 : 1);
