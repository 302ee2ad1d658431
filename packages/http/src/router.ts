/**
 * Finds the route of a request, and answers it. Proven in test/runs.test.ts.
 *
 * router.1. A path is split before it is decoded, because an escaped slash is part of a name.
 * router.2. A run id is checked before it reaches a permission check or the storage.
 */

import { HttpError } from "./errors.ts";
import { runIdOf } from "./request-fields.ts";

/** One request on one route. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  /** The values of the named path segments. */
  readonly params: Readonly<Record<string, string>>;
  /** The run of the path; "" where the path names none. */
  readonly runId: string;
  /** The scope that `authorize` gave the request, if it was asked already. */
  readonly scope?: string;
}

/** Routes by path and method; `{name}` in a path is a parameter. GET also serves HEAD. */
export type Routes<Route> = readonly (readonly [path: string, byMethod: Readonly<Record<string, Route>>])[];

/**
 * The route of a request below `basePath`; refuses an unknown path, another method and an invalid run id. `known` is
 * called with a path of the table before the method and the id are checked.
 */
export function findRoute<Route>(
  routes: Routes<Route>,
  request: Request,
  { basePath, known }: { readonly basePath: string; readonly known?: ((path: string) => void) | undefined },
): { readonly route: Route; readonly call: Call } {
  const url = new URL(request.url);
  const segments = segmentsOf(url.pathname, basePath);
  for (const [path, byMethod] of routes) {
    const params = match(path.split("/"), segments);
    if (params === null) continue;
    known?.(path);
    const route = byMethod[request.method === "HEAD" ? "GET" : request.method];
    if (route === undefined) throw notAllowed(Object.keys(byMethod));
    const { runId } = params;
    return { route, call: { request, url, params, runId: runId === undefined ? "" : runIdOf(runId) } };
  }
  throw new HttpError("no-route", "There is nothing at this address.");
}

/** The response of `work`, or the one that `failed` makes of its error; without a body for HEAD. */
export async function answerTo(
  { method }: Request,
  work: () => Promise<Response>,
  failed: (error: unknown) => Response,
): Promise<Response> {
  const response = await work().catch(failed);
  // A stream must not continue without a reader.
  if (method !== "HEAD" || response.body === null) return response;
  void response.body.cancel().catch(() => {});
  return new Response(null, response);
}

function segmentsOf(pathname: string, basePath: string): string[] {
  if (!pathname.startsWith(`${basePath}/`)) return [];
  try {
    return pathname
      .slice(basePath.length + 1)
      .split("/")
      .map(decodeURIComponent);
  } catch {
    throw new HttpError("invalid-path", "The path is not valid percent-encoded UTF-8.");
  }
}

function match(path: readonly string[], segments: readonly string[]): Record<string, string> | null {
  if (path.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [i, part] of path.entries()) {
    const segment = segments[i] as string;
    if (part.startsWith("{") && segment !== "") params[part.slice(1, -1)] = segment;
    else if (part !== segment) return null;
  }
  return params;
}

function notAllowed(methods: readonly string[]): HttpError {
  const allow = methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
  return new HttpError("method-not-allowed", `This address accepts ${allow}.`, { headers: { allow } });
}
