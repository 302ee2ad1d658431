/**
 * Notices changes for pages that are open. Proven in test/live.test.ts.
 *
 * live.1. The list is polled once for all open pages, and not at all when no page is open.
 * live.2. A new page is asked to read once more after its watch has begun, so that no change falls in between.
 * live.3. A run is watched by `storage.changed`, or by polling where the storage has no such member.
 */

import type { App } from "@durable/core";
import { underWay } from "@durable/core/inspect";

const listMs = 1_000;
const page = 50;
const watched = ["running", "suspended", "paused", "blocked", "failed", undefined] as const;

/** The live connections of a dashboard. */
export class Live {
  readonly #app: App;
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #seen = "";
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
    this.#timer = setTimeout(() => void this.#look(), listMs);
  }

  async #look(): Promise<void> {
    try {
      const seen = await this.#signature();
      for (const listener of seen === this.#seen ? this.#fresh : this.#listeners) listener();
      this.#fresh.clear();
      this.#seen = seen;
    } catch {
      // The storage is not available now. The next poll will show.
    }
    if (this.#listeners.size > 0) this.#plan();
  }

  /** Changes whenever the first page of a list changes. */
  async #signature(): Promise<string> {
    const pages = await Promise.all(watched.map((status) => this.#app.list({ status, limit: page })));
    // A step that takes long changes no head.
    const doing = [...(await underWay(this.#app)).values()].flat();
    return JSON.stringify([
      pages.map(({ runs }) => runs.map(({ runId, updatedAt, status }) => [runId, updatedAt, status])),
      doing.map(({ runId, key, attempt }) => [runId, key, attempt]),
    ]);
  }
}
