/**
 * Outbound mail: to an SMTP server when there is one, else as a file that any mail program opens.
 *
 * M1. A message is a function of what the run recorded and of the key of the step that sends it: sent again after
 *     a crash it has the same Message-ID, the same token and the same file name, and is the same message.
 * M2. Nobody but the sender of the request is written to, and no header comes from them unchecked.
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
  /** What it is for, in a word: part of the file's name. */
  readonly kind: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Answers the wait that this message, or the last one before it, is about. */
  readonly token: string;
  /** Message-IDs of the conversation, oldest first; the last one is answered. */
  readonly thread: readonly string[];
  readonly at: number;
}

/** What the journal keeps of a message that was sent. */
export interface Sent {
  readonly messageId: string;
  readonly to: string;
  readonly subject: string;
  /** `smtp`, or the name of the file. */
  readonly via: string;
}

export interface Mailer {
  /** For people, in one line. */
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
    // As an object: a text would be parsed, and could name several.
    to: { name: "", address: to },
    replyTo: { name: "", address: replyAddress(own, token) },
    subject: oneLine(subject, 200),
    messageId: `<${key}.${token}@${own.domain}>`,
    ...(inReplyTo === undefined ? {} : { inReplyTo, references: [...thread] }),
    date: new Date(at),
    text: `${plain(text)}\n\n-- \n[${footerName}: ${token}]\n`,
    // Out-of-office programs that keep to the rules do not answer this.
    headers: { "Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All" },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Plain text in short lines, which need no encoding: what is in the file is what is read. */
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
      mkdirSync(folder, { recursive: true });
      // Written aside and renamed: whoever looks sees no half of a message.
      const aside = join(folder, `.${file}.${process.pid}`);
      writeFileSync(aside, bytes as Buffer);
      renameSync(aside, join(folder, file));
      return sent(message, composed.messageId, file);
    },
  };
}

/** The time of the run, not of this process: files sort as the conversation went. */
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

/** A 5xx of an SMTP server will be the same the next time; all else may pass. */
function forGood(error: unknown): boolean {
  const { responseCode } = error as { responseCode?: number };
  return responseCode !== undefined && responseCode >= 500;
}

function sent({ to, subject }: Message, messageId: string, via: string): Sent {
  return { messageId, to, subject: oneLine(subject, 200), via };
}
