import { setTimeout as delay } from "node:timers/promises";
import { MemoryStorage, durable, type Context } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import { seeded } from "@durable/testing";
import type { ModelMessage } from "ai";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { durableModel, durableTools } from "../src/index.ts";
import { fakeModel, type FakeModel } from "./support/fake-model.ts";
import { Lab } from "./support/lab.ts";
import { Provider, type Heard, type Said } from "./support/provider.ts";
import { latest, versions, type Version } from "./support/versions.ts";

const random = seeded(11);
const full = inject("full");
const replays = full ? 20 : 2;

/** Two turns with tools and one with text. Every answer differs, and their order is random. */
function traveller({ question, results, number }: Heard): Said {
  if (results >= 4) return { text: `${question}: ${number}` };
  const calls = ["there", "back"].map((way) => ({ tool: "look", input: { way, question, results } }));
  return { text: `looking ${number}`, calls };
}

interface Counts {
  tools: number;
}

/** One agent of many, in a workflow that has one context for all of them. */
async function agent(
  { ai, models }: Version,
  ctx: Context,
  { url, question, stream, counts }: { url: string; question: string; stream: boolean; counts: Counts },
): Promise<string> {
  const look = ai.tool({
    inputSchema: z.object({ way: z.string(), question: z.string(), results: z.number() }),
    execute: async ({ way }: { way: string }) => {
      counts.tools += 1;
      await delay(random.next() * 8);
      return `${way} ${counts.tools}`;
    },
  });
  const asked = {
    model: durableModel(ctx, models.chat(url)),
    prompt: question,
    tools: durableTools(ctx, { look }),
    stopWhen: ai.stepCountIs(5),
  };
  const { text } = stream ? ai.streamText(asked) : await ai.generateText(asked);
  return text;
}

describe.each(versions.map((version) => [version.name, version] as const))("%s", (_, version) => {
  const groups: [string, string[]][] = [
    ["five agents that ask the same", ["Ams", "Ams", "Ams", "Ams", "Ams"]],
    ["five agents", ["Ams", "Bru", "Cph", "Dub", "Edi"]],
  ];
  // Both with the latest version; with the others, in a sample, the harder one.
  test.each(full || version === latest ? groups : groups.slice(0, 1))(
    "H41 %s side by side, replayed often: no wrong result, no further call",
    async (_name, questions) => {
      const server = await Provider.open(traveller);
      server.paceMs = 1;
      const counts: Counts = { tools: 0 };
      const lab = new Lab();
      const body = (ctx: Context): Promise<string[]> =>
        Promise.all(
          questions.map((question, i) =>
            agent(version, ctx, { url: server.url, question, stream: i % 2 === 1, counts }),
          ),
        );
      try {
        const live = await lab.drive(body);
        expect(live.error).toBeUndefined();
        expect(live.value?.map((text) => text.slice(0, 3))).toEqual(questions);
        expect([server.requests.length, counts.tools]).toEqual([15, 20]);
        for (let i = 0; i < replays; i++) expect((await lab.drive(body)).value).toEqual(live.value);
        expect([server.requests.length, counts.tools]).toEqual([15, 20]);
      } finally {
        await server.close();
      }
    },
  );
});

/** Answers after a while, every time with another number. */
function slow(): FakeModel {
  const model = fakeModel((_, number) => `answer ${number}`);
  const doGenerate = model.doGenerate.bind(model);
  model.doGenerate = async (call) => {
    const answer = doGenerate(call);
    await delay(5 + random.next() * 10);
    return answer;
  };
  return model;
}

test("the same question sampled five times at once: five answers, the same ones each time", async () => {
  const lab = new Lab();
  const model = slow();
  const body = (ctx: Context): Promise<string[]> => {
    const sampled = durableModel(ctx, model);
    return Promise.all(
      Array.from(
        { length: 5 },
        async () => (await latest.ai.generateText({ model: sampled, prompt: "?" })).text,
      ),
    );
  };
  const live = await lab.drive(body);
  expect(new Set(live.value).size).toBe(5);
  for (let i = 0; i < (full ? 10 : 3); i++) expect((await lab.drive(body)).value).toEqual(live.value);
  expect(model.calls).toHaveLength(5);
  expect(lab.warnings).toEqual([]);
});

test("equal calls after a foreign wait take the records in the order of the calls: nothing is asked again", async () => {
  const lab = new Lab();
  const model = slow();
  const ask = async (ctx: Context, key?: string): Promise<string> => {
    await delay(1);
    const durable = key === undefined ? {} : { key };
    const asked = { model: durableModel(ctx, model), prompt: "?", providerOptions: { durable } };
    return (await latest.ai.generateText(asked)).text;
  };
  const both = (ctx: Context) => Promise.all([ask(ctx), ask(ctx)]);
  const live = await lab.drive(both);
  const again = await lab.drive(both);
  expect(again.value?.toSorted()).toEqual(live.value?.toSorted());
  expect(model.calls).toHaveLength(2);
  // With keys, each call has its own answer whatever the order.
  const named = new Lab();
  const body = (ctx: Context) => Promise.all([ask(ctx, "one"), ask(ctx, "two")]);
  const { value } = await named.drive(body);
  expect((await named.drive(body)).value).toEqual(value);
});

/** Bytes of every append, in order. */
class Weighed extends MemoryStorage {
  readonly bytes: number[] = [];

  override append(request: AppendRequest): Promise<void> {
    this.bytes.push(JSON.stringify(request).length);
    return super.append(request);
  }
}

test.each([false, true])(
  "H71 a conversation of 100 turns, streaming %s: a turn costs what it says, and no prompt is kept",
  async (stream) => {
    const storage = new Weighed();
    const lengths: number[] = [];
    const model = fakeModel((_, number) => `answer ${String(number).padStart(3, "0")} ${"word ".repeat(60)}`);
    const talk = durable(
      "talk",
      async (ctx) => {
        const messages: ModelMessage[] = [];
        const own = durableModel(ctx, model);
        for (let turn = 1; turn <= 100; turn++) {
          messages.push({
            role: "user",
            content: `canary ${String(turn).padStart(3, "0")} ${"why ".repeat(60)}`,
          });
          const asked = { model: own, messages };
          const { text } = stream ? latest.ai.streamText(asked) : await latest.ai.generateText(asked);
          messages.push({ role: "assistant", content: await text });
          lengths.push(storage.bytes.reduce((sum, bytes) => sum + bytes, 0));
        }
      },
      { storage },
    );
    const outcome = await talk.run(undefined, { id: "t" });
    expect(outcome.status).toBe("completed");
    const turn = (n: number): number => (lengths[n - 1] ?? 0) - (lengths[n - 2] ?? 0);
    expect(turn(100)).toBeLessThanOrEqual(1.5 * turn(50));
    const text = JSON.stringify(await talk.get("t").entries());
    expect(text).not.toContain("canary");
    expect(text.match(/answer(",")? 050/g)).toHaveLength(1);
  },
);
