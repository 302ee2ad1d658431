/**
 * `smoothStream` pauses between words, so the code goes on after an await that is not the run's. A replayed stream comes at
 * once, so the pauses fall elsewhere than in the life before. Equal questions after it find their answers by their order.
 */

import type { Context } from "@durable/core";
import { afterEach, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { durableModel, durableTools, type ModelOptions } from "../src/index.ts";
import { Lab } from "./support/lab.ts";
import { Provider, type Heard, type Said } from "./support/provider.ts";
import { latest, versions, type Version } from "./support/versions.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

/** Every answer has a number, so that answers that were swapped show. */
function talker({ question, results, number }: Heard): Said {
  if (question.includes("look") && results === 0)
    return { text: "I will look.", calls: [{ tool: "look", input: { number }, id: `call_${number}` }] };
  return { text: `Answer ${number} has a few words to smooth.` };
}

type Body = (ctx: Context, model: object, version: Version) => Promise<unknown>;

const smoothed = ({ ai }: Version, model: object, prompt: string, more: object = {}) =>
  ai.streamText({
    model: model as never,
    prompt,
    experimental_transform: ai.smoothStream(),
    ...more,
  });

const bestOf3 = ({ ai }: Version, model: object) =>
  Promise.all(
    [1, 2, 3].map(async () => (await ai.generateText({ model: model as never, prompt: "Best of?" })).text),
  );

const bodies: Readonly<Record<string, { readonly calls: number; readonly run: Body }>> = {
  "then equal questions at once": {
    calls: 4,
    run: async (_, model, version) => [
      await smoothed(version, model, "Talk.").text,
      await bestOf3(version, model),
    ],
  },
  "left early, then equal questions at once": {
    calls: 4,
    run: async (...[, model, version]) => {
      for await (const _ of smoothed(version, model, "Talk.").textStream) break;
      return bestOf3(version, model);
    },
  },
  "three equal smoothed streams at once, then equal questions": {
    calls: 6,
    run: async (_, model, version) => {
      const texts = await Promise.all([1, 2, 3].map(async () => smoothed(version, model, "Talk.").text));
      return [texts, await bestOf3(version, model)];
    },
  },
  "three equal smoothed agents at once, with tools": {
    calls: 6,
    run: async (ctx, model, version) => {
      const { ai } = version;
      const look = ai.tool({
        inputSchema: z.object({ number: z.number() }),
        execute: ({ number }: { number: number }) => `saw ${number}`,
      });
      const agent = async () =>
        smoothed(version, model, "Please look.", {
          tools: durableTools(ctx, { look }),
          stopWhen: ai.stepCountIs(3),
        }).text;
      return Promise.all([agent(), agent(), agent()]);
    },
  },
};

const full = inject("full");
const paces = full ? [0, 4, 25] : [12];
const forms = (full ? versions : [latest]).flatMap((version) =>
  paces.flatMap((paceMs) =>
    (["block", "ask", "keep"] as const).map((onChange) => ({ version, paceMs, onChange })),
  ),
);

describe.each(Object.entries(bodies))("smoothStream, %s", (_, { calls, run }) => {
  test.each(forms)("$version.name, a word in $paceMs ms, onChange: $onChange", async (form) => {
    const { version, paceMs, onChange } = form;
    const server = await Provider.open(talker);
    open.push(server);
    server.paceMs = paceMs;
    const lab = new Lab();
    const options: ModelOptions = { onChange };
    const live = () =>
      lab.drive((ctx) => run(ctx, durableModel(ctx, version.models.chat(server.url), options), version));
    const first = await live();
    expect([first.outcome.status, first.error]).toEqual(["suspended", undefined]);
    expect(server.requests).toHaveLength(calls);
    for (const life of [2, 3]) {
      const next = await live();
      expect([life, next.outcome.status, next.value]).toEqual([life, "suspended", first.value]);
    }
    expect([server.requests.length, lab.warnings]).toEqual([calls, []]);
  });
});
