/** An e-mail from the webhook. Its sender is untrusted: all of it is data, never an instruction. */

import { z } from "zod";

/** Length limits; the size of the whole body was checked before. */
const longest = { address: 320, addresses: 20_000, line: 998, ids: 20_000 };

const addressShape = /^[^\s\p{C}@<>(),;:"\\]+@[^\s\p{C}@<>(),;:"\\]+$/u;

/**
 * The bare address of `Ada <ada@example.com>` or `ada@example.com`; `null` for anything else, or several
 * addresses.
 */
export function addressIn(text: string): string | null {
  const [, angled] = /^[^<>]*<([^<>]*)>\s*$/.exec(text) ?? [];
  const address = (angled ?? text).trim();
  return address.length <= longest.address && addressShape.test(address) ? address : null;
}

/** The name before the address, for a greeting; the mailbox if there is no name, or an odd one. */
export function nameIn(text: string): string {
  const before = text.slice(0, Math.max(0, text.indexOf("<"))).trim();
  const name = before.startsWith('"') && before.endsWith('"') ? before.slice(1, -1) : before;
  const [mailbox = ""] = (addressIn(text) ?? "").split("@");
  return (name.includes('"') ? "" : oneLine(name, 60)) || mailbox;
}

/** The part of an address after the last `@`, in lower case. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1).toLowerCase();
}

/** Without line breaks and control characters, and at most `most` characters: valid in a header. */
export function oneLine(text: string, most: number): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 3).trimEnd()}...`;
}

const oneOrMore = z.union([z.string(), z.array(z.string()).max(100)]).transform((given) => [given].flat());
const recipients = oneOrMore
  .refine((list) => list.join().length <= longest.addresses, "is too long")
  .refine((list) => list.some((text) => text.includes("@")), "holds no address");
const messageIds = oneOrMore.refine((list) => list.join().length <= longest.ids, "is too long");

/** What the mail provider found about the sender; its form differs from provider to provider. */
const verdict = z
  .union([z.string().max(longest.line), z.boolean(), z.object({ status: z.string().max(longest.line) })])
  .nullish();

export type Verdict = z.output<typeof verdict>;

/** Optional fields, under the names that providers use. */
const optional = {
  inReplyTo: messageIds.nullish(),
  references: messageIds.nullish(),
  spf: verdict,
  dkim: verdict,
  dmarc: verdict,
};

export const emailSchema = z.object({
  from: z
    .string()
    .max(longest.line)
    .refine((text) => addressIn(text) !== null, "is not one e-mail address"),
  to: recipients,
  subject: z.string().max(longest.line),
  body: z.string(),
  messageId: z
    .string()
    .max(longest.line)
    .refine((text) => bareId(text) !== "", "is empty"),
  ...optional,
});

export type Email = z.output<typeof emailSchema>;

/** A message id without its brackets, which gateways add and drop. */
export function bareId(messageId: string): string {
  return messageId
    .trim()
    .replace(/^<(.*)>$/, "$1")
    .trim();
}

/** A message id for a header; `null` if it is invalid there. */
export function headerId(messageId: string): string | null {
  const id = bareId(messageId);
  return /^[\x21-\x3b\x3d\x3f-\x7e]{1,250}$/.test(id) ? `<${id}>` : null;
}
