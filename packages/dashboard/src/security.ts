/**
 * Who may ask: the name the page is asked for, the page that asks, and the token.
 *
 * security.1. A request under a foreign Host is refused before anything else (DNS rebinding).
 * security.2. A page of another origin gets no data and changes nothing, whatever cookies its visitor has. Another port
 *     of the same host is another origin, though cookies do not distinguish them.
 * security.3. The token is in no URL that reaches the server and in no cookie: the cookie holds a value derived from it.
 * security.4. No response allows scripts, styles, frames or connections other than those of the page itself.
 *
 * Proven in test/security.test.ts.
 */

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
const cookieSeconds = 60 * 60 * 24 * 30;

/** The token, and the cookie that stands for it. */
export class Sessions {
  readonly #key: Promise<CryptoKey>;
  readonly #basePath: string;

  constructor(token: string, basePath: string) {
    if (typeof token !== "string" || token.length < shortestToken)
      throw invalid(`The token of a dashboard needs at least ${shortestToken} characters.`);
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const bytes = new TextEncoder().encode(token);
    this.#key = crypto.subtle.importKey("raw", bytes, hmac, false, ["sign", "verify"]);
    this.#basePath = basePath;
  }

  /** True for a request with the token, or with the cookie that was given for it. */
  async has(request: Request): Promise<boolean> {
    const bearer = /^Bearer (\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (bearer !== undefined && (await this.accepts(bearer))) return true;
    const name = cookieName(request);
    const cookies = (request.headers.get("cookie") ?? "")
      .split("; ")
      .filter((each) => each.startsWith(`${name}=`));
    for (const cookie of cookies)
      if (await this.#verify("session", cookie.slice(name.length + 1))) return true;
    return false;
  }

  /** Compares in constant time: both sides are hashed under a key that the caller does not know. */
  async accepts(token: string): Promise<boolean> {
    const other = await new Sessions(token.padEnd(shortestToken), "").#sign("token");
    return this.#verify("token", other);
  }

  /** The cookie for a browser that has shown the token. */
  async cookie(request: Request): Promise<string> {
    const secure = new URL(request.url).protocol === "https:" ? "; Secure" : "";
    const about = `Path=${this.#basePath || "/"}; HttpOnly; SameSite=Strict; Max-Age=${cookieSeconds}${secure}`;
    return `${cookieName(request)}=${await this.#sign("session")}; ${about}`;
  }

  async #sign(purpose: string): Promise<string> {
    const mac = await crypto.subtle.sign("HMAC", await this.#key, new TextEncoder().encode(purpose));
    return Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  async #verify(purpose: string, hex: string): Promise<boolean> {
    if (!/^[0-9a-f]{64}$/.test(hex)) return false;
    const mac = Uint8Array.from({ length: 32 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
    return crypto.subtle.verify("HMAC", await this.#key, mac, new TextEncoder().encode(purpose));
  }
}

/** Cookies do not distinguish ports, so the name does. */
function cookieName({ headers, url }: Request): string {
  const port = /:(\d+)$/.exec(headers.get("host") ?? new URL(url).host)?.[1];
  return port === undefined ? "durable" : `durable_${port}`;
}
