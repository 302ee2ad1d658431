/** Exit codes: the contract with scripts and CI. docs/errors.md has the table, and a test compares both. */

import type { ErrorCode, RunStatus } from "@durable/core";

export const exit = {
  ok: 0,
  /** The run failed, runs differ, problems were found, or something else went wrong. */
  failed: 1,
  usage: 2,
  notFound: 3,
  /** The state of the run does not allow it: diverged, answered already, taken. */
  refused: 4,
  /** The run is suspended or sleeping. */
  suspended: 10,
  interrupted: 130,
} as const;

/** Codes of errors whose exit is not 1. */
const ofCode: Partial<Record<ErrorCode, number>> = {
  "invalid-name": exit.usage,
  "invalid-id": exit.usage,
  "invalid-options": exit.usage,
  "invalid-input": exit.usage,
  "no-storage": exit.usage,
  "no-secret": exit.usage,
  "ambiguous-app": exit.usage,
  "input-mismatch": exit.refused,
  "workflow-mismatch": exit.refused,
  "run-exists": exit.refused,
  conflict: exit.refused,
  diverged: exit.refused,
  "foreign-await": exit.refused,
  "unhandled-rejection": exit.refused,
  "journal-regressed": exit.refused,
  poison: exit.refused,
  "retry-refused": exit.refused,
  "other-version": exit.refused,
  "unknown-workflow": exit.notFound,
  "unknown-step": exit.notFound,
  "not-found": exit.notFound,
  suspended: exit.suspended,
};

export function exitOfCode(code: string): number {
  return Object.hasOwn(ofCode, code) ? (ofCode[code as ErrorCode] ?? exit.failed) : exit.failed;
}

/** The exit of a command that drove a run to this status. */
export function exitOfStatus(status: RunStatus): number {
  switch (status) {
    case "completed":
    case "running":
      return exit.ok;
    case "suspended":
    case "paused":
      return exit.suspended;
    case "blocked":
      return exit.refused;
    case "failed":
    case "cancelled":
      return exit.failed;
  }
}

/** A refusal of the command line itself: what is wrong, and what to type instead. */
export class CliError extends Error {
  readonly exit: number;
  /** For scripts; the codes of the library are used where one fits. */
  readonly code: string;

  constructor(message: string, options: { readonly exit?: number; readonly code?: string } = {}) {
    super(message);
    this.name = "CliError";
    this.exit = options.exit ?? exit.usage;
    this.code = options.code ?? "usage";
  }
}
