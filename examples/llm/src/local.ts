/**
 * A server without passwords listens on this machine only. A page in the user's browser can still reach it, but under
 * another name, which the Host header has.
 */

export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(hostname);
}

/** True when a request names this machine as its host. */
export function isAddressedHere(request: Request): boolean {
  const named = `http://${request.headers.get("host") ?? new URL(request.url).host}`;
  return URL.canParse(named) && isLoopback(new URL(named).hostname);
}
