/** The address of the page is its state: every view can be linked, and Back works. */

import { computed, signal } from "@preact/signals";

const base = document.querySelector<HTMLMetaElement>('meta[name="durable-base"]')?.content ?? "";

/** An exported file has no server, so its views are not in its path. */
export const isFile = document.getElementById("durable-run") !== null;

interface Place {
  /** Without the base: "/runs/demo". */
  readonly path: string;
  readonly query: URLSearchParams;
}

function readPlace(): Place {
  const { pathname, search } = window.location;
  const path = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  return { path: isFile ? "/" : path || "/", query: new URLSearchParams(search) };
}

export const place = signal<Place>(readPlace());

if (!isFile) window.addEventListener("popstate", () => (place.value = readPlace()));

/** The parts of the path, decoded. */
export const parts = computed(() =>
  place.value.path
    .split("/")
    .filter((part) => part !== "")
    .map(decoded),
);

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Goes to another view. */
export function go(path: string): void {
  if (isFile) return;
  window.history.pushState(null, "", base + path);
  place.value = readPlace();
  window.scrollTo(0, 0);
}

/** Changes the query in place; `null` removes a name. Back does not lead to each selected row. */
export function setQuery(changes: Readonly<Record<string, string | null>>): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  const text = query.toString();
  if (isFile) {
    place.value = { ...place.value, query };
    return;
  }
  window.history.replaceState(null, "", base + place.value.path + (text === "" ? "" : `?${text}`));
  place.value = readPlace();
}

export function queryOf(name: string): string {
  return place.value.query.get(name) ?? "";
}

export function hrefOf(path: string): string {
  return base + path;
}

export const runPath = (runId: string): string => `/runs/${encodeURIComponent(runId)}`;
export const diffPath = (before: string, after: string): string =>
  `/diff/${encodeURIComponent(before)}/${encodeURIComponent(after)}`;
