/**
 * Outgoing mail: to an SMTP server if one is configured, otherwise to a file that any mail program opens.
 *
 * M1. A message depends only on recorded values and on the key of the step that sends it. Sent again after a crash, it
 *     has the same Message-ID, token and file name.
 * M2. One mail goes to one address, and no header value of a sender is used unchecked.
 * M3. Files of the outbox contain tokens, so only their owner may read them.
 */

import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FatalError } from "@durable/core";
import { createTransport } from "nodemailer";
import { wrapped } from "example-llm";
import { oneLine } from "./email.ts";
import { footerName } from "./inbound.ts";

/** The sender of all mails; replies go to `mailbox+token@domain`. */
export interface Mailbox {
  readonly name: string;
  readonly mailbox: string;
  readonly domain: string;
}

export interface Message {
  /** The purpose in one word: part of the file name. */
  readonly kind: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The token of the wait that this message, or the one before it, is about. */
  readonly token: string;
  /** Message-IDs of the conversation, oldest first; this message replies to the last one. */
  readonly thread: readonly string[];
  readonly at: number;
}

/** What the journal stores of a sent message; `via` is `smtp`, or the name of the file. */
export type Sent = Pick<Message, "to" | "subject"> & { readonly messageId: string; readonly via: string };

export interface Mailer {
  /** A description in one line. */
  readonly line: string;
  /** `key` is the step's idempotency key. */
  send(message: Message, key: string): Promise<Sent>;
}

function compose({ name, mailbox, domain }: Mailbox, message: Message, key: string) {
  const { to, subject, text, token, thread, at } = message;
  const inReplyTo = thread.at(-1);
  return {
    from: { name, address: `${mailbox}@${domain}` },
    // As an object, because a string would be parsed and could contain several addresses.
    to: { name: "", address: to },
    replyTo: { name: "", address: `${mailbox}+${token}@${domain}` },
    subject: oneLine(subject, 200),
    messageId: `<${key}.${token}@${domain}>`,
    ...(inReplyTo === undefined ? {} : { inReplyTo, references: [...thread] }),
    date: new Date(at),
    text: `${plain(text)}\n\n-- \n[${footerName}: ${token}]\n`,
    // Conforming auto-responders do not answer this.
    headers: { "Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All" },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Plain text in short lines, which need no encoding, so that the file is readable. */
function plain(text: string): string {
  const lines = text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(/[^\P{Cc}\n]/gu, "")
    .split("\n");
  return lines.flatMap((line) => (line.length > 72 ? wrapped(line, 72) : line)).join("\n");
}

/** Messages as `.eml` files in a folder. */
export function outboxMailer(folder: string, own: Mailbox): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  const line = `.eml files in ${folder} (no SMTP_URL)`;
  return mailer(line, own, async (mail, { kind }, key) => {
    const { message: bytes } = await transport.sendMail(mail);
    // The time of the run, not of this process, so that files sort in the order of the conversation.
    const time = mail.date.toISOString().slice(0, 23).replaceAll(/[-:]/g, "").replace("T", "-");
    const file = `${time}-${key.slice(0, 8)}-${kind}.eml`;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Written to another name and renamed, so that no reader sees a partial message.
    const aside = join(folder, `.${file}.${process.pid}`);
    writeFileSync(aside, bytes as Buffer, { mode: 0o600 });
    renameSync(aside, join(folder, file));
    return file;
  });
}

/** Messages through an SMTP server: `smtp://user:password@host:587`, `smtps://...`. */
export function smtpMailer(url: string, own: Mailbox): Mailer {
  const { host, protocol } = new URL(url);
  const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
  const transport = createTransport({ url, ...timeouts });
  return mailer(`${protocol}//${host} (SMTP_URL)`, own, async (mail) => {
    await transport.sendMail(mail).catch((error: Error & { readonly responseCode?: number }) => {
      // A 5xx of an SMTP server is permanent; other errors may be temporary.
      throw (error.responseCode ?? 0) >= 500 ? new FatalError(error.message, { cause: error }) : error;
    });
    return "smtp";
  });
}

type Deliver = (mail: ReturnType<typeof compose>, message: Message, key: string) => Promise<string>;

function mailer(line: string, own: Mailbox, deliver: Deliver): Mailer {
  return {
    line,
    send: async (message, key) => {
      const mail = compose(own, message, key);
      const via = await deliver(mail, message, key);
      return { messageId: mail.messageId, to: message.to, subject: mail.subject, via };
    },
  };
}
