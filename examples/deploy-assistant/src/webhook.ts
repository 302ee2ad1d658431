/**
 * `POST /webhook`: an incoming e-mail starts a run, or answers the wait whose token it carries.
 *
 * H1. The journal is the only memory: a messageId names its run, a token names its wait. A mail that is sent
 *     twice counts once.
 * H2. Write, then answer: what a 202 reports is durable, and the run continues in the background.
 * H3. No content of a mail causes a 5xx.
 * H4. A mail whose sender may not ask or approve, or is not the one it claims to be, starts nothing, answers nothing,
 *     and causes no mail: its sender may be forged.
 */

import type { App, ResumeResult } from "@durable/core";
import { errorResponse, HttpError, readJson, standardWebhooks, startOnce, webhook } from "@durable/http";
import { z } from "zod";
import { workflowName, type Asked, type Reply } from "./assistant.ts";
import { bareId, emailSchema, type Email } from "./email.ts";
import { sourcesIn, type Source } from "./inbound.ts";
import type { Mailbox } from "./mailer.ts";
import { anybody, isGenuine, senderOf, type People } from "./people.ts";
import { isOverLimit, runIdOf } from "./sender-limit.ts";

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
  /** Who may ask and who may approve; without it, anybody may ask, and the sender of a request may approve it. */
  readonly people?: People;
  /** How many conversations one sender may start in an hour; without it, any number. */
  readonly senderLimit?: number;
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

async function route(parts: WebhookParts, email: Email): Promise<Answer> {
  const { own, people = anybody } = parts;
  const sender = senderOf(email);
  // The assistant's own mail, returned by a forwarding rule, would be answered forever.
  if (sender.toLowerCase() === `${own.mailbox}@${own.domain}`.toLowerCase()) return ignored;
  if (!isGenuine(email)) return ignored;
  const sources = sourcesIn(email, own.mailbox);
  if (sources.length > 0)
    return people.listed && !people.mayApprove(sender, "") ? ignored : answer(parts, email, sources);
  return people.mayAsk(sender) ? start(parts, email) : ignored;
}

const ignored: Answer = { status: "ignored" };

async function answer(parts: WebhookParts, email: Email, sources: readonly Source[]): Promise<Answer> {
  const { app, onError } = parts;
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
    if (result.status === "accepted")
      return (await mayDecide(parts, email, runId)) ? { status: "resumed", runId } : ignored;
    return result.status === "duplicate" ? { status: "duplicate", runId } : ignored;
  }
  return ignored;
}

/** Without lists only the run knows who may approve it: its wait has refused the reply, and stays open. */
async function mayDecide(
  { app, people = anybody }: WebhookParts,
  email: Email,
  runId: string,
): Promise<boolean> {
  if (people.listed) return true;
  const [first] = await app.get(runId).entries();
  return first?.kind === "run.started" && people.mayApprove(senderOf(email), senderOf(first.input as Asked));
}

async function start({ app, people = anybody, senderLimit }: WebhookParts, email: Email): Promise<Answer> {
  const sender = senderOf(email);
  const id = runIdOf(sender, bareId(email.messageId));
  if (await isOverLimit(app, id, senderLimit)) return ignored;
  const body = email.body.slice(0, longestBody);
  const input: Asked = {
    ...email,
    body,
    ...(people.listed && { approvers: people.approversOf(sender) }),
  };
  const { runId, repeated } = await startOnce(app, { workflow: workflowName, input, id });
  return { status: repeated ? "duplicate" : "started", runId };
}

/** Offers the reply to the waits of a source's tokens; `null` when none of the tokens is valid. */
async function offer(app: App, { place, candidates }: Source, reply: Reply): Promise<ResumeResult | null> {
  let first: ResumeResult | null = null;
  for (const token of candidates) {
    // Without an id, so that the same mail again gets `duplicate` like any other answer to this wait.
    const result = await app.resume(token, reply, { drive: false });
    if (result.status === "unknown") continue;
    // An address and a thread mean one wait. A text may quote older questions next to the open one.
    if (result.status === "accepted" || place !== "footer") return result;
    first ??= result;
  }
  return first;
}
