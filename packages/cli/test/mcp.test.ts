import { spawn } from "node:child_process";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Project, workflowsFile } from "./support/lab.ts";
import { bin, nodeArgs } from "./support/process.ts";

let project: Project;
beforeAll(async () => {
  project = await Project.withRuns();
});
afterAll(() => project.remove());

/** A real client, with the server in a process of its own. */
async function connect(args: readonly string[] = []) {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...nodeArgs, bin, "mcp", "--app", workflowsFile, ...args],
      cwd: project.folder,
      stderr: "ignore",
    }),
  );
  const call = async (name: string, given: object = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: { ...given } });
    const [first] = content as { type: string; text: string }[];
    return { isError: isError === true, text: first?.text ?? "" };
  };
  const value = async (name: string, given?: object) => {
    const { isError, text } = await call(name, given);
    expect(isError, text).toBe(false);
    return JSON.parse(text) as Record<string, unknown>;
  };
  return { client, call, value };
}

const reading = [
  "list_runs",
  "show_run",
  "get_step",
  "list_waits",
  "diff_runs",
  "plan_fork",
  "replay_run",
  "explain_error",
];

describe("durable mcp with a real client", () => {
  test("offers only tools that read, and they answer", async () => {
    const { client, call, value } = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(reading);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect((await value("list_runs", { status: "suspended" }))["runs"]).toHaveLength(2);
    expect(await value("show_run", { run: "@failed" })).toMatchObject({ runId: "sun-1", status: "failed" });
    expect(await value("get_step", { run: "tides-1", key: "search[news]/fetch" })).toMatchObject({
      attempts: [{ error: { message: "503 from the news service" } }, {}, {}],
    });
    expect(await value("list_waits", { run: "moon" })).toMatchObject({
      waits: [{ runId: "moon-1", state: "waiting", key: "approve", schema: { type: "object" } }],
      next: null,
    });
    expect(await value("diff_runs", { before: "tides-1", after: "tides-2" })).toMatchObject({
      calls: [{ key: "draft#2", change: "re-run" }, {}, {}, {}],
    });
    expect(await value("plan_fork", { run: "tides-1", from: "draft" })).toMatchObject({ blocked: null });
    expect(await value("replay_run", { run: "old-1" })).toMatchObject({ verdict: "diverged" });
    expect(await value("explain_error", { code: "poison" })).toMatchObject({ exit: 4 });
    const found = await value("list_runs", { where: "status:completed tides", limit: 1 });
    expect(found).toMatchObject({ runs: [{ runId: "tides-1" }], next: null });
    const first = await value("list_runs", { limit: 2 });
    const second = await value("list_runs", { limit: 3, cursor: first["next"] });
    expect([first, second].flatMap(({ runs }) => runs as object[])).toHaveLength(5);
    for (const [given, problem] of [
      [{ status: "nope" }, /"status" of list_runs is "nope": use one of running/],
      [{ where: "foo:bar" }, /"foo:bar" is not a filter/],
      [{ limit: 0 }, /use a number from 1 to 200/],
      [{ limit: "5" }, /use a whole number/],
      [{ tag: "a" }, /takes no "tag"/],
    ] as const)
      expect(await call("list_runs", given)).toMatchObject({
        isError: true,
        text: expect.stringMatching(problem),
      });
    expect(await value("get_step", { run: "tides-1", key: "plan", path: "attempts.0" })).toMatchObject({
      number: 1,
    });
    expect(await call("get_step", { run: "tides-1", key: "plan", path: "nothing" })).toMatchObject({
      isError: true,
    });
    const { structuredContent } = await client.callTool({ name: "show_run", arguments: { run: "@failed" } });
    expect(structuredContent).toMatchObject({ runId: "sun-1", status: "failed" });
    expect(await call("show_run", { run: "nothing" })).toMatchObject({ isError: true });
    expect(await call("show_run")).toMatchObject({ isError: true, text: 'show_run needs "run".' });
    await expect(call("resume_run", { run: "moon-1", value: { approved: true } })).rejects.toThrow("no tool");
    await client.close();
  });

  test("acts where it is allowed to", async () => {
    const { client, call, value } = await connect(["--allow", "resume,fork"]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([...reading, "resume_run", "fork_run"]);
    const wrong = await value("resume_run", { run: "moon-1", value: { approved: "perhaps" } });
    expect(wrong).toMatchObject({ status: "invalid" });
    expect(await value("resume_run", { run: "moon-1", key: "approve", value: { approved: true } })).toEqual({
      status: "accepted",
      run: "completed",
    });
    expect(await call("resume_run", { run: "moon-1", value: 1 })).toMatchObject({ isError: true });
    const forked = await value("fork_run", { run: "sun-1", edit: { approve: { approved: true } } });
    expect(forked).toMatchObject({ status: "completed" });
    await client.close();
  });

  test("retries, pauses, unpauses and sends where it may", async () => {
    const { client, call, value } = await connect(["--allow", "retry,pause,unpause,send"]);
    const { tools } = await client.listTools();
    expect(tools.slice(reading.length).map(({ name }) => name)).toEqual([
      "retry_run",
      "pause_run",
      "unpause_run",
      "send_message",
    ]);
    expect(await value("pause_run", { run: "tides-2", reason: "a look" })).toEqual({ status: "paused" });
    expect(await value("unpause_run", { run: "tides-2" })).not.toEqual({ status: "paused" });
    const sent = await value("send_message", {
      run: "tides-2",
      topic: "hints",
      payload: { be: "brief" },
      id: "h1",
    });
    expect(sent).toMatchObject({ status: "accepted" });
    expect(await call("retry_run", { run: "tides-1" })).toMatchObject({ isError: true });
    await client.close();
  });

  test("an agent that may only fork does not approve by an edit", async () => {
    const { client, call, value } = await connect(["--allow", "fork"]);
    const edit = { approve: { approved: true } };
    const refused = await call("fork_run", { run: "sun-1", edit });
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toMatch(
      /^forbidden: The edit answers the wait approve of run sun-1.*--allow resume,fork/,
    );
    // A plan changes nothing, and a step is not an answer.
    expect(await value("plan_fork", { run: "sun-1", edit })).toMatchObject({ blocked: null });
    expect(await value("fork_run", { run: "sun-1", edit: { plan: "another plan" } })).toMatchObject({
      status: "suspended",
    });
    await client.close();
  });

  test("refuses an unknown permission, and speaks no other methods", async () => {
    expect((await project.cli(["mcp", "--allow", "everything"])).code).toBe(2);
    const lines = [
      '{"jsonrpc":"2.0","id":1,"method":"resources/list"}',
      "not json",
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","id":2,"method":"ping"}',
    ];
    const { out } = await project.cli(["mcp"], { input: lines.join("\n") });
    const replies = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: number | null });
    expect(replies).toHaveLength(3);
    expect(replies).toContainEqual({ jsonrpc: "2.0", id: 2, result: {} });
    expect(replies.find(({ id }) => id === 1)).toMatchObject({ error: { code: -32_601 } });
  });
});

test("any line is survived, and a text with a separator of lines arrives whole", async () => {
  const lines = [
    "null",
    "5",
    "[]",
    '"x"',
    "{",
    "",
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"show_run","arguments":null}}',
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_runs","arguments":{"workflow":"a\u2028b"}}}',
    '{"jsonrpc":"2.0","id":4,"method":"ping"}',
  ];
  const server = spawn(process.execPath, [...nodeArgs, bin, "mcp", "--app", workflowsFile], {
    cwd: project.folder,
    stdio: ["pipe", "pipe", "ignore"],
  });
  server.stdin.end(`${lines.join("\n")}\n`);
  let out = "";
  for await (const chunk of server.stdout) out += String(chunk);
  const replies = out
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as { id: unknown; result?: unknown }]));
  expect(replies.filter(({ id }) => id === null)).toHaveLength(5);
  expect(
    replies
      .map(({ id }) => id)
      .filter((id) => id !== null)
      .toSorted((a, b) => Number(a) - Number(b)),
  ).toEqual([1, 2, 3, 4]);
  expect(replies.find(({ id }) => id === 4)?.result).toEqual({});
  expect(replies.find(({ id }) => id === 3)?.result).not.toMatchObject({ isError: true });
});
