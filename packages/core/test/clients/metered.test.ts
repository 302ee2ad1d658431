/** What the answers of providers say about usage, through their own clients. */

import { FatalError, type Usage } from "@durable/core";
import { metered, usageIn } from "@durable/core/clients";
import { describe, expect, test } from "vitest";
import { clientsOver } from "./support/clients.ts";
import { Lives } from "./support/lives.ts";
import { answerOf, wires, type Provider, type Wire } from "./support/wires.ts";

const providers = Object.keys(wires) as Provider[];

describe.each(providers)("%s", (provider) => {
  const { bill, body }: Wire = wires[provider];
  const expected = {
    model: "m",
    inputTokens: bill.input + bill.cachedInput + bill.cacheWrite,
    outputTokens: bill.output,
    ...(bill.cachedInput > 0 ? { cachedInputTokens: bill.cachedInput } : {}),
    ...(bill.cacheWrite > 0 ? { cacheWriteTokens: bill.cacheWrite } : {}),
  };

  test("an answer", () => expect(usageIn(body)).toMatchObject(expected));

  test.each([false, true])("through its client, as a stream: %s", async (streams) => {
    const lives = new Lives();
    const client = clientsOver(async () => answerOf(provider, streams))[provider];
    const whole = metered(async () => plain(await client.whole()));
    const events = metered(async function* () {
      for await (const event of await client.events()) yield plain(event);
    });
    const { error } = await lives.live<unknown>((ctx) =>
      streams ? ctx.stream("ask", events) : ctx.step("ask", whole),
    );
    expect(error).toBeUndefined();
    expect(await usagesOf(lives)).toMatchObject([expected]);
  });
});

/** The answers of Google's client are of a class. */
function plain(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer));
}

test("an answer of a stream that breaks off counts as far as it had come", async () => {
  const lives = new Lives();
  const events = async function* () {
    yield { type: "message_start", message: { model: "m", usage: { input_tokens: 7, output_tokens: 1 } } };
    throw new FatalError("cut");
  };
  await lives.live((ctx) => ctx.stream("ask", metered(events)));
  expect(await usagesOf(lives)).toEqual([{ model: "m", inputTokens: 7, outputTokens: 1 }]);
});

async function usagesOf(lives: Lives): Promise<readonly Usage[]> {
  return (await lives.entries()).flatMap((entry) => ("usage" in entry ? (entry.usage ?? []) : []));
}

test.each([undefined, null, "text", {}, { usage: null }, { usage: 7 }, [], { message: { role: "user" } }])(
  "%j has no usage",
  (value) => expect(usageIn(value)).toBeUndefined(),
);

test("what is no count is nothing, and never fails a call", () => {
  const usage = { prompt_tokens: -1, completion_tokens: Number.NaN, prompt_tokens_details: 9 };
  expect(usageIn({ usage })).toEqual({ model: "unknown", inputTokens: 0, outputTokens: 0 });
});
