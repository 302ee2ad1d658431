/** What the browser keeps of the choices of its reader. */

import { signal } from "@preact/signals";

export function kept(name: string): string | null {
  try {
    return window.localStorage.getItem(name);
  } catch {
    // A page from a file may have no storage.
    return null;
  }
}

export function keep(name: string, value: string): void {
  try {
    window.localStorage.setItem(name, value);
  } catch {
    // Kept until the page is closed.
  }
}

const zoneName = "durable-zone";

/** Times are shown in UTC; otherwise in the zone of the reader. */
export const isUtc = signal(kept(zoneName) === "utc");

export function toggleUtc(): void {
  isUtc.value = !isUtc.value;
  keep(zoneName, isUtc.value ? "utc" : "local");
}
