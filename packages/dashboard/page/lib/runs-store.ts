/**
 * The runs that the list has loaded.
 *
 * store.1. Pages are loaded as they are scrolled to; what is loaded stays in order.
 * store.2. A change may be one of any run. What the beginning of the list does not show is read again once it is in view.
 * store.3. While the list is scrolled, new runs wait behind a button, so that lines do not move under the pointer.
 */

import { signal } from "@preact/signals";
import type { RunItem } from "../../src/api.ts";
import { ApiError, getRuns } from "./api.ts";
import { messageOf } from "./state.ts";

type Query = Readonly<Record<string, string>>;

const page = 100;

export class RunsStore {
  readonly items = signal<readonly RunItem[]>([]);
  /** `searching`: a search that looked at many runs and found too few. */
  readonly state = signal<"loading" | "more" | "searching" | "end">("loading");
  readonly error = signal<string | null>(null);
  /** How many new runs wait to be shown. */
  readonly hidden = signal(0);
  /** How many of the newest runs were sorted, where there are more. */
  readonly sorted = signal<number | null>(null);
  scrolled = false;
  #query: Query = {};
  #next: string | null = null;
  #turn = 0;
  #waiting: readonly RunItem[] = [];
  /** Runs whose lines may be out of date. */
  readonly #stale = new Set<string>();
  #view: readonly RunItem[] = [];

  /** Another query: forgets the old list once the new one is there. */
  async begin(query: Query): Promise<void> {
    const turn = ++this.#turn;
    this.#query = query;
    this.state.value = "loading";
    this.hidden.value = 0;
    this.#stale.clear();
    await this.#load(null, (runs) => (this.items.value = runs), turn);
  }

  again(): Promise<void> {
    return this.begin(this.#query);
  }

  async more(): Promise<void> {
    if (this.state.value === "loading" || this.state.value === "end") return;
    this.state.value = "loading";
    const add = (runs: readonly RunItem[]): void => {
      const known = new Set(this.items.value.map(({ runId }) => runId));
      this.items.value = [...this.items.value, ...runs.filter(({ runId }) => !known.has(runId))];
    };
    await this.#load(this.#next, add, this.#turn);
  }

  async #load(cursor: string | null, take: (runs: readonly RunItem[]) => void, turn: number): Promise<void> {
    try {
      const { runs, next, sorted = null } = await getRuns({ ...this.#query, cursor, limit: String(page) });
      if (turn !== this.#turn) return;
      this.sorted.value = sorted;
      take(runs);
      this.#next = next;
      this.error.value = null;
      this.state.value = next === null ? "end" : runs.length === 0 ? "searching" : "more";
    } catch (error) {
      if (turn !== this.#turn) return;
      if (error instanceof ApiError && error.code === "invalid-query") this.items.value = [];
      this.error.value = messageOf(error);
      this.state.value = "more";
    }
  }

  /** Reads the beginning again, after a change. */
  async refresh(): Promise<void> {
    const turn = this.#turn;
    const limit = String(Math.min(200, Math.max(page, this.items.value.length)));
    const { runs, next } = await getRuns({ ...this.#query, limit }).catch(() => ({ runs: null, next: null }));
    if (runs === null || turn !== this.#turn) return;
    const fresh = new Map(runs.map((item) => [item.runId, item]));
    const old = this.items.value;
    const known = new Set(old.map(({ runId }) => runId));
    const isNew = runs.filter(({ runId }) => !known.has(runId)).length;
    for (const { runId } of old) if (!fresh.has(runId)) this.#stale.add(runId);
    for (const { runId } of runs) this.#stale.delete(runId);
    if (this.scrolled && isNew > 0) {
      this.#waiting = runs;
      this.hidden.value = isNew;
      this.items.value = old.map((item) => fresh.get(item.runId) ?? item);
    } else this.#merge(runs, next === null);
    await this.#reread();
  }

  /** Reads again what is in view and may be out of date. A run that no longer fits the search is left out. */
  async #reread(): Promise<void> {
    const turn = this.#turn;
    const ids = this.#view.map(({ runId }) => runId).filter((runId) => this.#stale.delete(runId));
    if (ids.length === 0) return;
    const found = await getRuns({ ...this.#query, ids: ids.join(",") }).catch(() => null);
    if (turn !== this.#turn) return;
    if (found === null) {
      for (const runId of ids) this.#stale.add(runId);
      return;
    }
    const fresh = new Map(found.runs.map((item) => [item.runId, item]));
    const asked = new Set(ids);
    this.items.value = this.items.value.flatMap((item) =>
      asked.has(item.runId) ? (fresh.get(item.runId) ?? []) : item,
    );
  }

  /** The ids of all runs that fit, up to so many, also of those that are not loaded. */
  async allIds(most: number): Promise<string[]> {
    while (
      this.items.value.length < most &&
      (this.state.value === "more" || this.state.value === "searching")
    )
      await this.more();
    return this.items.value.slice(0, most).map(({ runId }) => runId);
  }

  show(): void {
    this.hidden.value = 0;
    this.#merge(this.#waiting, false);
  }

  /** `whole`: these are all runs of the query, so any other one is gone. */
  #merge(runs: readonly RunItem[], whole: boolean): void {
    const fresh = new Set(runs.map(({ runId }) => runId));
    const rest = whole ? [] : this.items.value.filter(({ runId }) => !fresh.has(runId));
    this.items.value = [...runs, ...rest];
    if (this.state.value === "end" && !whole) return;
    if (whole) this.state.value = "end";
  }

  /** These lines are in view now: reads again those that may be out of date. */
  look(items: readonly RunItem[]): void {
    this.#view = items;
    void this.#reread();
  }
}
