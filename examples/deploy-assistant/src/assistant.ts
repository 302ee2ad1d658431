/**
 * The whole conversation as one workflow: read, propose, ask, wait; then deploy, check, and roll back if
 * necessary.
 *
 * A1. The wait has its token before the mail is sent, and sending is a step of its own. A crash between the
 *     two sends the same mail again, never one with another token.
 * A2. A reply may arrive before the mail it answers is recorded: the journal keeps it until the wait is
 *     reached.
 * A3. An answer counts only if it comes from a person who may approve. Any other leaves the wait open.
 * A4. Mail goes to the sender of the request and to the people who may approve it, and to no other address.
 * A5. Every round has its own wait. There are at most `maxRounds`, so that two robots do not write to each
 *     other forever.
 */

import { durable, type Context, type Duration, type StepInfo, type Workflow } from "@durable/core";
import type { LanguageModel, ModelMessage } from "ai";
import type { Release } from "./catalogue.ts";
import { versionOf, type Deploys, type Health } from "./deployment.ts";
import { z } from "zod";
import { addressIn, headerId, type Email } from "./email.ts";
import type { Mailer, Sent } from "./mailer.ts";
import * as messages from "./messages.ts";
import { anybody, senderOf, type People } from "./people.ts";
import { propose, type Plan, type Proposal } from "./plan.ts";
import { decide, ownWords } from "./reply.ts";

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
  /** Adds watchers to the steps. */
  readonly watch?: (ctx: Context) => Context;
}

/** The input of a run: the request, and who was to be asked when it came, if there are lists. */
export type Asked = Email & { readonly approvers?: readonly string[] | undefined };

/** The answer to the wait. */
export interface Reply {
  readonly from: string;
  readonly body: string;
  readonly messageId: string;
}

const replySchema = z.object({ from: z.string(), body: z.string(), messageId: z.string() });

export type Ending =
  | ({ readonly status: "deployed" | "rolled-back" | "busy" } & Plan)
  | { readonly status: "rejected" | "expired" | "gave-up" };

export const workflowName = "deploy-assistant";

const maxRounds = 10;
const maxPauses = 60;
const longestThread = 20;

export function createAssistant(parts: AssistantParts): Workflow<Asked, Ending> {
  const { model, releases, timeout, people = anybody, watch = (ctx) => ctx } = parts;
  return durable(workflowName, async (context, request: Asked) => {
    const ctx = watch(context);
    const post = new Post(ctx, { mailer: parts.mailer, people, request });
    const schema = replySchema.refine(
      ({ from }) => people.mayApprove(addressIn(from) ?? "", senderOf(request)),
      "is not from a person who may approve",
    );
    const said: ModelMessage[] = [
      { role: "user", content: `${request.subject}\n\n${ownWords(request.body)}` },
    ];
    const think = ({ signal }: StepInfo): Promise<Proposal> =>
      propose({ model, releases, messages: said, signal });
    for (let round = 1; round <= maxRounds; round++) {
      const proposal = await ctx.step("plan", think, { timeout: "2m" });
      const { plan } = proposal;
      const approval = ctx.suspend("approval", { schema, timeout, fallback: null, note: plan });
      post.token = approval.token; // known before the mail goes out, and the same after a crash
      await post.send(messages.question(request, proposal, round));
      const reply = await approval; // the process may end here
      if (reply === null) return post.end(messages.expired(), { status: "expired" });
      post.heard(reply.messageId);
      const { kind, text } = await ctx.step("decide", () => decide(reply.body, reply.from));
      if (kind === "reject") return post.end(messages.rejected(), { status: "rejected" });
      if (kind === "approve" && plan !== null) return deploy(ctx, parts, plan, post);
      said.push({ role: "assistant", content: answerOf(proposal) }, { role: "user", content: text || "..." });
    }
    return post.end(messages.gaveUp(), { status: "gave-up" });
  });
}

/** The proposal as the model remembers it. */
function answerOf({ message, plan, risks }: Proposal): string {
  return JSON.stringify({
    message,
    version: plan?.version ?? null,
    environment: plan?.environment ?? null,
    risks,
  });
}

