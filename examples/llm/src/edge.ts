/** Who may start and read runs: whoever has the key; without one, nobody but in development. */

import { HttpError } from "@durable/http";

export interface DoorEnv {
  readonly API_KEY?: string;
  /** "1" is set by the command `dev`, and by nothing that is deployed. */
  readonly DEV?: string;
}

export async function assertMayEnter(request: Request, { API_KEY, DEV }: DoorEnv): Promise<void> {
  if (API_KEY) {
    const given = request.headers.get("authorization") ?? "";
    // Of digests, a comparison tells nothing about the key by how long it takes.
    if ((await digest(given)) === (await digest(`Bearer ${API_KEY}`))) return;
    throw new HttpError("forbidden", "Send the key: authorization: Bearer ...");
  }
  if (DEV === "1") return;
  throw new HttpError("forbidden", "API_KEY is not set: npx wrangler secret put API_KEY");
}

async function digest(text: string): Promise<string> {
  return String(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
