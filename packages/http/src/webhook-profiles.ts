/**
 * Signature schemes of webhook senders. A profile checks raw bytes and headers against the sender's secrets.
 *
 * V1. An id is made of signed parts only, so that a replayed message cannot get another id.
 * V2. A header that was sent twice is refused, because it is ambiguous.
 */

import { DurableError } from "@durable/core";
import { assertOptions, isWeak } from "@durable/core/storage";
import { formType, jsonType, parseJson } from "./body.ts";
import { HttpError } from "./errors.ts";
import { fromBase64, fromHex, prefixed, sha256Hex, utf8, verifier } from "./hmac.ts";
import type { Limits } from "./limits.ts";

/** Options of a webhook profile. */
export interface ProfileOptions {
  /**
   * One secret, or several during a rotation: any of them may have signed. The first is the current one, with
   * at least 16 characters.
   */
  readonly secrets: string | readonly string[];
  /** Distinguishes two senders with the same profile, in run ids. The name of the profile by default. */
  readonly name?: string | undefined;
  /** How many seconds the signed time may differ from now; 300 by default. GitHub signs no time. */
  readonly toleranceSeconds?: number | undefined;
}

/** Options of `standardWebhooks`. */
export interface StandardWebhooksOptions extends ProfileOptions {
  /**
   * "webhook" by default: headers `webhook-id`, `webhook-timestamp`, `webhook-signature`. Svix also sends
   * "svix".
   */
  readonly prefix?: "webhook" | "svix" | undefined;
}

/** What is known of a message after its signature was verified. */
export interface Verified {
  /** Made only from signed parts; equal for all deliveries of one message. */
  readonly id: string;
  /** When it was signed, in milliseconds; `null` where the time is not signed. */
  readonly at: number | null;
}

/** A message as it arrived. */
export interface Received {
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly now: number;
  readonly limits: Limits;
}

/** How one sender signs its messages. Implement it for other senders. */
export interface WebhookProfile {
  readonly name: string;
  /** Media types it accepts. */
  readonly types: readonly string[];
  /** Rejects with `bad-signature` when the message does not come from the sender. */
  verify(received: Received): Promise<Verified>;
}

const mostSignatures = 16;

/**
 * https://www.standardwebhooks.com with symmetric signatures (`v1`). Secrets are base64, with or without
 * `whsec_`. An id with a dot is refused, because dots separate the signed parts.
 */
export function standardWebhooks(options: StandardWebhooksOptions): WebhookProfile {
  const { prefix = "webhook" } = options;
  const { name, toleranceMs } = settings(options, "standard-webhooks", " toleranceSeconds prefix");
  const holds = verifier(keysOf(options, name, (secret) => keyOf(secret, name)));
  return {
    name,
    types: [jsonType],
    verify: async ({ headers, bytes, now }) => {
      const id = single(headers, `${prefix}-id`);
      const time = single(headers, `${prefix}-timestamp`);
      const at = timeOf(time, { now, toleranceMs });
      // The signed text is joined by dots: an id with a dot could be cut into another id, time and body.
      if (!/^[\x21-\x2d\x2f-\x7e]{1,256}$/.test(id)) throw bad("the id is invalid");
      const signatures = single(headers, `${prefix}-signature`)
        .split(" ")
        .map((text) => (text.startsWith("v1,") ? fromBase64(text.slice(3)) : null));
      await assertHolds(holds, signatures, prefixed(`${id}.${time}.`, bytes));
      return { id, at };
    },
  };
}

/**
 * Verifies `X-Hub-Signature-256`. GitHub signs neither the time nor the delivery id, so a message is
 * identified by its body.
 */
export function github(options: Omit<ProfileOptions, "toleranceSeconds">): WebhookProfile {
  const { name } = settings(options, "github", "");
  const holds = verifier(keysOf(options, name, utf8));
  return {
    name,
    types: [jsonType],
    verify: async ({ headers, bytes }) => {
      const signature = /^sha256=([0-9a-f]{64})$/.exec(single(headers, "x-hub-signature-256"))?.[1] ?? "";
      await assertHolds(holds, [fromHex(signature)], bytes);
      return { id: await hashed(bytes), at: null };
    },
  };
}

/** Verifies `Stripe-Signature: t=...,v1=...`. A message is identified by the `id` of its event. */
export function stripe(options: ProfileOptions): WebhookProfile {
  const { name, toleranceMs } = settings(options, "stripe");
  const holds = verifier(keysOf(options, name, utf8));
  return {
    name,
    types: [jsonType],
    verify: async ({ headers, bytes, now, limits }) => {
      const items = single(headers, "stripe-signature")
        .split(",")
        .map((item) => /^([a-z]\w*)=([^=\s]+)$/.exec(item) ?? []);
      if (items.some(([item]) => item === undefined)) throw bad("the header is malformed");
      const times = items.filter(([, key]) => key === "t").map(([, , value = ""]) => value);
      const [time = ""] = times;
      if (times.length !== 1) throw bad("the header must have exactly one time");
      const at = timeOf(time, { now, toleranceMs });
      const signatures = items.filter(([, key]) => key === "v1").map(([, , value = ""]) => fromHex(value));
      await assertHolds(holds, signatures, prefixed(`${time}.`, bytes));
      return { id: memberOf(bytes, "id", limits) ?? (await hashed(bytes)), at };
    },
  };
}

