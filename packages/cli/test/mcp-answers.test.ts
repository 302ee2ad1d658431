/** What an agent on MCP may not answer: no tool but those of `resume` and `send` answers a wait or sends a message, also not by a fork. */

import { createApp, durable, MemoryStorage, type App } from "@durable/core";
import { expect, test } from "vitest";
import { toolsOf } from "../src/mcp/tools.ts";
import { actions, type Allowable } from "../src/mcp/writers.ts";

const ask = durable("ask", async (ctx) => {
  const answer = await ctx.suspend("approve");
  return ctx.step("act", () => ["acted", answer]);
});
const family = durable("family", async (ctx) => [
  await ctx.step("draft", () => "draft"),
  await ctx.child(ask, undefined, { name: "kid" }),
]);
const letter = durable("letter", async (ctx) => ["read", await ctx.receive("mail")]);

async function prepared(): Promise<App> {
  const app = createApp({
    storage: new MemoryStorage(),
    secret: "only for this test, 32 characters",
    workflows: [ask, family, letter],
    bind: false,
  });
  for (const flow of [ask, family, letter]) await app.run(flow, undefined, { id: flow.name });
  return app;
}

/** What a tool says: its result, or the code and message of its refusal. */
async function call(app: App, allowed: readonly Allowable[], name: string, args: object): Promise<string> {
  const session = { app, prices: undefined } as unknown as Parameters<typeof toolsOf>[0];
  const tool = toolsOf(session, new Set(allowed), () => app.world.now()).find((one) => one.name === name);
  if (tool === undefined) return "not offered";
  return tool.call({ ...args }).then(
    (result) => JSON.stringify(result),
    (error: Error & { readonly code?: string }) => `${error.code}: ${error.message}`,
  );
}

const wait = { approve: "yes" };
const kid = { kid: "yes" };
const inKid = { "kid/approve": "yes" };
const mail = { mail: "yes" };

test.each<readonly [string, object, Allowable[], RegExp]>([
  ["ask", wait, ["fork"], /^forbidden: .*--allow resume,fork/],
  ["ask", wait, ["fork", "send"], /^forbidden: .*--allow resume,fork/],
  ["ask", { "approve ": "yes" }, ["fork"], /^(?!forbidden)\S+: /],
  ["ask", { ...wait, act: "done" }, ["fork"], /^unknown-step: /],
  ["ask", { act: "acted" }, ["fork"], /^(?!forbidden)\S+: /],
  ["family", kid, ["fork"], /^forbidden: .*--allow resume,fork/],
  ["family", inKid, ["fork"], /^(forbidden|\S+: )/],
  [
    "family",
    { draft: "other", ...kid },
    ["fork", "wake", "cancel", "retry", "pause", "unpause", "send"],
    /^forbidden/,
  ],
  ["letter", mail, ["fork"], /^forbidden: .*--allow send,fork/],
  // The right to answer waits is not that to send messages, and the other way round.
  ["letter", mail, ["fork", "resume"], /^forbidden: .*--allow send,fork/],
])("a fork of %s with the edit %j is refused with %j", async (run, edit, allowed, refusal) => {
  const app = await prepared();
  expect(await call(app, allowed, "fork_run", { run, edit })).toMatch(refusal);
  const { runs } = await app.list();
  expect(runs.filter(({ status }) => status !== "suspended")).toEqual([]);
});

test.each<readonly [string, object, Allowable[]]>([
  ["ask", wait, ["fork", "resume"]],
  ["family", kid, ["fork", "resume"]],
  ["letter", mail, ["fork", "send"]],
])("a fork of %s with the edit %j runs with %j", async (run, edit, allowed) => {
  expect(await call(await prepared(), allowed, "fork_run", { run, edit })).toContain('"completed"');
});

test("nothing else answers: a wake, a retry, an unpause, a cancel, a fork from before, and what is not allowed", async () => {
  const app = await prepared();
  const others = actions.filter((action) => action !== "resume" && action !== "send");
  for (const run of ["ask", "family", "letter"]) {
    for (const name of ["resume_run", "send_message"])
      expect(await call(app, others, name, { run, key: "approve", value: "yes", topic: "mail" })).toBe(
        "not offered",
      );
    for (const name of ["wake_run", "retry_run", "pause_run", "unpause_run"])
      await call(app, others, name, { run });
    const forked = await call(app, others, "fork_run", {
      run,
      from: run === "ask" ? "approve" : undefined,
      edit: undefined,
    });
    expect(forked).not.toContain('"completed"');
    await call(app, others, "cancel_run", { run });
  }
  expect((await app.list({ status: "completed" })).runs).toEqual([]);
});
