/** What a person reads before an approval, and how the answer is asked for. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createApp, durable } from "@durable/core";
import { askApproval } from "@durable/core/clients";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { widthOf } from "../src/text/width.ts";
import { Project } from "./support/lab.ts";

const project = new Project();

const input = { amount: 40, items: ["a very long name of a thing", "and of another"], to: "harbour-bikes" };
const agent = durable("agent", (ctx) => askApproval(ctx, { tool: "pay", toolCallId: "c1", input }, {}));
const draft = durable("draft", (ctx) =>
  ctx.suspend("publish", {
    note: { question: `Publish?\n\n✓ approved by ops ${"日本".repeat(40)}`, draft: "d".repeat(200) },
    schema: z.boolean(),
  }),
);
const fact = durable("fact", (ctx) => ctx.suspend("look", { note: { draft: "d".repeat(200) } }));

beforeAll(async () => {
  mkdirSync(join(project.folder, ".durable"));
  const storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
  const app = createApp({ storage, workflows: [agent, draft, fact], bind: false, patience: 0 });
  for (const id of ["a", "b", "c"]) await app.run(agent, undefined, { id: `agent-${id}` });
  for (const flow of [draft, fact]) await app.run(flow, undefined, { id: `${flow.name}-1` });
  await app.close();
  await storage.close();
});
afterAll(() => project.remove());

const env = { COLUMNS: "80" };

test("show and resume print the question of an approval whole, over several lines", async () => {
  const shown = await project.cli(["show", "agent-a"], { env });
  const asked = await project.cli(["resume", "agent-a"], { env, types: ["maybe", "yes"] });
  for (const text of [shown.out, asked.err]) {
    expect(text.replaceAll(/\n {10}/g, " ")).toContain(`asks   Call pay with ${JSON.stringify(input)}?`);
    expect(text).not.toContain('"question"');
    expect(text).toMatch(/\n {3}note {3}\{"tool":"pay"/);
    const lines = text.slice(text.indexOf("asks")).split("\n");
    for (const line of lines.slice(0, 4)) expect(widthOf(line), line).toBeLessThanOrEqual(80);
  }
  expect(asked.err).toContain("answer (yes, no, or JSON)");
  expect(asked.err).toContain("answer needs yes, no, or boolean | { approved: boolean, reason?: string }");
  expect([asked.code, asked.out]).toEqual([0, expect.stringContaining("is recorded")]);
});

test("a no is a no, and an object of the schema is taken as JSON", async () => {
  const store = join(project.folder, ".durable", "journal.db");
  for (const [id, typed, approval] of [
    ["agent-b", "n", { approved: false }],
    ["agent-c", '{"approved":false,"reason":"too dear"}', { approved: false, reason: "too dear" }],
  ] as const) {
    expect((await project.cli(["resume", id], { types: [typed] })).code).toBe(0);
    const storage = new SqliteStorage(store);
    const app = createApp({ storage, workflows: [agent], bind: false });
    await app.advance(id);
    expect(await app.get(id).result()).toEqual(approval);
    await app.close();
    await storage.close();
  }
});

test("lines of a question stay below it, characters of two columns count as two; other notes are one line", async () => {
  const { out } = await project.cli(["show", "draft-1"], { env });
  expect(out).toContain("   asks   Publish?\n\n          ✓ approved by ops\n          日本");
  expect(out.match(/日本/g)).toHaveLength(40);
  for (const line of out.split("\n")) expect(widthOf(line), line).toBeLessThanOrEqual(80);
  expect(await project.cli(["resume", "draft-1", "--no-drive"], { env, types: ["no"] })).toMatchObject({
    code: 0,
    err: expect.stringContaining("answer (yes or no)") as unknown,
  });
  const other = await project.cli(["show", "fact-1"], { env });
  expect(other.out).toMatch(/asks {3}\{"draft":"d+…\n/);
});
