/**
 * The calls whose failure a retry takes back.
 *
 * failed-calls.1. Without `steps`, only failures that the error of the run names begin anew: the error itself, its causes, or
 *     the errors of an AggregateError. Any other failure may be one that the code has handled.
 * failed-calls.2. A retry that takes back nothing is refused when the one before it did the same and the code came no
 *     further: the run would fail in the same way for ever. The message lists the failures that `steps` may name.
 */

import type { Entry } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { deadlinePart, isDeadline, nameOf } from "../journal/keys.ts";
import { isSettlement } from "../journal/kinds.ts";
import { decode } from "../values/codec/decode.ts";
import { DurableError, show } from "../values/errors.ts";
import { nearest } from "../values/near.ts";

type Failed = Entry & { kind: "run.failed" };

/** The keys that a retry takes back, in the order in which they failed. */
export function takenBack(
  journal: RunJournal,
  end: Failed,
  steps: readonly string[] | undefined,
): readonly string[] {
  const failures = failuresIn(journal);
  const asked = steps?.map((step) => failedKey(journal, failures, step));
  const named = new Set(asked ?? namedBy(decode(end.error, `error of run ${journal.runId}`), failures));
  return [...failures].filter((key) => named.has(key));
}

/** The failed calls that a retry leaves as they are, because the error names none; `null` when there is nothing to say. */
export function leftAsTheyAre(journal: RunJournal, taken: readonly string[]): readonly string[] | null {
  const failures = failuresIn(journal);
  return taken.length > 0 || failures.size === 0 ? null : [...failures];
}

/** True when the last retry took back nothing, and nothing was recorded since. */
export function cameNoFurther({ entries }: RunJournal): boolean {
  const last = entries.findLastIndex(({ kind }) => kind === "run.retried");
  const retried = entries[last];
  if (retried?.kind !== "run.retried" || retried.failed !== undefined || "deadline" in retried) return false;
  return !entries.slice(last).some(isSettlement);
}

/** `run.retry({ steps: ["a", "b"] })`, for messages. */
export function nameThem(failures: readonly string[]): string {
  const list = failures.slice(0, mostNamed).map(show).join(", ");
  return `run.retry({ steps: [${list}${failures.length > mostNamed ? ", ..." : ""}] })`;
}

const mostNamed = 20;

function failuresIn({ entries }: RunJournal): Set<string> {
  return new Set(entries.flatMap((entry) => failureIn(entry) ?? []));
}

/** Errors below one that names a call are those of the call, such as the steps of a child. */
function namedBy(error: unknown, failures: ReadonlySet<string>, depth = 0): readonly string[] {
  if (!(error instanceof Error) || depth > longestChain) return [];
  const key = DurableError.is(error) ? error.details["key"] : undefined;
  if (typeof key === "string" && failures.has(key)) return [key];
  const { errors } = error as { readonly errors?: unknown };
  const below = [error.cause, ...(Array.isArray(errors) ? (errors as readonly unknown[]) : [])];
  return below.flatMap((one) => namedBy(one, failures, depth + 1));
}

const longestChain = 20;

function failedKey({ runId, entries }: RunJournal, failures: ReadonlySet<string>, step: string): string {
  if (failures.has(step)) return step;
  const matches = [...failures].filter((key) => nameOf(key) === step);
  const [only] = matches;
  if (matches.length === 1 && only !== undefined) return only;
  const near = (matches.length > 1 ? matches : nearest(step, failures, nameOf)).slice(0, 5);
  const isKnown = entries.some(
    (entry) => "key" in entry && (entry.key === step || nameOf(entry.key) === step),
  );
  const what =
    matches.length > 1
      ? `has several failed steps ${show(step)}. Use one of these keys: ${near.join(", ")}.`
      : `has no failed step ${show(step)}${isKnown ? ": that one did not fail" : ""}. ${
          near.length > 0 ? `Failed: ${near.join(", ")}.` : "No step of it has failed."
        }`;
  throw new DurableError("unknown-step", `Run ${runId} ${what}`, { details: { name: step, near } });
}

/** The key of the call that an entry records as failed. */
function failureIn(entry: Entry): string | undefined {
  switch (entry.kind) {
    case "step.failed":
    case "stream.failed":
    case "child.failed":
    case "spawn.failed":
      return entry.key;
    case "suspend.expired":
      return entry.value === undefined ? entry.key : undefined;
    case "sleep.fired":
      return isDeadline(entry.key) ? entry.key.slice(0, -deadlinePart.length) : undefined;
    default:
      return undefined;
  }
}
