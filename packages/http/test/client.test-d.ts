/** What a client knows from the type of an app. */

import { createApp, durable, type App } from "@durable/core";
import { createClient, type ClientOutcome, type JsonOf } from "@durable/http/client";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

const order = durable("order", async (_ctx, input: { item: string; due: Date }) => ({
  item: input.item,
  at: new Date(),
  seen: new Set([1]),
  prices: new Map([["a", 5n]]),
  bytes: new Uint8Array(),
  none: undefined,
}));
const tick = durable("tick", async () => {});
const mail = durable("mail", (ctx) => ctx.receive("note"), {
  messages: { note: z.object({ on: z.number() }) },
});
const app = createApp({ workflows: [order, tick, mail] });
const client = createClient<typeof app>({ url: "/api" });

test("names, inputs and outputs are those of the app, in JSON", async () => {
  const run = await client.start("order", { item: "pens", due: "2027-01-31" });
  expectTypeOf(await run.result()).toEqualTypeOf<{
    item: string;
    at: string;
    seen: number[];
    prices: (readonly [string, string])[];
    bytes: string;
    none: undefined;
  }>();
  expectTypeOf(await (await client.start("tick")).result()).toEqualTypeOf<null>();
  const outcome = await run.outcome();
  if (outcome.status === "completed") expectTypeOf(outcome.output.at).toEqualTypeOf<string>();
  // @ts-expect-error There is no such workflow.
  await client.start("ordr", { item: "pens", due: "2027-01-31" });
  // @ts-expect-error The input is not complete.
  await client.start("order", { item: "pens" });
  // @ts-expect-error JSON has no dates.
  await client.start("order", { item: "pens", due: new Date() });
  // @ts-expect-error The workflow needs an input.
  await client.start("order");
});

test("messages have the types of their topics", async () => {
  const run = client.get<"mail">("m");
  expectTypeOf<Parameters<typeof run.send>[0]>().toEqualTypeOf<"note">();
  await run.send("note", { on: 1 });
  // @ts-expect-error Not what the topic takes.
  await run.send("note", { on: "1" });
  // @ts-expect-error There is no such topic.
  await run.send("notes", { on: 1 });
});

test("a run by its id is one of any workflow, unless its workflow is named", async () => {
  const output = await client.get<"order">("o").result();
  expectTypeOf(output.item).toEqualTypeOf<string>();
  // @ts-expect-error The output of another workflow has no item.
  void (await client.get("o").result()).item;
});

test("without the type of an app all values are unknown", async () => {
  for (const plain of [createClient({ url: "/" }), createClient<Pick<App, keyof App>>({ url: "/" })]) {
    const run = await plain.start("any", { x: 1 });
    expectTypeOf(await run.result()).toEqualTypeOf<unknown>();
    expectTypeOf(run.outcome()).resolves.toExtend<ClientOutcome>();
  }
});

test("JSON of values", () => {
  expectTypeOf<JsonOf<{ a?: Date; b: readonly bigint[]; f: () => void }>>().toEqualTypeOf<{
    a?: string | undefined;
    b: readonly string[];
  }>();
  expectTypeOf<JsonOf<unknown>>().toEqualTypeOf<unknown>();
  expectTypeOf<JsonOf<"a" | null | undefined>>().toEqualTypeOf<"a" | null>();
});
