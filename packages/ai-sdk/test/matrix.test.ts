import { deepStrictEqual } from "node:assert/strict";
import { durable, MemoryStorage, type Context } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { systemWorld } from "@durable/core/storage";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { durableModel, durableTools } from "../src/index.ts";
import { Provider, type Heard, type Said } from "./support/provider.ts";
import { versions, type Model, type Version } from "./support/versions.ts";

/** Looks two places up at once, and reports them. Every answer differs. */
function weather({ results, number }: Heard): Said {
  if (results > 0) return { text: `It is 4 in Oslo and 21 in Rome, says answer ${number}.` };
  const calls = ["Oslo", "Rome"].map((city) => ({ tool: "look", input: { city } }));
  return { text: "Let me look that up.", calls };
}

const open: Provider[] = [];
const provider = async (script = weather): Promise<Provider> => {
  const opened = await Provider.open(script);
  open.push(opened);
  return opened;
};

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

interface Seen {
  readonly parts: readonly unknown[];
  readonly steps: unknown;
  readonly text: string;
}

/** An agent that streams or does not, and all that can be seen of its work. */
async function agent(
  { ai }: Version,
  ctx: Context,
  { model, stream, ran }: { readonly model: Model; readonly stream: boolean; readonly ran: () => void },
): Promise<Seen> {
  const look = ai.tool({
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }: { city: string }) => {
      ran();
      return { city, at: new Date(0), degrees: city.length };
    },
  });
  const asked = {
    model: durableModel(ctx, model),
    prompt: "How warm is it?",
    tools: durableTools(ctx, { look }),
    stopWhen: ai.stepCountIs(4),
  };
  if (!stream) {
    const { text, steps } = await ai.generateText(asked);
    return { text, parts: [], steps: steps.map(facts) };
  }
  const result = ai.streamText({ ...asked, onError: () => {} });
  const parts: unknown[] = [];
  for await (const part of result.fullStream) parts.push(part);
  return { text: await result.text, parts, steps: (await result.steps).map(facts) };
}

/** What a step was, without the clock of the process that looked at it. */
function facts(step: object): unknown {
  const { content, finishReason, usage, response, warnings, providerMetadata } = step as Record<
    string,
    unknown
  >;
  // The body of a response is not recorded: a replay has none.
  const { body: _, ...about } = response as Record<string, unknown>;
  return { content, finishReason, usage, response: about, warnings, providerMetadata };
}

/** Parts without times, which are the process's own, and without requests, which a replay does not have. */
function stable(parts: readonly unknown[]): unknown {
  return parts.map((part) => {
    const { performance: _, request: __, ...rest } = part as Record<string, unknown>;
    return rest;
  });
}

const kinds = ["chat", "responses", "compatible"] as const;

describe.each(versions.map((version) => [version.name, version] as const))("%s", (_, version) => {
  describe.each(kinds)("%s", (kind) => {
    test.each([false, true])(
      "H67 streaming %s: live and replay are equal, and the replay needs neither server, key nor tools",
      async (stream) => {
        const server = await provider();
        const storage = new MemoryStorage();
        const warnings: string[] = [];
        const world = { ...systemWorld, warn: (message: string) => void warnings.push(message) };
        let ran = 0;
        let seen: Seen | null = null;
        const flow = (model: Model) =>
          durable(
            "agent",
            async (ctx) => {
              seen = await agent(version, ctx, { model, stream, ran: () => (ran += 1) });
              // Open, so that the run can be driven once more from its beginning.
              await ctx.suspend("more");
            },
            { storage, secret: "a secret for tests, of no worth", world },
          );
        const first = await flow(version.models[kind](server.url)).run(undefined, { id: "r" });
        expect(first.status).toBe("suspended");
        const live = seen as Seen | null;
        expect(live?.text).toBe("It is 4 in Oslo and 21 in Rome, says answer 2.");
        expect([server.requests.length, ran]).toEqual([2, 2]);

        await server.close();
        open.length = 0;
        seen = null;
        const entries = await flow(version.models[kind]("http://127.0.0.1:9/v1", " ")).get("r").entries();
        const again = flow(version.models[kind]("http://127.0.0.1:9/v1", " "));
        await again.run(undefined, { id: "r" });
        const replay = seen as Seen | null;
        expect([server.requests.length, ran]).toEqual([2, 2]);
        deepStrictEqual(replay?.steps, live?.steps);
        deepStrictEqual(stable(replay?.parts ?? []), stable(live?.parts ?? []));
        expect(replay?.text).toBe(live?.text);
        expect(await again.get("r").entries()).toHaveLength(entries.length);
        expectClean(entries);
        // The SDK waits for nothing that the engine cannot see.
        expect(warnings).toEqual([]);
      },
    );
  });
});

/** No secret, and nothing that repeats the prompt. */
function expectClean(entries: readonly Entry[]): void {
  const text = JSON.stringify(entries);
  expect(text).not.toContain("canary");
  expect(text).not.toContain("How warm is it?");
}
