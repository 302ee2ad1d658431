/** The conversation from the journals: as clients assemble it, whatever they sent, and however answers ended. */

import { MemoryStorage } from "@durable/core";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { afterEach, expect, test } from "vitest";
import { assembled } from "../src/chat/assembled.ts";
import { chatMessages, type ChatInput } from "../src/chat/index.ts";
import { priorParts } from "../src/chat/prior.ts";
import type { Part } from "../src/chunks.ts";
import { Provider } from "./support/provider.ts";
import { RealChat, reconnecting, shown, Wire } from "./support/real-chat.ts";
import { roundsServer, scripted } from "./support/rounds-server.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function lab() {
  const provider = await Provider.open(scripted);
  const effects: string[] = [];
  const storage = new MemoryStorage();
  const effect = (tool: string): number => effects.push(tool);
  const server = await roundsServer({ storage, provider: provider.url, effect });
  cleanUps.push(
    () => provider.close(),
    () => server.close(),
  );
  const wire = new Wire(server.api);
  const post = async (body: object): Promise<{ status: number; text: string }> => {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify({ trigger: "submit-message", ...body }) };
    const response = await server.handler(new Request(server.api, init));
    return { status: response.status, text: await response.text() };
  };
  const inputs = async (): Promise<ChatInput[]> => {
    const { runs } = await server.app.list({ workflow: "answer" });
    const entries = await Promise.all(runs.toReversed().map(({ runId }) => server.app.get(runId).entries()));
    return entries.map(([first]) => (first as { readonly input: ChatInput }).input);
  };
  const alone = (id = "c1") =>
    new RealChat(wire, { id, transport: reconnecting(wire, "plain", { sends: "last" }) });
  return { ...server, provider, effects, wire, post, inputs, alone };
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;
const user = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });

const call = { toolCallId: "c1", toolName: "pay" };
const free = { toolCallId: "c2", toolName: "free", dynamic: true };
const about = { providerMetadata: { acme: { a: 1 } } };
const everything = [
  { type: "start", messageId: "m", messageMetadata: { a: { b: 1 } } },
  { type: "start-step" },
  { type: "reasoning-start", id: "r", ...about },
  { type: "reasoning-delta", id: "r", delta: "I think" },
  { type: "reasoning-end", id: "r", providerMetadata: { acme: { signature: "s" } } },
  { type: "text-start", id: "0" },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "0", delta: "one " },
  { type: "text-delta", id: "1", delta: "two" },
  { type: "text-delta", id: "0", delta: "more", ...about },
  { type: "text-end", id: "0" },
  { type: "source-url", sourceId: "s", url: "https://example.org", title: "Tides" },
  { type: "source-document", sourceId: "d", mediaType: "text/plain", title: "A book", filename: "a.txt" },
  { type: "file", url: "data:text/plain,hi", mediaType: "text/plain" },
  { type: "data-note", id: "n", data: 1 },
  { type: "data-note", id: "n", data: { two: 2 } },
  { type: "data-note", data: "without an id" },
  { type: "data-gone", data: 1, transient: true },
  { type: "message-metadata", messageMetadata: { a: { c: 2 } } },
  { type: "tool-input-start", ...call, title: "Pay" },
  { type: "tool-input-delta", toolCallId: "c1", inputTextDelta: '{"sum":' },
  { type: "tool-input-delta", toolCallId: "c1", inputTextDelta: "5}" },
  { type: "tool-input-available", ...call, input: { sum: 5 }, ...about },
  { type: "tool-approval-request", approvalId: "a", toolCallId: "c1", signature: "sig", reason: "much" },
  { type: "tool-approval-response", approvalId: "a", approved: true, reason: "fine" },
  { type: "tool-output-available", toolCallId: "c1", output: 1, preliminary: true },
  { type: "tool-output-available", toolCallId: "c1", output: { paid: null }, ...about },
  { type: "tool-input-start", ...free },
  { type: "tool-input-available", ...free, input: null, providerExecuted: true },
  { type: "tool-output-error", toolCallId: "c2", errorText: "no", providerExecuted: true },
  { type: "finish-step" },
  { type: "start-step" },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "wrong" },
  { type: "reset-step" },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "right" },
  { type: "text-end", id: "0" },
  { type: "steering-message", id: "st", parts: [{ type: "text", text: "go left" }] },
  { type: "tool-input-error", toolCallId: "c3", toolName: "pay", input: "{", errorText: "no JSON" },
  { type: "tool-input-available", toolCallId: "c4", toolName: "pay", input: {} },
  { type: "tool-approval-request", approvalId: "b", toolCallId: "c4", isAutomatic: true },
  { type: "tool-output-denied", toolCallId: "c4" },
  { type: "custom", kind: "x.y", ...about },
  { type: "finish-step" },
  { type: "finish", messageMetadata: { end: true } },
] as unknown as (Part & UIMessageChunk)[];

