/**
 * Somebody else than the chatter approves a tool of a chat, on any surface, while the answer streams. The server is killed
 * between the question and the approval.
 */

import { createApp } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, inject, onTestFinished, test } from "vitest";
import { toolsOf } from "../../packages/cli/src/mcp/tools.ts";
import type { Session } from "../../packages/cli/src/session.ts";
import { Project } from "../../packages/cli/test/support/lab.ts";
import type { Inbox, RunWaits } from "../../packages/dashboard/src/api.ts";
import { Site } from "../../packages/dashboard/test/support/ask.ts";
import { ApprovedChat, secret } from "./support/approved-chat.ts";

const yes = { approved: true };

interface Approver {
  readonly chat: ApprovedChat;
  readonly project: Project;
  readonly storage: SqliteStorage;
  readonly runId: string;
}

/** How each surface approves. None of them has the code of the chat, but for HTTP, which its server has. */
const approvers: Readonly<Record<string, (on: Approver) => Promise<void>>> = {
  HTTP: async ({ chat, runId }) => {
    const found = await fetch(`${chat.url}/durable/runs?waiting=true`);
    expect(await found.json()).toMatchObject({ runs: [{ runId, waits: { count: 1 } }] });
    const run = await fetch(`${chat.url}/durable/runs/${runId}`);
    const { waiting } = (await run.json()) as { waiting: { token: string }[] };
    const answer = await fetch(`${chat.url}/durable/resume/${waiting[0]?.token ?? ""}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ value: yes }),
    });
    expect(answer.ok).toBe(true);
  },
  "the command line": async ({ project, runId }) => {
    const args = ["resume", runId, "--data", JSON.stringify(yes), "--no-drive", "-s", "runs.db"];
    const said = await project.json(args, { now: Date.now(), env: { DURABLE_SECRET: secret } });
    expect(said).toMatchObject({ status: "accepted" });
  },
  "the dashboard": async ({ storage, runId }) => {
    const site = new Site({ app: createApp({ storage, secret, workflows: [] }) });
    const { items } = await site.get<Inbox>("inbox");
    expect(items).toMatchObject([{ runId }]);
    const [wait] = (await site.get<RunWaits>(`runs/${runId}/waits`)).waits;
    const key = wait?.key;
    expect((await site.post(`runs/${runId}/answer`, { key, value: yes })).status).toBe(200);
  },
  MCP: async ({ storage, runId }) => {
    const app = createApp({ storage, secret, workflows: [] });
    const session = { app, storage, place: null, label: "", appFile: null, prices: undefined };
    const tools = toolsOf(session as unknown as Session, new Set(["resume"]), Date.now);
    const call = async (name: string, args: object): Promise<unknown> =>
      tools.find((tool) => tool.name === name)?.call(args as never);
    expect(await call("list_waits", {})).toMatchObject({ waits: [{ runId }] });
    expect(await call("resume_run", { run: runId, value: yes })).toMatchObject({ status: "accepted" });
  },
};

test.each(Object.keys(approvers).slice(0, inject("full") ? 4 : 2))(
  "%s approves a tool of a chat, after its server was killed",
  { timeout: 60_000 },
  async (name) => {
    const project = new Project();
    const chat = await ApprovedChat.open(project.folder);
    const storage = new SqliteStorage(chat.journal);
    onTestFinished(async () => {
      await storage.close();
      await chat.close();
      project.remove();
    });
    const app = createApp({ storage, secret, workflows: [] });
    void chat.chat.sendMessage({ text: "pay it" });
    const waiting = async (): Promise<readonly string[]> =>
      (await app.list({ waiting: true })).runs.map(({ runId }) => runId);
    await expect.poll(waiting, { timeout: 20_000 }).toHaveLength(1);
    await expect.poll(() => chat.effects, { timeout: 20_000 }).toEqual(["told"]);
    await chat.kill();
    await chat.start();
    const [runId = ""] = await waiting();
    await approvers[name]?.({ chat, project, storage, runId });
    await chat.chat.until((page) => page.status === "ready" && (page.texts.at(-1) ?? "").endsWith("end."));
    // The page has the words before the end is recorded.
    const status = async (): Promise<string> => (await app.get(runId).outcome()).status;
    await expect.poll(status, { timeout: 20_000 }).toBe("completed");
    expect(await waiting()).toEqual([]);
    // The person was told at most once more than needed: the step may have been cut before its record.
    expect(chat.effects.filter((line) => line === "paid 40")).toHaveLength(1);
    expect(chat.effects.filter((line) => line === "told").length).toBeLessThanOrEqual(2);
    expect(chat.asked).toBeLessThanOrEqual(3);
  },
);
