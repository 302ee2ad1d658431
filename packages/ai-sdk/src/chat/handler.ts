/**
 * The chat protocol of the AI SDK, as `useChat({ resume: true })` speaks it, over runs. Proven in
 * test/chat.test.ts.
 *
 * `routes.ts` has the routes. `?run={runId}` means the answer of this run, and `&from={attempt}.{index}` its rest from there.
 */

import {
  type App,
  DurableError,
  type Duration,
  type Journal,
  type JournalOptions,
  type Verdict,
} from "@durable/core";
import type { Entry } from "@durable/core/types";
import { assertOptions, toMs } from "@durable/core/storage";
import { askedOf, askOf, type Ask, type Asked } from "./asked.ts";
import { readBody, Refusal } from "./body.ts";
import { beginChat, deleteChat, isCursor, pageOf } from "./chats.ts";
import { type ApprovedCall, Claims, type Round } from "./claims.ts";
import { streamOf } from "./connection.ts";
import { History } from "./history.ts";
import { Recorded, type Progress } from "./message.ts";
import { assertResults, type ChatTool } from "./results.ts";
import { type ChatAction, type ChatRoute, findChatRoute } from "./routes.ts";
import { isForeign } from "./same-origin.ts";
import { Turns, unlessMissing } from "./turns.ts";
import type { OnReset, ViewerOptions } from "./viewer.ts";
import type { Part } from "../chunks.ts";

/** Options of `createChatHandler`. */
export interface ChatOptions {
  /** The name of the workflow that answers a message. */
  readonly workflow: string;
  /**
   * Decides about a request: true or `{ scope }` allows it, a Response is sent as it is, false refuses it. Everything
   * else is refused, too, and reported by a warning. Without it, every request is refused. The policy of the other
   * handlers fits.
   */
  readonly authorize?: ((request: Request, action: ChatAction) => Verdict | Promise<Verdict>) | undefined;
  /**
   * The tools of the workflow. A result that the client gives is refused unless its tool is one of them, has no `execute`, and
   * the result fits its `outputSchema`. Without it, the workflow checks results.
   */
  readonly tools?: Readonly<Record<string, ChatTool>> | undefined;
  /** The path of the chat; `/api/chat` by default. */
  readonly api?: string | undefined;
  /** Where the list of runs of a chat is kept; in the storage of the app, with its encryption, by default. */
  readonly journal?: JournalOptions | undefined;
  /**
   * What happens when a run begins its answer again after a viewer has seen a part of it; `close` for clients
   * before 7.0.169.
   */
  readonly onReset?: OnReset | undefined;
  /** How long a finished answer is sent again to clients that reconnect; 60 seconds by default. */
  readonly grace?: Duration | undefined;
  /**
   * How often a quiet stream gets a comment that keeps it open, and its run is checked; 5 seconds by default.
   */
  readonly keepAlive?: Duration | undefined;
  /** Bytes of a request body; 4 MiB by default. */
  readonly bodyBytes?: number | undefined;
  /** Called with errors that were answered with 500. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Creates a handler for `useChat` that survives reloads, lost connections and dead servers. */
export function createChatHandler(app: App, options: ChatOptions): (request: Request) => Promise<Response> {
  assertOptions(
    options,
    "workflow authorize tools api journal onReset grace keepAlive bodyBytes onError",
    "createChatHandler",
  );
  const { api = "/api/chat", onError = (error) => app.world.warn(`chat: ${String(error)}`) } = options;
  const chat = new Chat(app, options);
  return async (request) => {
    try {
      const { pathname, searchParams } = new URL(request.url);
      const { route, chatId } = findChatRoute(request.method, pathname, api);
      const named = (name: string): string | null => searchParams.get(name);
      const place = { chatId, run: named("run"), from: named("from"), cursor: named("cursor") };
      return await chat[route.act](request, route, place);
    } catch (error) {
      if (error instanceof Refusal) return refused(error.status, error.reason);
      if (DurableError.is(error) && error.details["deleted"] === true) return refused(409, gone);
      onError(error);
      return refused(500);
    }
  };
}

interface Place {
  readonly chatId: string;
  readonly run: string | null;
  readonly from: string | null;
  readonly cursor: string | null;
}

/** Seen when the same messages come with another `metadata`, or with other fields around them. */
const mismatch = {
  code: "input-mismatch",
  message:
    "This message was sent before, with other metadata or other fields in the request. Send a new message, edit this one, or ask for another answer.",
};

const changed = {
  code: "stream-changed",
  message: "The answer is no longer what this client has seen. Load it from its beginning.",
};

const gone = {
  code: "chat-deleted",
  message: "The chat was deleted while this request was under way. Begin another one.",
};

const used = {
  code: "approval-used",
  message: "Another request has used this approval. Load the chat again to see its answer.",
};

/** The latest runs of a chat, as many as are read to find the calls of a message. */
const mostRounds = 100;

/** What a page of another origin may ask for: it cannot read the response. */
const reads: ReadonlySet<string> = new Set(["stream", "read", "list"]);

class Chat {
  readonly #app: App;
  readonly #options: ChatOptions;
  readonly #journal: JournalOptions;
  readonly #turns: Turns;
  readonly #history: History;

