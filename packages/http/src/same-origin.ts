/** Recognizes requests that a browser sends for a page of another origin. Proven in test/attacks.test.ts. */

/**
 * True for what a browser sends for a page of another origin, which must not act with the cookies of its visitor.
 * `Sec-Fetch-Site` decides, and `same-site` is foreign: a sister domain may have another owner. Browsers
 * without it, and pages without TLS, send `Origin`, which must name the `Host`. Programs send neither.
 * `strict` checks `Origin` in any case: for servers that are not behind a proxy that replaces `Host`.
 */
export function isForeign({ headers, url }: Request, { strict = false } = {}): boolean {
  const site = headers.get("sec-fetch-site");
  const says = site !== null && (strict || site !== "");
  if (says && site !== "same-origin" && site !== "none") return true;
  const origin = headers.get("origin");
  if (origin === null || (says && !strict)) return false;
  // "null" is the origin of sandboxed frames and local files.
  if (!URL.canParse(origin)) return true;
  const { protocol, host } = new URL(origin);
  const asked = `${protocol}//${headers.get("host") ?? new URL(url).host}`;
  return host === "" || !URL.canParse(asked) || new URL(asked).host !== host;
}
