/**
 * Hides what should not leave the machine: values under telling names, e-mail addresses, keys and tokens. It errs on
 * the side of hiding, but cannot know every secret. Proven in test/export.test.ts.
 */

import type { Plain } from "@durable/core/inspect";

const hidden = "[redacted]";

const names =
  /^(?:.*[-_])?(?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|authorization|auth|cookie|set-cookie|credentials?|ssn|iban|card(?:number)?|cvc|otp|pin)(?:[-_].*)?$/i;

const camel =
  /(?:[a-z])(?:Password|Secret|Token|ApiKey|AccessKey|PrivateKey|Authorization|Cookie|Credentials?)$/;

/** Names that end like a secret, and count instead. */
const counts = /tokens$|^(?:max|min|total|input|output|cached|reasoning)[-_]?tokens?$/i;

const shapes: readonly RegExp[] = [
  // E-mail addresses.
  /[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+/g,
  // Bearer tokens and basic credentials.
  /\b(?:bearer|basic)\s+[\w.~+/=-]{8,}/gi,
  // JSON Web Tokens.
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}/g,
  // Keys of providers: OpenAI, Anthropic, Stripe, GitHub, Slack, AWS, Google.
  /\b(?:sk|pk|rk)[-_][\w-]{16,}/g,
  /\b(?:ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|whsec|npm)[-_][\w-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  // Resume tokens of this library: key id, locator, wait, MAC.
  /\b[a-z2-7]{55}\b/g,
  // Passwords in addresses.
  /(?<=[a-z][a-z0-9+.-]*:\/\/)[^\s/:@]+:[^\s/@]+(?=@)/gi,
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

function isPrivate(name: string): boolean {
  return !counts.test(name) && (names.test(name) || camel.test(name));
}

/** A text with what looks private replaced. */
export function redactText(text: string): string {
  return shapes.reduce((left, shape) => left.replaceAll(shape, hidden), text);
}
