/**
 * Operators' verbs on a run: pause, unpause, and retry in place. Each is one entry from outside.
 *
 * steer.1. A verb that was done before does nothing and answers with the outcome, so it can be repeated after a crash.
 * steer.2. A retry is refused when others have built on the failure: a parent that recorded it, or a compensation that ran.
 *     One function decides it, for the retry itself and for those who would offer one.
 * steer.3. When a child caused the failure, the child is retried first. A retry that stops between the two is repeated.
 * steer.4. Runs that the failure has cancelled go on: spawned ones are continued here, children by the driver of the run.
 * failed-calls.1. Without `steps`, only failures that the error of the run names begin anew: the error itself, its causes, or
 *     the errors of an AggregateError. Any other failure may be one that the code has handled.
 * failed-calls.2. A retry that takes back nothing is refused when the one before it did the same and the code came no
 *     further: the run would fail in the same way for ever. The message lists the failures that `steps` may name.
 */

import { deadlineAt } from "../engine/deadline.ts";
import { writeFact } from "../journal/batch.ts";
import type { RunJournal } from "../journal/journal.ts";
import { locatorOf, deadlinePart, isDeadline, nameOf } from "../journal/keys.ts";
import type { Outcome } from "../journal/outcome.ts";
import type { Duration } from "../values/duration.ts";
import { DurableError, show } from "../values/errors.ts";
import { allowed, assertOptions, nearest } from "../values/options.ts";
import { scrub } from "../values/scrub.ts";
import { advanceRun } from "./drive.ts";
import type { Host } from "./host.ts";
import { openJournal, openRun, outcomeWithChildren } from "./lookup.ts";
import { lostSpawned, reviveSpawned } from "./tree.ts";
import type { Entry } from "../journal/entry.ts";
import { isSettlement } from "../journal/kinds.ts";
import { decode } from "../values/codec/decode.ts";

/** Options of `run.unpause`. */
export interface UnpauseOptions {
  /** False leaves the run to a worker, a sweep or an `advance`. True by default: it is driven in the background. */
  readonly drive?: boolean | undefined;
}

/** Options of `run.pause` and `app.pause`. */
export interface PauseOptions {
  /** Why, for people: outcomes and lists have it. */
  readonly reason?: string | undefined;
}

/** Options of `run.retry`. */
export interface RetryRunOptions extends UnpauseOptions {
  /**
   * A new deadline: a date, or a time from now. By default a deadline that has passed is removed, and any other stays.
   */
  readonly deadline?: Duration | Date | undefined;
  /**
   * The failed steps that begin anew, by key, or by name where it is unique; none with `[]`. By default those that the
   * error of the run names: itself, its causes, or the errors of an `AggregateError`.
   */
  readonly steps?: readonly string[] | undefined;
  /** `allow`: new calls run, also where they may be recorded ones under another name or with another prompt. */
  readonly changes?: "allow" | undefined;
}

/** The reason of a pause. */
export function reasonIn(options: PauseOptions | undefined, where: string): string | undefined {
  assertOptions(options, "reason", where);
  return options?.reason;
}

export async function pauseRun(host: Host, runId: string, options?: PauseOptions): Promise<Outcome<unknown>> {
  const reason = reasonIn(options, "run.pause") ?? "";
  const journal = await openSteered(host, runId);
  while (journal.state.end === null && journal.state.paused === null) {
    const fact = writeFact({ kind: "run.paused", reason: scrub(reason) || null }, host.world.now());
    await journal.append([fact], { outside: true });
  }
  return outcomeWithChildren(host, journal, true);
}

export async function unpauseRun(
  host: Host,
  runId: string,
  options: UnpauseOptions = {},
): Promise<Outcome<unknown>> {
  assertOptions(options, "drive", "run.unpause");
  const journal = await openSteered(host, runId);
  while (journal.state.end === null && journal.state.paused !== null)
    await journal.append([writeFact({ kind: "run.unpaused" }, host.world.now())], { outside: true });
  return continued(host, journal, options);
}

export async function retryRun(
  host: Host,
  runId: string,
  options: RetryRunOptions = {},
): Promise<Outcome<unknown>> {
  assertOptions(options, "deadline drive steps changes", "run.retry");
  assertSteps(options.steps);
  allowed(options.changes, "run.retry");
  const journal = await openSteered(host, runId);
  await takeBack(host, journal, options, null);
  const spawned = await reviveSpawned(host, journal);
  for (const id of spawned) if (options.drive !== false) driveIfKnown(host, await openRun(host, id));
  return continued(host, journal, options);
}

async function openSteered(host: Host, runId: string): Promise<RunJournal> {
  const journal = await openRun(host, runId);
  if (journal.state.summary.workflow !== "") return journal;
  throw new DurableError(
    "invalid-options",
    `Run ${runId} is a journal without a workflow. Nothing drives it, so it cannot be paused or retried.`,
  );
}

/** Drives the run in the background, if its code is here. */
async function continued(
  host: Host,
  journal: RunJournal,
  { drive = true }: UnpauseOptions,
): Promise<Outcome<unknown>> {
  const outcome = await outcomeWithChildren(host, journal, true);
  if (drive && journal.state.summary.wakeAt === 0) driveIfKnown(host, journal);
  return outcome;
}

function driveIfKnown(host: Host, { runId, state }: RunJournal): void {
  if (host.find(state.summary.workflow) !== null) host.background(`run ${runId}`, advanceRun(host, runId));
}

