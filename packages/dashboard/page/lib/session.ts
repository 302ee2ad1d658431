/**
 * The session of this browser with this server, in the storage of the page's origin: no other port or host gets it, and all tabs
 * have it. Where the browser keeps nothing, it lasts as long as the page.
 */

import { signal } from "@preact/signals";
import { sessionHeader } from "../../src/api.ts";
import { hrefOf } from "./router.ts";

const name = `durable session ${hrefOf("/")}`;

/** True while there is a session that the page could end. */
export const hasSession = signal(false);
let session: string | null = null;

export function keepSession(given: string | null): void {
  session = given;
  hasSession.value = given !== null;
  try {
    if (given === null) window.localStorage.removeItem(name);
    else window.localStorage.setItem(name, given);
  } catch {
    // The storage is off or full.
  }
}

export function sessionHeaders(): Readonly<Record<string, string>> {
  try {
    // Another tab may have logged in or out.
    session = window.localStorage.getItem(name);
  } catch {
    // The one of this page.
  }
  hasSession.value = session !== null;
  return session === null ? {} : { [sessionHeader]: session };
}
