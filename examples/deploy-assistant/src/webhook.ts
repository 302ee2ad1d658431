/**
 * `POST /webhook`: an incoming e-mail starts a run, or answers the wait whose token it carries.
 *
 * H1. The journal is the only memory: a messageId names its run, a token names its wait. A mail that is sent
 *     twice counts once.
 * H2. Write, then answer: what a 202 reports is durable, and the run continues in the background.
 * H3. No content of a mail causes a 5xx.
 */

import { createHash } from "node:crypto";
import type { App, ResumeResult } from "@durable/core";
import { errorResponse, HttpError, readJson, standardWebhooks, startOnce, webhook } from "@durable/http";
import { z } from "zod";
import { workflowName, type Reply } from "./assistant.ts";
import { addressIn, bareId, emailSchema, type Email } from "./email.ts";
import { sourcesIn, type Source } from "./inbound.ts";
import type { Mailbox } from "./mailer.ts";

export interface Answer {
  readonly status: "started" | "resumed" | "duplicate" | "ignored";
  readonly runId?: string;
}

export interface WebhookParts {
  readonly app: App;
  readonly own: Mailbox;
  /**
   * Standard Webhooks secrets, any of which may have signed; if empty, unsigned requests from this machine
   * are accepted.
   */
  readonly secrets: readonly string[];
  /** Called for every accepted mail. */
  readonly onAnswer?: (email: Email | null, answer: Answer) => void;
  readonly onError: (error: unknown) => void;
}

/** Longer bodies are cut. */
const longestBody = 64 * 1024;

const eventSchema = z.object({ type: z.string().min(1).max(200), email: z.unknown().optional() });

export function createWebhook(parts: WebhookParts): (request: Request) => Promise<Response> {
  const { secrets, onError } = parts;
  const receive = (event: unknown): Promise<Answer> => take(parts, event);
  const signed =
    secrets.length === 0
      ? null
      : webhook({ profile: standardWebhooks({ secrets }), onError }, (event) => receive(event.json()));
  return async (request) => {
    try {
      const { pathname } = new URL(request.url);
      if (pathname !== "/webhook") throw new HttpError("no-route", "Use POST /webhook.");
      if (request.method !== "POST")
        throw new HttpError("method-not-allowed", "Use POST.", { headers: { allow: "POST" } });
      if (signed !== null) return await signed(request);
      assertLocal(request);
      return Response.json(await receive(await readJson(request)), { status: 202 });
    } catch (error) {
      return errorResponse(error, onError);
    }
  };
}

/** A page in the user's browser can also reach this machine, but under another name in the Host header. */
function assertLocal(request: Request): void {
  const named = `http://${request.headers.get("host") ?? new URL(request.url).host}`;
  if (URL.canParse(named) && isLoopback(new URL(named).hostname)) return;
  throw new HttpError(
    "forbidden",
    "Unsigned requests are accepted under the name localhost only. Set WEBHOOK_SECRET, and sign them.",
  );
}

export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(hostname);
}

async function take(parts: WebhookParts, event: unknown): Promise<Answer> {
  const { type, email: given } = parsed(eventSchema, event, "");
  const email = type === "email.received" ? parsed(emailSchema, given, "email") : null;
  const answer: Answer = email === null ? { status: "ignored" } : await route(parts, email);
  parts.onAnswer?.(email, answer);
  return answer;
}

function parsed<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, 10).map(({ path, message }) => {
    const field = [where, ...path.map(String)].filter((part) => part !== "").join(".");
    return `${field || "the body"}: ${message}`;
  });
  throw new HttpError("invalid-body", `Not an event: ${issues.join("; ")}`, { details: { issues } });
}

async function route({ app, own, onError }: WebhookParts, email: Email): Promise<Answer> {
  // The assistant's own mail, returned by a forwarding rule, would be answered forever.
  if (addressIn(email.from)?.toLowerCase() === `${own.mailbox}@${own.domain}`.toLowerCase())
    return { status: "ignored" };
  const sources = sourcesIn(email, own.mailbox);
  if (sources.length === 0) return start(app, email);
  const reply: Reply = {
    from: email.from,
    body: email.body.slice(0, longestBody),
    messageId: email.messageId,
  };
  for (const source of sources) {
    const result = await offer(app, source, reply);
    if (result === null) continue;
    const runId = result.outcome?.runId ?? "";
    // The answer is durable. If this process dies before the run continues, a worker finds it.
    if (result.status === "accepted") void app.advance(runId).catch(onError);
    if (result.status === "accepted") return { status: "resumed", runId };
    return result.status === "duplicate" ? { status: "duplicate", runId } : { status: "ignored" };
  }
  return { status: "ignored" };
}

function start(app: App, email: Email): Promise<Answer> {
  const id = `deploy-${createHash("sha256").update(bareId(email.messageId)).digest("hex").slice(0, 32)}`;
  return startOnce(app, {
    workflow: workflowName,
    input: { ...email, body: email.body.slice(0, longestBody) },
    id,
  });
}

/** Offers the reply to the waits of a source's tokens; `null` when none of the tokens is valid. */
async function offer(app: App, { place, candidates }: Source, reply: Reply): Promise<ResumeResult | null> {
  let first: ResumeResult | null = null;
  for (const token of candidates) {
    // Without an id, so that the same mail again gets `duplicate` like any other answer to this wait.
    const result = await app.deliver(token, reply);
    if (result.status === "unknown") continue;
    // An address and a thread mean one wait. A text may quote older questions next to the open one.
    if (result.status === "accepted" || place !== "footer") return result;
    first ??= result;
  }
  return first;
}
