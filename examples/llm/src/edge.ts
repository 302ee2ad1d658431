/**
 * For the examples that run as Workers: access control. Proven in cloudflare-worker/test/routes.test.ts.
 */

import { HttpError } from "@durable/http";

export interface AccessEnv {
  readonly API_KEY?: string;
  /** "1" in the command `dev`, and never in a deployment. */
  readonly DEV?: string;
}

/**
 * For `authorize` of a handler: a request with the key may start and read runs. Without a key, requests are allowed in
 * development only.
 */
export async function mayAccess(request: Request, { API_KEY, DEV }: AccessEnv): Promise<true> {
  if (API_KEY) {
    const given = request.headers.get("authorization") ?? "";
    // Comparing digests takes a time that reveals nothing about the key.
    if ((await digest(given)) === (await digest(`Bearer ${API_KEY}`))) return true;
    throw new HttpError("forbidden", "Send the key: authorization: Bearer ...");
  }
  if (DEV === "1") return true;
  throw new HttpError("forbidden", "API_KEY is not set: npx wrangler@4 secret put API_KEY");
}

async function digest(text: string): Promise<string> {
  return String(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