/** Takes back the failure of a run. `parent` is the run whose retry needs it. */
async function takeBack(
  host: Host,
  journal: RunJournal,
  options: RetryRunOptions,
  parent: string | null,
): Promise<void> {
  for (;;) {
    const isRetried = journal.entries.some(({ kind }) => kind === "run.retried");
    if (journal.state.end?.kind !== "run.failed" && isRetried) return;
    const { failed, left, children, isLate, others } = await judged(host, journal, options, parent);
    for (const child of children) await takeBack(host, child, others, journal.runId);
    const fact = {
      kind: "run.retried",
      ...allowed(options.changes, "run.retry"),
      ...(failed.length === 0 ? {} : { failed }),
      ...(options.deadline === undefined ? isLate && { deadline: null } : deadlineAt(host, options.deadline)),
    } as const;
    const { kind } = await journal.append([writeFact(fact, host.world.now())], { outside: true });
    if (kind !== "landed") continue;
    if (left !== null)
      host.world.warn(
        `run ${journal.runId} is retried, and no failed step of it begins anew, because its error names none. To run them again: ${nameThem(left)}.`,
      );
    return;
  }
}

/** What a retry would take back. */
interface Judged {
  readonly failed: readonly string[];
  readonly left: readonly string[] | null;
  readonly children: readonly RunJournal[];
  readonly isLate: boolean;
  readonly others: RetryRunOptions;
}

/** Decides whether a run, and the children that failed with it, can be retried; rejects with the reason if not. */
async function judged(
  host: Host,
  journal: RunJournal,
  options: RetryRunOptions,
  parent: string | null,
): Promise<Judged> {
  const { end, endsBy } = journal.state;
  if (end?.kind !== "run.failed")
    throw refused(journal, `it did not fail. Its status is ${journal.state.summary.status}.`);
  await assertUnused(host, journal, parent);
  const { steps, ...others } = options;
  const failed = takenBack(journal, end, steps);
  const isLate = endsBy !== null && endsBy <= host.world.now();
  const left = isLate || steps !== undefined ? null : leftAsTheyAre(journal, failed);
  if (left !== null && cameNoFurther(journal)) throw refused(journal, stuck(left));
  const spawned = await lostSpawned(host, journal);
  if (spawned !== null)
    throw refused(
      journal,
      `run ${spawned}, which it spawned, has ended with it and cannot go on. Fork the run, or start a new one.`,
    );
  const children = await failedChildren(host, journal, failed);
  for (const child of children) await judged(host, child, others, journal.runId);
  return { failed, left, children, isLate, others };
}

/** Why a retry of this run would be refused now; `null` when it would not. Writes nothing. */
export async function retryRefusal(host: Host, runId: string): Promise<DurableError | null> {
  try {
    await judged(host, await openSteered(host, runId), {}, null);
    return null;
  } catch (error) {
    if (DurableError.is(error, "retry-refused") || DurableError.is(error, "invalid-options")) return error;
    throw error;
  }
}

function stuck(left: readonly string[]): string {
  return `its error names no failed step, and the last retry, which took back nothing, came no further. Name the steps to run again: ${nameThem(left)}. If only the code has changed: run.retry({ steps: [] }).`;
}

function assertSteps(steps: unknown): void {
  if (steps === undefined || (Array.isArray(steps) && steps.every((step) => typeof step === "string")))
    return;
  throw new DurableError("invalid-options", `run.retry got steps: ${show(steps)}. Pass a list of names.`);
}

/** Refuses a retry of a failure that others have built on. */
async function assertUnused(host: Host, journal: RunJournal, parent: string | null): Promise<void> {
  const { runId, childOf } = journal;
  if (journal.entries.some((entry) => "key" in entry && isCompensation(entry.key)))
    throw refused(
      journal,
      "a compensation has run, so its work was undone. Start a new run, or fork this one.",
    );
  if (childOf === undefined || childOf.runId === parent) return;
  const above = await openJournal(host, locatorOf(childOf.runId));
  const known = above?.state.children.get(childOf.key);
  if (known?.over === true && known.opened.child === runId)
    throw refused(journal, `its parent, run ${childOf.runId}, has recorded the failure. Retry the parent.`);
}

/** The key of a compensation: `book/compensate`, and not a step of that name in a branch. */
function isCompensation(key: string): boolean {
  return /[^\]]\/compensate(#\d+)?$/.test(key);
}

/** The children that begin again with the run, because their failure is taken back. */
async function failedChildren(
  host: Host,
  journal: RunJournal,
  keys: readonly string[],
): Promise<RunJournal[]> {
  const found: RunJournal[] = [];
  for (const key of keys) {
    const id = journal.state.children.get(key)?.opened.child;
    const child = id === undefined ? null : await openJournal(host, locatorOf(id));
    if (child === null || child.childOf?.runId !== journal.runId) continue;
    const { end, unneeded } = child.state;
    // The driver of the run takes back what an earlier life of the run did to its children (revive.1).
    if (end?.kind === "run.cancelled" && unneeded === null)
      throw refused(
        journal,
        `its child "${key}" was cancelled, so it would fail again. Fork the run from "${key}".`,
      );
    if (end?.kind === "run.failed") found.push(child);
  }
  return found;
}

function refused({ runId }: RunJournal, why: string): DurableError {
  return new DurableError("retry-refused", `Run ${runId} cannot be retried: ${why}`);
}

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
