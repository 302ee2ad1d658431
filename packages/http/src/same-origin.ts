/** Recognizes requests that a browser sends for a page of another origin. Proven in test/attacks.test.ts. */

/**
 * `Sec-Fetch-Site` decides, and `same-site` is foreign: a sister domain may belong to somebody else. Browsers
 * without it, and pages without TLS, send `Origin`, which must name the `Host`. Programs send neither.
 */
export function isForeign({ headers, url }: Request): boolean {
  const site = headers.get("sec-fetch-site") ?? "";
  if (site !== "") return site !== "same-origin" && site !== "none";
  const origin = headers.get("origin");
  if (origin === null) return false;
  // "null" is the origin of sandboxed frames and local files.
  if (!URL.canParse(origin)) return true;
  const { protocol, host } = new URL(origin);
  const asked = `${protocol}//${headers.get("host") ?? new URL(url).host}`;
  return host === "" || !URL.canParse(asked) || new URL(asked).host !== host;
}
