/**
 * For the examples that run as Workers: access control and request parsing. Proven in
 * cloudflare-worker/test/routes.test.ts.
 */

import { HttpError, readJson } from "@durable/http";

export interface AccessEnv {
  readonly API_KEY?: string;
  /** "1" in the command `dev`, and never in a deployment. */
  readonly DEV?: string;
}

/**
 * A request with the key may start and read runs. Without a key, requests are allowed in development only.
 */
export async function assertAccess(request: Request, { API_KEY, DEV }: AccessEnv): Promise<void> {
  if (API_KEY) {
    const given = request.headers.get("authorization") ?? "";
    // Comparing digests takes a time that reveals nothing about the key.
    if ((await digest(given)) === (await digest(`Bearer ${API_KEY}`))) return;
    throw new HttpError("forbidden", "Send the key: authorization: Bearer ...");
  }
  if (DEV === "1") return;
  throw new HttpError("forbidden", "API_KEY is not set: npx wrangler@4 secret put API_KEY");
}

/** The same, as an answer for `authorize` of a handler. */
export async function mayAccess(request: Request, env: AccessEnv): Promise<true> {
  await assertAccess(request, env);
  return true;
}

async function digest(text: string): Promise<string> {
  return String(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** `POST /runs`, `GET /runs/:id`, ...: the route, and the id if it has one. */
export function routeOf({ url, method }: Request): { readonly route: string; readonly id: string } {
  const { pathname } = new URL(url);
  const [, id] = /^\/runs\/([^/]+)$/.exec(pathname) ?? [];
  if (id === undefined) return { route: `${method} ${pathname}`, id: "" };
  try {
    return { route: `${method} /runs/:id`, id: decodeURIComponent(id) };
  } catch {
    throw new HttpError("invalid-path", "The id is not valid percent-encoding.");
  }
}

/** The members of a JSON object, within limits. */
export async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const body = await readJson(request, { bytes: 64 * 1024 });
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return { ...body };
  throw new HttpError("invalid-body", "Send a JSON object.");
}
