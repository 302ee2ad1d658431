/**
 * Outgoing mail: to an SMTP server if one is configured, otherwise to a file that any mail program opens.
 *
 * M1. A message depends only on recorded values and on the key of the step that sends it. Sent again after a
 *     crash, it has the same Message-ID, token and file name.
 * M2. One mail goes to one address, and no header value of a sender is used unchecked.
 * M3. Files of the outbox contain tokens, so only their owner may read them.
 */

import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FatalError } from "@durable/core";
import { createTransport, type SendMailOptions } from "nodemailer";
import { wrapped } from "example-llm";
import { oneLine } from "./email.ts";
import { footerName } from "./inbound.ts";

/** The assistant's own address; replies go to `mailbox+token@domain`. */
export interface Mailbox {
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

/** What the journal stores of a sent message. */
export interface Sent {
  readonly messageId: string;
  readonly to: string;
  readonly subject: string;
  /** `smtp`, or the name of the file. */
  readonly via: string;
}

export interface Mailer {
  /** A description in one line. */
  readonly line: string;
  /** `key` is the step's idempotency key. */
  send(message: Message, key: string): Promise<Sent>;
}

export function replyAddress({ mailbox, domain }: Mailbox, token: string): string {
  return `${mailbox}+${token}@${domain}`;
}

function compose(
  own: Mailbox,
  message: Message,
  key: string,
): SendMailOptions & { readonly messageId: string } {
  const { to, subject, text, token, thread, at } = message;
  const inReplyTo = thread.at(-1);
  return {
    from: { name: "Deploy assistant", address: `${own.mailbox}@${own.domain}` },
    // As an object, because a string would be parsed and could contain several addresses.
    to: { name: "", address: to },
    replyTo: { name: "", address: replyAddress(own, token) },
    subject: oneLine(subject, 200),
    messageId: `<${key}.${token}@${own.domain}>`,
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
  const width = 72;
  return text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(/[^\P{Cc}\n]/gu, "")
    .split("\n")
    .flatMap((line) => (line.length > width ? wrapped(line, width) : line))
    .join("\n");
}

/** Messages as `.eml` files in a folder. */
export function outboxMailer(folder: string, own: Mailbox): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  return {
    line: `.eml files in ${folder} (no SMTP_URL)`,
    send: async (message, key) => {
      const composed = compose(own, message, key);
      const { message: bytes } = await transport.sendMail(composed);
      const file = `${stamp(message.at)}-${key.slice(0, 8)}-${message.kind}.eml`;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      // Written to another name and renamed, so that no reader sees a partial message.
      const aside = join(folder, `.${file}.${process.pid}`);
      writeFileSync(aside, bytes as Buffer, { mode: 0o600 });
      renameSync(aside, join(folder, file));
      return sent(message, composed.messageId, file);
    },
  };
}

/** The time of the run, not of this process, so that files sort in the order of the conversation. */
function stamp(at: number): string {
  return new Date(at).toISOString().slice(0, 23).replaceAll(/[-:]/g, "").replace("T", "-");
}

/** Messages through an SMTP server: `smtp://user:password@host:587`, `smtps://...`. */
export function smtpMailer(url: string, own: Mailbox): Mailer {
  const { host, protocol } = new URL(url);
  const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
  const transport = createTransport({ url, ...timeouts });
  return {
    line: `${protocol}//${host} (SMTP_URL)`,
    send: async (message, key) => {
      const composed = compose(own, message, key);
      try {
        await transport.sendMail(composed);
      } catch (error) {
        throw forGood(error) ? new FatalError((error as Error).message, { cause: error }) : error;
      }
      return sent(message, composed.messageId, "smtp");
    },
  };
}

/** A 5xx of an SMTP server is permanent; other errors may be temporary. */
function forGood(error: unknown): boolean {
  const { responseCode } = error as { responseCode?: number };
  return responseCode !== undefined && responseCode >= 500;
}

function sent({ to, subject }: Message, messageId: string, via: string): Sent {
  return { messageId, to, subject: oneLine(subject, 200), via };
}
