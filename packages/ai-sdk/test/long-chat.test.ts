import { createApp, durable, MemoryStorage, type Outcome } from "@durable/core";
import { generateText, type LanguageModel, type ModelMessage } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { durableModel } from "../src/index.ts";
import { promptHash } from "../src/prompt-hash.ts";
import { fakeModel } from "./support/fake-model.ts";

afterEach(() => vi.unstubAllGlobals());

/** Other prompts, so that what a process remembers of the earlier ones is gone, as in a new process. */
function forget(): void {
  for (let i = 0; i < 20; i++) promptHash([{ role: "user", content: `another talk ${i}` }]);
}

/** Characters that a cold answer to turn n encodes. */
async function workAt(turns: number): Promise<number> {
  const storage = new MemoryStorage();
  const model = fakeModel((_, n) => `answer ${n} ${"word ".repeat(100)}`);
  const chat = durable("chat", async (ctx) => {
    const recorded = durableModel(ctx, model as LanguageModel & object);
    const messages: ModelMessage[] = [];
    for (;;) {
      messages.push({ role: "user", content: await ctx.suspend<string>("ask") });
      const { text } = await generateText({ model: recorded as LanguageModel, messages });
      messages.push({ role: "assistant", content: text });
    }
  });
  const secret = "a secret for tests, of no worth";
  const open = (warm: number) => createApp({ storage, secret, workflows: [chat], patience: 0, warm });
  const warm = open(1);
  let outcome: Outcome<unknown> = await warm.run(chat, undefined, { id: "r" });
  const answer = async (app: typeof warm, turn: number): Promise<void> => {
    if (outcome.status !== "suspended") throw new Error(outcome.status);
    const reply = await app.resume(outcome.waiting[0]!.token, `question ${turn} ${"why ".repeat(20)}`);
    if (reply.outcome !== undefined) ({ outcome } = reply);
  };
  for (let turn = 1; turn < turns; turn++) await answer(warm, turn);
  forget();
  let encoded = 0;
  const { stringify } = JSON;
  vi.stubGlobal("JSON", {
    ...JSON,
    parse: JSON.parse.bind(JSON),
    stringify: (...args: Parameters<typeof JSON.stringify>) => {
      const text = stringify(...args) as string | undefined;
      encoded += text?.length ?? 0;
      return text;
    },
  });
  await answer(open(0), turns);
  vi.unstubAllGlobals();
  expect(outcome.status).toBe("suspended");
  expect(model.calls).toHaveLength(turns);
  return encoded / turns;
}

test("a recorded call costs what it adds, and not its whole prompt again", async () => {
  const [short, long] = [await workAt(30), await workAt(300)];
  expect(long / short, "for each turn, ten times as many turns later").toBeLessThan(1.5);
}, 120_000);

describe("the hash of a prompt", () => {
  const user = (content: unknown): object => ({ role: "user", content });
  const parts = (...texts: unknown[]): object => user(texts.map((text) => ({ type: "text", text })));

  /** The hash that a process gets that has seen nothing. */
  function cold(prompt: readonly unknown[]): string {
    forget();
    return promptHash(structuredClone(prompt));
  }

  const prompts: readonly (readonly unknown[])[] = [
    [],
    [user("a")],
    [user("a"), user("b")],
    [user("a"), user("c")],
    [user("a"), user("b"), user("c")],
    [user("ab"), user("")],
    [parts("a", "b")],
    [parts("a"), parts("b")],
    [user(["a"])],
    [user({ 0: "a" })],
    [user(null)],
    [user(Number.NaN)],
    [user(-0)],
    [user(0)],
    [user(new Date(0))],
    [user(new Date(1))],
    [user(new Uint8Array([1]))],
    [user(new Uint8Array([2]))],
    [user({ __proto__x: 1 })],
    [{ role: "assistant", content: [{ type: "text", text: "a" }] }],
    [{ role: "user", content: [{ type: "text", text: "a" }], name: "b" }],
    [user([{ type: "text", text: "a", name: "b" }])],
    [user([{ type: "reasoning", text: "a" }])],
    [user([{ text: "a" }])],
    [{ content: [{ type: "text", text: "a" }] }],
    [{ role: new Date(0), content: [{ type: "text", text: "a" }] }],
    [user("b"), user("a")],
  ];

  test("differs for different prompts, and depends on nothing that was hashed before", () => {
    const hashes = prompts.map(cold);
    expect(new Set(hashes).size).toBe(prompts.length);
    forget();
    for (let round = 0; round < 3; round++)
      for (const [i, prompt] of [...prompts.entries()].toReversed())
        expect(promptHash(structuredClone(prompt))).toBe(hashes[i]);
  });

  test("leaves out what is undefined or a function, and ignores the order of fields", () => {
    const hash = cold([{ role: "user", content: "a" }]);
    expect(promptHash([{ content: "a", role: "user", extra: undefined, method: () => 1 }])).toBe(hash);
    forget();
    expect(promptHash([{ content: "a", role: "user", extra: undefined, method: () => 1 }])).toBe(hash);
    expect(promptHash([{ role: "user", content: "a" }])).toBe(hash);
  });

  test("knows a message of one text by its content alone", () => {
    const hash = cold([parts("a")]);
    const options = { providerOptions: undefined };
    const same = { ...user([{ text: "a", type: "text", ...options }]), ...options };
    expect(promptHash([same])).toBe(hash);
    expect(promptHash([parts("a")])).toBe(hash);
    expect(promptHash([{ ...same, method: () => 1 }])).toBe(hash);
    expect(promptHash([{ ...same, providerOptions: {} }])).not.toBe(hash);
    class Message {
      role = "user";
      content = [{ type: "text", text: "a" }];
    }
    expect(promptHash([new Message()])).toBe(hash);
  });

  test("sees a message that was changed in place", () => {
    const message = { role: "user", content: [{ type: "text", text: "a" }] };
    const bytes = new Uint8Array([1, 2]);
    const first = promptHash([message, user(bytes)]);
    bytes[0] = 9;
    expect(promptHash([message, user(bytes)])).toBe(cold([message, user(new Uint8Array([9, 2]))]));
    message.content[0]!.text = "b";
    expect(promptHash([message])).toBe(cold([parts("b")]));
    Object.assign(message.content[0]!, { providerOptions: { cache: true } });
    expect(promptHash([message])).toBe(cold([message]));
    expect(promptHash([message])).not.toBe(cold([parts("b")]));
    expect(promptHash([message, user(bytes)])).not.toBe(first);
  });
});
