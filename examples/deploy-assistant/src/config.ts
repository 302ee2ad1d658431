/** The settings from the environment, checked before anything starts. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Duration } from "@durable/core";
import { isLoopback, paceOf, portIn, wholeIn, type Environment } from "example-llm";
import { addressIn } from "example-mail";

export const bundleFolder = fileURLToPath(new URL("../bundle", import.meta.url));

/** An invalid setting is a RangeError, whose message is one line that says what to do. */
export function readConfig(env: Environment) {
  const people = peopleIn(env);
  const secrets = (env["WEBHOOK_SECRET"] ?? "").split(/[\s,]+/).filter((one) => one !== "");
  const hostname = env["HOST"] || "127.0.0.1";
  const missing =
    secrets.length === 0 ? "WEBHOOK_SECRET is" : people === null ? "MAY_ASK and MAY_APPROVE are" : null;
  if (missing !== null && !isLoopback(hostname))
    throw new RangeError(
      `HOST is "${hostname}", which other machines can reach, but ${missing} not set. Set what is missing, or listen on 127.0.0.1.`,
    );
  const smtpUrl = env["SMTP_URL"] || null;
  // The value is not shown, because it may contain a password.
  if (smtpUrl !== null && !(/^smtps?:/.test(smtpUrl) && URL.canParse(smtpUrl)))
    throw new RangeError("SMTP_URL is not a URL that begins with smtp:// or smtps://.");
  const address = env["MAIL_ADDRESS"] || "deploy@localhost";
  // The local part of an address has at most 64 octets, and the token takes 56 of them.
  if (!/^[a-z0-9._-]{1,8}@[a-z0-9.-]+$/i.test(address))
    throw new RangeError(
      `MAIL_ADDRESS is "${address}". Use name@domain with a name of at most 8 characters: the token comes after it.`,
    );
  const [mailbox = "", domain = ""] = address.split("@");
  const timeout = env["APPROVAL_TIMEOUT"] || "3 days";
  if (!/^\d+(?:\.\d+)?\s*(?:ms|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)$/.test(timeout))
    throw new RangeError(
      `APPROVAL_TIMEOUT is "${timeout}". Write a time such as "30s", "2 hours" or "3 days".`,
    );
  const folder = env["DURABLE_DIR"] || ".durable";
  return {
    port: portIn(env, 8000),
    hostname,
    secrets,
    people,
    /** How many conversations one sender may start in an hour. */
    senderLimit: wholeIn(env, "SENDER_LIMIT", { usual: 60, least: 1, most: 1_000 }),
    own: { name: "Deploy assistant", mailbox, domain },
    smtpUrl,
    outbox: env["OUTBOX_DIR"] || join(folder, "outbox"),
    site: env["SITE_DIR"] || join(folder, "site"),
    journal: join(folder, "journal.db"),
    timeout: timeout as Duration,
    pace: paceOf(env["DEMO_PACE"]),
  };
}

/** A list of askers alone would leave open who decides. */
function peopleIn(env: Environment) {
  const [askers = [], approvers = []] = ["MAY_ASK", "MAY_APPROVE"].map((name) => {
    const addresses = (env[name] ?? "").split(/[\s,;]+/).filter((one) => one !== "");
    const odd = addresses.find((one) => addressIn(one) !== one);
    if (odd === undefined) return addresses;
    throw new RangeError(`${name} contains "${odd}", which is not an address. Separate addresses by commas.`);
  });
  if ((askers.length === 0) !== (approvers.length === 0))
    throw new RangeError("MAY_ASK and MAY_APPROVE belong together. Set both, or neither.");
  return askers.length === 0 ? null : { askers, approvers };
}
