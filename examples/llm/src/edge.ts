/** For the examples that are Workers: who may ask, and what was asked. */

import { HttpError, readJson } from "@durable/http";

export interface DoorEnv {
  readonly API_KEY?: string;
  /** "1" is set by the command `dev`, and by nothing that is deployed. */
  readonly DEV?: string;
}

/** Whoever has the key may start and read runs; without one, nobody but in development. */
export async function assertMayEnter(request: Request, { API_KEY, DEV }: DoorEnv): Promise<void> {
  if (API_KEY) {
    const given = request.headers.get("authorization") ?? "";
    // Of digests, a comparison tells nothing about the key by how long it takes.
    if ((await digest(given)) === (await digest(`Bearer ${API_KEY}`))) return;
    throw new HttpError("forbidden", "Send the key: authorization: Bearer ...");
  }
  if (DEV === "1") return;
  throw new HttpError("forbidden", "API_KEY is not set: npx wrangler@4 secret put API_KEY");
}

async function digest(text: string): Promise<string> {
  return String(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** `POST /runs`, `GET /runs/:id`, ...: the route, and the id where there is one. */
export function routeOf({ url, method }: Request): { readonly route: string; readonly id: string } {
  const { pathname } = new URL(url);
  const [, id] = /^\/runs\/([^/]+)$/.exec(pathname) ?? [];
  if (id === undefined) return { route: `${method} ${pathname}`, id: "" };
  try {
    return { route: `${method} /runs/:id`, id: decodeURIComponent(id) };
  } catch {
    throw new HttpError("invalid-path", "The id is not percent-encoded as it should be.");
  }
}

/** The members of a JSON object, within limits. */
export async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const body = await readJson(request, { bytes: 64 * 1024 });
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return { ...body };
  throw new HttpError("invalid-body", "Send an object.");
}
