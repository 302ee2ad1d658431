/** The outcome of a run, for users: computed from its journal, with decoded values and signed tokens. */

import { decode } from "../values/codec/decode.ts";
import { DurableError, describeError, type ErrorCode } from "../values/errors.ts";
import { defined } from "../values/defined.ts";
import type { Leftovers } from "./entry.ts";
import type { RunJournal } from "./journal.ts";
import { nameOf } from "./keys.ts";
import type { Keyring } from "./tokens.ts";

/** A suspend point that is open: what is asked, and the token that answers it. */
export interface SuspendPoint {
  /** The key of the wait in its run. */
  readonly key: string;
  /** The last name of the key. */
  readonly name: string;
  /** Answers exactly this wait: `flow.resume(token, value)`. */
  readonly token: string;
  /** The `note` that `ctx.suspend` was given. */
  readonly note: unknown;
  /** JSON Schema of the answer, if the library of the schema can produce it. */
  readonly schema: unknown;
  /** The deadline in milliseconds since the epoch; `null` without a timeout. */
  readonly expiresAt: number | null;
}

/**
 * Where a run is: ended (`completed`, `failed`, `cancelled`), parked (`suspended`), driven elsewhere or due
 * (`running`), stopped by an operator (`paused`), or unable to continue (`blocked`).
 */
export type Outcome<T> = {
  readonly runId: string;
  /** True when the run had ended before this call, so that nothing ran. */
  readonly recorded: boolean;
} & (
  | ({ readonly status: "completed"; readonly output: T } & Leftovers)
  | ({ readonly status: "failed"; readonly error: DurableError } & Leftovers)
  | {
      readonly status: "suspended";
      readonly waiting: readonly SuspendPoint[];
      readonly wakeAt: number | null;
    }
  | { readonly status: "cancelled" }
  | { readonly status: "running" }
  | {
      /** Not driven until it is unpaused. */
      readonly status: "paused";
      readonly reason: string | null;
      /** When it was paused, in milliseconds since the epoch. */
      readonly since: number;
      /** Its open waits: they still take answers. */
      readonly waiting: readonly SuspendPoint[];
    }
  | {
      readonly status: "blocked";
      readonly error: DurableError;
      /** When it became blocked, in milliseconds since the epoch. */
      readonly since: number;
      /** Its open waits: they still take answers. */
      readonly waiting: readonly SuspendPoint[];
    }
);

/** The outcome according to the journal now. */
export function outcomeOf(
  journal: RunJournal,
  keyring: Keyring | DurableError,
  recorded: boolean,
): Outcome<unknown> {
  const { runId, state } = journal;
  const about = { runId, recorded: recorded && state.end !== null };
  switch (state.end?.kind) {
    case "run.completed":
      return {
        ...about,
        status: "completed",
        output: decode(state.end.output, `output of run ${runId}`),
        ...leftoversOf(state.end),
      };
    case "run.failed":
      return {
        ...about,
        status: "failed",
        error: runError(runId, decode(state.end.error, `error of run ${runId}`)),
        ...leftoversOf(state.end),
      };
    case "run.cancelled":
      return { ...about, status: "cancelled" };
    default:
  }
  const waiting = (): SuspendPoint[] =>
    keyring instanceof DurableError ? [] : suspendPoints(journal, keyring);
  if (state.paused !== null) {
    const { reason, at: since } = state.paused;
    return { ...about, status: "paused", reason: reason as string | null, since, waiting: waiting() };
  }
  if (journal.blocked !== null) {
    const { code, message, since } = journal.blocked;
    const error = new DurableError(code as ErrorCode, message);
    return { ...about, status: "blocked", error, since, waiting: waiting() };
  }
  if (state.summary.status !== "suspended") return { ...about, status: "running" };
  return {
    ...about,
    status: "suspended",
    waiting: suspendPoints(journal, keyring),
    wakeAt: state.deadline,
  };
}

function suspendPoints(journal: RunJournal, keyring: Keyring | DurableError): SuspendPoint[] {
  return journal.state.openWaits().map(({ wait, opened: { key, note, schema, expiresAt } }) => {
    if (keyring instanceof DurableError) throw keyring;
    return {
      key,
      name: nameOf(key),
      token: keyring.sign(journal.locator, wait),
      note: decode(note, `note of suspend point "${key}" of run ${journal.runId}`),
      schema,
      expiresAt,
    };
  });
}

/** The fields are absent where nothing was left. */
function leftoversOf({ orphans, abandoned, unawaited }: Leftovers): Leftovers {
  return defined({ orphans, abandoned, unawaited });
}

function runError(runId: string, error: unknown): DurableError {
  if (DurableError.is(error)) return error;
  return new DurableError("run-failed", `Run ${runId} failed: ${describeError(error)}`, { cause: error });
}