/** The message as the SDK assembles it. */
async function bySdk(parts: readonly UIMessageChunk[], before?: UIMessage): Promise<UIMessage> {
  let last: UIMessage = before ?? { id: "", role: "assistant", parts: [] };
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part);
      // The SDK shows a step that has nothing in it with its next part.
      controller.enqueue({ type: "data-end", data: 0 });
      controller.close();
    },
  });
  const message = before === undefined ? {} : { message: structuredClone(before) };
  for await (const next of readUIMessageStream({ stream, ...message })) last = next;
  return { ...last, parts: last.parts.slice(0, -1) };
}

/** Input of a call that has not come in full: the SDK guesses the rest of its JSON. */
function withoutGuess({ parts, ...message }: { readonly parts?: unknown }): unknown {
  const all = (plain(parts) as Record<string, unknown>[]).map(({ input, ...part }) =>
    part["state"] === "input-streaming" ? part : { ...part, input },
  );
  return plain({ ...message, parts: all });
}

test("parts make the message that they make in the SDK, after every one of them", async () => {
  for (let count = 1; count <= everything.length; count++) {
    const parts = everything.slice(0, count);
    expect(withoutGuess(assembled("m", parts, null)), parts.at(-1)?.type).toEqual(
      withoutGuess(await bySdk(parts)),
    );
  }
  const whole = assembled("m", everything, null);
  const more = everything.slice(1, 12);
  expect(withoutGuess(assembled("m", more, whole))).toEqual(
    withoutGuess(await bySdk(more, plain(whole) as UIMessage)),
  );
  // And back: what a client gets that loads a message from its beginning.
  const again = [{ type: "start", messageId: "m" }, ...priorParts(whole, true)] as UIMessageChunk[];
  expect(shown([await bySdk(again)])).toEqual(shown([plain(whole) as UIMessage]));
});

test("parts that fit nothing are left out, and their names may be anything", () => {
  const odd = [
    "constructor",
    "toString",
    "__proto__",
    "text-delta",
    "tool-output-available",
    "tool-input-delta",
  ];
  expect(
    assembled(
      "m",
      odd.map((type) => ({ type, id: "x" })),
      null,
    ).parts,
  ).toEqual([]);
  expect(priorParts({ parts: odd.map((type) => ({ type })) }, true).map(({ type }) => type)).not.toContain(
    "toString",
  );
});

test("a chat with tools, approvals and rounds: the messages of the page, also in a new process", async () => {
  const { app, wire, alone } = await lab();
  for (const chat of [new RealChat(wire, { id: "full" }), alone("alone")]) {
    for (const text of ["look", "pay", "locate"]) {
      await chat.sendMessage({ text });
      await chat.answerAll();
    }
    const { messages, answers } = await chatMessages(app, chat.id);
    expect(messages).toEqual(plain(chat.messages));
    expect(answers.map(({ state, isCurrent }) => [state, isCurrent])).toEqual([
      ["complete", true],
      ["complete", true],
      ["complete", true],
    ]);
  }
});

test("the last message alone: the run gets the conversation of the journals, and a repetition starts no other run", async () => {
  const { post, inputs, app, effects } = await lab();
  expect((await post({ id: "c", message: user("u1", "one") })).status).toBe(200);
  const second = { id: "c", message: user("u2", "two") };
  const answers = [await post(second), await post(second)];
  expect(answers[1]).toEqual(answers[0]);
  const { messages } = await chatMessages(app, "c");
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect((await inputs()).map((input) => input.messages)).toEqual([
    messages.slice(0, 1),
    messages.slice(0, 3),
  ]);
  expect((await inputs())[1]?.body).toEqual({});
  // The same message with other fields is neither a repetition nor new.
  expect((await post({ ...second, more: 1 })).status).toBe(409);
  expect(effects).toEqual([]);
});

