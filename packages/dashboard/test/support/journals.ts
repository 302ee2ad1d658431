/** Real journals: the examples, run on any storage, and small workflows for what the examples do not show. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type App,
  type AnyWorkflow,
  createApp,
  durable,
  DurableError,
  type Run,
  type Storage,
} from "@durable/core";
import type { Prices } from "@durable/core/inspect";
import { scriptedModel } from "../../../../examples/llm/src/index.ts";
import { z } from "zod";
import { createAgent as createTideAgent } from "../../../../examples/agent-loop/src/agent.ts";
import { openHarbourOffice } from "../../../../examples/agent-loop/src/harbour-office.ts";
import { defaultQuestion, script as tideScript } from "../../../../examples/agent-loop/src/script.ts";
import { readDocuments } from "../../../../examples/agent-loop/src/search.ts";
import { createTools } from "../../../../examples/agent-loop/src/tools.ts";
import { createAgent as createCodingAgent } from "../../../../examples/coding-agent/src/agent.ts";
import { createCandidate } from "../../../../examples/coding-agent/src/candidate.ts";
import { script as codingScript } from "../../../../examples/coding-agent/src/script.ts";
import { task } from "../../../../examples/coding-agent/src/task.ts";
import { forks } from "../../../../examples/loan-underwriting/src/desk.ts";
import { createLoan, policies } from "../../../../examples/loan-underwriting/src/loan.ts";
import { script as loanScript } from "../../../../examples/loan-underwriting/src/script.ts";

export const prices: Prices = { scripted: { input: 3, output: 15 }, "model-x": { input: 3, output: 15 } };

export const secret = "a secret for tests that is long enough 8f2k";

const application = { applicant: "applicant 4711", property: "14 Mill Lane", amount: 248_000 };

const approval = z.object({
  approved: z.boolean(),
  audience: z.enum(["internal", "public"]).describe("who may read it"),
  budget: z.number().min(0).max(500).optional(),
  tags: z.array(z.string()).optional(),
  remark: z.string().max(280).optional(),
});

/** Workflows that the examples do not show: failures, sleeps, children, streams. */
function smallWorkflows(pace: number, gate: Promise<void>) {
  const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms * pace));
  const embed = durable("ingest", async (ctx, input: { file: string }) => {
    const text = await ctx.step("read", async () => {
      await wait(40);
      return `The text of ${input.file}`;
    });
    return ctx.step(
      "embed",
      async () => {
        await wait(60);
        throw new Error("The provider answered with 429", {
          cause: new Error("rate limit of 60 requests a minute"),
        });
      },
      { retry: { attempts: 3, delay: Math.max(1, 120 * pace), jitter: false }, input: text },
    );
  });
  const brief = durable("research-brief", async (ctx, topic: string) => {
    const plan = await ctx.step(
      "plan",
      async (info) => {
        await wait(80);
        info.meter({ model: "model-x", inputTokens: 1_200, outputTokens: 300, cachedInputTokens: 400 });
        return `A plan for ${topic}`;
      },
      { quota: "model-x" },
    );
    await ctx.map(
      ["web", "arxiv", "news"],
      (c, source) =>
        c.step("look", async () => {
          await wait(source === "web" ? 60 : 130);
          return `What ${source} says about ${topic}`;
        }),
      { name: "search", key: (source) => source },
    );
    const draft = await ctx.step(
      "draft",
      async (info) => {
        await wait(180);
        info.meter({ model: "model-x", inputTokens: 6_100, outputTokens: 1_400, cachedInputTokens: 4_000 });
        return {
          role: "assistant",
          messages: [
            { role: "system", content: "You write briefs. Cite sources." },
            { role: "user", content: `A brief on ${topic}, please. ${plan}` },
            {
              role: "assistant",
              content:
                "Tides are the regular rise and fall of the sea, caused by the Moon and the Sun [1]. Twice a month, when both pull in line, the range is largest [2].",
            },
          ],
        };
      },
      { quota: "model-x" },
    );
    const verdict = await ctx.suspend("approve", {
      schema: approval,
      timeout: "1 day",
      note: { question: "Publish this brief?", draft: draft.messages.at(-1)?.content, words: 31 },
    });
    return ctx.step("publish", () => ({ published: verdict.approved, on: new Date(0) }));
  });
  const nap = durable("newsletter", async (ctx) => {
    await ctx.step("collect", () => ["a", "b"]);
    await ctx.sleep("2 days", { name: "until Monday" });
    return ctx.step("send", () => "sent");
  });
  const child = durable("translate", async (ctx, language: string) => {
    await ctx.step("words", () => 120);
    return ctx.step("translate", () => `in ${language}`);
  });
  const parent = durable("publish", async (ctx) => {
    const text = await ctx.child(child, "German");
    return ctx.step("upload", () => text);
  });
  const order = durable("order", async (ctx, boxes: number) => {
    await ctx.step("pick", () => boxes);
    ctx.report({ picked: boxes, of: 5, next: "waits for the carrier" });
    const note = await ctx.receive<string>("carrier");
    return ctx.step("hand over", () => `to ${note}`);
  });
  const words = "Once upon a time the sea rose twice a day, and nobody asked why.".split(" ");
  const story = durable("story", async (ctx) => {
    const stream = ctx.stream("tell", async function* () {
      for (const word of words.slice(0, 8)) {
        await wait(20);
        yield { type: "text-delta", id: "1", delta: `${word} ` };
      }
      await gate;
      for (const word of words.slice(8)) yield { type: "text-delta", id: "1", delta: `${word} ` };
    });
    await stream;
    return "told";
  });
  return { embed, brief, nap, child, parent, order, story };
}

