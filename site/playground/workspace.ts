/**
 * What the page keeps of one program between reloads, beside its journals: the text in the editor, the ids of its runs, and
 * the calls that were made. And the link that carries all of it.
 */
import { reactive, watch } from "vue";
import type { Program } from "./programs.ts";
import type { Objects, OutsideCall, Pace } from "./protocol.ts";

/** A workspace as it is kept, and as a link carries it. */
export interface Kept {
  readonly program: string;
  code: string;
  runs: string[];
  selected: string | null;
  calls: OutsideCall[];
  /** Results that came from a journal instead of a call, and what they would have cost. */
  spared: { count: number; cost: number };
  pace: Pace;
  /** It came with a link: its code is a stranger's. */
  readonly isShared: boolean;
}

/** What a link carries. */
export interface Shared {
  readonly version: 1;
  readonly kept: Kept;
  readonly objects: Objects;
}

const prefix = "durable-playground/";
const longestLink = 200_000;
/** A link of a few kilobytes must not become gigabytes. */
const largestText = 4_000_000;

export function emptyOf({ name, code }: Program): Kept {
  return {
    program: name,
    code,
    runs: [],
    selected: null,
    calls: [],
    spared: { count: 0, cost: 0 },
    pace: "slow",
    isShared: false,
  };
}

/** The name of the database of a workspace. */
export function bucketOf(workspace: string): string {
  return prefix + workspace;
}

/** Reads a workspace, and keeps every change of it. */
export function openWorkspace(workspace: string, initial: Kept): Kept {
  const kept = reactive({ ...initial, ...read(workspace) }) as Kept;
  watch(kept, () => localStorage.setItem(prefix + workspace, JSON.stringify(kept)), {
    deep: true,
    flush: "sync",
  });
  return kept;
}

function read(workspace: string): Partial<Kept> {
  try {
    const text = localStorage.getItem(prefix + workspace);
    return text === null ? {} : (checked(JSON.parse(text)) ?? {});
  } catch {
    return {};
  }
}

/** Deletes the journals of a workspace and what is kept beside them. */
export async function forget(workspace: string): Promise<void> {
  localStorage.removeItem(prefix + workspace);
  await new Promise<void>((resolve) => {
    const request = indexedDB.deleteDatabase(bucketOf(workspace));
    for (const end of ["success", "error", "blocked"]) request.addEventListener(end, () => resolve());
  });
}

/** The part of a link after "#play=". */
export async function packed(shared: Shared): Promise<string> {
  const stream = new Blob([JSON.stringify(shared)])
    .stream()
    .pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  if (text.length > longestLink)
    throw new Error("The journals are too large for a link. Start anew, and share a shorter history.");
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** What a link carries; an error with what is wrong with it. */
export async function unpacked(text: string): Promise<Shared> {
  const wrong = new Error("This link is damaged, or was made by another version. Ask for a new one.");
  if (text.length > longestLink) throw wrong;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) =>
      c.charCodeAt(0),
    );
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      size += part.value.length;
      if (size > largestText) throw wrong;
      parts.push(part.value);
    }
    const shared = JSON.parse(await new Blob(parts).text()) as Shared;
    const kept = checked(shared.kept);
    const isRight =
      shared.version === 1 &&
      kept !== null &&
      Array.isArray(shared.objects) &&
      shared.objects.every(isObject);
    if (!isRight) throw wrong;
    return { version: 1, kept: { ...kept, isShared: true }, objects: shared.objects };
  } catch {
    throw wrong;
  }
}

/** The name of the workspace of a link: the same link opens the same one. */
export async function workspaceOf(link: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(link)));
  return `link-${Array.from(digest.slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function isObject(object: unknown): boolean {
  return Array.isArray(object) && object.length === 2 && object.every((part) => typeof part === "string");
}

/** Data from a link or from the disk, with the fields that the page reads; `null` when it is something else. */
function checked(data: unknown): Kept | null {
  const kept = data as Kept;
  const isRight =
    typeof kept === "object" &&
    kept !== null &&
    typeof kept.program === "string" &&
    typeof kept.code === "string" &&
    Array.isArray(kept.runs) &&
    kept.runs.every((id) => typeof id === "string") &&
    Array.isArray(kept.calls) &&
    kept.calls.every(
      ({ cost, prompt, name }) => [typeof cost, typeof prompt, typeof name].join() === "number,string,string",
    ) &&
    typeof kept.spared?.count === "number" &&
    typeof kept.spared.cost === "number" &&
    ["slow", "fast", "by hand"].includes(kept.pace);
  return isRight ? kept : null;
}
