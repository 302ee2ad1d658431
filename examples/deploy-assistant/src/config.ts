/** The settings from the environment, checked before anything starts. */

import type { Duration } from "@durable/core";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { paceOf, type Environment } from "example-llm";
import { addressIn } from "./email.ts";
import type { Mailbox } from "./mailer.ts";
import { anybody, listedPeople, type People } from "./people.ts";
import { isLoopback } from "./webhook.ts";

export const bundleFolder = fileURLToPath(new URL("../bundle", import.meta.url));

/** An invalid setting; its message is one line that says what to do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export interface Config {
  readonly port: number;
  readonly hostname: string;
  readonly secrets: readonly string[];
  readonly people: People;
  /** How many conversations one sender may start in an hour. */
  readonly senderLimit: number;
  readonly own: Mailbox;
  readonly smtpUrl: string | null;
  readonly outbox: string;
  readonly site: string;
  readonly journal: string;
  readonly approvalTimeout: Duration;
  readonly pace: number;
}

export function readConfig(env: Environment): Config {
  const folder = env["DURABLE_DIR"] || fileURLToPath(new URL("../.durable", import.meta.url));
  const hostname = env["HOST"] || "127.0.0.1";
  const secrets = (env["WEBHOOK_SECRET"] ?? "").split(/[\s,]+/).flatMap(secretOf);
  if (secrets.length === 0 && !isLoopback(hostname))
    throw new ConfigError(
      `HOST is "${hostname}", which other machines can reach, but WEBHOOK_SECRET is not set. Set it, or listen on 127.0.0.1.`,
    );
  const people = peopleOf(env);
  if (!people.listed && !isLoopback(hostname))
    throw new ConfigError(
      `HOST is "${hostname}", which other machines can reach, but MAY_ASK and MAY_APPROVE are not set. List the addresses that may ask and approve, or listen on 127.0.0.1.`,
    );
  return {
    port: portOf(env["PORT"]),
    hostname,
    secrets,
    people,
    senderLimit: limitOf(env["SENDER_LIMIT"]),
    own: mailboxOf(env["MAIL_ADDRESS"] || "deploy@localhost"),
    smtpUrl: smtpOf(env["SMTP_URL"]),
    outbox: env["OUTBOX_DIR"] || join(folder, "outbox"),
    site: env["SITE_DIR"] || join(folder, "site"),
    journal: join(folder, "journal.db"),
    approvalTimeout: timeoutOf(env["APPROVAL_TIMEOUT"] || "3 days"),
    pace: paceOf(env["DEMO_PACE"]),
  };
}

/**
 * `whsec_` and base64, as in Standard Webhooks. Other text is used as it is, and also as base64 if it is
 * valid base64.
 */
function secretOf(text: string): string[] {
  if (text === "" || text.startsWith("whsec_")) return text === "" ? [] : [text];
  const asText = `whsec_${Buffer.from(text).toString("base64")}`;
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? [asText, text] : [asText];
}

/** Both lists or none: a list of askers alone would leave open who decides. */
function peopleOf(env: Environment): People {
  const [askers, approvers] = ["MAY_ASK", "MAY_APPROVE"].map((name) => addressesIn(env[name] ?? "", name));
  if (askers?.length && approvers?.length) return listedPeople(askers, approvers);
  if (!askers?.length && !approvers?.length) return anybody;
  throw new ConfigError("MAY_ASK and MAY_APPROVE belong together. Set both, or neither.");
}

function addressesIn(value: string, name: string): string[] {
  const addresses = value.split(/[\s,;]+/).filter((text) => text !== "");
  const odd = addresses.find((text) => addressIn(text) !== text);
  if (odd === undefined) return addresses;
  throw new ConfigError(`${name} contains "${odd}", which is not an address. Separate addresses by commas.`);
}

function limitOf(value: string | undefined): number {
  const limit = Number(value || 60);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new ConfigError(`SENDER_LIMIT is "${value}". Use a whole number from 1 on.`);
}

function portOf(value: string | undefined): number {
  const port = Number(value || 8000);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new ConfigError(`PORT is "${value}". Use a number from 0 to 65535; 0 is any free port.`);
}

/** The library checks it too, but only when the first run waits. */
function timeoutOf(value: string): Duration {
  if (/^\d+(?:\.\d+)?\s*(?:ms|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)$/.test(value))
    return value as Duration;
  throw new ConfigError(`APPROVAL_TIMEOUT is "${value}". Write a time such as "30s", "2 hours" or "3 days".`);
}

/** The local part of an address has at most 64 octets, and the token takes 56 of them. */
function mailboxOf(value: string): Mailbox {
  const [, mailbox = "", domain = ""] = /^([a-z0-9._-]+)@([a-z0-9.-]+)$/i.exec(value) ?? [];
  if (mailbox !== "" && mailbox.length <= 8) return { mailbox, domain };
  throw new ConfigError(
    `MAIL_ADDRESS is "${value}". Use name@domain with a name of at most 8 characters: the token comes after it.`,
  );
}

function smtpOf(value: string | undefined): string | null {
  if (value === undefined || value === "") return null;
  if (URL.canParse(value) && /^smtps?:$/.test(new URL(value).protocol)) return value;
  // The value is not shown, because it may contain a password.
  throw new ConfigError("SMTP_URL is not a URL that begins with smtp:// or smtps://.");
}
