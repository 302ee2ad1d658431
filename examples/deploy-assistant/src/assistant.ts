/**
 * The whole conversation as one workflow: read, propose, ask, wait; then deploy, check, and roll back if necessary.
 *
 * A1. The wait has its token before the mail is sent, and sending is a step of its own. A crash between the two sends
 *     the same mail again, never one with another token. A reply may arrive before the mail it answers is recorded.
 * A2. An answer counts only if it comes from a person who may approve. Any other leaves the wait open.
 * A3. Mail goes to the sender of the request and to the people who may approve it, and to no other address.
 * A4. Every round has its own wait. There are at most `maxRounds`, so that two robots do not write to each other
 *     forever.
 */

import { createHash } from "node:crypto";
import { durable, type Context, type Duration, type StepInfo, type Workflow } from "@durable/core";
import type { LanguageModel, ModelMessage } from "ai";
import { addressIn, bareId, decide, ownWords, type Email, type Mailer, type Sent } from "example-mail";
import { z } from "zod";
import type { Release } from "./catalogue.ts";
import { versionOf, type Deploys, type Health } from "./deployment.ts";
import * as messages from "./messages.ts";
import { mayApprove, mayAsk, type People } from "./people.ts";
import { propose, type Plan } from "./plan.ts";

export interface AssistantParts {
  readonly model: LanguageModel;
  readonly mailer: Mailer;
  readonly site: Deploys;
  readonly releases: readonly Release[];
  /** Who may approve; without it, the sender of a request. */
  readonly people?: People;
  /** How long to wait for an approval. */
  readonly timeout: Duration;
  /** How long to wait each time for another deployment to the same environment. */
  readonly pause?: Duration;
}

/** The input of a run: the request, and who was to be asked when it came, if there are lists. */
export type Asked = Email & { readonly approvers?: readonly string[] | undefined };

/** The answer to the wait. */
const replySchema = z.object({ from: z.string(), body: z.string(), messageId: z.string() });
export type Reply = z.output<typeof replySchema>;

export type Ending =
  | ({ readonly status: "deployed" | "rolled-back" | "busy" } & Plan)
  | { readonly status: "rejected" | "expired" | "gave-up" };

export const workflowName = "deploy-assistant";

/** By which the runs of a sender are counted. Tags are not encrypted, so it is not the address. */
export function senderTag(email: Pick<Email, "from">): { readonly sender: string } {
  const address = addressIn(email.from).toLowerCase();
  return { sender: createHash("sha256").update(address).digest("hex").slice(0, 32) };
}

const maxRounds = 10;
const maxPauses = 60;

export function createAssistant(parts: AssistantParts): Workflow<Asked, Ending> {
  const { model, releases, timeout, people = null } = parts;
  const body = async (ctx: Context, request: Asked): Promise<Ending> => {
    const post = postOf(ctx, parts, request);
    const schema = replySchema.refine(
      ({ from }) => mayApprove(people, addressIn(from), addressIn(request.from)),
      "is not from a person who may approve",
    );
    const said: ModelMessage[] = [
      { role: "user", content: `${request.subject}\n\n${ownWords(request.body)}` },
    ];
    for (let round = 1; round <= maxRounds; round++) {
      const think = ctx.step("plan", (info) => propose({ model, releases, messages: said }, info), limits);
      const proposal = await think;
      const { plan, message, risks } = proposal;
      const approval = ctx.suspend("approval", { schema, timeout, fallback: null, note: plan });
      post.token = approval.token; // known before the mail goes out, and the same after a crash
      await post.send(messages.question(request, proposal, round));
      const reply = await approval; // the process may end here
      if (reply === null) return post.end(messages.expired, { status: "expired" });
      post.heard(reply.messageId);
      const { kind, text } = await ctx.step("decide", () => decide(reply.body, reply.from));
      if (kind === "reject") return post.end(messages.rejected, { status: "rejected" });
      if (kind === "approve" && plan !== null) return deploy(ctx, parts, plan, post);
      const content = JSON.stringify({ message, version: null, environment: null, ...plan, risks });
      said.push({ role: "assistant", content }, { role: "user", content: text || "..." });
    }
    return post.end(messages.gaveUp, { status: "gave-up" });
  };
  return durable(workflowName, body, { tags: senderTag });
}

const limits = { timeout: "2m" } as const;

async function deploy(
  ctx: Context,
  { site, pause = "1s" }: AssistantParts,
  plan: Plan,
  post: ReturnType<typeof postOf>,
): Promise<Ending> {
  const { version, environment } = plan;
  await post.send(messages.started(plan));
  for (let tries = 1; !(await ctx.step("take-turn", () => site.takeTurn(environment, ctx.runId))); tries++) {
    if (tries === maxPauses) return post.end(messages.busy(plan), { status: "busy", ...plan });
    await ctx.sleep(pause);
  }
  let health: Health;
  const before = await ctx.step("look", () => site.live(environment));
  try {
    const name = await ctx.step("copy", (info) => site.copy(environment, version, info.idempotencyKey));
    await ctx.step("switch", () => site.point(environment, name));
    const check = ctx.step("check", ({ signal }) => site.check(environment, version, signal), limits);
    // A check that could not be made proves nothing, so it counts as one that failed.
    health = await check.catch((error: Error) => ({ healthy: false, detail: error.message }));
    if (!health.healthy) await ctx.step("roll-back", () => site.point(environment, before));
  } finally {
    // A step like any other: it runs once, and a replay finds it done.
    await ctx.step("give-turn", () => site.giveTurn(environment, ctx.runId));
  }
  const status = health.healthy ? "deployed" : "rolled-back";
  return post.end(messages.checked(plan, health, versionOf(before)), { status, ...plan });
}

/** The outgoing side of the conversation: its people, one thread, the token of the last wait. */
function postOf(ctx: Context, { mailer, people = null }: AssistantParts, request: Asked) {
  const thread: string[] = [];
  const asker = addressIn(request.from);
  // As recorded, because the number of mails must not change when the run is replayed.
  const { approvers = [asker] } = request;
  const subject = /^re:/i.test(request.subject.trim()) ? request.subject : `Re: ${request.subject}`;
  const post = {
    token: "",
    /** Adds a mail to the thread, if its id is valid in a header. */
    heard(messageId: string): void {
      const id = bareId(messageId);
      if (/^[\x21-\x3b\x3d\x3f-\x7e]{1,250}$/.test(id)) thread.push(`<${id}>`);
    },
    /** A question goes to the people who may answer it, a result also to the sender of the request. */
    async send({ kind, text, asks = false }: messages.Text): Promise<void> {
      for (const to of asks ? approvers : new Set([asker, ...approvers])) {
        const { token } = post;
        const message = { kind, text, at: ctx.now(), to, subject, token, thread: thread.slice(-20) };
        const mail = ({ idempotencyKey }: StepInfo): Sent | Promise<Sent> =>
          // The lists may have become shorter since the run began.
          mayAsk(people, to) || mayApprove(people, to, asker)
            ? mailer.send(message, idempotencyKey)
            : notSent(to);
        const retry = { attempts: 8, delay: "1s", factor: 2, maxDelay: "1 minute" } as const;
        post.heard((await ctx.step("mail", mail, { retry, timeout: "1m" })).messageId);
      }
    },
    async end(text: messages.Text, ending: Ending): Promise<Ending> {
      await post.send(text);
      return ending;
    },
  };
  post.heard(request.messageId);
  return post;
}

function notSent(to: string): Sent {
  return { messageId: "", to, subject: "", via: "not sent: the address is no longer in the lists" };
}
