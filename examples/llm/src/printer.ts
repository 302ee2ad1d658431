/**
 * Prints one line per step: whether it ran here or came from the journal, its duration, its attempt and its
 * result.
 */

import { DurableError, type Context } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { headText, rowText, runningText, type Row } from "./row.ts";
import type { Terminal } from "./terminal.ts";
import { watched, type Settlement, type Watcher } from "./watch.ts";

export interface PrinterOptions {
  /** A step's value in a few words. */
  readonly describe?: (key: string, value: unknown) => string;
  /** Width of the key column, for long keys. */
  readonly width?: number;
  /** More watchers of the steps. */
  readonly watchers?: readonly Watcher[];
}

/** Entries with the end of an attempt. */
type AttemptEntry = Extract<Entry, { kind: "step.completed" | "step.failed" | "attempt.failed" }>;

type Timing = Pick<Row, "ms" | "attempt">;

export class RunPrinter {
  /** Keys of settled steps, by the source of their outcome; without those that failed here. */
  readonly settled = { ran: new Set<string>(), journal: new Set<string>() };
  readonly #out: Terminal;
  readonly #options: PrinterOptions;
  /** Entries that were in the journal before, by key. */
  readonly #known = new Map<string, AttemptEntry[]>();
  readonly #here = new Map<string, Timing>();
  readonly #running = new Set<string>();

  constructor(out: Terminal, options: PrinterOptions = {}) {
    this.#out = out;
    this.#options = options;
  }

  head(): void {
    this.#out.line(headText(this.#out, this.#options.width));
  }

  /** Adds what is already in the journal: times and failures of steps that come from it. */
  known(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (isAttempt(entry)) this.#known.set(entry.key, [...(this.#known.get(entry.key) ?? []), entry]);
    }
  }

  /**
   * The same context, with every step printed as it settles; `path` is a prefix of its keys, to distinguish
   * runs.
   */
  watch(ctx: Context, path = ""): Context {
    const watcher: Watcher = {
      began: ({ key }) => {
        this.#showFailures(key);
        this.#running.add(key);
        this.#showRunning();
      },
      ended: ({ key, attempt, ms, error, signal }) => {
        this.#running.delete(key);
        this.#here.set(key, { ms, attempt });
        if (error === null) return;
        // The error of a step that was cancelled is that of another one.
        if (signal.aborted && !DurableError.is(signal.reason, "step-timeout"))
          this.#show({ from: "stopped", key, ms, attempt, what: "" });
        else this.#show({ from: "failed", key, ms, attempt, what: messageOf(error.value) });
      },
      settled: (step) => this.#settle(step),
    };
    return watched(ctx, [watcher, ...(this.#options.watchers ?? [])], path);
  }

  /** Prints the steps of a run that has ended, because such a run calls no code. */
  recorded(): void {
    for (const [key, attempts] of this.#known) {
      const end = attempts.at(-1);
      if (end?.kind === "step.completed")
        this.#settle({ key, ran: false, outcome: { ok: true, value: end.value } });
      if (end?.kind === "step.failed")
        this.#settle({ key, ran: false, outcome: { ok: false, error: end.error } });
    }
  }

  #settle({ key, ran, outcome }: Settlement): void {
    const from = ran ? "ran" : "journal";
    // A step that failed here is not counted as one that ran.
    if (outcome.ok || !ran) this.settled[from].add(key);
    if (!ran) this.#showFailures(key);
    const end = this.#known.get(key)?.at(-1);
    const timing = ran ? this.#here.get(key) : end && timingOf(end);
    const about = { from, key, ms: timing?.ms ?? null, attempt: timing?.attempt ?? null } as const;
    if (outcome.ok) this.#show({ ...about, what: this.#options.describe?.(key, outcome.value) ?? "" });
    // A failure of this process was shown when its body ended.
    else if (!ran) this.#show({ ...about, what: `failed: ${messageOf(outcome.error)}` });
  }

  /** Attempts that failed in another process are printed once, before what followed them. */
  #showFailures(key: string): void {
    const attempts = this.#known.get(key) ?? [];
    this.#known.set(
      key,
      attempts.filter(({ kind }) => kind !== "attempt.failed"),
    );
    for (const entry of attempts) {
      if (entry.kind !== "attempt.failed") continue;
      this.#show({ from: "journal", key, ...timingOf(entry), what: `failed: ${messageOf(entry.error)}` });
    }
  }

  #show(row: Row): void {
    this.#out.line(rowText(this.#out, row, this.#options.width));
    this.#showRunning();
  }

  #showRunning(): void {
    if (this.#running.size > 0) this.#out.status(runningText(this.#running));
  }
}

function isAttempt(entry: Entry): entry is AttemptEntry {
  return ["step.completed", "step.failed", "attempt.failed"].includes(entry.kind);
}

function timingOf({ at, startedAt, attempt }: AttemptEntry): Timing {
  return { ms: at - startedAt, attempt };
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
}
