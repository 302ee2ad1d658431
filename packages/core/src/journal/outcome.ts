/** The outcome of a run, for users: computed from its journal, with decoded values and signed tokens. */

import { decode } from "../values/codec/decode.ts";
import { DurableError, describeError, type ErrorCode } from "../values/errors.ts";
import type { Json } from "../values/codec/tags.ts";
import { defined } from "../values/options.ts";
import type { Leftovers, Entry } from "./entry.ts";
import type { RunJournal } from "./journal.ts";
import { nameOf } from "./keys.ts";
import type { Keyring } from "./tokens.ts";
import { valueFields } from "./kinds.ts";
import { hasEnded } from "../ports/storage-kit.ts";
import { stateOf, type RunStateName, type Seen } from "./run-state.ts";

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
  /** It waits for a message of this topic: use `run.send(topic, payload)`. Its token is empty. */
  readonly topic?: string;
}

/**
 * Where a run is: ended (`completed`, `failed`, `cancelled`), parked (`suspended`), driven elsewhere or due
 * (`running`), stopped by an operator (`paused`), or unable to continue (`blocked`).
 */
export type Outcome<T> = {
  readonly runId: string;
  /** What the run does, in one word: the same word as in lists. */
  readonly state: RunStateName;
  /** True when the run had ended before this call, so that nothing ran. */
  readonly recorded: boolean;
  /** What the run shows of itself: the last value of `ctx.report`, if there was one. */
  readonly report?: unknown;
} & (
  | ({ readonly status: "completed"; readonly output: T } & Leftovers)
  | ({ readonly status: "failed"; readonly error: DurableError } & Leftovers)
  | ({
      readonly status: "suspended";
      readonly waiting: readonly SuspendPoint[];
      readonly wakeAt: number | null;
    } & Undone)
  | ({
      readonly status: "cancelled";
      /** Why the clean-up failed; missing when it succeeded, or there was none. */
      readonly error?: DurableError;
    } & CancelReason &
      Pick<Leftovers, "uncompensated">)
  | ({
      readonly status: "running";
      /** Its open waits: they take answers while other work goes on. Empty where no secret can sign tokens. */
      readonly waiting: readonly SuspendPoint[];
    } & Undone)
  | {
      /** Not driven until it is unpaused. */
      readonly status: "paused";
      readonly reason: string | null;
      /** When it was paused, in milliseconds since the epoch. */
      readonly since: number;
      /** Its open waits: they still take answers. */
      readonly waiting: readonly SuspendPoint[];
    }
  | ({
      readonly status: "blocked";
      readonly error: DurableError;
      /** When it became blocked, in milliseconds since the epoch. */
      readonly since: number;
      /** Its open waits: they still take answers. */
      readonly waiting: readonly SuspendPoint[];
    } & Undone)
);

/** The reason that `cancel` was given; missing when it was given none. */
export interface CancelReason {
  readonly reason?: string;
}

/** Present while a run undoes what it did, before it ends. */
export interface Undone {
  /** The run was cancelled, and cleans up. */
  readonly cancelling?: CancelReason;
  /** The run has failed with this error, and undoes its steps. */
  readonly failing?: DurableError;
}

/** What an outcome depends on beside the journal. */
export interface Reader extends Seen {
  /** This process drives the run. */
  readonly drives: boolean;
  /** Signs tokens; an error without a secret. */
  readonly keyring: Keyring | DurableError;
}

function journalState(journal: RunJournal, { drives, ...seen }: Omit<Reader, "keyring">): RunStateName {
  const { summary } = journal.state;
  // A run that this object has driven is parked or handed over by now, unless another driver has taken it.
  const driven = drives || (journal.driven ? journal.lost : journal.held);
  const status = journal.blocked === null || hasEnded(summary) ? summary.status : "blocked";
  return stateOf({ ...summary, ...journal.state.marksAfter([], summary), status, driven }, seen);
}

/** The outcome according to the journal now. */
export function outcomeOf(
  journal: RunJournal,
  { keyring, ...seen }: Reader,
  recorded: boolean,
): Outcome<unknown> {
  const { runId, state } = journal;
  const about = {
    runId,
    state: journalState(journal, seen),
    recorded: recorded && state.end !== null,
    ...(state.report !== null && { report: decode(state.report.value, `report of run ${runId}`) }),
  };
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
        error: runError(runId, state.end),
        ...leftoversOf(state.end),
      };
    case "run.cancelled": {
      const { reason, error, uncompensated } = state.end;
      const failed =
        error === undefined ? {} : { error: decode(error, `clean-up of run ${runId}`) as DurableError };
      return { ...about, status: "cancelled", ...reasonOf(reason), ...failed, ...defined({ uncompensated }) };
    }
    default:
  }
  const undone = undoneOf(journal);
  const waiting = (): SuspendPoint[] => pointsIfSigned(journal, keyring);
  if (state.paused !== null) {
    const { reason, at: since } = state.paused;
    return { ...about, status: "paused", reason: reason as string | null, since, waiting: waiting() };
  }
  if (journal.blocked !== null) {
    const { code, message, since } = journal.blocked;
    const error = new DurableError(code as ErrorCode, message);
    return { ...about, status: "blocked", error, since, waiting: waiting(), ...undone };
  }
  if (state.summary.status !== "suspended")
    return { ...about, status: "running", waiting: waiting(), ...undone };
  return {
    ...about,
    ...undone,
    status: "suspended",
    waiting: suspendPoints(journal, keyring),
    wakeAt: state.deadline,
  };
}

