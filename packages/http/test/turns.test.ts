/** Forks that begin at a turn of an agent, over HTTP. */

import { durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab, stopped } from "./support/lab.ts";

const agent = durable("agent", async (ctx) => {
  const answer = (text: string) => () => ({ content: [{ type: "text", text }], finishReason: "stop" });
  await ctx.step("one", answer("1"));
  await ctx.step("two", answer("2"));
});

test("a place may be a turn: for forks and plans, alone and in a list; anything else is refused", async () => {
  const { app, post } = lab({ workflows: [agent] });
  await app.run(agent, undefined, { id: "a" });
  const planned = await post("/runs/a/plan", { from: { turn: -1 } });
  const { calls } = (await planned.json()) as { calls: { key: string; what: string }[] };
  expect(calls.map(({ key, what }) => [key, what])).toEqual([
    ["one", "reused"],
    ["two", "runs"],
  ]);
  expect((await post("/runs/a/fork", { from: [{ turn: 1 }, "two"], id: "b" })).status).toBe(202);
  await stopped(app, "b");
  expect((await post("/runs/a/fork", { after: { turn: 1 }, id: "c" })).status).toBe(202);
  await stopped(app, "c");
  const none = await post("/runs/a/fork", { from: { turn: 3 } });
  expect([none.status, await none.text()]).toEqual([404, expect.stringContaining("It has 2 turns")]);
  for (const from of [{ turn: 1.5 }, { turn: "1" }, { turn: 1, key: "one" }, {}, [[{ turn: 1 }]], 1, null])
    expect((await post("/runs/a/fork", { from })).status, JSON.stringify(from)).toBe(400);
});
