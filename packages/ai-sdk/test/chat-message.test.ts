/** One message, in all attempts of its run and all rounds of its turn. */

import type { StreamEvent } from "@durable/core";
import * as ai7 from "ai";
import type { UIMessage, UIMessageChunk } from "ai";
import * as ai6 from "ai-6";
import { expect, test } from "vitest";
import { chatMessageId, chatStream, type ChatInput } from "../src/chat/index.ts";
import { priorParts } from "../src/chat/prior.ts";
import { partsFor, type ViewerOptions } from "../src/chat/viewer.ts";
import { partsOf, type Part, type PartChunk } from "../src/chunks.ts";
import { Lab } from "./support/lab.ts";

/** What a viewer is sent of attempts, one after the other, as it stands in the connection. */
async function sent(attempts: readonly (readonly Part[])[], options: Partial<ViewerOptions> = {}) {
  async function* events(): AsyncGenerator<StreamEvent<PartChunk>> {
    const first = options.attempt ?? 1;
    for (const [i, parts] of attempts.entries()) {
      if (i > 0) yield { type: "reset", attempt: first + i };
      for (const [index, part] of parts.entries())
        yield { type: "chunk", attempt: first + i, index, value: [0, part] };
    }
  }
  const lines: string[] = [];
  const parts = partsFor(events(), { onReset: "reset-step", ...options });
  for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
    const { id, part } = next.value;
    lines.push(`${id ?? "-"} ${part.type} ${(part["messageId"] ?? part["delta"] ?? "") as string}`.trim());
  }
  return lines;
}

const start = (messageId?: string): Part => ({
  type: "start",
  ...(messageId === undefined ? {} : { messageId }),
});
const step: Part = { type: "start-step" };
const word = (delta: string): Part => ({ type: "text-delta", id: "0", delta });

test("the first id is the id of all attempts, also for a viewer that comes later", async () => {
  const attempts = [
    [start("a"), step, word("x")],
    [start("b"), step, word("x"), word("y")],
  ];
  const expected = ["1.0 start a", "1.1 start-step", "1.2 text-delta x", "2.3 text-delta y"];
  expect(await sent(attempts)).toEqual(expected);
  const later = { attempt: 2, messageId: "a" };
  expect(await sent(attempts.slice(1), later)).toEqual(expected.map((line) => line.replace("1.", "2.")));
});

test("a viewer that comes back with its place gets the rest, of the same attempt or of the next", async () => {
  const parts = [start("a"), step, word("x"), word("y")];
  const seen = parts.slice(0, 3);
  expect(await sent([parts], { seen })).toEqual(["1.3 text-delta y"]);
  const other = [start("b"), step, word("z"), word("y")];
  expect(await sent([other], { attempt: 2, seen, messageId: "a" })).toEqual([
    "2.1 reset-step",
    "2.2 text-delta z",
    "2.3 text-delta y",
  ]);
  // It saw nothing, or everything.
  expect(await sent([[start("a")]], { seen: [] })).toEqual(["1.0 start a"]);
  expect(await sent([parts], { seen: parts })).toEqual([]);
});

test("what was before comes after the start, and only its last part has a place", async () => {
  const prior = [word("p"), word("q")];
  const options = { prior, messageId: "m" };
  const rest = ["- text-delta p", "1.0 text-delta q", "1.1 start-step"];
  expect(await sent([[start("x"), step]], options)).toEqual(["- start m", ...rest]);
  // A record of an earlier version may have no start.
  expect(await sent([[step]], options)).toEqual([
    "- start m",
    "- text-delta p",
    "- text-delta q",
    "1.0 start-step",
  ]);
});

/** A message with everything that it can have before it is continued. */
const approval = { id: "a1", approved: true, reason: "ok" };
const message = {
  id: "m",
  role: "assistant",
  parts: [
    { type: "step-start" },
    { type: "reasoning", id: "r", text: "Hm.", state: "done", providerMetadata: { p: { signature: "s" } } },
    { type: "text", text: "Look:", state: "done" },
    { type: "tool-a", toolCallId: "1", state: "output-available", input: { x: 1 }, output: [2] },
    { type: "tool-b", toolCallId: "2", state: "output-error", input: {}, errorText: "no" },
    {
      type: "dynamic-tool",
      toolName: "c",
      toolCallId: "3",
      state: "output-available",
      input: 1,
      output: null,
    },
    { type: "tool-d", toolCallId: "4", state: "input-available", input: {} },
    { type: "source-url", sourceId: "s", url: "https://example.com/", title: "t" },
    { type: "source-document", sourceId: "d", mediaType: "text/plain", title: "t", filename: "f" },
    { type: "file", url: "data:,x", mediaType: "text/plain" },
    { type: "data-note", id: "n", data: { a: 1 } },
    { type: "step-start" },
    { type: "tool-e", toolCallId: "5", state: "approval-requested", input: {}, approval: { id: "a0" } },
    { type: "tool-e", toolCallId: "6", state: "approval-responded", input: {}, approval },
    {
      type: "tool-e",
      toolCallId: "7",
      state: "output-available",
      input: {},
      approval: { ...approval, id: "a3" },
      output: "paid",
    },
    {
      type: "tool-e",
      toolCallId: "8",
      state: "output-denied",
      input: {},
      approval: { id: "a2", approved: false },
    },
    { type: "tool-e", toolCallId: "9", state: "output-error", input: "{", errorText: "bad" },
  ],
} as const;

