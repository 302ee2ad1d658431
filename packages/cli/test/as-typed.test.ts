/** What the command line says is so, and what it says to type works. */

import { createApp, createWorker, durable, type App, type Context } from "@durable/core";
import { viewRun } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  cost as pageCost,
  count as pageCount,
  duration as pageDuration,
} from "../../dashboard/page/lib/format.ts";
import { createChatHandler } from "../../ai-sdk/src/chat/index.ts";
import { createAnswer } from "../../../examples/chat/src/answer.ts";
import type { Outbox } from "../../../examples/chat/src/outbox.ts";
import { scriptOf } from "../../../examples/chat/src/script.ts";
import { chooseModel } from "../../../examples/llm/src/index.ts";
import { duration, money, tokens } from "../src/text/format.ts";
import { Project, workflowsFile } from "./support/lab.ts";

/** A project with a journal of its own, and an app on it. */
async function fresh(
  workflows: Parameters<typeof createApp>[0]["workflows"],
): Promise<{ lab: Project; app: App }> {
  const lab = new Project();
  mkdirSync(join(lab.folder, ".durable"), { mode: 0o700 });
  const storage = new SqliteStorage(join(lab.folder, ".durable", "journal.db"));
  const app = createApp({ storage, workflows, bind: false });
  onTestFinished(async () => {
    await app.close();
    await storage.close();
    lab.remove();
  });
  return { lab, app };
}

test("without the code, what drives a run is said with --app; as said, it works", async () => {
  const lab = await Project.withRuns();
  onTestFinished(() => lab.remove());
  const found = await lab.cli(["doctor"]);
  expect(found.out).toContain("durable wake tides-2 --app <file>");
  expect((await lab.cli(["wake", "tides-2"])).err).toContain("durable wake tides-2 --app <file>");
  expect((await lab.cli(["resume", "moon-1", "--set", "approved=true"])).err).toContain(
    "durable wake moon-1 --app <file>",
  );
  const said = (await lab.cli(["doctor", "--app", workflowsFile])).out;
  const [, typed = ""] = /(wake moon-1 --app \S+)/.exec(said) ?? [];
  const woken = await lab.cli(typed.split(" "));
  expect(woken.code, woken.err).toBe(0);
  expect((await lab.json(["show", "moon-1"]))["run"]).toMatchObject({ status: "completed" });
});

test("a child is called a child, and a fork has its sign", async () => {
  const small = durable("small", (ctx) => ctx.step("one", () => 1));
  const large = durable("large", (ctx) => ctx.child(small, undefined));
  const { lab, app } = await fresh([small, large]);
  await app.run("large", undefined, { id: "top" });
  await app
    .get("top")
    .fork({ from: "small", id: "again" })
    .then((run) => run.result());
  const { out } = await lab.cli(["ls"]);
  const lines = out.split("\n");
  expect(lines.find((line) => line.includes("again ") && !line.includes("small"))).toContain("⑂ top");
  const children = lines.filter((line) => / small /.test(line));
  expect(children).toHaveLength(2);
  for (const line of children) {
    expect(line).toContain("child of");
    expect(line).not.toContain("⑂");
  }
});

test("a worker that stopped is named, with the time", async () => {
  const { lab, app } = await fresh([]);
  expect((await lab.cli(["workers"])).out).toContain("No worker has a name");
  const worker = createWorker(app, { name: "mail-1" });
  await vi.waitFor(async () => expect((await lab.cli(["workers"])).out).toMatch(/mail-1 +0 of/), {
    timeout: 60_000,
  });
  await worker.stop();
  const { out } = await lab.cli(["workers"], { now: Date.now() });
  expect(out).toContain("No worker with a name runs.");
  expect(out).toMatch(/mail-1 stopped .* ago, at \d\d:\d\d/);
  expect(await lab.json(["workers"])).toMatchObject({ workers: [], stopped: [{ name: "mail-1" }] });
});

test("copy says that it leaves schedules behind; in a target with newer runs, a copied one is where it belongs", async () => {
  const flow = durable("flow", (ctx) => ctx.step("one", () => 1));
  const { lab, app } = await fresh([flow]);
  await app.run("flow", undefined, { id: "yesterday" });
  await app.schedule("nightly", flow, { cron: "0 3 * * *", input: undefined });
  const other = new SqliteStorage(join(lab.folder, "other.db"));
  const there = createApp({ storage: other, workflows: [flow], bind: false });
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(createdAt + 2));
  await there.run("flow", undefined, { id: "today" });
  await there.close();
  await other.close();
  const said = await lab.cli(["copy", ".durable/journal.db", "other.db"]);
  expect(said.out + said.err).toMatch(/Schedules are not copied: make the 1 of the source/);
  const { runs } = await lab.json(["ls", "--store", "other.db"]);
  expect((runs as { runId: string }[]).map(({ runId }) => runId)).toEqual(["today", "yesterday"]);
});
const createdAt = Date.now();

