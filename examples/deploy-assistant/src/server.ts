/** The server: journal, workflow, worker and HTTP, put together. */

import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { createApp, createWorker, type Context } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { serve } from "@durable/http/node";
import { chooseModel, RunPrinter, type Environment, type Terminal } from "example-llm";
import { createAssistant } from "./assistant.ts";
import { readReleases } from "./catalogue.ts";
import { bundleFolder, type Config } from "./config.ts";
import { Site } from "./deployment.ts";
import { describe } from "./describe.ts";
import { oneLine, type Email } from "./email.ts";
import { outboxMailer, smtpMailer } from "./mailer.ts";
import { scriptFor } from "./script.ts";
import { createWebhook, type Answer } from "./webhook.ts";

export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function openServer(config: Config, env: Environment, out: Terminal): Promise<RunningServer> {
  const releases = readReleases(bundleFolder);
  const { model, line } = await chooseModel(env, { script: scriptFor(releases), pace: config.pace });
  const mailer =
    config.smtpUrl === null
      ? outboxMailer(config.outbox, config.own)
      : smtpMailer(config.smtpUrl, config.own);
  const assistant = createAssistant({
    model,
    mailer,
    releases,
    site: new Site(config.site, bundleFolder),
    people: config.people,
    timeout: config.approvalTimeout,
    watch: (ctx) => watch(ctx, out),
  });
  mkdirSync(dirname(config.journal), { recursive: true, mode: 0o700 });
  const storage = new SqliteStorage(config.journal);
  const app = createApp({ storage, workflows: [assistant] });
  const webhook = createWebhook({
    app,
    own: config.own,
    secrets: config.secrets,
    people: config.people,
    senderLimit: config.senderLimit,
    onAnswer: (email, answer) => out.line(answerText(out, email, answer)),
    onError,
  });
  const server = await serve(webhook, { port: config.port, hostname: config.hostname, onError });
  // The worker finds runs in the journal whose process died, whose answer was not processed, or whose time
  // has come.
  const worker = createWorker(app, { concurrency: 50, interval: 200 });
  showHead(out, { url: server.url, model: line, mailer: mailer.line, config });
  return {
    url: server.url,
    close: async () => {
      await server.close();
      await worker.stop();
    },
  };
}

function onError(error: unknown): void {
  console.error(error);
}

/** Several runs are active at once, so every line begins with its run. */
function watch(ctx: Context, out: Terminal): Context {
  const name = out.paint("dim", shortId(ctx.runId));
  const lines: Terminal = { ...out, line: (text = "") => out.line(`${name}${text}`), status: () => {} };
  return new RunPrinter(lines, { describe }).watch(ctx);
}

function shortId(runId: string): string {
  return runId.slice(0, 13);
}

function answerText(out: Terminal, email: Email | null, { status, runId }: Answer): string {
  const what =
    email === null ? "an event of another type" : `${oneLine(email.from, 40)}: ${oneLine(email.subject, 50)}`;
  const whose = runId === undefined ? "no run".padEnd(13) : shortId(runId);
  // Aligned with the columns of the steps.
  return `${out.paint("dim", whose)}  webhook  ${out.paint("bold", status.padEnd(15))} ${what}`;
}

interface Head {
  readonly url: string;
  readonly model: string;
  readonly mailer: string;
  readonly config: Config;
}

function showHead(out: Terminal, { url, model, mailer, config }: Head): void {
  const trust =
    config.secrets.length > 0
      ? "signed requests only (WEBHOOK_SECRET)"
      : "unsigned requests are taken, from this machine only (no WEBHOOK_SECRET)";
  const facts = [
    ["webhook", `${url}/webhook`],
    ["trust", trust],
    ["people", config.people.line],
    ["model", model],
    ["mail", mailer],
    ["journal", config.journal],
    ["site", config.site],
  ];
  for (const [name = "", text = ""] of facts) out.line(`${out.paint("bold", name.padEnd(10))}${text}`);
  out.line();
}
