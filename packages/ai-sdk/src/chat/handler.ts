/**
 * The chat protocol of the AI SDK, as `useChat({ resume: true })` speaks it, over runs. Proven in
 * test/chat.test.ts.
 *
 *     POST {api}                    a message: starts a run, and streams it
 *     GET  {api}/{chatId}/stream    the current answer, from its beginning; 204 when there is none
 *     POST {api}/{chatId}/stop      stops it: closing a connection does not
 */

import { DurableError, fingerprint, type App, type Entry, type JournalOptions } from "@durable/core";
import { readBody, Refusal } from "./body.ts";
import { chatStreamName } from "./chat-stream.ts";
import { streamOf } from "./connection.ts";
import { isForeign } from "./same-origin.ts";
import { Turns, unlessMissing } from "./turns.ts";
import type { OnReset } from "./viewer.ts";

/** What a client sends; it is the input of the workflow. */
export interface ChatInput {
  readonly chatId: string;
  /** The conversation, as UI messages of the SDK. */
  readonly messages: readonly unknown[];
  readonly trigger: string;
  /** Everything else that the transport of the client sends. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a request wants to do, for `authorize`. */
export interface ChatAction {
  readonly type: "send" | "watch" | "stop";
  readonly chatId: string;
}

/** Options of `createChatHandler`. */
export interface ChatOptions {
  /** The name of the workflow that answers a message. */
  readonly workflow: string;
  /**
   * Decides about a request: true allows it, a Response is sent as it is, false refuses it. Everything else
   * is refused, too, and reported by a warning. Without it, every request is refused.
   */
  readonly authorize?:
    | ((request: Request, action: ChatAction) => boolean | Response | Promise<boolean | Response>)
    | undefined;
  /** The path of the chat; `/api/chat` by default. */
  readonly api?: string | undefined;
  /** Where the list of runs of a chat is kept: use the storage of the app. */
  readonly journal?: JournalOptions | undefined;
  /**
   * What happens when a run begins its answer again after a viewer has seen a part of it; `close` for clients
   * before 7.0.169.
   */
  readonly onReset?: OnReset | undefined;
  /** How long a finished answer is sent again to clients that reconnect; 60 seconds by default. */
  readonly graceMs?: number | undefined;
  /**
   * How often a quiet stream gets a comment that keeps it open, and its run is checked; 5 seconds by default.
   */
  readonly keepAliveMs?: number | undefined;
  /** Bytes of a request body; 4 MiB by default. */
  readonly bodyBytes?: number | undefined;
  /** Called with errors that were answered with 500. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Creates a handler for `useChat` that survives reloads, lost connections and dead servers. */
export function createChatHandler(app: App, options: ChatOptions): (request: Request) => Promise<Response> {
  const { api = "/api/chat", onError = (error) => app.world.warn(`chat: ${String(error)}`) } = options;
  const chat = new Chat(app, options);
  return async (request) => {
    try {
      const { pathname } = new URL(request.url);
      if (pathname === api) return request.method === "POST" ? await chat.send(request) : refused(405);
      const found = pathname.startsWith(`${api}/`)
        ? /^([^/]+)\/(stream|stop)$/.exec(pathname.slice(api.length + 1))
        : null;
      if (found === null) return refused(404);
      const [, chatId = "", verb] = found;
      const method = verb === "stream" ? "GET" : "POST";
      if (request.method !== method) return refused(405);
      const id = decoded(chatId);
      return verb === "stream" ? await chat.watch(request, id) : await chat.stop(request, id);
    } catch (error) {
      if (error instanceof Refusal) return refused(error.status);
      onError(error);
      return refused(500);
    }
  };
}

class Chat {
  readonly #app: App;
  readonly #options: ChatOptions;
  readonly #turns: Turns;

  constructor(app: App, options: ChatOptions) {
    this.#app = app;
    this.#options = options;
    this.#turns = new Turns(options.journal ?? {});
  }