export interface Journals {
  readonly app: App;
  readonly close: () => Promise<void>;
  /** Lets the stream that is being written end. */
  readonly finishStory: () => void;
  /** The run that writes a stream now. */
  readonly startStory: () => Promise<void>;
}

/** Runs everything on this storage. A pace of 0 waits for nothing; `coding` also runs the agent that runs tests. */
export async function createJournals(
  storage: Storage,
  { pace = 0.3, coding: withCoding = true } = {},
): Promise<Journals> {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
  const office = await openHarbourOffice(300 * pace);
  let story: Run | undefined;
  let finishStory = (): void => {};
  const gate = new Promise<void>((resolve) => (finishStory = resolve));
  const small = smallWorkflows(pace, gate);
  const loan = createLoan(scriptedModel(loanScript, { pace }));
  const documents = readDocuments(
    fileURLToPath(new URL("../../../../examples/agent-loop/documents", import.meta.url)),
  );
  const tides = createTideAgent({
    model: scriptedModel(tideScript, { pace }),
    tools: createTools({ documents, harbourOffice: office.url, pace }),
  });
  const candidate = createCandidate({
    model: scriptedModel(codingScript, { pace }),
    scratch: join(folder, "scratch"),
  });
  const coding = createCodingAgent({ candidate, folder });
  const workflows: AnyWorkflow[] = [loan, tides, candidate, coding, ...Object.values(small)];
  const quotas = { "model-x": { requests: 20, tokens: 20_000, per: "1 hour" } } as const;
  const app = createApp({ storage, secret, workflows, quotas });

  await app.start("agent-loop", defaultQuestion, { id: "tides" }).then((run) => run.result());
  await decideLoan(app, "loan-7");
  const decision = await app.get("loan-7").fork({ ...forks.decision, id: "loan-7-cautious" });
  await decision.result();
  await app.get("loan-7").fork({ ...forks.credit, id: "loan-7-again" });
  await stopped(app, "loan-7-again");
  await app.start("loan-underwriting", { application, policy: policies.standard }, { id: "loan-8" });
  await stopped(app, "loan-8");
  if (withCoding) await app.start("coding-agent", task, { id: "coding" }).then((run) => run.result());
  await app.start("research-brief", "tides", { id: "brief-1" });
  await stopped(app, "brief-1");
  await app.start("ingest", { file: "harbour.pdf" }, { id: "ingest-1" });
  await stopped(app, "ingest-1");
  await app.start("newsletter", null, { id: "letter-46" });
  await stopped(app, "letter-46");
  await app.start("publish", null, { id: "publish-1" }).then((run) => run.result());
  await app.start("research-brief", "locks", { id: "brief-0" });
  await stopped(app, "brief-0");
  await app.cancel("brief-0", { reason: "no longer needed" });
  const tags = { customer: "42", team: "harbour, north" };
  await app.start("order", 3, { id: "order-42", tags });
  await stopped(app, "order-42");
  for (const [name, cron] of Object.entries({ digest: "0 9 * * 1", nightly: "30 2 * * *" }))
    await app.schedule(name, small.order, { cron, timezone: "Europe/Paris", input: 1 });
  await blockedRun(storage);
  return {
    app,
    finishStory,
    startStory: async () => {
      story = await app.start("story", null, { id: "story-1" });
    },
    close: async () => {
      finishStory();
      await story?.result();
      office.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function stopped(app: App, runId: string): Promise<void> {
  for (;;) {
    const { status } = await app.get(runId).outcome();
    if (status !== "running") return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function decideLoan(app: App, id: string): Promise<void> {
  await app.start("loan-underwriting", { application, policy: policies.standard }, { id });
  await stopped(app, id);
  const outcome = await app.get(id).outcome();
  if (outcome.status !== "suspended") throw new Error(`${id} is ${outcome.status}`);
  for (const { token } of outcome.waiting)
    await app.resume(token, { approved: true, comment: "seen it, sound" });
}

/** A run whose code was changed while it waited: its suspend point is gone. */
async function blockedRun(storage: Storage): Promise<void> {
  const before = durable("deploy", async (ctx) => {
    await ctx.step("build", () => "build 42");
    await ctx.suspend("approve");
  });
  const after = durable("deploy", async (ctx) => {
    await ctx.step("build", () => "build 42");
    await ctx.suspend("sign-off");
  });
  const parked = await before.with({ storage, secret }).run(undefined, { id: "deploy-42" });
  const app = createApp({ storage, secret, workflows: [after] });
  // The answer makes the run due.
  if (parked.status === "suspended") await app.resume(parked.waiting[0]?.token ?? "", true, { drive: false });
  const { status } = await app.advance("deploy-42");
  if (status !== "blocked") throw new DurableError("run-failed", `deploy-42 is ${status}`);
}
