/** Results that a client sends for tools without `execute`: with `tools`, the handler lets only those pass that fit their schemas. */

import { MemoryStorage } from "@durable/core";
import { jsonSchema, tool } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { ChatOptions } from "../src/chat/index.ts";
import { Provider } from "./support/provider.ts";
import { RealChat, Wire } from "./support/real-chat.ts";
import { roundsServer, scripted } from "./support/rounds-server.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

type Part = Record<string, unknown>;
type Tools = NonNullable<ChatOptions["tools"]>;

const inputSchema = z.object({ round: z.number() });
const tools: Tools = { locate: tool({ inputSchema, outputSchema: z.string().max(20) }) };

/** A chat that waits for the result of the page's tool, and what the handler says to one. */
async function waiting(given: Tools | undefined) {
  const provider = await Provider.open(scripted);
  const options = given === undefined ? {} : { tools: given };
  const server = await roundsServer({
    storage: new MemoryStorage(),
    provider: provider.url,
    effect: () => {},
    options,
  });
  cleanUps.push(
    () => provider.close(),
    () => server.close(),
  );
  const chat = new RealChat(new Wire(server.api));
  await chat.sendMessage({ text: "locate" });
  const messages = JSON.parse(JSON.stringify(chat.messages)) as { id: string; parts: Part[] }[];
  const runs = async () => (await server.app.list({ workflow: "answer" })).runs.length;
  const before = await runs();
  const send = async (change: Part, id = chat.id) => {
    const last = messages.at(-1);
    const parts = last?.parts.map((part) => (part["type"] === "tool-locate" ? { ...part, ...change } : part));
    const body = JSON.stringify({ id, messages: [...messages.slice(0, -1), { ...last, parts }] });
    const headers = { "content-type": "application/json" };
    const response = await server.handler(new Request(server.api, { method: "POST", headers, body }));
    return { status: response.status, text: await response.text(), begun: (await runs()) - before };
  };
  return { send, chatId: chat.id };
}

const gave = (output: unknown): Part => ({ state: "output-available", output });
const refused = { status: 422, text: expect.stringContaining("invalid-tool-result") as string, begun: 0 };

describe("the result of a tool of the page", () => {
  test.each<readonly [string, Part]>([
    ["is of another type", gave({ system: "obey" })],
    ["is missing", { state: "output-available" }],
    ["is longer than its schema says", gave("x".repeat(21))],
    ["is an error without a text", { state: "output-error", errorText: { system: "obey" } }],
    ["is a first part that another one would replace", { ...gave(7), preliminary: true }],
  ])("that %s begins no run", async (_, change) => {
    const { send } = await waiting(tools);
    expect(await send(change)).toEqual(refused);
  });

  test("that fits begins the next turn, once", async () => {
    const { send } = await waiting(tools);
    expect(await send(gave("here"))).toMatchObject({ status: 200, begun: 1 });
    expect(await send(gave("here"))).toMatchObject({ status: 200, begun: 1 });
  });

  test("that is an error with a text begins the next turn", async () => {
    const { send } = await waiting(tools);
    expect(await send({ state: "output-error", errorText: "no permission" })).toMatchObject({ status: 200 });
  });

  test.each<readonly [string, Tools]>([
    ["has an execute function", { locate: tool({ inputSchema, execute: () => "server" }) }],
    ["is not one of the tools", { look: tool({ inputSchema }) }],
    ["is named as a member of every object", { constructor: tool({ inputSchema }) }],
  ])("is refused where that tool %s", async (_, given) => {
    const { send } = await waiting(given);
    expect(await send(gave("here"))).toEqual(refused);
  });

  test.each<readonly [string, Tools]>([
    [
      "a JSON schema with a check",
      { locate: { outputSchema: jsonSchema({ type: "string" }, { validate: isText }) } },
    ],
    ["a schema that is made when it is used", { locate: { outputSchema: () => z.string() } }],
    ["a schema whose check throws", { locate: { outputSchema: jsonSchema({}, { validate: throwing }) } }],
  ])("is checked against %s", async (_, given) => {
    const { send } = await waiting(given);
    expect(await send(gave(7))).toEqual(refused);
  });

  test("of a call whose answer is gone is checked, and its input is, too", async () => {
    const { send, chatId } = await waiting(tools);
    const other = `${chatId}-other`;
    expect(await send({ ...gave("here"), input: { round: "many" } }, other)).toEqual(refused);
    expect(await send(gave(7), other)).toEqual(refused);
    expect(await send(gave("here"), other)).toMatchObject({ status: 200 });
  });

  test("passes where its tool has no schema, or the handler no tools", async () => {
    for (const given of [undefined, { locate: {} }]) {
      const { send } = await waiting(given);
      expect(await send(gave({ any: "thing" }))).toMatchObject({ status: 200 });
    }
  });
});

function isText(value: unknown) {
  return typeof value === "string"
    ? ({ success: true, value } as const)
    : ({ success: false, error: new Error("not a text") } as const);
}

function throwing(): never {
  throw new Error("the check fails");
}
