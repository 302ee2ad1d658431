/** What a page does with the SDK's own transport, and the real `Chat` of @ai-sdk/react. */

import { MemoryStorage } from "@durable/core";
import type { UIMessage } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { Provider } from "./support/provider.ts";
import { RealChat, shown, Wire } from "./support/real-chat.ts";
import { roundsServer, scripted, type Style } from "./support/rounds-server.ts";

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function lab() {
  const provider = await Provider.open(scripted);
  const effects: string[] = [];
  const storage = new MemoryStorage();
  const server = await roundsServer({
    storage,
    provider: provider.url,
    effect: (...what) => effects.push(what.join(" ")),
  });
  cleanUps.push(
    () => provider.close(),
    () => server.close(),
  );
  const runs = async (): Promise<number> => (await server.app.list({ workflow: "answer" })).runs.length;
  return { provider, effects, server, wire: new Wire(server.api), runs, storage };
}

const words = Array.from({ length: 12 }, (_, i) => `w-${i}`).join(" ");
const answerTo = (question: string): string => `"${question}: ${words} end."`;
const ids = (messages: readonly UIMessage[]): string[] => messages.map(({ id }) => id);
const rounds = (name: string, question: string): string =>
  `assistant: step-start "Round 1." tool-${name}=output-available step-start "Round 2." tool-${name}=output-available step-start ${answerTo(question)}`;

test("an edited message gets a new answer, and so does every return to an earlier version", async () => {
  const { wire, runs } = await lab();
  const chat = new RealChat(wire);
  await chat.sendMessage({ text: "one" });
  const [first] = chat.messages;
  const seen = [chat.texts[0]];
  for (const text of ["two", "one", "two"]) {
    await chat.sendMessage({ text, messageId: first?.id ?? "" });
    expect(shown(chat.messages)).toEqual([`user: "${text}"`, `assistant: step-start ${answerTo(text)}`]);
    seen.push(chat.texts[0]);
    // Another tab, and a reload, show the same.
    const second = new RealChat(wire, { messages: chat.messages.slice(0, 1) });
    await second.resumeStream();
    expect(second.messages).toEqual(chat.messages);
  }
  expect(new Set(seen).size).toBe(4);
  expect(await runs()).toBe(4);
});

test("every regenerated answer is a new one, with an id of its own", async () => {
  const { wire, runs } = await lab();
  const chat = new RealChat(wire);
  await chat.sendMessage({ text: "one" });
  const seen = new Set(chat.texts);
  const names = new Set(ids(chat.messages));
  for (let i = 0; i < 2; i++) {
    await chat.regenerate();
    seen.add(chat.texts[0] ?? "");
    await chat.regenerate({ messageId: chat.lastMessage?.id ?? "" });
    seen.add(chat.texts[0] ?? "");
    names.add(chat.lastMessage?.id ?? "");
    expect(shown(chat.messages)).toEqual([`user: "one"`, `assistant: step-start ${answerTo("one")}`]);
  }
  expect(seen.size).toBe(5);
  expect(names.size).toBe(4);
  expect(await runs()).toBe(5);
});

test.each([
  ["locate", "plain"],
  ["locate", "ids"],
  ["locate", "created"],
  ["pay", "plain"],
  ["pay", "ids"],
  ["pay", "created"],
] satisfies [string, Style][])(
  "two rounds of %s (%s): one message that grows, one run for each round, each tool once",
  async (name, style) => {
    const { wire, effects, runs, provider } = await lab();
    const chat = new RealChat(wire, { style });
    await chat.sendMessage({ text: `${name} it` });
    const [, answer] = ids(chat.messages);
    await chat.answerAll();
    const expected = rounds(name, `${name} it`);
    const lines = shown(chat.messages).map((line) => line.replace(" data-note", ""));
    expect(lines).toEqual([`user: "${name} it"`, expected]);
    expect(chat.lastMessage?.id).toBe(answer);
    expect(effects.length).toBe(name === "pay" ? 2 : 0);
    expect(wire.posts).toBe(3);
    expect(await runs()).toBe(3);
    expect(provider.requests.length).toBe(3);
  },
);

describe.each(["locate", "pay"])("the last round of %s is loaded from its beginning", (name) => {
  test.each(["after a reload", "by the page that lost it"])("%s: with the rounds before it", async (how) => {
    const { wire, runs, provider } = await lab();
    const chat = new RealChat(wire);
    await chat.sendMessage({ text: `${name} it` });
    // The last round stops in the middle: its request is the third.
    provider.onEvent = () => {
      if (provider.requests.length === 3 && provider.allowed === Infinity) provider.allowed = 5;
    };
    const answering = chat.answerAll();
    const isLast = (one: RealChat): boolean => one.texts.length === 3 && /-1/.test(one.texts[2] ?? "");
    let isSeen = false;
    const seen = new Promise<void>((resolve) => {
      chat["~registerMessagesCallback"](() => {
        if (isSeen || !isLast(chat)) return;
        isSeen = true;
        resolve();
      });
    });
    await seen;
    // What a program has saved: the messages as they were sent.
    const saved = structuredClone(chat.messages);
    const second = how === "after a reload" ? new RealChat(wire, { messages: saved }) : chat;
    if (second === chat) {
      wire.cut();
      await chat.until(({ status }) => status === "error");
    }
    provider.onEvent = () => {};
    const resumed = second.resumeStream();
    provider.allowed = Infinity;
    await resumed;
    expect(shown(second.messages)).toEqual([`user: "${name} it"`, rounds(name, `${name} it`)]);
    if (second !== chat) await answering;
    expect(chat.messages.map(({ id }) => id)).toEqual(ids(second.messages));
    expect(await runs()).toBe(3);
  });
});

test("stop ends the run by its route, and the next message gets its own answer", async () => {
  const { wire, runs, provider, server } = await lab();
  provider.allowed = 6;
  const chat = new RealChat(wire);
  const sent = chat.sendMessage({ text: "one" });
  await chat.until(({ texts }) => /-3/.test(texts[0] ?? ""));
  await chat.stop();
  await fetch(`${server.api}/c1/stop`, { method: "POST" });
  await sent;
  provider.allowed = Infinity;
  await chat.sendMessage({ text: "two" });
  expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect(chat.isComplete).toBe(true);
  expect(await runs()).toBe(2);
});
