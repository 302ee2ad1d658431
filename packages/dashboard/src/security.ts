/**
 * Who may ask: the name the page is asked for, the page that asks, and the token.
 *
 * security.1. A request under a foreign Host is refused before anything else (DNS rebinding).
 * security.2. A page of another origin gets no data and changes nothing, whatever cookies its visitor has.
 * security.3. The token is in no URL that reaches the server, and there is no cookie, which browsers would send to every
 *     port of the host. A page that has shown the token keeps a session of its own in the storage of its origin, and sends
 *     it as a header. A session ends after twelve hours, or when its page logs out.
 * security.4. No response allows scripts, styles, frames or connections other than those of the page itself.
 *
 * Proven in test/security.test.ts.
 */

import { isWeak } from "@durable/core/storage";
import { sessionHeader } from "./api.ts";
import { invalid, Refusal } from "./errors.ts";

/** Sent with every response. */
export const safeHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
};

const loopback = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Refuses a request under a name that is neither loopback nor allowed. */
export function assertHost(request: Request, hosts: ReadonlySet<string>): void {
  const given = request.headers.get("host") ?? new URL(request.url).host;
  const host = given.toLowerCase();
  const name = host.replace(/:\d+$/, "");
  if (loopback.has(name) || hosts.has(host) || hosts.has(name)) return;
  throw new Refusal(
    "wrong-host",
    "This dashboard does not answer under this host name. Pass it in createDashboard({ hosts }).",
  );
}

const shortestToken = 32;
const sessionMs = 12 * 60 * 60 * 1_000;

/** The token, and the sessions of pages that have shown it. */
export class Sessions {
  readonly #key: Promise<CryptoKey>;
  readonly #now: () => number;
  /** Sessions that were closed, until they would have ended anyway. */
  readonly #closed = new Map<string, number>();

  constructor(token: string, now: () => number) {
    if (typeof token !== "string" || token.length < shortestToken || isWeak(token))
      throw invalid(
        `The token of a dashboard needs at least ${shortestToken} characters that do not repeat. Make one with \`openssl rand -base64 32\`.`,
      );
    this.#key = keyOf(token);
    this.#now = now;
  }

  /** True for a request with the token, or of a page with a session. */
  async has(request: Request): Promise<boolean> {
    const bearer = /^Bearer (\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (bearer !== undefined && (await this.#accepts(bearer))) return true;
    return (await this.#sessionIn(request)) !== null;
  }

  /** A new session, for a page that has shown the token: random, and good for twelve hours. */
  async open(): Promise<string> {
    const nonce = hexOf(crypto.getRandomValues(new Uint8Array(16)));
    const text = `${nonce}.${this.#now() + sessionMs}`;
    return `${text}.${await sign(await this.#key, `session ${text}`)}`;
  }

  /** Ends the session of a request. */
  async close(request: Request): Promise<void> {
    const session = await this.#sessionIn(request);
    for (const [known, until] of this.#closed) if (until <= this.#now()) this.#closed.delete(known);
    if (session !== null) this.#closed.set(session.nonce, session.until);
  }

  async #sessionIn({ headers }: Request): Promise<{ nonce: string; until: number } | null> {
    const found = /^(([0-9a-f]{32})\.(\d{1,16}))\.([0-9a-f]{64})$/.exec(headers.get(sessionHeader) ?? "");
    const [, text = "", nonce = "", time = "", mac = ""] = found ?? [];
    const until = Number(time);
    if (found === null || until <= this.#now() || this.#closed.has(nonce)) return null;
    return (await verify(await this.#key, `session ${text}`, mac)) ? { nonce, until } : null;
  }

  /** Compares in constant time: both sides are hashed under a key that the caller does not know. */
  async #accepts(token: string): Promise<boolean> {
    return verify(await this.#key, "token", await sign(await keyOf(token), "token"));
  }
}

const encoder = new TextEncoder();

function keyOf(token: string): Promise<CryptoKey> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", encoder.encode(token), hmac, false, ["sign", "verify"]);
}

async function sign(key: CryptoKey, text: string): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text))));
}

function verify(key: CryptoKey, text: string, hex: string): Promise<boolean> {
  const mac = Uint8Array.from({ length: 32 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
  return crypto.subtle.verify("HMAC", key, mac, encoder.encode(text));
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
