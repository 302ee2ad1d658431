/** Messages to an agent while it works, in every version, and with kills at every append. */

import { createApp, durable, MemoryStorage, type Context, type Outcome } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { faultyStorage, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { durableModel, durableSteering, durableTools } from "../src/index.ts";
import { scriptedModel } from "./differential/scripted.ts";
import { copied } from "./acting/kills.ts";
import { secret } from "./support/lab.ts";
import { versions, type Version } from "./support/versions.ts";

const topic = "steer";

/** One run in several lives. What the model is asked is noted by the texts of its users. */
class Steered {
  storage = new MemoryStorage();
  readonly asked: string[][] = [];
  readonly ran: string[] = [];
  readonly #version: Version;
  readonly #streams: boolean;
  readonly #sends: Readonly<Record<string, readonly unknown[]>>;

  /** `sends`: messages that come while this tool runs, or this answer is made. */
  constructor(version: Version, streams: boolean, sends: Readonly<Record<string, readonly unknown[]>>) {
    this.#version = version;
    this.#streams = streams;
    this.#sends = sends;
  }

  async send(message: unknown, id: string): Promise<string> {
    const app = createApp({ storage: this.storage, workflows: [], secret, bind: false });
    return (await app.send("r", topic, message, { id })).status;
  }

  async #arrive(at: string): Promise<void> {
    for (const [index, message] of (this.#sends[at] ?? []).entries())
      await this.send(message, `${at}-${index}`);
  }

  /** Drives the run; `null` when it was killed at that append. */
  async live(append = 0, fault: Fault = "crash-after"): Promise<Outcome<unknown> | null> {
    const dead = { is: false };
    const world = { ...systemWorld, warn: () => {} };
    const storage = faultyStorage(this.storage, {
      world,
      plan: (operation, index) => (operation === "append" && index === append ? fault : null),
    });
    const flow = durable("steered", (ctx) => this.#body(ctx, dead), { storage, secret, world });
    const outcome = await Promise.race([flow.run(undefined, { id: "r" }), storage.died.then(() => null)]);
    dead.is = true;
    if (outcome === null) this.storage = await copied(this.storage);
    return outcome;
  }

  async #body(ctx: Context, dead: { readonly is: boolean }): Promise<unknown> {
    const { ai, name } = this.#version;
    const major = Number(name.slice(-1)) as 5 | 6 | 7;
    const turns = ["a", "b"].map((what) => ({
      calls: [{ id: `call-${what}`, tool: "look", input: { what } }],
    }));
    const inner = scriptedModel(major, [...turns, { text: "Done." }, { text: "Done again." }], () => {});
    const model = noting(inner, async (prompt) => {
      if (!dead.is) await this.#arrive(`answer ${this.asked.push(prompt)}`);
    });
    const look = ai.tool({
      inputSchema: z.object({ what: z.string() }),
      execute: async ({ what }: { what: string }) => {
        if (dead.is) return new Promise<never>(() => {});
        this.ran.push(what);
        await this.#arrive(what);
        return `saw ${what}`;
      },
    });
    const asked = {
      model: durableModel(ctx, model as never),
      tools: durableTools(ctx, { look }),
      prompt: "Look.",
      stopWhen: ai.stepCountIs(6),
      ...(await durableSteering(ctx, topic)),
    };
    const { text } = this.#streams ? ai.streamText(asked) : await ai.generateText(asked);
    return text;
  }
}

interface Prompt {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
}

/** Notes the texts of users in every prompt that reaches the model. */
function noting(model: object, note: (texts: string[]) => Promise<void>): object {
  const texts = ({ prompt }: Prompt): string[] =>
    prompt
      .filter(({ role }) => role === "user")
      .map(({ content }) => (content as readonly { text?: string }[]).map(({ text = "" }) => text).join(""));
  return new Proxy(model, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (property !== "doGenerate" && property !== "doStream") return value;
      return async (call: Prompt) => {
        await note(texts(call));
        return (value as (call: Prompt) => unknown).call(target, call);
      };
    },
  });
}

const forms = versions.flatMap((version) => [
  { version, streams: true },
  { version, streams: false },
]);

describe.each(forms)("$version.name, streams: $streams", ({ version, streams }) => {
  const sends = { a: ["Only red ones.", { role: "user", content: "And big ones." }], b: ["Be brief."] };
  const prompts = [
    ["Look."],
    ["Look.", "Only red ones.", "And big ones."],
    ["Look.", "Only red ones.", "And big ones.", "Be brief."],
  ];

  test("G2 a message reaches the next step, once, and stays in the conversation", async () => {
    const run = new Steered(version, streams, sends);
    expect(await run.live()).toMatchObject({ status: "completed", output: "Done." });
    expect(run.asked).toEqual(prompts);
  });

  test("G1 killed at any append: every step gets what it got, and no message is lost or given twice", async () => {
    const calm = new Steered(version, streams, sends);
    await calm.live();
    const [head] = (await calm.storage.list()).runs;
    const appends = (await calm.storage.read(head!.locator)).batches.length;
    expect(appends).toBeGreaterThan(8);
    const every = inject("full") ? 1 : 4;
    for (let append = 1; append < appends; append += every)
      for (const fault of ["crash-before", "crash-after"] as const) {
        const run = new Steered(version, streams, sends);
        const first = await run.live(append, fault);
        const last = first ?? (await run.live());
        expect([append, fault, last]).toMatchObject([
          append,
          fault,
          { status: "completed", output: "Done." },
        ]);
        // A prompt that was asked again is the same, but for the turn that was under way.
        expect(new Set(run.asked.map(String))).toEqual(new Set(prompts.map(String)));
        expect(run.asked.length).toBeLessThanOrEqual(prompts.length + 1);
      }
  });
});

test.each([true, false])(
  "G3 streams: %s: a message during the last answer makes the agent go on",
  async (streams) => {
    const [latest] = versions.toReversed();
    const run = new Steered(latest!, streams, { "answer 3": ["One more."] });
    expect(await run.live()).toMatchObject({ status: "completed", output: "Done again." });
    expect(run.asked.at(-1)).toEqual(["Look.", "One more."]);
    expect(run.asked).toHaveLength(4);
  },
);

test("G2 a message before the start is in the first prompt, and one that is not a message is refused", async () => {
  const [latest] = versions.toReversed();
  const run = new Steered(latest!, true, { a: [5, "Now."] });
  const flow = durable("steered", async () => {}, { storage: run.storage, secret });
  await flow.start(undefined, { id: "r", drive: false });
  await run.send("Early.", "e");
  expect(await run.live()).toMatchObject({ status: "completed" });
  expect(run.asked[0]).toEqual(["Look.", "Early."]);
  expect(run.asked.at(-1)).toEqual(["Look.", "Early.", "Now."]);
});

test("a message by the object itself is refused, because it would not be recorded", async () => {
  const flow = durable(
    "flow",
    async (ctx) => {
      const { experimental_steering: steering } = await durableSteering(ctx, topic);
      return Promise.all(
        [steering.steer("x"), steering.queue("x")].map((one) => one.catch((e: Error) => e.message)),
      );
    },
    { storage: new MemoryStorage(), secret },
  );
  const outcome = await flow.run(undefined, { id: "r" });
  expect(outcome).toMatchObject({
    output: [expect.stringContaining('app.send("r", "steer"'), expect.anything()],
  });
});
