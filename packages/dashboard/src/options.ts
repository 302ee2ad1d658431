/** The options of a dashboard, their checks, and what every route gets. Proven in test/security.test.ts. */

import { type App, type Authorize, createApp, type Secret, type Storage } from "@durable/core";
import type { Prices } from "@durable/core/inspect";
import { assertOptions, type Cipher } from "@durable/core/storage";
import { type Service as HttpService, serviceOf as httpService } from "@durable/http/kit";
import { invalid } from "./errors.ts";
import { Live } from "./live.ts";
import { SentPages } from "./patch.ts";
import { Sessions } from "./security.ts";

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
   * A secret of at least 32 characters. The page is opened with `#token=<token>` and gets a session of twelve hours for it;
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
  /**
   * Where the trace of a run is shown, with `{traceId}` in the place of its id: "https://traces.example.com/trace/{traceId}".
   * The ids are those of @durable/otel.
   */
  readonly traceUrl?: string | undefined;
  /** What the page calls the storage, such as ".durable/journal.db". */
  readonly title?: string | undefined;
  /** Called with errors that were answered with 500; by default they are printed as warnings. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The options with all defaults filled in. Permissions are those of a handler, to whose `authorize` the token is added. */
export interface Service extends HttpService {
  /** Workflows whose code is here. */
  readonly code: ReadonlySet<string>;
  readonly sessions: Sessions | null;
  readonly hosts: ReadonlySet<string>;
  readonly readOnly: boolean;
  readonly prices: Prices | undefined;
  readonly title: string;
  readonly traceUrl: string | undefined;
  /** Pages of runs as they were sent last. */
  readonly sent: SentPages;
  readonly live: Live;
}

export function serviceOf(options: DashboardOptions): Service {
  assertOptions(
    options,
    "storage app secret encryption authorize token basePath hosts readOnly prices title traceUrl onError",
    "createDashboard",
  );
  const { storage, authorize, token } = options;
  if (options.app === undefined && typeof storage?.list !== "function")
    throw invalid("createDashboard needs an app or a storage: pass { app } or { storage }.");
  if (authorize === undefined && token === undefined)
    throw invalid("createDashboard needs { authorize } or { token }, because journals are private.");
  const basePath = basePathOf(options.basePath ?? "");
  const app =
    options.app ??
    createApp({
      storage,
      workflows: [],
      secret: options.secret,
      encryption: options.encryption,
      bind: false,
    });
  const sessions = token === undefined ? null : new Sessions(token, () => app.world.now());
  const onError = options.onError ?? ((error) => app.world.warn(`The dashboard failed: ${textOf(error)}`));
  const decide: Authorize = async (request, action) =>
    (sessions !== null && (await sessions.has(request))) || (authorize?.(request, action) ?? false);
  return {
    ...httpService(app, { authorize: decide, onError }),
    code: new Set(options.app?.workflows),
    sessions,
    basePath,
    hosts: new Set(options.hosts?.map((host) => host.toLowerCase())),
    readOnly: options.readOnly ?? false,
    prices: options.prices,
    title: options.title ?? "",
    traceUrl: traceUrlOf(options.traceUrl),
    sent: new SentPages(),
    live: new Live(app),
  };
}

function basePathOf(given: string): string {
  if (/^(?:\/[\w.~-]+)*\/?$/.test(given)) return given.replace(/\/$/, "");
  throw invalid(`basePath is ${JSON.stringify(given)}. Write it like "/ops/durable".`);
}

/** A link that would run code is refused. */
function traceUrlOf(given: string | undefined): string | undefined {
  if (given === undefined || (/^https?:\/\//.test(given) && given.includes("{traceId}"))) return given;
  throw invalid(
    `traceUrl is ${JSON.stringify(given)}. Write it like "https://traces.example.com/trace/{traceId}".`,
  );
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
