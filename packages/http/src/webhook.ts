/**
 * Webhooks: raw bytes are verified before anything is parsed.
 *
 * W1. The id of a message is made of signed parts only. It becomes the id of the run (`runId`) or of the
 *     answer (`id`), so the journal stores it in the same write as the effect, and a replayed message is
 *     recognized.
 */

import { type App, DurableError } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import { assertType, parseJson, readBytes } from "./body.ts";
import { errorResponse, HttpError, json } from "./errors.ts";
import { sha256Hex, utf8 } from "./hmac.ts";
import { type GivenLimits, limitsOf } from "./limits.ts";
import type { Handler } from "./options.ts";
import type { Verified, WebhookProfile } from "./webhook-profiles.ts";
import { toJson } from "./to-json.ts";

/** Options of `webhook` and `verifyWebhook`. */
export interface WebhookOptions {
  /** How the sender signs. */
  readonly profile: WebhookProfile;
  readonly limits?: GivenLimits | undefined;
  /** Milliseconds since the epoch; the clock of the system by default. */
  readonly now?: (() => number) | undefined;
  /** Called with errors that were answered with 5xx. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const webhookOptions = "profile limits now onError";

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
  assertOptions(options, webhookOptions, "verifyWebhook");
  const { profile, now = Date.now } = options;
  const limits = limitsOf(options.limits);
  if (request.method !== "POST")
    throw new HttpError("method-not-allowed", "This address accepts POST.", { headers: { allow: "POST" } });
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
  assertOptions(options, webhookOptions, "webhook");
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

/** The result of `startOnce`. */
export interface StartedOnce {
  readonly runId: string;
  /** The message came before, and its run exists. */
  readonly repeated: boolean;
}

/**
 * Starts a run under an id that names its message. A second call is `repeated`, even if the input differs.
 */
export async function startOnce(
  app: Pick<App, "start">,
  { workflow, input, id }: { readonly workflow: string; readonly input?: unknown; readonly id: string },
): Promise<StartedOnce> {
  try {
    const run = await app.start(workflow, input, { id });
    return { runId: run.id, repeated: run.repeated };
  } catch (error) {
    if (!DurableError.is(error, "input-mismatch")) throw error;
    return { runId: id, repeated: true };
  }
}
