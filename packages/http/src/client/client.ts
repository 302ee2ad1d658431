/** Runs of an app on another machine, over the routes of its handler, typed by the app. Proven in test/client.test.ts. */

import type { AnyWorkflow, App, ForkOptions, ListQuery, ResumeStatus, StreamEvent } from "@durable/core";
import type {
  CancelOptions,
  FlowStart,
  MessageSchemas,
  ReadOptions,
  ResumeOptions,
  Scores,
  SendOptions,
} from "@durable/core/types";
import { streamEvents } from "./events.ts";
import { partsOf, type Part, type PartChunk } from "./parts.ts";
import { ClientError, pause, Requests, type ClientOptions } from "./requests.ts";
import type {
  ClientOutcome,
  ClientRow,
  ClientSent,
  InputIn,
  MessagesIn,
  NameIn,
  OutputIn,
  PayloadOf,
  WorkflowsOf,
} from "./types.ts";

/** Options of `client.start`. */
export interface ClientStart extends FlowStart {
  /** The id of the run; made by the client by default, so that a repeated request is the same start. */
  readonly id?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** The filters of `client.list`. */
export type ClientQuery = Pick<
  ListQuery,
  "status" | "parent" | "tags" | "version" | "createdAfter" | "createdBefore" | "q" | "limit" | "cursor"
> & { readonly workflow?: string | undefined; readonly waiting?: true | undefined };

/** A page of runs. */
export interface ClientPage {
  readonly runs: readonly ClientRow[];
  readonly next: string | null;
}

/** What became of an answer. */
export interface ClientAnswer {
  readonly status: ResumeStatus;
  /** An answer with this id was given before. */
  readonly repeated: boolean;
  readonly runId?: string;
  readonly issues?: string;
}

/** Options of `run.result` of a client. */
export interface ResultOptions {
  /** Waits on while only an answer from outside can help; otherwise that rejects with code `suspended`. */
  readonly wait?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

const [firstLookMs, slowestLookMs] = [100, 5_000];

/** One run, seen from elsewhere. Making it sends nothing. */
export class ClientRun<Output = unknown, Input = unknown, M extends MessageSchemas = MessageSchemas> {
  /** The id of the run. */
  readonly id: string;
  /** True after a `start` that found a run of this id. */
  readonly repeated: boolean;
  readonly #requests: Requests;
  readonly #path: string;

  constructor(requests: Requests, id: string, repeated = false) {
    this.id = id;
    this.repeated = repeated;
    this.#requests = requests;
    this.#path = `/runs/${encodeURIComponent(id)}`;
  }

