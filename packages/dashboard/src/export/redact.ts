/**
 * Hides what should not leave the machine: values under telling names, e-mail addresses, keys and tokens. It errs on
 * the side of hiding, but cannot know every secret. Proven in test/export.test.ts.
 */

import type { Plain } from "@durable/core/inspect";

const hidden = "[redacted]";

const names =
  /^(?:.*[-_])?(?:pass(?:word|wd|phrase)?s?|pwd|secrets?|token|(?:api|access|private|secret|signing|encryption)[-_]?keys?|connection[-_]?string|dsn|authorization|auth|cookie|set-cookie|credentials?|ssn|iban|card(?:number)?|cvc|otp|pin)(?:[-_].*)?$/is;

const camel =
  /(?:[a-z])(?:Passwords?|Passphrase|Pwd|Secrets?|Token|(?:Api|Access|Private|Secret|Signing|Encryption)Keys?|ConnectionString|Dsn|Authorization|Cookie|Credentials?)$/;

/** Names that end like a secret, and count instead. */
const counts = /tokens$|^(?:max|min|total|input|output|cached|reasoning)[-_]?tokens?$/i;

/** E-mail addresses. */
const mails = /[\w.+-]{1,64}@[\w-]{1,255}(?:\.[\w-]{1,63}){1,8}/g;

/** Repetitions have an upper bound, and what may begin a match does not also continue one: hostile text takes linear time. */
const shapes: readonly RegExp[] = [
  // Bearer tokens and basic credentials.
  /\b(?:bearer|basic)\s{1,8}[\w.~+/=-]{8,4096}/gi,
  // Passwords and keys that a text names.
  /(?<=\b(?:password|passwd|pwd|passphrase|secret|api[ _-]?key)\s{0,4}[:=]\s{0,4}["']?)[^\s"',;]{4,256}/gi,
  // JSON Web Tokens.
  /(?<![\w-])eyJ[\w-]{8,2048}\.[\w-]{8,8192}\.[\w-]{4,2048}/g,
  // Keys of providers: OpenAI, Anthropic, Stripe, Groq, Hugging Face, xAI, Perplexity, Replicate, GitHub, Slack, AWS, Google.
  /\b(?:sk|pk|rk|gsk|hf|xai|pplx|r8|co|fw|tvly|lsv2)[-_][\w-]{16,512}/g,
  /\b(?:ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|whsec|npm)[-_][\w-]{10,512}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[\w-]{30,64}/g,
  // Secret keys of AWS, beside their name.
  /(?<=aws.{0,32}[:=]\s{0,4}["']?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])/gi,
  // Resume tokens of this library: key id, locator, wait, MAC.
  /\b[a-z2-7]{55}\b/g,
  // Passwords in addresses.
  /(?<=[a-z][a-z0-9+.-]{0,32}:\/\/)[^\s/:@]{1,256}:[^\s/@]{1,256}(?=@)/gi,
  // Private keys.
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  // Numbers of cards.
  /\b(?:\d[ -]?){13,19}\b/g,
];

/** The same value, with what looks private replaced. */
export function redact<T extends Plain>(value: T, extra: readonly string[] = []): T {
  const more = new Set(extra.map((name) => name.toLowerCase()));
  const visit = (part: Plain, name: string): Plain => {
    if (isPrivate(name) || more.has(name.toLowerCase())) return part === null ? null : hidden;
    if (typeof part === "string") return redactText(part);
    if (Array.isArray(part)) return part.map((item: Plain) => visit(item, ""));
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [redactText(key), visit(item, key)]));
  };
  return visit(value, "") as T;
}

/** A longer name is judged by its beginning. */
const longestName = 200;

function isPrivate(given: string): boolean {
  const name = given.slice(0, longestName);
  return !counts.test(name) && (names.test(name) || camel.test(name));
}

/** A text with what looks private replaced. */
export function redactText(text: string): string {
  // Of all shapes it takes longest, and one character says whether there is any.
  const first = text.includes("@") ? text.replaceAll(mails, hidden) : text;
  return shapes.reduce((left, shape) => left.replaceAll(shape, hidden), first);
}
