/**
 * Webhooks: raw bytes are verified before anything is parsed.
 *
 * W1. The id of a message is made of signed parts only. It names the run (`runId`) or the answer (`id`), so the
 *     journal itself remembers it, for ever, in the same write as the effect: a replay finds it there.
 */

import { assertType, parseJson, readBytes } from "./body.ts";
import { errorResponse, HttpError, json } from "./errors.ts";
import { sha256Hex, utf8 } from "./hmac.ts";
import { type Limits, limitsOf } from "./limits.ts";
import type { Handler } from "./options.ts";
import type { Verified, WebhookProfile } from "./profiles.ts";
import { toJson } from "./to-json.ts";

export interface WebhookOptions {
  readonly profile: WebhookProfile;
  readonly limits?: Partial<Limits>;
  /** Milliseconds since the epoch; the clock by default. */
  readonly now?: () => number;
  /** Hears what was answered with 5xx. */
  readonly onError?: (error: unknown) => void;
}

/** A message whose signature holds. */
export interface Webhook extends Verified {
  /** `webhookRunId` of it: start the run under this id, and a replay starts no second one. */
  readonly runId: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  text(): string;
  /** Parses within the limits; rejects what is no JSON with `invalid-json`. */
  json(): unknown;
}

/** What a webhook does. What it gives is sent as JSON with 202; nothing is `{ "status": "accepted" }`. */
export type WebhookHandle = (event: Webhook, request: Request) => unknown;

/** Reads and verifies a request. Rejects with an HttpError, which `errorResponse` turns into an answer. */
export async function verifyWebhook(request: Request, options: WebhookOptions): Promise<Webhook> {
  const { profile, now = Date.now } = options;
  const limits = limitsOf(options.limits);
  if (request.method !== "POST")
    throw new HttpError("method-not-allowed", "This address takes POST.", { headers: { allow: "POST" } });
  assertType(request, profile.types);
  const bytes = await readBytes(request, limits);
  const verified = await profile.verify({ headers: request.headers, bytes, now: now(), limits });
  return {
    ...verified,
    runId: await webhookRunId(profile.name, verified.id),
    bytes,
    text: () => new TextDecoder().decode(bytes),
    json: () => parseJson(bytes, limits),
  };
}

/** A handler of its own for one sender. */
export function webhook(options: WebhookOptions, handle: WebhookHandle): Handler {
  return async (request) => {
    try {
      const event = await verifyWebhook(request, options);
      const result = await handle(event, request);
      if (result instanceof Response) return result;
      return json(202, result === undefined ? { status: "accepted" } : toJson(result));
    } catch (error) {
      return errorResponse(error, options.onError ?? console.error);
    }
  };
}

/** A run id that is the same for every delivery of one message, and no other sender's. */
export async function webhookRunId(name: string, id: string): Promise<string> {
  const hash = await sha256Hex(utf8(`durable webhook ${id}`));
  return `${name}-${hash.slice(0, 40)}`;
}
