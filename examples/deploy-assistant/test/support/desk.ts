/** The assistant in this process: a journal in memory, mail that is only noted, and a site in a folder of its own. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createApp, MemoryStorage, type App, type Outcome, type Storage, type World } from "@durable/core";
import { scriptedModel } from "example-llm";
import { createAssistant, type AssistantParts, type Ending } from "../../src/assistant.ts";
import { readReleases } from "../../src/catalogue.ts";
import { bundleFolder } from "../../src/config.ts";
import { Site } from "../../src/deployment.ts";
import type { Mailer, Message, Sent } from "example-mail";
import type { People } from "../../src/people.ts";
import { scriptFor } from "../../src/script.ts";
import { createWebhook } from "../../src/webhook.ts";

export const releases = readReleases(bundleFolder);
export const own = { name: "Deploy assistant", mailbox: "deploy", domain: "localhost" };

export interface Given {
  readonly parts?: Partial<AssistantParts>;
  readonly storage?: Storage;
  readonly world?: World;
  readonly secrets?: readonly string[];
  readonly people?: People;
  readonly senderLimit?: number;
  /** Called when a mail has gone out, before that is recorded. */
  readonly onMail?: (message: Message) => unknown;
}

export interface Posted {
  readonly code: number;
  readonly status?: string;
  readonly runId?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

let count = 0;

export class Desk {
  readonly folder = mkdtempSync(join(tmpdir(), "deploy-assistant-"));
  readonly site = new Site(join(this.folder, "site"), bundleFolder);
  /** Mails that went out, with the key they went out under. */
  readonly mails: (Message & { readonly key: string })[] = [];
  readonly errors: unknown[] = [];
  readonly storage: Storage;
  readonly app: App;
  readonly handler: (request: Request) => Promise<Response>;
  turns = 0;

  constructor(given: Given = {}) {
    this.storage = given.storage ?? new MemoryStorage();
    const script = scriptFor(releases);
    const model = scriptedModel((prompt) => ((this.turns += 1), script(prompt)), { pace: 0 });
    const assistant = createAssistant({
      model,
      mailer: this.#mailer(given),
      site: this.site,
      releases,
      timeout: "3 days",
      ...(given.people && { people: given.people }),
      ...given.parts,
    });
    const world = given.world === undefined ? {} : { world: given.world };
    const secret = "only for these tests, 32 characters";
    this.app = createApp({ storage: this.storage, secret, workflows: [assistant], ...world });
    const onError = (error: unknown): unknown => this.errors.push(error);
    const { secrets = [], people, senderLimit } = given;
    const rules = { ...(people && { people }), ...(senderLimit && { senderLimit }) };
    this.handler = createWebhook({ app: this.app, own, secrets, onError, ...rules });
  }

  #mailer({ onMail }: Given): Mailer {
    return {
      line: "noted",
      send: async (message, key): Promise<Sent> => {
        this.mails.push({ ...message, key });
        await onMail?.(message);
        const { to, subject, token } = message;
        return { messageId: `<${key}.${token}@localhost>`, to, subject, via: "noted" };
      },
    };
  }

  /** Posts an event as JSON. */
  async post(event: unknown, headers: Record<string, string> = {}): Promise<Posted> {
    return this.send(JSON.stringify(event), { "content-type": "application/json", ...headers });
  }

  async send(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>): Promise<Posted> {
    const request = new Request("http://localhost:8000/webhook", { method: "POST", body, headers });
    const response = await this.handler(request);
    return { code: response.status, ...((await response.json()) as object) };
  }

  /** A mail that came in; to the assistant itself if no address is given. */
  mail(body: string, given: Record<string, unknown> = {}): Promise<Posted> {
    return this.post({ type: "email.received", email: email(body, given) });
  }

  /** The run's outcome once it waits, or is over. */
  async stops(runId: string): Promise<Outcome<Ending>> {
    for (;;) {
      const outcome = (await this.app.get(runId).outcome()) as Outcome<Ending>;
      if (outcome.status !== "running") return outcome;
      await delay(5);
    }
  }

  /** Starts a run and waits for its question. */
  async ask(body: string): Promise<{ runId: string; address: string; token: string }> {
    const { runId = "" } = await this.mail(body);
    await this.stops(runId);
    return { runId, ...this.question() };
  }

  /** The last question that went out. */
  question(): { address: string; token: string } {
    const { token = "" } = this.mails.findLast(({ kind }) => /plan|question/.test(kind)) ?? {};
    return { token, address: `deploy+${token}@localhost` };
  }

  kinds(): string[] {
    return this.mails.map(({ kind }) => kind);
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const desks: Desk[] = [];

export function openDesk(given?: Given): Desk {
  const desk = new Desk(given);
  desks.push(desk);
  return desk;
}

/** After each test. What the server would have logged as its own fault fails the test. */
export function closeDesks(): void {
  const closed = desks.splice(0);
  for (const desk of closed) desk.close();
  const errors = closed.flatMap((desk) => desk.errors);
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} answers of 5xx`);
}

export function email(body: string, given: Record<string, unknown> = {}): Record<string, unknown> {
  const messageId = `<${process.pid}.${(count += 1)}@example.com>`;
  return {
    from: "Ada <ada@example.com>",
    to: "deploy@localhost",
    subject: "Tide board",
    body,
    messageId,
    ...given,
  };
}