/** What a client of the SDK makes of parts, with its own transport. */
async function rebuilt(sdk: typeof ai7, parts: readonly Part[]): Promise<UIMessage | undefined> {
  const text = parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join("");
  const transport = new sdk.DefaultChatTransport({ fetch: () => Promise.resolve(new Response(text)) });
  const stream = (await transport.reconnectToStream({ chatId: "c" })) as ReadableStream<UIMessageChunk>;
  let last: UIMessage | undefined;
  for await (const one of sdk.readUIMessageStream({ stream, terminateOnError: true })) last = one;
  // Fields that are not set are no difference.
  return last === undefined ? undefined : (JSON.parse(JSON.stringify(last)) as UIMessage);
}

test("the parts of a message make the same message again", async () => {
  const parts = [start("m"), ...priorParts(message, true)];
  expect(await rebuilt(ai7, parts)).toEqual(message);
});

test("in version 6, a call that was approved looks like a call, and not like an open question", async () => {
  const parts = [start("m"), ...priorParts(message, false)];
  const made = await rebuilt(ai6 as unknown as typeof ai7, parts);
  expect(made?.parts.map(({ type }) => type)).toEqual(message.parts.map(({ type }) => type));
  const states = made?.parts.flatMap((part) => (ai7.isToolUIPart(part) ? [part.state] : []));
  expect(states).toEqual([
    "output-available",
    "output-error",
    "output-available",
    "input-available",
    "approval-requested",
    "input-available",
    "output-available",
    "output-denied",
    "output-error",
  ]);
});

test("what is no part of the protocol is left out", () => {
  expect(priorParts({ parts: [null, 1, {}, { type: "unheard-of" }, { type: 3 }] }, true)).toEqual([]);
  expect(priorParts({ parts: "text" }, true)).toEqual([]);
});

function streamOf(parts: readonly Part[]): ReadableStream<Part> {
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** The parts that a program's UI stream is recorded as. */
async function recorded(parts: readonly Part[]): Promise<Part[]> {
  const lab = new Lab();
  await lab.drive((ctx) => chatStream(ctx, streamOf(parts)));
  const entries = await lab.entries();
  const chunks = entries.flatMap((entry) => (entry.kind === "stream.chunks" ? entry.chunks : []));
  return chunks.flatMap((chunk) => partsOf(chunk as PartChunk));
}

test("a recorded stream begins with a start, and all its starts name one message", async () => {
  const data = { type: "data-note", data: 1 };
  const own = start("msg-r");
  expect(await recorded([start(), data])).toEqual([own, data]);
  expect(await recorded([data, start(), start("b")])).toEqual([own, data, own, own]);
  expect(await recorded([start("a"), data, start("b"), start()])).toEqual([
    start("a"),
    data,
    start("a"),
    start("a"),
  ]);
  expect(await recorded([])).toEqual([]);
});

test("the id for a program that saves its messages", () => {
  const input = (messages: unknown[], trigger = "submit-message", body = {}): ChatInput => ({
    chatId: "c",
    messages,
    trigger,
    body,
  });
  const ctx = { runId: "r" };
  const [user, assistant] = [
    { id: "u", role: "user", parts: [] },
    { id: "a", role: "assistant", parts: [] },
  ];
  expect(chatMessageId(ctx)).toBe("msg-r");
  expect(chatMessageId(ctx, input([user]))).toBe("msg-r");
  expect(chatMessageId(ctx, input([user, assistant]))).toBe("a");
  expect(chatMessageId(ctx, input([user, assistant], "regenerate-message"))).toBe("msg-r");
  expect(chatMessageId(ctx, input([assistant, user]))).toBe("msg-r");
  // An approval of an earlier message.
  expect(chatMessageId(ctx, input([assistant, user], "submit-message", { messageId: "a" }))).toBe("a");
  expect(chatMessageId(ctx, input([null, 3]))).toBe("msg-r");
});