/** As @durable/ai-sdk records the parts of a streamed answer. */
const parts = [
  [3, { type: "stream-start", warnings: [] }],
  [5, "text-delta", "t", ["The tide", " turns"]],
  [9, "text-delta", "t", [" at noon."]],
  [12, { type: "finish", finishReason: { unified: "stop" }, usage: {} }],
];

test("a streamed answer of a model is text in tail, show and MCP", async () => {
  const agent = durable("agent", async (ctx: Context) => {
    await ctx.stream("answer", async function* () {
      yield* parts;
    });
  });
  const { lab, app } = await fresh([agent]);
  await app.run("agent", undefined, { id: "a1" });
  const asked = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "get_step", arguments: { run: "a1", key: "answer" } },
  };
  const outs = [
    await lab.cli(["tail", "a1", "--no-follow"]),
    await lab.cli(["show", "a1", "--step", "answer"]),
    await lab.cli(["mcp"], { input: `${JSON.stringify(asked)}\n` }),
  ];
  for (const { out } of outs) expect(out).toContain("The tide turns at noon.");
  expect(outs[0]?.out).not.toContain("text-delta");
});

test("an answer of the chat example is text in tail, show, MCP and in an export for people", async () => {
  const { model } = await chooseModel({}, { script: scriptOf(), pace: 0 });
  const outbox = { send: () => Promise.resolve() } as unknown as Outbox;
  const { lab, app } = await fresh([createAnswer({ model, outbox })]);
  const parts = [{ type: "text", text: "Why are there two tides a day?" }];
  const body = { id: "c1", messages: [{ id: "m1", role: "user", parts }], trigger: "submit-message" };
  const chat = createChatHandler(app, { workflow: "answer", authorize: () => true });
  const headers = { "content-type": "application/json", host: "localhost" };
  const request = new Request("http://localhost/api/chat", {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const response = await chat(request);
  expect(response.status).toBe(200);
  await response.text();
  const [run] = (await app.list()).runs;
  const id = run?.runId ?? "";
  const words = "A harbour passes both, and has high water twice.";
  const key = viewRun(await app.get(id).entries()).rows.find(({ turn }) => turn === 1)?.key ?? "";
  const asked = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "get_step", arguments: { run: id, key } },
  };
  const outs = {
    tail: await lab.cli(["tail", id, "--no-follow"]),
    show: await lab.cli(["show", id, "--step", key]),
    mcp: await lab.cli(["mcp"], { input: `${JSON.stringify(asked)}\n` }),
    markdown: await lab.cli(["export", id, "--format", "md"]),
  };
  for (const [name, { out, err }] of Object.entries(outs)) expect(out + err, name).toContain(words);
  for (const name of ["tail", "markdown"] as const) expect(outs[name].out).not.toContain("text-delta");
  expect(outs.markdown.out.split(words)).toHaveLength(2);
});

test("--where finds by tag, and MCP by tag and time; list_waits pages through all waits", async () => {
  const ask = durable("ask", (ctx) => ctx.suspend("approve"));
  const { lab, app } = await fresh([ask]);
  for (let n = 0; n < 60; n++)
    await app.run("ask", undefined, { id: `w${n}`, tags: { plan: n % 20 === 0 ? "pro" : "free" } });
  const idsIn = (given: unknown): string[] => (given as { runId: string }[]).map(({ runId }) => runId);
  const { runs } = await lab.json(["ls", "--where", "tag:plan=pro"]);
  expect(idsIn(runs)).toEqual(["w40", "w20", "w0"]);
  const call = async (name: string, args: object): Promise<Record<string, unknown>> => {
    const asked = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
    const { out } = await lab.cli(["mcp"], { input: `${JSON.stringify(asked)}\n`, now: Date.now() });
    const { result } = JSON.parse(out) as { result: { structuredContent: Record<string, unknown> } };
    return result.structuredContent;
  };
  expect(idsIn((await call("list_runs", { where: "tag:plan=pro since:1h" }))["runs"])).toEqual([
    "w40",
    "w20",
    "w0",
  ]);
  expect(idsIn((await call("list_runs", { where: "tag:plan=pro until:1h" }))["runs"])).toEqual([]);
  const seen: string[] = [];
  for (let cursor: unknown; cursor !== null;) {
    const page = await call("list_waits", cursor === undefined ? {} : { cursor });
    seen.push(...idsIn(page["waits"]));
    cursor = page["next"];
  }
  expect(new Set(seen).size).toBe(60);
});

test("page and command line write one amount in one way", () => {
  const plain = (text: string): string =>
    text.replaceAll(" min", "m").replaceAll(" ", "").replace(".0s", "s");
  let ms = 1;
  for (let n = 0; n < 2_000; n++) {
    ms = (ms * 1.013 + n) % 400_000_000;
    const whole = Math.round(ms);
    expect(plain(duration(whole)), String(whole)).toBe(plain(pageDuration(whole)));
    const amount = ms / 10 ** (n % 9);
    expect(money(amount)).toBe(pageCost(amount));
    expect(tokens({ inputTokens: whole, outputTokens: n })).toBe(`${pageCount(whole)}/${pageCount(n)}`);
  }
});