/** The outcome of a run that another driver has, or that is due: what its journal says may be about to change. */
export function runningOutcome(
  journal: RunJournal,
  { keyring, ...seen }: Reader,
): Outcome<unknown> & { status: "running" } {
  const [state, waiting] = [journalState(journal, seen), pointsIfSigned(journal, keyring)];
  return { runId: journal.runId, state, recorded: false, status: "running", waiting };
}

/** Only a suspended run throws without a secret: any other goes on, or says more than its waits. */
function pointsIfSigned(journal: RunJournal, keyring: Keyring | DurableError): SuspendPoint[] {
  return keyring instanceof DurableError ? [] : suspendPoints(journal, keyring);
}

function suspendPoints(journal: RunJournal, keyring: Keyring | DurableError): SuspendPoint[] {
  return journal.state.openWaits().map(({ wait, opened: { key, note, schema, expiresAt, topic } }) => {
    if (topic !== undefined)
      return { key, name: nameOf(key), token: "", note: null, schema, expiresAt, topic };
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
function leftoversOf({ orphans, abandoned, unawaited, uncompensated }: Leftovers): Leftovers {
  return defined({ orphans, abandoned, unawaited, uncompensated });
}

function undoneOf({ runId, state: { undoing } }: RunJournal): Undone {
  if (undoing === null) return {};
  return undoing.kind === "run.failing"
    ? { failing: runError(runId, undoing) }
    : { cancelling: reasonOf(undoing.reason) };
}

/** The text of a recorded reason. */
export function reasonOf(reason: Json | null): CancelReason {
  return reason === null ? {} : { reason: decode(reason, "reason of a cancellation") as string };
}

/** The error of a run that failed. */
export function runError(
  runId: string,
  { error: encoded, uncompensated }: { readonly error: Json } & Leftovers,
): DurableError {
  const cause = decode(encoded, `error of run ${runId}`);
  if (uncompensated === undefined && DurableError.is(cause)) return cause;
  const code = uncompensated === undefined ? "run-failed" : "uncompensated";
  const message = `Run ${runId} failed: ${describeError(cause)}${notUndone(uncompensated)}`;
  return new DurableError(code, message, { cause, details: defined({ uncompensated }) });
}

/** The end of a message about steps that were not undone. */
export function notUndone(keys: readonly string[] | undefined): string {
  return keys === undefined ? "" : `. Not undone: "${keys.join('", "')}". Undo this work by hand.`;
}

export function suspendedError(outcome: Outcome<unknown> & { status: "suspended" }): DurableError {
  const names = outcome.waiting.map(({ key }) => `"${key}"`).join(", ");
  const how = outcome.waiting.some(({ topic }) => topic) ? "run.send(topic, payload), " : "";
  return new DurableError(
    "suspended",
    `Run ${outcome.runId} waits for ${names}. Use ${how}resume(token, value) with a token from error.details.waiting, or result({ wait: true }).`,
    { details: { waiting: outcome.waiting.map(withHiddenToken) } },
  );
}

/** The token can be read, but a runtime that prints an uncaught error leaves it out. */
function withHiddenToken(point: SuspendPoint): SuspendPoint {
  return Object.defineProperty({ ...point }, "token", { enumerable: false });
}

export function cancelledError(
  runId: string,
  { reason, uncompensated }: CancelReason & Pick<Leftovers, "uncompensated">,
): DurableError {
  const why = reason === undefined ? "" : `: ${reason}`;
  const end = notUndone(uncompensated) || (reason === undefined ? "." : "");
  return new DurableError("cancelled", `Run ${runId} was cancelled${why}${end}`, {
    details: defined({ reason, uncompensated }),
  });
}

/**
 * One entry of a journal, with decoded values: a fact, its time, its position, and whether it came from
 * outside.
 */
export type RunEntry<V = unknown> = Entry<V>;

export function decodeEntry(entry: Entry, runId: string): RunEntry {
  const decoded: Record<string, unknown> = { ...entry };
  const read = (json: Json): unknown => decode(json, `${entry.kind} of run ${runId}`);
  for (const field of valueFields(entry))
    if (decoded[field] !== undefined) decoded[field] = read(decoded[field] as Json);
  if (entry.kind === "stream.chunks") decoded["chunks"] = entry.chunks.map(read);
  if (entry.kind === "run.forked")
    decoded["edits"] = entry.edits.map((edit) => ({ ...edit, value: read(edit.value) }));
  return decoded as unknown as RunEntry;
}
