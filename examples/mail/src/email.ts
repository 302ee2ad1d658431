/** An e-mail from the webhook. Its sender is untrusted: all of it is data, never an instruction. */

import { HttpError } from "@durable/http";
import { z } from "zod";

const addressShape = /^[^\s\p{C}@<>(),;:"\\]+@[^\s\p{C}@<>(),;:"\\]+$/u;

/** The bare address of `Ada <ada@example.com>` or `ada@example.com`; empty for anything else. */
export function addressIn(text: string): string {
  const [, angled] = /^[^<>]*<([^<>]*)>\s*$/.exec(text) ?? [];
  const address = (angled ?? text).trim();
  return address.length <= 320 && addressShape.test(address) ? address : "";
}

/** The name before the address, for a greeting; the mailbox if there is no name, or an odd one. */
export function nameIn(from: string): string {
  const before = from.slice(0, Math.max(0, from.indexOf("<"))).trim();
  const name = before.startsWith('"') && before.endsWith('"') ? before.slice(1, -1) : before;
  const [mailbox = ""] = addressIn(from).split("@");
  return (name.includes('"') ? "" : oneLine(name, 60)) || mailbox;
}

/** Without line breaks and control characters, and at most `most` characters: valid in a header. */
export function oneLine(text: string, most: number): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 3).trimEnd()}...`;
}

const line = z.string().max(998);
const lines = z
  .union([z.string(), z.array(z.string()).max(100)])
  .transform((given) => [given].flat())
  .refine((list) => list.join().length <= 20_000, "is too long");
/** What the mail provider found about the sender; its form differs from provider to provider. */
const verdict = z.union([line, z.boolean(), z.object({ status: line })]).nullish();

export const emailSchema = z.object({
  from: line.refine(addressIn, "is not one e-mail address"),
  to: lines.refine((list) => list.some((text) => text.includes("@")), "holds no address"),
  subject: line,
  body: z.string(),
  messageId: line.refine(bareId, "is empty"),
  inReplyTo: lines.nullish(),
  references: lines.nullish(),
  spf: verdict,
  dkim: verdict,
  dmarc: verdict,
});

export type Email = z.output<typeof emailSchema>;

const eventSchema = z.object({ type: z.string().min(1).max(200) });

/** The mail of an event, with the start of its text; `null` for an event of another type. */
export function emailIn(event: unknown): Email | null {
  const { type } = parsed(eventSchema, event);
  if (type !== "email.received") return null;
  const { email } = parsed(z.object({ email: emailSchema }), event);
  return { ...email, body: email.body.slice(0, 64 * 1024) };
}

function parsed<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues
    .slice(0, 10)
    .map(({ path, message }) => `${path.join(".") || "the body"}: ${message}`);
  throw new HttpError("invalid-body", `Not an event: ${issues.join("; ")}`, { details: { issues } });
}

/** A message id without its brackets, which gateways add and drop. */
export function bareId(messageId: string): string {
  return messageId
    .trim()
    .replace(/^<(.*)>$/, "$1")
    .trim();
}

/** False when the mail provider says that the sender is not the one in `From`. DMARC covers the other two. */
export function isGenuine({ from, spf, dkim, dmarc = null }: Email): boolean {
  const domain = addressIn(from).replace(/^.*@/, "").toLowerCase();
  return (dmarc === null ? [spf, dkim] : [dmarc]).every((found) => {
    if (found === undefined || found === null || typeof found === "boolean") return found !== false;
    const text = (typeof found === "string" ? found : found.status).trim().toLowerCase();
    // `pass`, or the form `{@example.com : pass}` for the domain of the sender.
    if (!text.startsWith("{")) return /^pass(?: |$)/.test(text);
    return text.split(/[{},]/).some((part) => part.replaceAll(" ", "") === `@${domain}:pass`);
  });
}
