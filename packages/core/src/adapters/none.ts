/** `#default-storage` on platforms without a file system: the first call fails and asks for a storage. */

import { DurableError } from "../values/errors.ts";
import type { Storage } from "../ports/storage.ts";

export function defaultStorage(): Promise<Storage> {
  return Promise.reject(
    new DurableError(
      "no-storage",
      "There is no default storage on this platform. Pass { storage } to createApp(), and use app.run(flow, input) or app.start(flow, input).",
    ),
  );
}

/** There is no default storage, so an app binds no workflows. */
export const hasDefault = false;

/** There is no process whose end errors could cause, so nothing is watched. */
export function guard(_release: () => Promise<void>): () => void {
  return () => {};
}

/** Parked runs are not kept in memory, because on these platforms no promise outlives its request. */
export const warmRuns = 0;

/** Prompts are kept only by an app that says so. */
export function keepsPrompts(): boolean | undefined {
  return undefined;
}

/** No process can be shown to be dead here. */
export const thisProcess = "";
export function isDead(_recorded: string): boolean {
  return false;
}