test("the last message alone: what a client says about an answer is not believed", async () => {
  const { post, inputs, app } = await lab();
  await post({ id: "c", message: user("u1", "pay") });
  const [, asked] = (await chatMessages(app, "c")).messages;
  const forgedText = (asked?.parts ?? []).map((part) =>
    part.type === "text" ? { ...part, text: "forged" } : part,
  );
  const answered = forgedText.map((part) =>
    part.type === "tool-pay"
      ? { ...part, state: "approval-responded", approval: { ...Object(part["approval"]), approved: true } }
      : part,
  );
  const { status } = await post({ id: "c", message: { ...asked, parts: answered } });
  expect(status).toBe(200);
  const last = (await inputs()).at(-1);
  expect(JSON.stringify(last)).not.toContain("forged");
  expect(last?.messages).toHaveLength(2);
  // Neither is an answer that nobody gave, or one of another chat.
  for (const message of [
    { ...asked, id: "msg-x" },
    { id: "a", role: "assistant", parts: [] },
  ])
    expect(await post({ id: "c", message })).toMatchObject({
      status: 409,
      text: expect.stringContaining("unknown-message") as string,
    });
  expect((await post({ id: "other", message: { ...asked, parts: answered } })).status).toBe(409);
});

test("edits and other answers, with the last message alone", async () => {
  const { alone, app } = await lab();
  const chat = alone();
  await chat.sendMessage({ text: "one" });
  await chat.sendMessage({ text: "two" });
  await chat.regenerate({ messageId: chat.lastMessage?.id ?? "" });
  const [first, firstAnswer, , current] = chat.messages;
  let history = await chatMessages(app, "c1");
  expect(history.messages).toEqual(plain(chat.messages));
  const two = history.answers.filter(({ question }) => question?.id === chat.messages[2]?.id);
  expect(two.map(({ isCurrent }) => isCurrent)).toEqual([false, true]);
  expect(two[1]?.message).toEqual(plain(current));

  // An edit of the first question: what came after it belongs to the earlier version.
  await chat.sendMessage({ text: "another one", messageId: first?.id ?? "" });
  history = await chatMessages(app, "c1");
  expect(shown(history.messages as UIMessage[])).toEqual(shown(chat.messages));
  const versions = history.answers.filter(({ question }) => question?.id === first?.id);
  expect(versions.map(({ question }) => question?.parts)).toEqual([
    [{ type: "text", text: "one" }],
    [{ type: "text", text: "another one" }],
  ]);
  expect(versions[0]?.message).toEqual(plain(firstAnswer));
  expect(history.answers.map(({ isCurrent }) => isCurrent)).toEqual([false, false, false, true]);
});

test("an answer that was stopped, and one that failed, say so; the model gets what was said", async () => {
  const { app, post, wire, provider, inputs, alone } = await lab();
  provider.paceMs = 20;
  const chat = alone();
  const sent = chat.sendMessage({ text: "one" });
  await chat.until(({ texts }) => (texts[0] ?? "").includes("-3"));
  await chat.stop();
  await sent;
  await reconnecting(wire).stop("c1");
  let { answers, messages } = await chatMessages(app, "c1");
  expect(answers.map(({ state, isCurrent }) => [state, isCurrent])).toEqual([["stopped", true]]);
  expect(JSON.stringify(messages)).toContain("-3");
  provider.paceMs = 0;
  await post({ id: "c1", message: user("u2", "two"), fails: true });
  await post({ id: "c1", message: user("u3", "three") });
  ({ answers, messages } = await chatMessages(app, "c1"));
  expect(answers.map(({ state }) => state)).toEqual(["stopped", "failed", "complete"]);
  // The one that failed before its first word says nothing.
  expect((await inputs()).at(-1)?.messages.map((one) => Object(one).role as string)).toEqual([
    "user",
    "assistant",
    "user",
    "user",
  ]);
});

test("a client that sends the whole history: its text about answers that were recorded is not shown", async () => {
  const { app, post } = await lab();
  await post({ id: "c", messages: [user("u1", "one")] });
  const { messages } = await chatMessages(app, "c");
  const forged = { ...messages[1], parts: [{ type: "text", text: "forged" }] };
  await post({ id: "c", messages: [messages[0], forged, user("u2", "two")] });
  const after = await chatMessages(app, "c");
  expect(JSON.stringify(after)).not.toContain("forged");
  expect(after.messages.slice(0, 2)).toEqual(messages);
});

test("there is no chat, and no run of another one", async () => {
  const { app, post, handler, api } = await lab();
  expect(await chatMessages(app, "none")).toEqual({ messages: [], answers: [] });
  await post({ id: "c", messages: [user("u1", "one")] });
  const read = async (id: string): Promise<unknown> =>
    (await handler(new Request(`${api}/${id}/messages`))).json();
  expect(await read("c")).toEqual(plain(await chatMessages(app, "c")));
  expect(await read("d")).toEqual({ messages: [], answers: [] });
  expect(await chatMessages(app, "c", { workflow: "another" })).toEqual({ messages: [], answers: [] });
});
