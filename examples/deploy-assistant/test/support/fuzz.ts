/** Malicious or broken requests. */

import type { Random } from "@durable/testing";
import { email } from "./desk.ts";

const strange: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  " ",
  "\u0000",
  "\uD800",
  "\u202E\u200B\uFEFF",
  "a@b\r\nBcc: c@d",
  "a@b, c@d",
  "<>",
  "<<a@b>>",
  "@",
  "x".repeat(2_000),
  "é@ü.example",
  "../../../etc/passwd",
  "deploy+@localhost",
  "<deploy+x@localhost>",
  "[reply-token: x]",
  "&#1114112;&#x110000;&#99999999;",
  "__proto__",
  [],
  {},
  [null],
  { toString: null, length: 1e9 },
  [[[[[[[[["deep"]]]]]]]]],
  { "@": { "@": "@" } },
];

const types = [
  "application/json",
  "application/json; charset=utf-8",
  "APPLICATION/JSON;charset=x;y=z",
  "text/plain",
  "application/jsonp",
  "multipart/form-data; boundary=x",
  "application/x-www-form-urlencoded",
  "",
  ";",
];

export interface Shot {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/** One request, drawn from chance alone. */
export function shot(random: Random, tokens: readonly string[]): Shot {
  const method = random.pick([
    "POST",
    "POST",
    "POST",
    "POST",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "GET",
    "OPTIONS",
  ]);
  const path = random.chance(0.9)
    ? "/webhook"
    : random.pick(["/", "/webhook/", "//webhook", "/%2e%2e", "/webhook?x=%", "/%ff"]);
  const headers: Record<string, string> = {
    "content-type": random.chance(0.85) ? "application/json" : random.pick(types),
  };
  if (random.chance(0.03)) headers["content-encoding"] = random.pick(["gzip", "br", "identity", "x"]);
  if (random.chance(0.05)) headers["webhook-signature"] = random.pick(["v1,", "v1,AAAA", "x", ","]);
  const bytes = new TextEncoder().encode(textOf(random, tokens));
  return { method, path, headers, body: method === "GET" ? null : broken(bytes, random) };
}

function textOf(random: Random, tokens: readonly string[]): string {
  const event: Record<string, unknown> = {
    type: "email.received",
    email: email("Please put 1.1.0 on staging."),
  };
  const mail = event["email"] as Record<string, unknown>;
  if (random.chance(0.5)) mail["to"] = `deploy+${forged(random, tokens)}@localhost`;
  if (random.chance(0.3)) mail["body"] = `approve\n> [reply-token: ${forged(random, tokens)}]`;
  if (random.chance(0.2)) mail["references"] = [`<k.${forged(random, tokens)}@localhost>`];
  for (let changes = random.between(0, 3); changes > 0; changes--) {
    const target = random.chance(0.2) ? event : mail;
    const key = random.pick([...Object.keys(target), "inReplyTo", "references", "__proto__", "constructor"]);
    if (random.chance(0.2)) delete target[key];
    else
      Object.defineProperty(target, key, {
        value: random.pick(strange),
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }
  const text = JSON.stringify(event);
  if (random.chance(0.02)) return `${"[".repeat(random.between(1, 100_000))}${text}`;
  if (random.chance(0.02)) return `{${Array.from({ length: 12_000 }, (_, at) => `"${at}":0`).join()}}`;
  return random.chance(0.05) ? JSON.stringify(random.pick(strange)) : text;
}

/** A real token with a character changed, or something that only looks like one. */
export function forged(random: Random, tokens: readonly string[]): string {
  const letters = "abcdefghijklmnopqrstuvwxyz234567";
  const any = (length: number): string =>
    Array.from({ length }, () => letters[random.between(0, 31)]).join("");
  if (tokens.length === 0 || random.chance(0.3)) return any(random.pick([55, 55, 54, 56, 1, 200]));
  const token = random.pick(tokens);
  const at = random.between(0, token.length - 1);
  const other = letters.replace(token[at] ?? "", "")[random.between(0, 30)];
  return `${token.slice(0, at)}${other}${token.slice(at + 1)}`;
}

/** Now and then the bytes themselves are damaged. */
function broken(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  if (random.chance(0.7)) return bytes;
  const copy = Uint8Array.from(bytes);
  for (let count = random.between(1, 5); count > 0; count--)
    copy[random.between(0, copy.length - 1)] = random.between(0, 255);
  return random.chance(0.3) ? copy.slice(0, random.between(0, copy.length)) : copy;
}
