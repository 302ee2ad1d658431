/** H63: a webhook that arrives twice has one effect. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, createApp, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import {
  github,
  type Handler,
  slack,
  standardWebhooks,
  startOnce,
  stripe,
  verifyWebhook,
  webhook,
  webhookRunId,
  type WebhookProfile,
} from "@durable/http";
import { afterAll, describe, expect, test } from "vitest";
import { requestOf, type Signed, signGithub, signSlack, signStandard, signStripe } from "./support/signed.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-webhook-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = 1_700_000_000;
const key = Buffer.from("a key of the sender of 32 bytes!");
const body = '{"id":"evt_1","event_id":"Ev1","n":1}';

/** Each handler is like a process: it has its own app and connection on one file. */
function handlers(
  name: string,
  profile: WebhookProfile,
): { hooks: Handler[]; app: App; effects: () => number; clock: { now: number } } {
  let effects = 0;
  const clock = { now: at };
  const flow = durable("on-event", async (ctx, event: unknown) => {
    await ctx.step("effect", () => void (effects += 1));
    return event;
  });
  const apps = [0, 1].map(() =>
    createApp({ storage: new SqliteStorage(join(folder, `${name}.db`)), workflows: [flow] }),
  );
  const hooks = apps.map((app) =>
    webhook(
      { profile, now: () => clock.now * 1_000, onError: (error) => expect(error).toBeUndefined() },
      (event) => startOnce(app, { workflow: "on-event", input: event.json(), id: event.runId }),
    ),
  );
  return { hooks, app: apps[0] as App, effects: () => effects, clock };
}

const senders: Record<
  string,
  { profile: WebhookProfile; signed: Signed; resent: Signed; unsigned: Record<string, string> }
> = {
  "standard-webhooks": {
    profile: standardWebhooks({ secrets: key.toString("base64") }),
    signed: signStandard(key, "msg_1", at, body),
    // A sender signs a retry again.
    resent: signStandard(key, "msg_1", at + 200, body),
    unsigned: { "user-agent": "other", "x-request-id": "2" },
  },
  github: {
    profile: github({ secrets: "a secret of webhooks" }),
    signed: signGithub("a secret of webhooks", body),
    resent: signGithub("a secret of webhooks", body),
    unsigned: { "x-github-delivery": "00000000-0000-0000-0000-000000000000", "x-github-event": "other" },
  },
  stripe: {
    profile: stripe({ secrets: "a secret of webhooks" }),
    signed: signStripe("a secret of webhooks", at, body),
    resent: signStripe("a secret of webhooks", at + 200, body.replace('"n":1', '"n":1,"pending_webhooks":2')),
    unsigned: { "user-agent": "other" },
  },
  slack: {
    profile: slack({ secrets: "a secret of webhooks" }),
    signed: signSlack("a secret of webhooks", at, body),
    resent: signSlack("a secret of webhooks", at + 200, body),
    unsigned: { "x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout" },
  },
};

describe.each(Object.entries(senders))("%s", (name, { profile, signed, resent, unsigned }) => {
  test("H63 inside the tolerance, at both of its edges, with other unsigned headers, and signed again: one effect", async () => {
    const { hooks, app, effects, clock } = handlers(`${name}-replay`, profile);
    const answers: unknown[] = [];
    const send = async (request: Request, which = 0): Promise<void> => {
      const response = await (hooks[which] as Handler)(request);
      expect(response.status).toBe(202);
      answers.push(((await response.json()) as { repeated: boolean }).repeated);
    };
    // The sender's clock is 300 s ahead; the last replay comes twice the tolerance later.
    clock.now = at - 300;
    await send(requestOf(signed));
    await send(requestOf(signed));
    clock.now = at;
    await send(requestOf(signed, unsigned), 1);
    await send(requestOf(resent));
    clock.now = at + 300;
    await send(requestOf(signed, unsigned));
    expect(answers).toEqual([false, true, true, true, true]);
    const { runs } = await app.list();
    expect(runs.length).toBe(1);
    await app.get(runs[0]?.runId ?? "").result();
    expect(effects()).toBe(1);
  });

  test("H63 to two handlers at once, eight times each: one effect", async () => {
    const { hooks, app, effects } = handlers(`${name}-storm`, profile);
    const answers = await Promise.all(
      Array.from({ length: 16 }, async (_, i) => {
        const response = await (hooks[i % 2] as Handler)(requestOf(signed));
        return ((await response.json()) as { repeated: boolean }).repeated;
      }),
    );
    expect(answers.filter((repeated) => !repeated).length).toBe(1);
    const { runs } = await app.list();
    expect(runs.length).toBe(1);
    await app.get(runs[0]?.runId ?? "").result({ wait: true });
    expect(effects()).toBe(1);
  });

  test("a message with an invalid signature starts nothing, and the response gives no reason", async () => {
    const { hooks, app } = handlers(`${name}-forged`, profile);
    const replies = new Set<string>();
    for (const forged of [
      { ...signed, body: `${body} ` },
      { ...signed, headers: { "content-type": "application/json" } },
      { ...signed, body: `{"n":${"[".repeat(100_000)}` },
    ]) {
      const response = await (hooks[0] as Handler)(requestOf(forged));
      expect(response.status).toBe(401);
      replies.add(JSON.stringify([[...response.headers], await response.text()]));
    }
    expect(replies.size).toBe(1);
    expect((await app.list()).runs).toEqual([]);
  });
});

