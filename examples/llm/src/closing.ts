/**
 * The last line about a run: what came from the journal, how to start over, and what wakes a parked run.
 * Proven in test/printer.test.ts.
 */

import type { Outcome } from "@durable/core";

export interface ClosingOptions {
  /** Keys of steps, by the source of their outcome. */
  readonly settled: { readonly ran: ReadonlySet<string>; readonly journal: ReadonlySet<string> };
  /** The command that runs it again. */
  readonly again: string;
  /** The command that starts over. */
  readonly fresh: string;
}

export function closingLine(outcome: Outcome<unknown>, { settled, again, fresh }: ClosingOptions): string {
  const journal = settled.journal.size;
  const shares = `${steps(settled.ran.size)} ran here, ${journal} came from the journal`;
  switch (outcome.status) {
    case "completed":
      return outcome.recorded
        ? `Finished before: all ${steps(journal)} came from the journal, nothing ran. Start over: ${fresh}`
        : `Done: ${shares}. Start over: ${fresh}`;
    case "failed":
      return `Failed: ${outcome.error.message} (${shares}.) Start over: ${fresh}`;
    case "cancelled":
      return `Cancelled. Start over: ${fresh}`;
    case "suspended":
      return `Parked: ${shares}. ${wakers(outcome, again)}`;
    case "paused":
      return `Paused${outcome.reason === null ? "" : ` (${outcome.reason})`}. Once unpaused: ${again}`;
    case "running":
      return `Another process drives this run. Wait for it, or end it; then: ${again}`;
    case "blocked":
      return `Blocked: ${outcome.error.message} Once fixed: ${again}`;
  }
}

/** The exit code of a command: done, failed, or not ended yet. */
export function exitCodeOf({ status }: Outcome<unknown>): number {
  if (status === "completed") return 0;
  return status === "suspended" ? 10 : 1;
}

function wakers({ waiting, wakeAt }: Outcome<unknown> & { status: "suspended" }, again: string): string {
  const names = waiting.map(({ key }) => `"${key}"`).join(", ");
  const answer = waiting.length === 0 ? [] : [`It waits for ${names}: an answer with its token wakes it.`];
  const time = wakeAt === null ? [] : [`It is due at ${clock(wakeAt)}; nothing wakes it by itself: ${again}`];
  return [...answer, ...time].join(" ");
}

function clock(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

function steps(count: number): string {
  return `${count} ${count === 1 ? "step" : "steps"}`;
}
