/** The options of a dashboard, their checks, and what every route gets. Proven in test/security.test.ts. */

import { type App, createApp, type Secret, type Storage } from "@durable/core";
import type { Prices } from "@durable/core/inspect";
import { assertOptions, type Cipher } from "@durable/core/storage";
import { HttpError } from "@durable/http";
import { invalid, Refusal } from "./errors.ts";
import type { Summary } from "./api.ts";
import { Live } from "./live.ts";
import { Sessions } from "./security.ts";

/** What a request wants to do, for `authorize`. */
export type ActionType =
  | "read"
  | "answer"
  | "fork"
  | "retry"
  | "wake"
  | "cancel"
  | "pause"
  | "unpause"
  | "send"
  | "schedule"
  | "purge";

/** What a request wants to do, and with which run. */
export interface Action {
  readonly type: ActionType;
  /** Given for everything that is about one run. */
  readonly runId?: string;
  /** Given for a `pause` or `unpause` of all runs of a workflow. */
  readonly workflow?: string;
  /** Given for `schedule`, which pauses, resumes, triggers or removes one: its name. */
  readonly schedule?: string;
  /** Given for `send`: the topic of the message. */
  readonly topic?: string;
}

/** Decides about a request: true allows it, false answers 403, a Response is sent as it is. */
export type Authorize = (
  request: Request,
  action: Action,
) => boolean | Response | Promise<boolean | Response>;

/** Options of `createDashboard`. */
export interface DashboardOptions {
  /** The app that has the storage and the code of the workflows. Either this or `storage` is required. */
  readonly app?: App | undefined;
  /**
   * Where the journals are, if there is no `app`. The page then shows runs, takes answers and messages, and
   * pauses, wakes, retries and cancels, but cannot fork, which needs the code.
   */
  readonly storage?: Storage | undefined;
  /** Signs resume tokens, if there is no `app` and the storage keeps no secret. */
  readonly secret?: Secret | undefined;
  /** Opens sealed journals, if there is no `app`. */
  readonly encryption?: Cipher | undefined;
  /** Decides about every request for data. Either this or `token` is required. */
  readonly authorize?: Authorize | undefined;
  /**
   * A secret of at least 32 characters. The page is opened with `#token=<token>` and gets a cookie for it;
   * programs send `Authorization: Bearer <token>`.
   */
  readonly token?: string | undefined;
  /** Where the page is mounted, such as "/durable"; "" by default. */
  readonly basePath?: string | undefined;
  /** Names under which the page may be asked for, such as "ops.example.com". Loopback names always may. */
  readonly hosts?: readonly string[] | undefined;
  /** True refuses every action: the page only shows. False by default. */
  readonly readOnly?: boolean | undefined;
  /** Prices of models, for costs. */
  readonly prices?: Prices | undefined;
  /** What the page calls the storage, such as ".durable/journal.db". */
  readonly title?: string | undefined;
  /** Called with errors that were answered with 500; by default they are printed as warnings. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The options with all defaults filled in. */
export interface Service {
  readonly app: App;
  /** Workflows whose code is here. */
  readonly code: ReadonlySet<string>;
  readonly authorize: Authorize | null;
  readonly sessions: Sessions | null;
  readonly basePath: string;
  readonly hosts: ReadonlySet<string>;
  readonly readOnly: boolean;
  readonly prices: Prices | undefined;
  readonly title: string;
  readonly onError: (error: unknown) => void;
  /** Lines of lists, by run and time of its last change. */
  readonly summaries: Map<string, Promise<Summary | null>>;
  readonly live: Live;
}

export function serviceOf(options: DashboardOptions): Service {
  assertOptions(
    options,
    "storage app secret encryption authorize token basePath hosts readOnly prices title onError",
    "createDashboard",
  );
  const { storage, authorize = null, token } = options;
  if (options.app === undefined && typeof storage?.list !== "function")
    throw invalid("createDashboard needs an app or a storage: pass { app } or { storage }.");
  if (authorize === null && token === undefined)
    throw invalid("createDashboard needs { authorize } or { token }, because journals are private.");
  const basePath = basePathOf(options.basePath ?? "");
  const app =
    options.app ??
    createApp({ storage, workflows: [], secret: options.secret, encryption: options.encryption });
  return {
    app,
    code: new Set(options.app?.workflows),
    authorize,
    sessions: token === undefined ? null : new Sessions(token, basePath),
    basePath,
    hosts: new Set(options.hosts?.map((host) => host.toLowerCase())),
    readOnly: options.readOnly ?? false,
    prices: options.prices,
    title: options.title ?? "",
    onError: options.onError ?? ((error) => app.world.warn(`The dashboard failed: ${textOf(error)}`)),
    summaries: new Map(),
    live: new Live(app),
  };
}

function basePathOf(given: string): string {
  if (/^(?:\/[\w.~-]+)*\/?$/.test(given)) return given.replace(/\/$/, "");
  throw invalid(`basePath is ${JSON.stringify(given)}. Write it like "/ops/durable".`);
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Checks whether a request may do this. `null` when it may; otherwise the response to send. */
export async function refuse(service: Service, request: Request, action: Action): Promise<Response | null> {
  if (action.type !== "read" && service.readOnly)
    throw new Refusal(
      "read-only",
      "This dashboard is read-only. Start it without readOnly to allow actions.",
    );
  if (service.sessions !== null && (await service.sessions.has(request))) return null;
  // Only `true` allows, whatever an untyped hook returns.
  const verdict: unknown = await service.authorize?.(request, action);
  if (verdict instanceof Response) return verdict;
  if (verdict === true) return null;
  throw new HttpError(
    "forbidden",
    service.sessions === null
      ? "You do not have permission to do this."
      : "Open this page with the address that was printed when it started: it contains the token.",
  );
}
