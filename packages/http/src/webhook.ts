/**
 * Webhooks: raw bytes are verified before anything is parsed.
 *
 * W1. The id of a message is made of signed parts only. It names the run (`runId`) or the answer (`id`), so the
 *     journal itself remembers it, for ever, in the same write as the effect: a replay finds it there.
 */

import type { Handler } from "./handler.ts";
import type { Limits } from "./limits.ts";
import type { Verified, WebhookProfile } from "./profiles.ts";

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
export function verifyWebhook(_request: Request, _options: WebhookOptions): Promise<Webhook> {
  throw new Error("to come");
}

/** A handler of its own for one sender. */
export function webhook(_options: WebhookOptions, _handle: WebhookHandle): Handler {
  throw new Error("to come");
}

/** A run id that is the same for every delivery of one message. */
export function webhookRunId(_name: string, _id: string): Promise<string> {
  throw new Error("to come");
}