async function deploy(
  ctx: Context,
  { site, pause = "1s" }: AssistantParts,
  plan: Plan,
  post: Post,
): Promise<Ending> {
  const { version, environment } = plan;
  await post.send(messages.started(plan));
  for (let tries = 1; !(await ctx.step("take-turn", () => site.takeTurn(environment, ctx.runId))); tries++) {
    if (tries === maxPauses) return post.end(messages.busy(plan), { status: "busy", ...plan });
    await ctx.sleep(pause);
  }
  let health: Health;
  const live = await ctx.step("look", () => site.live(environment));
  try {
    const name = await ctx.step("copy", ({ idempotencyKey }) =>
      site.copy(environment, version, idempotencyKey),
    );
    await ctx.step("switch", () => site.point(environment, name));
    // A check that could not be made proves nothing, so it counts as one that failed.
    health = await ctx
      .step("check", ({ signal }) => site.check(environment, version, signal), { timeout: "2m" })
      .catch((error: Error) => ({ healthy: false, detail: error.message }));
    if (!health.healthy) await ctx.step("roll-back", () => site.point(environment, live));
  } finally {
    // A step like any other: it runs once, and a replay finds it done.
    await ctx.step("give-turn", () => site.giveTurn(environment, ctx.runId));
  }
  return health.healthy
    ? post.end(messages.deployed(plan, health), { status: "deployed", ...plan })
    : post.end(messages.rolledBack(plan, health, versionOf(live)), { status: "rolled-back", ...plan });
}

/** The outgoing side of the conversation: its people, one thread, the token of the last wait. */
class Post {
  token = "";
  readonly #ctx: Context;
  readonly #mailer: Mailer;
  readonly #people: People;
  readonly #asker: string;
  readonly #approvers: readonly string[];
  readonly #subject: string;
  readonly #thread: string[] = [];

  constructor(ctx: Context, { mailer, people, request }: { mailer: Mailer; people: People; request: Asked }) {
    const { subject, messageId } = request;
    this.#ctx = ctx;
    this.#mailer = mailer;
    this.#people = people;
    this.#asker = senderOf(request);
    // As recorded, because the number of mails must not change when the run is replayed.
    this.#approvers = request.approvers ?? [this.#asker];
    this.#subject = /^re:/i.test(subject.trim()) ? subject : `Re: ${subject}`;
    this.heard(messageId);
  }

  /** Adds a mail to the thread, if its id is valid in a header. */
  heard(messageId: string): void {
    const id = headerId(messageId);
    if (id !== null) this.#thread.push(id);
  }

  /** A question goes to the people who may answer it, a result also to the sender of the request. */
  async send(text: messages.Text): Promise<void> {
    const to = text.asks === true ? this.#approvers : new Set([this.#asker, ...this.#approvers]);
    for (const address of to) await this.#sendTo(address, text);
  }

  async #sendTo(to: string, { kind, text }: messages.Text): Promise<void> {
    const at = this.#ctx.now();
    const message = {
      kind,
      text,
      at,
      to,
      subject: this.#subject,
      token: this.token,
      thread: this.#thread.slice(-longestThread),
    };
    const sent = await this.#ctx.step(
      "mail",
      ({ idempotencyKey }): Sent | Promise<Sent> =>
        this.#mayReceive(to) ? this.#mailer.send(message, idempotencyKey) : notSent(to),
      { retry: { attempts: 8, delay: "1s", factor: 2, maxDelay: "1 minute" }, timeout: "1m" },
    );
    this.heard(sent.messageId);
  }

  /** The lists may have become shorter since the run began. */
  #mayReceive(to: string): boolean {
    return this.#people.mayAsk(to) || this.#people.mayApprove(to, this.#asker);
  }

  async end(text: messages.Text, ending: Ending): Promise<Ending> {
    await this.send(text);
    return ending;
  }
}

function notSent(to: string): Sent {
  return { messageId: "", to, subject: "", via: "not sent: the address is no longer in the lists" };
}
