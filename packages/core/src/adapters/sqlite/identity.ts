/**
 * Notices that the file was deleted, moved or replaced while it is open. SQLite goes on writing to a deleted file without
 * an error, and everything that it writes is lost.
 *
 * identity.1. `check` compares what is at the path now with what was there at the start.
 * identity.2. Reads ask rarely, but each time after a check has failed, so that a driver that settles a refused write by
 *     reading does not find it in the lost file.
 */

import { monotonicMs } from "./clock.ts";
import { statSync } from "./node-fs.ts";
import { DurableError } from "../../values/errors.ts";

type Found = { readonly dev: number; readonly ino: number } | undefined;

const readMs = 1_000;
const quiet = { throwIfNoEntry: false } as const;

function stat(path: string): Found {
  return statSync(path, quiet);
}

export class FileIdentity {
  readonly #path: string;
  readonly #find: (path: string) => Found;
  readonly #known: Found;
  #checkedAt = -Infinity;

  constructor(path: string, find: (path: string) => Found = stat) {
    this.#path = path;
    this.#find = find;
    this.#known = path === ":memory:" ? undefined : find(path);
  }

  /** Throws when another file, or none, is at the path. One call of the system, because each commit pays for it. */
  check(): void {
    if (this.#isSame()) return;
    this.#checkedAt = -Infinity;
    throw new DurableError(
      "journal-regressed",
      `The journal file "${this.#path}" was deleted, moved or replaced while this process had it open, so nothing more is recorded. Restore the file if you need its runs, then restart this process.`,
    );
  }

  /** The same, unless the last check was a moment ago and found nothing wrong. */
  checkSometimes(): void {
    const now = monotonicMs();
    if (now - this.#checkedAt <= readMs) return;
    this.check();
    this.#checkedAt = now;
  }

  #isSame(): boolean {
    if (this.#path === ":memory:") return true;
    let found: Found;
    try {
      found = this.#find(this.#path);
    } catch {
      // A folder that this process may no longer read says nothing about the file.
      return true;
    }
    // Some file systems have no numbers: the number is 0.
    return found !== undefined && found.dev === this.#known?.dev && found.ino === this.#known.ino;
  }
}