  constructor(app: App, options: ChatOptions) {
    this.#app = app;
    this.#options = options;
    this.#journal = options.journal ?? { app };
    this.#turns = new Turns(this.#journal);
    this.#history = new History(app, this.#turns, options.workflow);
  }

  async send(request: Request, { asks }: ChatRoute): Promise<Response> {
    const asked = askedOf(await readBody(request, this.#options.bodyBytes ?? 4 * 1024 * 1024));
    const { chatId } = asked.input;
    const verdict = await this.#allowed(request, { type: asks, chatId });
    if (verdict instanceof Response) return verdict;
    const ask = askOf(asked, request.headers.get("idempotency-key"));
    const { runId, repeated } = await this.#start(asked, ask, verdict);
    const entries = !repeated ? [] : await this.#app.get(runId).entries();
    return this.#stream(request, runId, new Recorded(entries, asked.input));
  }

  async watch(request: Request, { asks }: ChatRoute, place: Place): Promise<Response> {
    const verdict = await this.#allowed(request, { type: asks, ...aboutOf(place) });
    if (verdict instanceof Response) return verdict;
    const runId = await this.#runAt(place);
    const entries = runId === null ? [] : await this.#history.entriesOf(runId, place.chatId);
    // A client that names the run has a part of the answer, and gets the rest at any time.
    const isThere = place.run === null ? this.#isUnderWay(entries) : entries.length > 0;
    if (runId === null || !isThere) return new Response(null, { status: 204 });
    const recorded = new Recorded(entries);
    if (place.from !== null)
      return this.#stream(request, runId, recorded, { seen: seenIn(recorded, place.from) });
    const prior = recorded.prior((this.#options.onReset ?? "reset-step") === "reset-step");
    return this.#stream(request, runId, recorded, { prior, metadata: recorded.continued?.metadata });
  }

  async stop(request: Request, { asks }: ChatRoute, place: Place): Promise<Response> {
    const verdict = await this.#allowed(request, { type: asks, ...aboutOf(place) });
    if (verdict instanceof Response) return verdict;
    const runId = await this.#runAt(place);
    if (runId !== null && (await this.#history.entriesOf(runId, place.chatId)).length > 0)
      await unlessMissing(this.#app.cancel(runId, { reason: "stopped by its user" }), null);
    return new Response(null, { status: 204 });
  }

  async list(request: Request, { asks }: ChatRoute, { cursor }: Place): Promise<Response> {
    if (cursor !== null && !isCursor(cursor)) throw new Refusal(400);
    const verdict = await this.#allowed(request, { type: asks });
    if (verdict instanceof Response) return verdict;
    const about = { ...verdict, ...(cursor === null ? {} : { cursor }) };
    const isShown = async (chatId: string): Promise<boolean> =>
      !((await this.#allowed(request, { type: "read", chatId })) instanceof Response);
    return Response.json(await pageOf(this.#journal, this.#options.workflow, about, isShown));
  }

  async read(request: Request, { asks }: ChatRoute, { chatId }: Place): Promise<Response> {
    const verdict = await this.#allowed(request, { type: asks, chatId });
    return verdict instanceof Response ? verdict : Response.json(await this.#history.all(chatId));
  }

  async delete(request: Request, { asks }: ChatRoute, { chatId }: Place): Promise<Response> {
    const verdict = await this.#allowed(request, { type: asks, chatId });
    if (verdict instanceof Response) return verdict;
    // All of them before the first is deleted.
    for (const runId of await this.#turns.runs(chatId)) {
      const one = await this.#allowed(request, { type: asks, chatId, runId });
      if (one instanceof Response) return one;
    }
    await deleteChat(this.#app, chatId, { journal: this.#journal });
    return new Response(null, { status: 204 });
  }

  #runAt({ chatId, run }: Place): Promise<string | null> {
    return run === null ? this.#turns.last(chatId) : this.#turns.find(chatId, run);
  }

  async #start(
    { input: sent, isAlone }: Asked,
    ask: Ask,
    { scope }: { readonly scope?: string },
  ): Promise<{ readonly runId: string; readonly repeated: boolean }> {
    const { workflow, tools } = this.#options;
    const input = isAlone ? { ...sent, messages: await this.#history.before(sent) } : sent;
    const { chatId } = input;
    const claims = new Claims(input);
    const rounds = await this.#roundsOf(chatId, claims.messageIds);
    claims.assertMade(rounds);
    if (tools !== undefined) await assertResults(tools, claims.results(rounds));
    const admit = async (id: string): Promise<void> => {
      for (const call of claims.approved(rounds)) await this.#take(chatId, id, call);
    };
    const begin = (journal: Journal): Promise<void> =>
      beginChat(this.#journal, input, { workflow, scope, journal });
    const start = async (id: string) => {
      // A repeated request must have the same input, whatever its run and later ones have recorded since.
      const at = rounds.findIndex((round) => round.runId === id);
      const trusted = claims.trusted(at === -1 ? rounds : rounds.slice(0, at));
      const earlier = isAlone ? await this.#history.askedBy(id, trusted) : trusted;
      const { repeated } = await this.#app.start(workflow, earlier, { id, scope });
      return { runId: id, repeated };
    };
    const { runId, guessed } = await this.#turns.add(ask, (run) => this.#progressOf(run), { admit, begin });
    try {
      return await start(runId);
    } catch (error) {
      if (!DurableError.is(error, "input-mismatch")) throw error;
      if (!guessed) throw new Refusal(409, mismatch);
      // Not a repetition, then.
      return start((await this.#turns.add(ask, null, { admit, begin })).runId);
    }
  }

  /** Lets this run execute an approved call, or refuses the request. */
  async #take(chatId: string, runId: string, { id: name, isUnused }: ApprovedCall): Promise<void> {
    const unused = async (run: string): Promise<boolean> =>
      isUnused(await this.#history.entriesOf(run, chatId));
    if (!(await this.#turns.take({ chatId, runId, name }, unused))) throw new Refusal(409, used);
  }

  /** The runs of a chat that wrote one of these messages, in their order. */
  async #roundsOf(chatId: string, messageIds: ReadonlySet<unknown>): Promise<readonly Round[]> {
    if (messageIds.size === 0) return [];
    const runs = (await this.#turns.runs(chatId)).slice(-mostRounds);
    const rounds = runs.map(async (runId): Promise<Round> => {
      const { messageId, parts } = new Recorded(await this.#history.entriesOf(runId, chatId));
      return { runId, messageId, parts };
    });
    return (await Promise.all(rounds)).filter(
      ({ messageId, parts }) => parts.length > 0 && messageIds.has(messageId),
    );
  }

  async #progressOf(runId: string): Promise<Progress> {
    return new Recorded(await unlessMissing(this.#app.get(runId).entries(), [])).progress;
  }

  #stream(
    request: Request,
    runId: string,
    recorded: Recorded,
    viewer: Pick<ViewerOptions, "seen" | "prior" | "metadata"> = {},
  ): Response {
    const { onReset = "reset-step", keepAlive = 5_000 } = this.#options;
    const keepAliveMs = toMs(keepAlive, "keepAlive of createChatHandler");
    // A new viewer does not need the parts of earlier attempts.
    const { attempt, messageId } = recorded;
    const client = request.signal;
    return streamOf(this.#app, { runId, attempt, messageId, onReset, keepAliveMs, client, ...viewer });
  }

  /** True while the answer is being written, or ended only recently. */
  #isUnderWay(entries: readonly Entry[]): boolean {
    const last = entries.at(-1);
    if (last === undefined) return false;
    const isOver = ["run.completed", "run.failed", "run.cancelled"].includes(last.kind);
    return (
      !isOver ||
      this.#app.world.now() - last.at < toMs(this.#options.grace ?? 60_000, "grace of createChatHandler")
    );
  }

  /** What the request may use, or the response that refuses it. */
  async #allowed(
    request: Request,
    about: Omit<ChatAction, "workflow">,
  ): Promise<Response | { readonly scope?: string }> {
    // A page of another origin must not act for its visitor.
    if (!reads.has(about.type) && isForeign(request)) return refused(403);
    const { authorize = () => false, workflow } = this.#options;
    const action: ChatAction = { ...about, workflow };
    // Only `true` or a scope allows, whatever an untyped hook returns.
    const verdict: unknown = await authorize(request, action);
    if (verdict === true) return {};
    if (verdict instanceof Response) return verdict;
    const { scope } = Object(verdict) as { readonly scope?: unknown };
    if (typeof scope === "string" && scope !== "") return { scope };
    if (verdict !== false)
      this.#app.world.warn(
        `chat: authorize returned ${kindOf(verdict)} for "${action.type}"${action.chatId === undefined ? "" : ` of chat ${JSON.stringify(action.chatId)}`}, so the request was refused. Return true to allow it.`,
      );
    return refused(403);
  }
}

/** What an action on an answer names. */
function aboutOf({ chatId, run }: Place): Pick<ChatAction, "chatId" | "runId"> {
  return run === null ? { chatId } : { chatId, runId: run };
}

/** What a value is, without the value: it may be a session or a user. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** What a client has seen that comes back for the rest. */
function seenIn(recorded: Recorded, from: string): readonly Part[] {
  const found = /^(\d{1,9})\.(\d{1,9})$/.exec(from === "0" ? "1.0" : from);
  if (found === null) throw new Refusal(400);
  const seen = recorded.first(Number(found[1]), Number(found[2]));
  if (seen === null) throw new Refusal(409, changed);
  return seen;
}

function refused(status: number, reason: Refusal["reason"] = null): Response {
  return new Response(JSON.stringify({ error: { status, ...reason } }), {
    status,
    headers: { "content-type": "application/json" },
  });
}