test("H63 a replayed answer, by its id, is one answer", async () => {
  const storage = new SqliteStorage(join(folder, "answers.db"));
  const flow = durable("ask", (ctx) => ctx.suspend<{ n: number }>("reply"));
  const app = createApp({ storage, workflows: [flow] });
  const run = await app.start("ask", undefined, { id: "a" });
  await run.result().catch(() => {});
  const outcome = await run.outcome();
  const token = outcome.status === "suspended" ? (outcome.waiting[0]?.token ?? "") : "";
  const hook = webhook(
    { profile: standardWebhooks({ secrets: key.toString("base64") }), now: () => at * 1_000 },
    async (event) => {
      const { status, repeated } = await app.resume(token, event.json(), { id: event.id });
      return { status, repeated };
    },
  );
  const statuses = [];
  for (const signed of [
    signStandard(key, "m1", at, body),
    signStandard(key, "m1", at + 1, body),
    signStandard(key, "m2", at, body),
  ])
    statuses.push(await (await hook(requestOf(signed))).json());
  expect(statuses).toEqual([
    { status: "accepted", repeated: false },
    { status: "accepted", repeated: true },
    { status: "duplicate", repeated: false },
  ]);
  expect((await app.get("a").entries()).filter(({ kind }) => kind === "suspend.resolved").length).toBe(1);
});

test("run ids of two senders, and of two messages, are never the same", async () => {
  const ids = await Promise.all([
    webhookRunId("github", "x"),
    webhookRunId("stripe", "x"),
    webhookRunId("github", "y"),
    webhookRunId("a", "1:b"),
    webhookRunId("a1", ":b"),
  ]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(await webhookRunId("github", "x")).toBe(ids[0]);
  const profile = github({ secrets: "a secret of webhooks", name: "repo-a" });
  const event = await verifyWebhook(requestOf(signGithub("a secret of webhooks", body)), { profile });
  expect(event.runId).toBe(await webhookRunId("repo-a", event.id));
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/);
});

test("a webhook answers what its handle gives, and 500 when it throws", async () => {
  const errors: unknown[] = [];
  const profile = github({ secrets: "a secret of webhooks" });
  const answers: (() => unknown)[] = [
    () => undefined,
    () => ({ runId: "r", when: new Date(0) }),
    () => new Response("challenge", { status: 200 }),
    () => Promise.reject(new Error("/srv/private")),
  ];
  const seen = [];
  for (const answer of answers) {
    const hook = webhook({ profile, onError: (error) => errors.push(error) }, answer);
    const response = await hook(requestOf(signGithub("a secret of webhooks", body)));
    seen.push([response.status, await response.text()]);
  }
  expect(seen).toEqual([
    [202, '{"status":"accepted"}'],
    [202, '{"runId":"r","when":"1970-01-01T00:00:00.000Z"}'],
    [200, "challenge"],
    [500, expect.not.stringContaining("private") as string],
  ]);
  expect(errors.length).toBe(1);
});

test("a body that holds is still parsed within limits", async () => {
  const profile = github({ secrets: "a secret of webhooks" });
  const hook = webhook({ profile }, (event) => event.json());
  for (const [text, status] of [
    ["[".repeat(100_000), 400],
    ["{not json", 400],
    ['{"a":1}', 202],
  ] as const)
    expect((await hook(requestOf(signGithub("a secret of webhooks", text)))).status).toBe(status);
});
