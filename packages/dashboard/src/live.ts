/**
 * Notices changes for pages that are open. Proven in test/live.test.ts and test/stale.test.ts.
 *
 * live.1. The storage is asked once a second for all open pages, and not at all when no page is open.
 * live.2. A new page is asked to read once more after its watch has begun, so that no change falls in between.
 * live.3. A storage without `revision` tells of no change: pages read anew every few seconds, and say so.
 * live.4. A run is watched by `storage.changed`, or by polling where the storage has no such member.
 */

import type { App } from "@durable/core";
import { storageOf } from "@durable/core/inspect";

const askMs = 1_000;
/** How often pages read their lists where the storage tells of no change. */
export const blindMs = 5_000;

/** The live connections of a dashboard. */
export class Live {
  readonly #app: App;
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #seen = "";
  /** When pages were last asked to read, where the storage tells of no change. */
  #told = 0;
  /** Pages that have not been asked yet to read once more. */
  readonly #fresh = new Set<() => void>();

  constructor(app: App) {
    this.#app = app;
  }

  /** Calls back when runs begin, end or change, until the returned function is called. */
  watchRuns(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#fresh.add(listener);
    if (this.#listeners.size === 1) this.#plan();
    return () => {
      this.#listeners.delete(listener);
      this.#fresh.delete(listener);
      if (this.#listeners.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  #plan(): void {
    this.#timer = setTimeout(() => void this.#look(), askMs);
  }

  async #look(): Promise<void> {
    try {
      const seen = await this.#revision();
      for (const listener of seen === this.#seen ? this.#fresh : this.#listeners) listener();
      this.#fresh.clear();
      this.#seen = seen;
    } catch {
      // The storage is not available now. The next poll will show.
    }
    if (this.#listeners.size > 0) this.#plan();
  }

  async #revision(): Promise<string> {
    const storage = await storageOf(this.#app);
    if (storage.revision !== undefined) return storage.revision();
    const now = performance.now();
    if (now - this.#told >= blindMs) this.#told = now;
    return String(this.#told);
  }
}