/**
 * Verifies `X-Slack-Signature: v0=...`. Events are identified by `event_id`, commands and clicks by their
 * body.
 */
export function slack(options: ProfileOptions): WebhookProfile {
  const { name, toleranceMs } = settings(options, "slack");
  const holds = verifier(keysOf(options, name, utf8));
  return {
    name,
    types: [jsonType, formType],
    verify: async ({ headers, bytes, now, limits }) => {
      const time = single(headers, "x-slack-request-timestamp");
      const at = timeOf(time, { now, toleranceMs });
      const signature = /^v0=([0-9a-f]{64})$/.exec(single(headers, "x-slack-signature"))?.[1] ?? "";
      await assertHolds(holds, [fromHex(signature)], prefixed(`v0:${time}:`, bytes));
      return { id: memberOf(bytes, "event_id", limits) ?? (await hashed(bytes)), at };
    },
  };
}

/** The reason goes to the log, not to the sender. */
export function bad(why: string): HttpError {
  return new HttpError("bad-signature", "The signature of this request is invalid.", {
    cause: new Error(why),
  });
}

function settings(
  options: Omit<ProfileOptions, "secrets">,
  usual: string,
  more = " toleranceSeconds",
): { readonly name: string; readonly toleranceMs: number } {
  assertOptions(options, `secrets name${more}`, `The webhook profile "${usual}"`);
  const { name, toleranceSeconds = 300 } = options;
  if (name !== undefined && !/^[a-z0-9][a-z0-9-]{0,31}$/.test(name))
    throw new DurableError(
      "invalid-options",
      "The name of a webhook profile must have 1 to 32 characters of a-z, 0-9 and -.",
    );
  if (!(toleranceSeconds > 0 && toleranceSeconds <= 86_400))
    throw new DurableError("invalid-options", "toleranceSeconds must be greater than 0 and at most 86,400.");
  return { name: name ?? usual, toleranceMs: toleranceSeconds * 1_000 };
}

/** The keys of the secrets. The first is the current one and must be hard to guess; the others may be older. */
function keysOf(
  { secrets }: Pick<ProfileOptions, "secrets">,
  name: string,
  toKey: (secret: string) => Uint8Array<ArrayBuffer>,
): readonly Uint8Array<ArrayBuffer>[] {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  const texts = list.filter((secret) => typeof secret === "string" && secret !== "") as string[];
  const [current, ...older] = texts.map(toKey);
  if (current === undefined || texts.length < list.length)
    throw new DurableError("invalid-options", `The webhook profile "${name}" needs at least one secret.`);
  if (isWeak(current))
    throw new DurableError(
      "invalid-options",
      `The first secret of the webhook profile "${name}" is too short or too regular. Make one with \`openssl rand -base64 32\`, and give it to the sender. As a later secret in the list, the old one still verifies.`,
    );
  return [current, ...older];
}

function keyOf(secret: string, name: string): Uint8Array<ArrayBuffer> {
  const key = fromBase64(secret.replace(/^whsec_/, ""));
  if (key !== null) return key;
  throw new DurableError("invalid-options", `A secret of the webhook profile "${name}" is not base64.`);
}

/** A header that was sent once: two of one name arrive joined by a comma and a space. */
function single(headers: Headers, name: string): string {
  const value = headers.get(name);
  if (value === null) throw bad(`the header ${name} is missing`);
  if (value.includes(", ")) throw bad(`the header ${name} was sent twice`);
  return value;
}

function timeOf(
  text: string,
  { now, toleranceMs }: { readonly now: number; readonly toleranceMs: number },
): number {
  const at = /^\d{1,12}$/.test(text) ? Number(text) * 1_000 : Number.NaN;
  if (Math.abs(now - at) <= toleranceMs) return at;
  throw bad("the signed time is too far from now");
}

async function assertHolds(
  holds: ReturnType<typeof verifier>,
  signatures: readonly (Uint8Array<ArrayBuffer> | null)[],
  data: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const given = signatures.filter((signature) => signature !== null);
  if (given.length > mostSignatures) throw bad("there are too many signatures");
  if (!(await holds(given, data))) throw bad("no configured secret matches");
}

const hashed = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> => `sha256-${await sha256Hex(bytes)}`;

/** A text member of a verified JSON body; `null` if it is missing. */
function memberOf(bytes: Uint8Array, name: string, limits: Limits): string | null {
  try {
    const body = parseJson(bytes, limits) as Record<string, unknown> | null;
    const value = typeof body === "object" && body !== null ? body[name] : null;
    return typeof value === "string" && value !== "" ? value : null;
  } catch {
    return null;
  }
}
