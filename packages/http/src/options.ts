/**
 * The options of a handler, their defaults, and the check of permissions. Proven in test/authorize.test.ts and
 * test/policy.test.ts.
 *
 * permission.1. Nothing of the storage is read before `authorize` has allowed it.
 * permission.2. Only `true` or a scope allows, whatever an untyped hook returns.
 */

import { type Action, type App, type Authorize, type Duration, DurableError } from "@durable/core";
import type { ActionType } from "@durable/core/types";
import { assertOptions, expectApp, toMs } from "@durable/core/storage";
import { Answered, HttpError } from "./errors.ts";
import { StreamSlots } from "./event-stream.ts";
import { type GivenLimits, type Limits, limitsOf } from "./limits.ts";
import { isForeign } from "./same-origin.ts";

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
   * A resume is answered after this time at the latest, and the run continues in the background.
   * "2s" by default.
   */
  readonly answerWithin?: Duration | undefined;
  /**
   * Starts and answers are only recorded, and this is called with the id of the run, instead of driving it here: for a queue.
   * If it fails, so does the request; a sweep or a repeated request finds the run.
   */
  readonly handOn?: ((runId: string) => unknown) | undefined;
  /** Time between the comments that keep an idle stream open; "15s" by default. */
  readonly keepAlive?: Duration | undefined;
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
  readonly handOn: ((runId: string) => unknown) | null;
  readonly keepAliveMs: number;
  /** Streams that are open now. */
  readonly streams: StreamSlots;
}

/** The options of a handler with all defaults. */
export function serviceOf(app: App, options: HandlerOptions): Service {
  assertOptions(
    options,
    "basePath authorize limits onError waitUntil answerWithin handOn keepAlive",
    "createHandler",
  );
  expectApp(app);
  return {
    app,
    basePath: basePathOf(options.basePath ?? ""),
    authorize: options.authorize ?? null,
    limits: limitsOf(options.limits),
    onError: options.onError ?? ((error) => app.world.warn(`a request failed: ${textOf(error)}`)),
    waitUntil: options.waitUntil ?? (() => {}),
    answerMs: toMs(options.answerWithin ?? 2_000, "answerWithin of createHandler"),
    handOn: options.handOn ?? null,
    keepAliveMs: toMs(options.keepAlive ?? 15_000, "keepAlive of createHandler"),
    streams: new StreamSlots(),
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
  "wake",
  "send",
  "score",
]);

/** Without `authorize` the handler allows nothing. */
export function assertOpen({ authorize }: Service): Authorize {
  if (authorize !== null) return authorize;
  throw new HttpError(
    "forbidden",
    "This handler accepts only answers by token. To allow more, pass createHandler(app, { authorize }).",
  );
}

/** Permission, with the scope of the request. */
export interface Allowed {
  /** The keys that the request names are keys of this scope. */
  readonly scope?: string;
  /** The highest priority that a start may choose; missing where the request may choose any. */
  readonly priority?: number;
}

/** Lets a request do this, or throws the refusal. */
export async function allow(service: Service, request: Request, action: Action): Promise<Allowed> {
  const authorize = assertOpen(service);
  // A page of another origin must not act with the cookies of its visitor.
  if (changes.has(action.type) && isForeign(request))
    throw new HttpError("cross-site", "Pages of other sites may not do this.");
  const verdict: unknown = await authorize(request, action);
  if (verdict instanceof Response) throw new Answered(verdict);
  const allowed = allowedBy(verdict);
  if (allowed === null) throw new HttpError("forbidden", "You do not have permission to do this.");
  return allowed;
}

function allowedBy(verdict: unknown): Allowed | null {
  if (verdict === true) return {};
  const { scope, priority } = Object(verdict) as { readonly scope?: unknown; readonly priority?: unknown };
  if (typeof scope !== "string" || scope === "") return null;
  // All scopes share the order of runs, so none may come first unless the policy says so.
  return { scope, priority: typeof priority === "number" ? priority : 0 };
}

/** True if a request may do this: for rows of a list, which are left out otherwise. */
export async function mayDo({ authorize }: Service, request: Request, action: Action): Promise<boolean> {
  return allowedBy(await authorize?.(request, action)) !== null;
}

/** The rows that a request may read. */
export async function readable<Row extends { readonly runId: string; readonly workflow: string }>(
  service: Service,
  request: Request,
  rows: readonly Row[],
): Promise<Row[]> {
  const allowed = rows.map(({ runId, workflow }) =>
    mayDo(service, request, { type: "read", runId, workflow }),
  );
  const verdicts = await Promise.all(allowed);
  return rows.filter((_, i) => verdicts[i] === true);
}
