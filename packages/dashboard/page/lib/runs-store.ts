/**
 * The runs that the list has loaded.
 *
 * store.1. Pages are loaded as they are scrolled to; what is loaded stays in order.
 * store.2. While the list is scrolled, new runs wait behind a button, so that lines do not move under the pointer.
 */

import { signal } from "@preact/signals";
import type { RunItem, Summary } from "../../src/api.ts";
import { getRuns, getSummaries } from "./api.ts";
import { messageOf } from "./state.ts";

type Query = Readonly<Record<string, string>>;

const page = 100;

export class RunsStore {
  readonly items = signal<readonly RunItem[]>([]);
  readonly summaries = signal<ReadonlyMap<string, Summary>>(new Map());
  /** `searching`: a search that looked at many runs and found too few. */
  readonly state = signal<"loading" | "more" | "searching" | "end">("loading");
  readonly error = signal<string | null>(null);
  /** How many new runs wait to be shown. */
  readonly hidden = signal(0);
  scrolled = false;
  #query: Query = {};
  #next: string | null = null;
  #turn = 0;
  #waiting: readonly RunItem[] = [];
  /** By run, the change for which its summary was asked. */
  readonly #asked = new Map<string, number>();

  /** Another query: forgets the old list once the new one is there. */
  async begin(query: Query): Promise<void> {
    const turn = ++this.#turn;
    this.#query = query;
    this.state.value = "loading";
    this.hidden.value = 0;
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
      const { runs, next } = await getRuns({ ...this.#query, cursor, limit: String(page) });
      if (turn !== this.#turn) return;
      take(runs);
      this.#next = next;
      this.error.value = null;
      this.state.value = next === null ? "end" : runs.length === 0 ? "searching" : "more";
    } catch (error) {
      if (turn !== this.#turn) return;
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
    if (this.scrolled && isNew > 0) {
      this.#waiting = runs;
      this.hidden.value = isNew;
      this.items.value = old.map((item) => fresh.get(item.runId) ?? item);
      return;
    }
    this.#merge(runs, next === null);
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

  /** Asks for what the lines in view lack. */
  summarize(items: readonly RunItem[]): void {
    const missing = items.filter(({ runId, updatedAt }) => this.#asked.get(runId) !== updatedAt).slice(0, 60);
    if (missing.length === 0) return;
    for (const { runId, updatedAt } of missing) this.#asked.set(runId, updatedAt);
    void getSummaries(missing.map(({ runId, updatedAt }) => `${runId}:${updatedAt}`)).then(
      (found) => {
        this.summaries.value = new Map([...this.summaries.value, ...Object.entries(found)]);
      },
      () => {
        for (const { runId } of missing) this.#asked.delete(runId);
      },
    );
  }
}
