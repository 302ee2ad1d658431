/**
 * `POST /webhook`: an incoming e-mail starts a run, or answers the wait whose token it carries.
 *
 * H1. The journal is the only memory: a messageId names its run, a token names its wait. A mail that is sent twice
 *     counts once.
 * H2. Write, then answer: what a 202 reports is durable, and the run continues in the background.
 * H3. No content of a mail causes a 5xx.
 * H4. A mail whose sender may not ask or approve, or is not the one it claims to be, starts nothing, answers nothing,
 *     and causes no mail: its sender may be forged.
 */

import type { App } from "@durable/core";
import {
  errorResponse,
  HttpError,
  readJson,
  standardWebhooks,
  startOnce,
  webhook,
  webhookRunId,
} from "@durable/http";
import { entriesOf, isAddressedHere } from "example-llm";
import {
  addressIn,
  bareId,
  emailIn,
  isGenuine,
  sourcesIn,
  type Email,
  type Mailbox,
  type Source,
} from "example-mail";
import { senderTag, workflowName, type Asked, type Reply } from "./assistant.ts";
import { approversOf, mayApprove, mayAsk, type People } from "./people.ts";

export interface Answer {
  readonly status: "started" | "resumed" | "duplicate" | "ignored";
  readonly runId?: string;
}

export interface WebhookParts {
  readonly app: App;
  readonly own: Mailbox;
  /** Standard Webhooks secrets, any of which may have signed. If empty, this machine may send unsigned requests. */
  readonly secrets: readonly string[];
  /** Who may ask and who may approve; without it, anybody may ask, and the sender of a request may approve it. */
  readonly people?: People;
  /** How many conversations one sender may start in an hour; without it, any number. */
  readonly senderLimit?: number;
  /** Called for every accepted mail. */
  readonly onAnswer?: (email: Email | null, answer: Answer) => void;
  readonly onError: (error: unknown) => void;
}

const notHere =
  "Unsigned requests are accepted under the name localhost only. Set WEBHOOK_SECRET, and sign them.";
const ignored: Answer = { status: "ignored" };
const hourMs = 60 * 60_000;

export function createWebhook(parts: WebhookParts): (request: Request) => Promise<Response> {
  const { secrets, onError, onAnswer } = parts;
  const receive = async (event: unknown): Promise<Answer> => {
    const email = emailIn(event);
    const answer = email === null ? ignored : await route(parts, email);
    onAnswer?.(email, answer);
    return answer;
  };
  const profile = secrets.length === 0 ? null : standardWebhooks({ secrets });
  const signed = profile && webhook({ profile, onError }, (event) => receive(event.json()));
  return async (request) => {
    try {
      if (new URL(request.url).pathname !== "/webhook") throw new HttpError("no-route", "Use POST /webhook.");
      if (request.method !== "POST")
        throw new HttpError("method-not-allowed", "Use POST.", { headers: { allow: "POST" } });
      if (signed !== null) return await signed(request);
      if (!isAddressedHere(request)) throw new HttpError("forbidden", notHere);
      return Response.json(await receive(await readJson(request)), { status: 202 });
    } catch (error) {
      return errorResponse(error, onError);
    }
  };
}

async function route(parts: WebhookParts, email: Email): Promise<Answer> {
  const { own, people = null } = parts;
  const sender = addressIn(email.from);
  // The assistant's own mail, returned by a forwarding rule, would be answered forever.
  const isOwn = sender.toLowerCase() === `${own.mailbox}@${own.domain}`.toLowerCase();
  if (isOwn || !isGenuine(email)) return ignored;
  const sources = sourcesIn(email, own.mailbox);
  if (sources.length === 0) return mayAsk(people, sender) ? start(parts, email) : ignored;
  return people !== null && !mayApprove(people, sender, "") ? ignored : answer(parts, email, sources);
}

/** One mail of one sender is one run. The sender is part of its id, so that nobody can take the id of another's mail. */
async function start({ app, people = null, senderLimit }: WebhookParts, email: Email): Promise<Answer> {
  const sender = addressIn(email.from);
  const id = await webhookRunId("deploy", `${sender.toLowerCase()}\n${bareId(email.messageId)}`);
  if (senderLimit !== undefined) {
    // Counted in the journal, by every server on it. A mail that has its run already is never too many.
    const since = { tags: senderTag(email), createdAfter: app.world.now() - hourMs, limit: senderLimit };
    const { runs } = await app.list({ workflow: workflowName, ...since });
    if (runs.length >= senderLimit && (await entriesOf(app.get(id))).length === 0) return ignored;
  }
  const input: Asked = { ...email, ...(people && { approvers: approversOf(people, sender) }) };
  const { runId, repeated } = await startOnce(app, { workflow: workflowName, input, id });
  return { status: repeated ? "duplicate" : "started", runId };
}

/** Offers the reply to the waits of the first source with a valid token. */
async function answer(parts: WebhookParts, email: Email, sources: readonly Source[]): Promise<Answer> {
  const { app, onError } = parts;
  const { from, body, messageId } = email;
  const reply: Reply = { from, body, messageId };
  for (const { place, candidates } of sources) {
    let known: Answer | null = null;
    for (const token of candidates) {
      // Without an id, so that the same mail again gets `duplicate` like any other answer to this wait.
      const { status, outcome } = await app.resume(token, reply, { drive: false });
      const runId = outcome?.runId ?? "";
      if (status === "accepted") {
        // The answer is durable. If this process dies before the run continues, a worker finds it.
        void app.advance(runId).catch(onError);
        return (await mayDecide(parts, email, runId)) ? { status: "resumed", runId } : ignored;
      }
      if (status !== "unknown") known ??= status === "duplicate" ? { status, runId } : ignored;
      // An address and a thread mean one wait. A text may quote older questions next to the open one.
      if (known !== null && place !== "footer") return known;
    }
    if (known !== null) return known;
  }
  return ignored;
}

/** Without lists only the run knows who may approve it: its wait has refused the reply, and stays open. */
async function mayDecide(
  { app, people = null }: WebhookParts,
  email: Email,
  runId: string,
): Promise<boolean> {
  if (people !== null) return true;
  const [first] = await app.get(runId).entries();
  const { from } = (first as { readonly input: Asked }).input;
  return mayApprove(people, addressIn(email.from), addressIn(from));
}