  async send(request: Request): Promise<Response> {
    const input = inputOf(await readBody(request, this.#options.bodyBytes ?? 4 * 1024 * 1024));
    const { chatId, messages, trigger } = input;
    const no = await this.#refused(request, { type: "send", chatId });
    if (no !== null) return no;
    const last = messages.at(-1) as { readonly id?: unknown } | undefined;
    // The same message sent again after a lost connection gets the same run. A request for another answer
    // gets a new one.
    const again = trigger === "submit-message" ? "" : this.#app.world.id();
    const id = fingerprint([last?.id ?? null, messages.length, trigger, again]);
    const runId = await this.#turns.add({ chatId, id });
    let created = false;
    try {
      ({ created } = await this.#app.start(this.#options.workflow, input, { id: runId }));
    } catch (error) {
      // The message was sent before, with other fields around it.
      if (!DurableError.is(error, "input-mismatch")) throw error;
    }
    return this.#stream(request, runId, created ? [] : await this.#app.get(runId).entries());
  }

  async watch(request: Request, chatId: string): Promise<Response> {
    const no = await this.#refused(request, { type: "watch", chatId });
    if (no !== null) return no;
    const runId = await this.#turns.last(chatId);
    const entries = runId === null ? [] : await unlessMissing(this.#app.get(runId).entries(), []);
    if (runId === null || !this.#isUnderWay(entries)) return new Response(null, { status: 204 });
    return this.#stream(request, runId, entries);
  }

  async stop(request: Request, chatId: string): Promise<Response> {
    const no = await this.#refused(request, { type: "stop", chatId });
    if (no !== null) return no;
    const runId = await this.#turns.last(chatId);
    if (runId !== null) await unlessMissing(this.#app.cancel(runId, "stopped by its user"), null);
    return new Response(null, { status: 204 });
  }

  #stream(request: Request, runId: string, entries: readonly Entry[]): Response {
    const { onReset = "reset-step", keepAliveMs = 5_000 } = this.#options;
    // A new viewer does not need the parts of earlier attempts.
    let attempt = 1;
    for (const entry of entries)
      if (entry.kind === "stream.chunks" && entry.key === chatStreamName)
        attempt = Math.max(attempt, entry.attempt);
    return streamOf(this.#app, { runId, attempt, onReset, keepAliveMs, client: request.signal });
  }

  /** True while the answer is being written, or ended only recently. */
  #isUnderWay(entries: readonly Entry[]): boolean {
    const last = entries.at(-1);
    if (last === undefined) return false;
    const isOver = ["run.completed", "run.failed", "run.cancelled"].includes(last.kind);
    return !isOver || this.#app.world.now() - last.at < (this.#options.graceMs ?? 60_000);
  }

  async #refused(request: Request, action: ChatAction): Promise<Response | null> {
    // A page of another origin must not act for its visitor.
    if (action.type !== "watch" && isForeign(request)) return refused(403);
    const { authorize = () => false } = this.#options;
    // Only `true` allows, whatever an untyped hook returns.
    const verdict: unknown = await authorize(request, action);
    if (verdict === true) return null;
    if (verdict instanceof Response) return verdict;
    if (verdict !== false)
      this.#app.world.warn(
        `chat: authorize returned ${kindOf(verdict)} for "${action.type}" of chat ${JSON.stringify(action.chatId)}, so the request was refused. Return true to allow it.`,
      );
    return refused(403);
  }
}

function inputOf(body: unknown): ChatInput {
  const { id, messages, trigger = "submit-message", ...rest } = (body ?? {}) as Record<string, unknown>;
  const fits = typeof id === "string" && id.length > 0 && id.length <= 1_024 && typeof trigger === "string";
  if (!fits || !Array.isArray(messages)) throw new Refusal(400);
  return { chatId: id, messages: messages as unknown[], trigger, body: rest };
}

/** What a value is, without the value: it may be a session or a user. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Refusal(400);
  }
}

function refused(status: number): Response {
  return new Response(JSON.stringify({ error: { status } }), {
    status,
    headers: { "content-type": "application/json" },
  });
}
