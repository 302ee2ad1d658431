/**
 * The options of a handler, their defaults, and the check of permissions. Proven in test/authorize.test.ts.
 */

import { type App, DurableError } from "@durable/core";
import { assertOptions, expectApp } from "@durable/core/storage";
import { HttpError } from "./errors.ts";
import { type GivenLimits, type Limits, limitsOf } from "./limits.ts";
import { isForeign } from "./same-origin.ts";

/** What a request wants to do, for `authorize`. */
export type ActionType =
  | "start"
  | "read"
  | "tokens"
  | "list"
  | "stream"
  | "fork"
  | "resume"
  | "cancel"
  | "send"
  | "report"
  | "delete"
  | "purge"
  | "schedules"
  | "schedule"
  | "pause"
  | "unpause"
  | "retry"
  | "describe";

/** What a request wants to do, and with which run. */
export interface Action {
  readonly type: ActionType;
  /**
   * Given for `start`, for a `list`, a `purge` and `schedules` of one workflow, and for a `pause` or `unpause` of all its
   * runs.
   */
  readonly workflow?: string;
  /**
   * Given for every action on one run, and for a `list` of its forks and children. Its characters are
   * checked; whether the run exists is not.
   */
  readonly runId?: string;
  /** Given for `send`: the topic of the message. */
  readonly topic?: string;
  /** Given for `schedule`, which changes one, and for `schedules` that reads one: its name. */
  readonly schedule?: string;
  /** Given for `schedule`: what it does. */
  readonly change?: "pause" | "resume" | "trigger" | "delete";
  /** Given for a `fork` that names the id of the new run. */
  readonly forkId?: string;
  /** Given for a `fork` with edits: the keys whose outputs it replaces. */
  readonly edits?: readonly string[];
  /** The suspend points among `edits`. The edit answers them, so `resume` is asked besides `fork`. */
  readonly waits?: readonly string[];
}

/**
 * Decides about a request: true allows it, false answers 403, a Response is sent as it is. Read headers
 * only, because the body may have been read. `tokens` is asked besides `read`, and decides whether the answer
 * contains resume tokens. `resume` is asked besides `fork`, if the fork answers suspend points by edits.
 */
export type Authorize = (
  request: Request,
  action: Action,
) => boolean | Response | Promise<boolean | Response>;

/** Options of `createHandler`. */
export interface HandlerOptions {
  /** Where the handler is mounted, such as "/durable"; "" by default. */
  readonly basePath?: string | undefined;
  /** Called for every request except answers by token. Without it, all of these are refused. */
  readonly authorize?: Authorize | undefined;
  /** Limits of requests; see `Limits` for the defaults. */
  readonly limits?: GivenLimits | undefined;
  /** Called with errors that were answered with 5xx; by default they are printed as warnings. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Keeps an edge request alive for work after its answer. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /**
   * A resume is answered after this many milliseconds at the latest, and the run continues in the background.
   * 2,000 by default.
   */
  readonly answerMs?: number | undefined;
  /** Milliseconds between the comments that keep an idle stream open; 15,000 by default. */
  readonly keepAliveMs?: number | undefined;
}

/** A function that answers requests: for any server that uses the Fetch API. */
export type Handler = (request: Request) => Promise<Response>;

/** A handler's options with all defaults filled in. */
export interface Service {
  readonly app: App;
  readonly basePath: string;
  readonly authorize: Authorize | null;
  readonly limits: Limits;
  readonly onError: (error: unknown) => void;
  readonly waitUntil: (work: Promise<unknown>) => void;
  readonly answerMs: number;
  readonly keepAliveMs: number;
  /** Streams that are open now. */
  readonly streams: { open: number };
}

export function serviceOf(app: App, options: HandlerOptions): Service {
  assertOptions(options, "basePath authorize limits onError waitUntil answerMs keepAliveMs", "createHandler");
  expectApp(app);
  return {
    app,
    basePath: basePathOf(options.basePath ?? ""),
    authorize: options.authorize ?? null,
    limits: limitsOf(options.limits),
    onError: options.onError ?? ((error) => app.world.warn(`a request failed: ${textOf(error)}`)),
    waitUntil: options.waitUntil ?? (() => {}),
    answerMs: options.answerMs ?? 2_000,
    keepAliveMs: options.keepAliveMs ?? 15_000,
    streams: { open: 0 },
  };
}

export function basePathOf(given: string): string {
  if (/^\/?(?:[^/?#\s]+\/)*[^/?#\s]*$/.test(given))
    return given === "" ? "" : `/${given.replace(/^\/|\/$/g, "")}`;
  throw new DurableError(
    "invalid-options",
    `basePath is ${JSON.stringify(given)}. Write it like "/api/durable".`,
  );
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

const changes: ReadonlySet<ActionType> = new Set<ActionType>([
  "start",
  "fork",
  "resume",
  "cancel",
  "delete",
  "purge",
  "schedule",
  "pause",
  "unpause",
  "retry",
  "send",
]);

/** Without `authorize` the handler allows nothing. */
export function assertOpen({ authorize }: Service): Authorize {
  if (authorize !== null) return authorize;
  throw new HttpError(
    "forbidden",
    "This handler accepts only answers by token. To allow more, pass createHandler(app, { authorize }).",
  );
}

/** Checks whether a request may do this. `null` when it may; otherwise the response to send. */
export async function refuse(service: Service, request: Request, action: Action): Promise<Response | null> {
  const authorize = assertOpen(service);
  // A page of another origin must not act with the cookies of its visitor.
  if (changes.has(action.type) && isForeign(request))
    throw new HttpError("cross-site", "Pages of other sites may not do this.");
  // Only `true` allows, whatever an untyped hook returns.
  const verdict: unknown = await authorize(request, action);
  if (verdict instanceof Response) return verdict;
  if (verdict !== true) throw new HttpError("forbidden", "You do not have permission to do this.");
  return null;
}
