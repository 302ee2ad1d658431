/** What a handler is made with, and what it makes of that. */

import { type App, DurableError } from "@durable/core";
import { HttpError } from "./errors.ts";
import { type Limits, limitsOf } from "./limits.ts";

/** What a request wants to do, for `authorize`. */
export type ActionType = "start" | "read" | "tokens" | "list" | "stream" | "fork" | "cancel" | "describe";

/** What a request wants to do, and with which run. */
export interface Action {
  readonly type: ActionType;
  /** Given for `start`, and for a `list` of one workflow. */
  readonly workflow?: string;
  /** Given for every action on one run. Its characters are checked; whether the run exists is not. */
  readonly runId?: string;
}

/**
 * Decides about a request: true allows it, false answers 403, a Response is sent as it is. Look at headers
 * only, because the body may have been read. `tokens` is asked besides `read`, and decides whether the answer
 * contains resume tokens.
 */
export type Authorize = (
  request: Request,
  action: Action,
) => boolean | Response | Promise<boolean | Response>;

/** Options of `createHandler`. */
export interface HandlerOptions {
  /** Where the handler is mounted, such as "/durable"; "" by default. */
  readonly basePath?: string;
  /** Called for every request except answers by token. Without it, all of these are refused. */
  readonly authorize?: Authorize;
  /** Limits of requests; see `Limits` for the defaults. */
  readonly limits?: Partial<Limits>;
  /** Called with errors that were answered with 5xx; by default they are printed as warnings. */
  readonly onError?: (error: unknown) => void;
  /** Keeps an edge request alive for work after its answer. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
  /**
   * A resume is answered after this many milliseconds at the latest, and the run continues in the background.
   * 2,000 by default.
   */
  readonly answerMs?: number;
  /** Milliseconds between the comments that keep a quiet stream open. 15,000 by default. */
  readonly keepAliveMs?: number;
}

/** A function that answers requests: for any server that uses the Fetch API. */
export type Handler = (request: Request) => Promise<Response>;

/** A handler's options with nothing left open. */
export interface Service {
  readonly app: App;
  readonly basePath: string;
  readonly authorize: Authorize | null;
  readonly limits: Limits;
  readonly onError: (error: unknown) => void;
  readonly waitUntil: (work: Promise<unknown>) => void;
  readonly answerMs: number;
  readonly keepAliveMs: number;
  /** Streams that are being sent. */
  readonly streams: { open: number };
}

/** One request on one route. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  /** What stands in the places of the path that have a name. */
  readonly params: Readonly<Record<string, string>>;
}

export function serviceOf(app: App, options: HandlerOptions): Service {
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

const changes: ReadonlySet<ActionType> = new Set<ActionType>(["start", "fork", "cancel"]);

/** A handler that was given no `authorize` allows nothing, whatever is asked and however. */
export function assertOpen({ authorize }: Service): Authorize {
  if (authorize !== null) return authorize;
  throw new HttpError(
    "forbidden",
    "This handler takes nothing but answers by token. To allow more, pass createHandler(app, { authorize }).",
  );
}

/** Asks whether a request may do this. `null` when it may; else what to send instead. */
export async function refuse(service: Service, request: Request, action: Action): Promise<Response | null> {
  const authorize = assertOpen(service);
  // A page elsewhere must not act with the cookies of whoever looks at it.
  if (changes.has(action.type) && request.headers.get("sec-fetch-site") === "cross-site")
    throw new HttpError("cross-site", "Another site's page may not do this.");
  // Nothing but true is a yes, whatever a hook without types gives.
  const verdict: unknown = await authorize(request, action);
  if (verdict instanceof Response) return verdict;
  if (verdict !== true) throw new HttpError("forbidden", "You may not do this.");
  return null;
}