  /** Where the run is now. */
  outcome(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<ClientOutcome<Output>> {
    return this.#requests.json(this.#path, options);
  }

  /**
   * Waits for the end and gives the output. Rejects with the error of a run that failed or is blocked, and with `cancelled`.
   * @example const output = await run.result({ wait: true });
   */
  async result({ wait = false, signal }: ResultOptions = {}): Promise<Output> {
    for (let ms = firstLookMs; ; ms = Math.min(1.5 * ms, slowestLookMs)) {
      const outcome = await this.outcome({ signal });
      const { status } = outcome;
      if (status === "completed") return outcome.output;
      if (status === "failed" || status === "blocked") throw failure(outcome.error);
      if (status === "cancelled") {
        const { reason } = outcome;
        const why = reason === undefined ? "" : `: ${reason}`;
        throw new ClientError("cancelled", `Run ${this.id} was cancelled${why}.`);
      }
      if (status === "suspended" && outcome.waiting.length > 0 && !wait) {
        const names = outcome.waiting.map(({ name }) => `"${name}"`).join(", ");
        const message = `Run ${this.id} waits for ${names}. Answer it, or pass { wait: true }.`;
        throw new ClientError("suspended", message, { details: { waiting: outcome.waiting } });
      }
      await pause(ms, signal);
    }
  }

  /** What the run shows of itself. */
  async report(): Promise<unknown> {
    return (await this.#requests.json<{ report: unknown }>(`${this.#path}/report`)).report;
  }

  /** The events of a stream: recorded chunks first, then new ones, until its end. Goes on after a lost connection. */
  async *stream<T = unknown>(
    name: string,
    options: ReadOptions = {},
  ): AsyncGenerator<StreamEvent<T>, void, undefined> {
    const path = `${this.#path}/streams/${encodeURIComponent(name)}`;
    yield* streamEvents(this.#requests, path, options) as AsyncGenerator<StreamEvent<T>, void, undefined>;
  }

  /** The parts of a model's stream, as the AI SDK gives them: `{ type: "text-delta", id, delta }` and others. */
  async *parts(name: string, options: ReadOptions = {}): AsyncGenerator<Part, void, undefined> {
    for await (const event of this.stream<PartChunk>(name, options))
      if (event.type === "reset") yield event;
      else yield* partsOf(event.value);
  }

  /** Sends a message, which `ctx.receive(topic)` reads. */
  send<K extends keyof M & string>(
    topic: K,
    payload: PayloadOf<M, K>,
    { id = newId() }: SendOptions = {},
  ): Promise<ClientSent> {
    const path = `${this.#path}/messages/${encodeURIComponent(topic)}`;
    const values = [409, 410, 422];
    return this.#requests.json(path, { method: "POST", body: { payload, id }, values });
  }

  /** Records what a person or a check thinks of the run, also after its end; `null` removes it. Gives all scores. */
  async score(name: string, value: number | boolean | null, note?: string): Promise<Scores> {
    const body = { name, value, ...(note !== undefined && { note }) };
    const asked = { method: "POST", body } as const;
    return (await this.#requests.json<{ scores: Scores }>(`${this.#path}/score`, asked)).scores;
  }

  /** Ends the run and all its children. */
  cancel(options: CancelOptions = {}): Promise<ClientOutcome<Output>> {
    return this.#requests.json(`${this.#path}/cancel`, { method: "POST", body: options });
  }

  /** Creates a run that begins with recorded work of this one. */
  async fork(options: Omit<ForkOptions<Input>, "chapter" | "changes">): Promise<ClientRun<Output, Input, M>> {
    const body = { id: newId(), ...options };
    const { runId } = await this.#requests.json<{ runId: string }>(`${this.#path}/fork`, {
      method: "POST",
      body,
    });
    return new ClientRun(this.#requests, runId);
  }
}

/** A run of one of the workflows. */
type RunIn<W extends readonly AnyWorkflow[], Name> = ClientRun<
  OutputIn<W, Name>,
  InputIn<W, Name>,
  MessagesIn<W, Name>
>;

/** The input, which may be left out where the workflow takes none, then the options. */
type StartArguments<Input> = unknown extends Input
  ? [input?: Input, options?: ClientStart]
  : null extends Input
    ? [input?: Input, options?: ClientStart]
    : [input: Input, options?: ClientStart];

/** The runs of an app on another machine. */
export class Client<W extends readonly AnyWorkflow[] = readonly AnyWorkflow[]> {
  readonly #requests: Requests;

  constructor(options: ClientOptions) {
    this.#requests = new Requests(options);
  }

  /**
   * Records a run, which continues on the server.
   * @example const run = await client.start("order", { item: "A-17" }, { id: "order-17" });
   */
  async start<Name extends NameIn<W>>(
    workflow: Name,
    ...[input, options = {}]: StartArguments<InputIn<W, Name>>
  ): Promise<RunIn<W, Name>> {
    const { at, ...rest } = options;
    const body = { workflow, input, id: newId(), ...rest, ...(at !== undefined && { at: Number(at) }) };
    const asked = { method: "POST", body } as const;
    const { runId, repeated } = await this.#requests.json<{ runId: string; repeated?: boolean }>(
      "/runs",
      asked,
    );
    return new ClientRun(this.#requests, runId, repeated);
  }

  /** A run by its id. Sends nothing, so the run may be missing. */
  get<Name extends NameIn<W> = NameIn<W>>(runId: string): RunIn<W, Name> {
    return new ClientRun(this.#requests, runId);
  }

  /** Runs, newest first; with `waiting`, those whose waits expire first. */
  list({ tags = {}, ...query }: ClientQuery = {}): Promise<ClientPage> {
    const asked = Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, String(value)]],
    );
    const tagged = Object.entries(tags).map(([name, value]) => ["tag", `${name}=${value}`]);
    return this.#requests.json(`/runs?${new URLSearchParams([...asked, ...tagged])}`);
  }

  /** Answers a wait. The token is the permission. */
  resume(
    token: string,
    value: unknown,
    { id = newId(), error }: Omit<ResumeOptions, "drive"> = {},
  ): Promise<ClientAnswer> {
    const body = error === undefined ? { value, id } : { error: shown(error), id };
    const values = [404, 409, 410, 422];
    return this.#requests.json(`/resume/${encodeURIComponent(token)}`, { method: "POST", body, values });
  }
}

/**
 * A client of the runs of an app, for pages and servers. It has no dependencies. Give it the type of the app.
 * @example const client = createClient<typeof app>({ url: "/api" });
 */
export function createClient<A extends App = App>(options: ClientOptions): Client<WorkflowsOf<A>> {
  return new Client(options);
}

function newId(): string {
  return crypto.randomUUID();
}

function failure({ code, message }: { readonly code: string; readonly message: string }): ClientError {
  return new ClientError(code as "run-failed", message);
}

function shown(error: unknown): { message: string; name: string } {
  return error instanceof Error
    ? { message: error.message, name: error.name }
    : { message: String(error), name: "Error" };
}
