/** Who signs webhooks how. A profile takes raw bytes and headers, and says whether they are the sender's. */

export interface ProfileOptions {
  /** One, or several while they are rotated: any of them may have signed. */
  readonly secrets: string | readonly string[];
  /** Tells two senders of one profile apart, in run ids. The profile's own name by default. */
  readonly name?: string;
  /** Seconds a signed time may be away from now, either way; 300 by default. GitHub signs none. */
  readonly toleranceSeconds?: number;
}

export interface StandardWebhooksOptions extends ProfileOptions {
  /** "webhook" by default: headers `webhook-id`, `webhook-timestamp`, `webhook-signature`. Svix also sends "svix". */
  readonly prefix?: "webhook" | "svix";
}

/** What is known of a message once its signature holds. */
export interface Verified {
  /** Made of signed parts only, equal in every delivery of one message. */
  readonly id: string;
  /** When it was signed, in milliseconds; `null` where that is not signed. */
  readonly at: number | null;
}

export interface WebhookProfile {
  readonly name: string;
  /** Media types it takes. */
  readonly types: readonly string[];
  /** Rejects with `bad-signature` when the message is not the sender's. */
  verify(message: {
    readonly headers: Headers;
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly now: number;
  }): Promise<Verified>;
}

export function standardWebhooks(_options: StandardWebhooksOptions): WebhookProfile {
  throw new Error("to come");
}
export function github(_options: ProfileOptions): WebhookProfile {
  throw new Error("to come");
}
export function stripe(_options: ProfileOptions): WebhookProfile {
  throw new Error("to come");
}
export function slack(_options: ProfileOptions): WebhookProfile {
  throw new Error("to come");
}
