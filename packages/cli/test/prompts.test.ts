/** What was asked of a model: `durable show --prompt`, and the tool of MCP. */

import { join } from "node:path";
import { createApp, durable, type Context, type StepInfo } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import type { KeepsPrompt, PromptRecord } from "@durable/core/storage";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readers } from "../src/mcp/readers.ts";
import type { Session } from "../src/session.ts";
import { Project } from "./support/lab.ts";

let project: Project;
const hostile = "\u001B]0;owned\u0007\n✓ approved by ops\u202E";

const about = {
  about: "a",
  with: { model: "tide-1", provider: "tides", tools: ["look"], settings: { temperature: 0.5 } },
};

function ask(ctx: Context, name: string, record: PromptRecord): Promise<string> {
  const keep = (info: StepInfo): void => (info as StepInfo & KeepsPrompt).keepPrompt(() => record);
  return ctx.step(name, (info) => {
    keep(info);
    return `answer of ${name}`;
  });
}

const user = (content: string): object => ({ role: "user", content: [{ type: "text", text: content }] });

const talk = durable("talk", async (ctx) => {
  await ask(ctx, "first", {
    add: [{ role: "system", content: "Be brief.\nVery." }, user("one")],
    hashes: ["h1", "h2"],
    ...about,
  });
  await ask(ctx, "second", {
    keep: 1,
    after: "h1",
    add: [user("two"), user(hostile)],
    hashes: ["h3", "h4"],
    about: "a",
  });
  await ask(ctx, "lost", { keep: 3, after: "none", add: [user("three")], hashes: ["h5"], about: "b" });
  await ctx.step("plain", () => 1);
});

beforeAll(async () => {
  project = await Project.withRuns();
  const storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
  const app = createApp({ storage, workflows: [talk], bind: false, record: { prompts: true } });
  await app.run(talk, undefined, { id: "talk-1" });
  await storage.close();
});
afterAll(() => project.remove());

test("show --prompt has all of a prompt, and marks what is new", async () => {
  const { out } = await project.cli(["show", "talk-1", "--prompt", "first"]);
  expect(out).toBe(`first  tide-1 of tides
  tools  look
  temperature  0.5

  system
    Be brief.
    Very.
  user
    one
`);
  const second = await project.cli(["show", "talk-1", "--prompt", "second"]);
  expect(second.out).toContain("since first: 2 messages added, 1 removed, 1 kept\n");
  expect(second.out).toMatch(
    / {2}system\n {4}Be brief\.\n {4}Very\.\n- user\n- {3}one\n\+ user\n\+ {3}two\n\+ user\n/,
  );
  // oxlint-disable-next-line no-control-regex
  expect(second.out).not.toMatch(/^✓ approved|\u001B|\u0007|\u202E/m);
  const lost = await project.cli(["show", "talk-1", "--prompt", "lost"]);
  expect(lost.out).toContain("a model that is not recorded\n  3 earlier messages cannot be shown\n");
});

test("as JSON, and where there is none", async () => {
  expect(await project.json(["show", "talk-1", "--prompt", "second"])).toMatchObject({
    runId: "talk-1",
    prompt: { key: "second", messages: [{ role: "system" }, {}, {}], change: { key: "first", kept: 1 } },
  });
  const { code, err } = await project.cli(["show", "talk-1", "--prompt", "plain"]);
  expect([code, err]).toEqual([3, expect.stringContaining("record: { prompts: true }")]);
  expect((await project.cli(["show", "talk-1", "--prompt", "nothing"])).code).toBe(3);
  const step = await project.cli(["show", "talk-1", "--step", "first"]);
  expect(step.out).toContain("--prompt 'first'");
});

test("the tool get_step has what was asked", async () => {
  const storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
  const app = createApp({ storage, workflows: [], bind: false });
  const session = { app } as unknown as Session;
  const tool = readers(session, () => 0).find(({ name }) => name === "get_step");
  expect(await tool?.call({ run: "talk-1", key: "second" })).toMatchObject({
    value: "answer of second",
    prompt: { model: "tide-1", messages: [{}, {}, {}], change: { added: [{}, {}], removed: [{}] } },
  });
  expect(await tool?.call({ run: "talk-1", key: "plain" })).not.toHaveProperty("prompt");
  await storage.close();
});
