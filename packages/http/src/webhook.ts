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

/** Options of `webhook` and `verifyWebhook`. */
export interface WebhookOptions {
  /** How the sender signs. */
  readonly profile: WebhookProfile;
  readonly limits?: Partial<Limits>;
  /** Milliseconds since the epoch; the clock of the system by default. */
  readonly now?: () => number;
  /** Called with errors that were answered with 5xx. */
  readonly onError?: (error: unknown) => void;
}

/** A message whose signature is valid. */
export interface Webhook extends Verified {
  /**
   * `webhookRunId` of the message: start the run under this id, and a repeated delivery starts no second run.
   */
  readonly runId: string;
  /** The body as it came. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The body as text. */
  text(): string;
  /** Parses the body within the limits; throws `invalid-json` if it is not JSON. */
  json(): unknown;
}

/**
 * What a webhook does with a message. A returned value is sent as JSON with 202; without one, `{ "status":
 * "accepted" }` is sent.
 */
export type WebhookHandle = (event: Webhook, request: Request) => unknown;

/** Reads and verifies a message. Rejects with an `HttpError`, which `errorResponse` turns into an answer. */
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

/** Creates a handler for the messages of one sender. */
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

/** A run id that is equal for all deliveries of one message, and for no other message. */
export async function webhookRunId(name: string, id: string): Promise<string> {
  const hash = await sha256Hex(utf8(`durable webhook ${id}`));
  return `${name}-${hash.slice(0, 40)}`;
}
