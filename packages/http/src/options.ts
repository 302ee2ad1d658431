/**
 * The options of a handler, their defaults, and the check of permissions. Proven in test/authorize.test.ts.
 */

import { type App, DurableError } from "@durable/core";
import { HttpError } from "./errors.ts";
import { type Limits, limitsOf } from "./limits.ts";

export type ActionType = "start" | "read" | "tokens" | "list" | "stream" | "fork" | "cancel" | "describe";

/** What a request does. */
export interface Action {
  readonly type: ActionType;
  /** The workflow of `start`, and of a `list` with that filter. */
  readonly workflow?: string;
  /** For every action on one run. Its syntax is checked, not whether the run exists. */
  readonly runId?: string;
}

/**
 * True allows the request, false refuses it with 403, and a Response is sent as it is. Use the headers only,
 * because the body may have been read. `tokens` is called in addition to `read`: may the client see the
 * tokens of open waits?
 */
export type Authorize = (
  request: Request,
  action: Action,
) => boolean | Response | Promise<boolean | Response>;

export interface HandlerOptions {
  /** The path where the handler is mounted, such as "/durable"; "" by default. */
  readonly basePath?: string;
  /** Called before everything except resume by token. Without it everything else is refused. */
  readonly authorize?: Authorize;
  readonly limits?: Partial<Limits>;
  /** Called with errors that were answered with 5xx; by default they are warnings of the app's world. */
  readonly onError?: (error: unknown) => void;
  /** Keeps an edge request alive for work that continues after its response. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
  /**
   * A resume is answered after at most this many milliseconds, and the run continues in the background; 2,000
   * by default.
   */
  readonly answerMs?: number;
  /** Milliseconds between the comments that keep an idle stream open; 15,000 by default. */
  readonly keepAliveMs?: number;
}

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

/** One request on one route. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  /** The values of the named path segments. */
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
  // A page of another site must not act with the cookies of its visitor.
  if (changes.has(action.type) && request.headers.get("sec-fetch-site") === "cross-site")
    throw new HttpError("cross-site", "Pages of other sites may not do this.");
  // Only `true` allows, whatever an untyped hook returns.
  const verdict: unknown = await authorize(request, action);
  if (verdict instanceof Response) return verdict;
  if (verdict !== true) throw new HttpError("forbidden", "You do not have permission to do this.");
  return null;
}
