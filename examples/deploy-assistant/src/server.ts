/** The server: journal, workflow, worker and HTTP, put together. */

import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { createApp, createWorker } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { serve } from "@durable/http/node";
import { chooseModel, RunPrinter, watching, type Environment, type Terminal } from "example-llm";
import { oneLine, outboxMailer, smtpMailer, type Email } from "example-mail";
import { createAssistant } from "./assistant.ts";
import { readReleases } from "./catalogue.ts";
import { bundleFolder, readConfig } from "./config.ts";
import { Site } from "./deployment.ts";
import type { Proposal } from "./plan.ts";
import { scriptFor } from "./script.ts";
import { createWebhook, type Answer } from "./webhook.ts";

export async function openServer(env: Environment, out: Terminal): Promise<{ close(): Promise<void> }> {
  const config = readConfig(env);
  const { own, outbox, smtpUrl, people, journal, site, secrets, senderLimit, timeout, hostname, port } =
    config;
  const releases = readReleases(bundleFolder);
  const { model, line } = await chooseModel(env, { script: scriptFor(releases), pace: config.pace });
  const mailer = smtpUrl === null ? outboxMailer(outbox, own) : smtpMailer(smtpUrl, own);
  const parts = { model, mailer, releases, people, timeout, site: new Site(site, bundleFolder) };
  // Several runs are active at once, so every line begins with its run.
  const assistant = watching(createAssistant(parts), (ctx) => {
    const name = out.paint("dim", ctx.runId.slice(0, 13));
    const lines = { ...out, line: (text = "") => out.line(`${name}${text}`), status: () => {} };
    return new RunPrinter(lines, { describe }).watch(ctx);
  });
  mkdirSync(dirname(journal), { recursive: true, mode: 0o700 });
  const app = createApp({
    storage: new SqliteStorage(journal),
    workflows: [assistant],
    hooks: {
      onEnd: ({ runId, outcome, error }) => {
        const why = error instanceof Error ? error.message : String(error);
        if (outcome === "failed") out.line(lineOf(out, runId, ["run", outcome, why]));
      },
    },
  });
  const onAnswer = (email: Email | null, answer: Answer): void => out.line(answerText(out, email, answer));
  const onError = console.error;
  const webhook = createWebhook({ app, own, secrets, people, senderLimit, onAnswer, onError });
  const server = await serve(webhook, { port, hostname, onError });
  // Finds runs in the journal whose process died, whose answer was not processed, or whose time has come.
  const worker = createWorker(app, { concurrency: 50, interval: 200 });
  const signed = secrets.length > 0;
  const facts = {
    webhook: `${server.url}/webhook`,
    trust: signed
      ? "signed requests only (WEBHOOK_SECRET)"
      : "unsigned requests are taken, from this machine only (no WEBHOOK_SECRET)",
    people:
      people === null
        ? "anybody may ask, and only the sender of a request may approve it (no MAY_ASK and MAY_APPROVE): this machine only"
        : `${counted(people.askers)} may ask (MAY_ASK), ${counted(people.approvers)} may approve (MAY_APPROVE)`,
    model: line,
    mail: mailer.line,
    journal,
    site,
  };
  for (const [name, text] of Object.entries(facts)) out.line(`${out.paint("bold", name.padEnd(10))}${text}`);
  out.line();
  return {
    close: async () => {
      await server.close();
      await worker.stop();
    },
  };
}

function counted({ length }: readonly string[]): string {
  return length === 1 ? "1 address" : `${length} addresses`;
}

function answerText(out: Terminal, email: Email | null, { status, runId = "no run" }: Answer): string {
  const what =
    email === null ? "an event of another type" : `${oneLine(email.from, 40)}: ${oneLine(email.subject, 50)}`;
  return lineOf(out, runId, ["webhook", status, what]);
}

/** Aligned with the columns of the steps. */
function lineOf(out: Terminal, runId: string, [from, what, more]: readonly [string, string, string]): string {
  const run = out.paint("dim", runId.slice(0, 13).padEnd(13));
  return `${run}  ${from.padEnd(8)} ${out.paint("bold", what.padEnd(15))} ${more}`;
}

/** A step's value in a few words. */
function describe(key: string, value: unknown): string {
  if (key.startsWith("plan")) {
    const { plan } = value as Proposal;
    return plan === null ? "asks what is missing" : `proposes ${plan.version} to ${plan.environment}`;
  }
  if (typeof value !== "object" || value === null) return typeof value === "string" ? value : "";
  // A mail, a decision, or a check.
  return String(Object.entries(value).find(([name]) => ["via", "kind", "detail"].includes(name))?.[1] ?? "");
}
