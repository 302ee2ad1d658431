/**
 * For tools: what a run did, as rows, differences, plans and sums; and what a storage holds.
 *
 * tools.1. A replay writes nothing, takes no lease and starts no work: the code runs as far as the journal goes.
 */

import type { App } from "./app.ts";
import type { Definition } from "./engine/definition.ts";
import { writeFact } from "./journal/batch.ts";
import type { RunJournal } from "./journal/journal.ts";
import { openNote } from "./journal/envelope.ts";
import { locatorOfTrace } from "./inspect/trace.ts";
import { isDeadline, locatorOf } from "./journal/keys.ts";
import { decodeEntry } from "./journal/outcome.ts";
import type { RunStateName } from "./journal/run-state.ts";
import { beyondEnd, noted } from "./ports/storage-kit.ts";
import type { BlockedNote, ReadReply, RunDuring, Storage } from "./ports/storage.ts";
import { codeOf, replay } from "./runs/replay.ts";
import { costsIn, type Costs, type CostsOptions } from "./inspect/costs.ts";
import { quotaUseOf, type QuotaUse } from "./inspect/limit-use.ts";
import { seenAt, waitsAt, type Seen, type Waits } from "./inspect/seen.ts";
import { failedIn, type Pulse, type PulseOptions, pulseIn } from "./inspect/pulse.ts";
import { hostOf } from "./runs/host.ts";
import { headState, listedRun, type ListedRun } from "./runs/list.ts";
import { definitionOf, openRun } from "./runs/lookup.ts";
import { retryRefusal as refusalOf } from "./runs/steer.ts";
import { underWayIn, type Doing } from "./runs/under-way.ts";
import { encode, encodeThrown } from "./values/codec/encode.ts";
import type { DurableError } from "./values/errors.ts";
import { assertOptions } from "./values/options.ts";

export { allowFork } from "./inspect/allow-fork.ts";
export type { EditedCall } from "./runs/fork-keys.ts";
export type { EditedCalls } from "./runs/reader.ts";
export type { Doing } from "./runs/under-way.ts";
export { listedFacts } from "./runs/list.ts";
export { promptOf, promptsIn, type PromptChange, type PromptView } from "./inspect/prompt.ts";
export { exampleIn, exampleNote, exampleScore, scoresIn } from "./inspect/scores.ts";
export type { Example, ScoreView } from "./inspect/scores.ts";
export { spendOf, type Spend, type Spending, type SpendOptions, type SpendRow } from "./inspect/spend.ts";
export {
  failureGroups,
  type FailureGroup,
  type Pulse,
  type PulseOptions,
  type PulseSum,
} from "./inspect/pulse.ts";
export type { Costs, CostRow, CostsOptions, CostSum } from "./inspect/costs.ts";
export type { Prices } from "./values/usage.ts";
export {
  costIn,
  readSearch,
  runSearch,
  searchFields,
  searchText,
  searchTime,
  searchValue,
  type RunSearch,
  type SearchContext,
  type SearchField,
  type SearchTerms,
} from "./inspect/search.ts";
export { suggestSearch, type SearchSuggestions } from "./inspect/suggest.ts";
export {
  childSums,
  runSpent,
  spentTexts,
  type ChildSum,
  type ChildSumsOptions,
  type RunSpent,
  type Spent,
  type SpentTexts,
  type SpentTextsOptions,
} from "./inspect/below.ts";
export { derivedId, traceOf, traceOfSeed } from "./inspect/trace.ts";
export { costText, countText, secondsText } from "./inspect/figures.ts";
export { answerText, partsOfChunk } from "./inspect/answer.ts";
export { diff, lineage, type CallDiff, type Diff, type Given, type Lineage } from "./inspect/diff.ts";
export type { ForkPlan, PlannedCall, PlanOptions } from "./inspect/plan.ts";
export {
  viewRun,
  allRows,
  busyMs,
  foldGaps,
  positionOn,
  plain,
  locatorOf,
  type WaitView,
  type RetryView,
  type LossView,
  type RunTotals,
  type RunView,
  type UndoingView,
  type ViewOptions,
  type Axis,
  type AxisPart,
  type FoldOptions,
  type Plain,
  type PlainOptions,
  type AttemptView,
  type RowKind,
  type RowStatus,
  type RowView,
} from "./inspect/view.ts";

export {
  fleetOf,
  type Fleet,
  type FleetOptions,
  type StoppedWorker,
  type WorkerInfo,
  type WorkflowLoad,
} from "./worker/fleet.ts";
export { limitUse, type LimitUse, type QuotaUse, type WindowUse } from "./inspect/limit-use.ts";
export { budgetsOf, declaredLimits, type DeclaredLimit } from "./worker/declared.ts";

/** What a replay of a run against the present code showed. */
export interface Replayed {
  readonly runId: string;
  /**
   * `same`: the code does what the journal says. `changed`: the run can continue, but the code does more, less or
   * something else. `unsure`: the code comes to something new before an open suspend point, and only once that is over
   * it shows whether the suspend point is still there. `diverged`: the journal and the code do not fit together.
   */
  readonly verdict: "same" | "changed" | "unsure" | "diverged";
  /** Why the run cannot continue with this code; `null` unless it diverged. */
  readonly error: DurableError | null;
  /** How many recorded outcomes the code asked for. */
  readonly delivered: number;
  /** Recorded outcomes that the code did not ask for. */
  readonly unused: readonly string[];
  /** Calls without a recorded outcome that the code made: work that would run, and waits that are not open yet. */
  readonly next: readonly { readonly key: string; readonly kind: string }[];
  /** Open suspend points that the code did not reach. */
  readonly unreached: readonly string[];
  /** Calls that would run, and that may be recorded ones under another name: `old`. */
  readonly unsure: readonly { readonly key: string; readonly kind: string; readonly old: string }[];
  /** How the workflow function ended; `null` when it did not. */
  readonly end: { readonly value: unknown } | { readonly error: unknown } | null;
  /** False when the run has ended and the code ends in another way, or not at all. */
  readonly endsAsRecorded: boolean;
}

/** Options of `replayRun`. */
export interface ReplayOptions {
  /** The chapter to replay; the current one by default. */
  readonly chapter?: number | undefined;
  /** Called before the workflow function, for a debugger. */
  readonly onStart?: (() => void) | undefined;
}

/** True when the app encrypts values: a search for words then leaves out errors and questions. */
export function isEncrypted(app: App): boolean {
  return (hostOf(app).options.encryption ?? null) !== null;
}

/** Runs the present code over the journal of a run, as far as it goes. Nothing is written, and no work runs. */
export async function replayRun(app: App, runId: string, options: ReplayOptions = {}): Promise<Replayed> {
  assertOptions(options, "chapter onStart", "replayRun");
  const host = hostOf(app);
  const journal = await openRun(host, runId, options.chapter);
  const found = (await codeOf(host, journal)) ?? definitionOf(host, journal);
  const recorded = journal.state.end;
  // This copy of the journal is ours alone. Without its end the engine replays it.
  journal.state.end = null;
  let end: Replayed["end"] = null;
  const definition: Definition = {
    ...found,
    body: async (ctx, input) => {
      options.onStart?.();
      try {
        const value: unknown = await found.body(ctx, input);
        end = { value };
        return value;
      } catch (error) {
        end = { error };
        throw error;
      }
    },
  };
  let seen: Seen = { delivered: 0, unused: [], next: [], unreached: [], unsure: [] };
  let waits: Waits = { error: null, isUnsure: false };
  const stop = await replay(host, definition, journal, (replayEnd) => {
    seen = seenAt(replayEnd);
    if (recorded === null) waits = waitsAt(replayEnd);
  });
  const error = stop.kind === "blocked" ? stop.error : waits.error;
  const endsAsRecorded =
    recorded === null || recorded.kind === "run.cancelled" || isEqual(end, endOf(recorded, runId));
  const more = recorded !== null && seen.next.length > 0;
  const changed = seen.unused.length > 0 || seen.unreached.length > 0 || more || !endsAsRecorded;
  const fits = waits.isUnsure ? "unsure" : changed ? "changed" : "same";
  const verdict = error !== null ? "diverged" : fits;
  return { runId, verdict, error, ...seen, end, endsAsRecorded };
}

/**
 * Ends all sleeps of a run now, by one appended batch, and returns their keys. It runs no code: advance the run
 * afterwards, or let a worker find it. A driver that holds the sleep in memory goes on at once.
 */
export async function wakeRun(app: App, runId: string): Promise<readonly string[]> {
  const host = hostOf(app);
  const journal = await openRun(host, runId);
  for (let tries = 0; tries < wakeTries && journal.state.end === null; tries++) {
    const asleep = openSleeps(journal);
    if (asleep.length === 0) return [];
    const facts = asleep.map(({ key, after }) =>
      writeFact({ kind: "sleep.fired", key, after }, host.world.now()),
    );
    // When others appended first, the new entries are read first.
    const { kind } = await journal.append(facts, { outside: true });
    if (kind === "landed") return asleep.map(({ key }) => key);
  }
  return [];
}

const wakeTries = 12;

function openSleeps({ entries }: RunJournal): { readonly key: string; readonly after: number }[] {
  const open = new Map<string, { readonly key: string; readonly after: number }>();
  for (const entry of entries) {
    if (entry.kind === "sleep.opened" && !isDeadline(entry.key))
      open.set(entry.key, { key: entry.key, after: entry.after });
    if (entry.kind === "sleep.fired") open.delete(entry.key);
  }
  return [...open.values()];
}

/** Why a retry of this run would be refused now; `null` when it would not. Writes nothing. */
export function retryRefusal(app: App, runId: string): Promise<DurableError | null> {
  return refusalOf(hostOf(app), runId);
}

/** Why a run is blocked, also when that is encrypted; `null` for a run that is not. */
export async function blockedNote(app: App, runId: string): Promise<BlockedNote | null> {
  const { storage, cipher } = await hostOf(app).journals();
  const { blocked } = await storage.read(locatorOf(runId), beyondEnd);
  return blocked === undefined ? null : openNote(blocked, locatorOf(runId), cipher ?? null);
}

/** How much of each limit of the quotas of an app is used now. */
export async function quotaUse(app: App): Promise<readonly QuotaUse[]> {
  const { quotas } = hostOf(app);
  return quotaUseOf(await storageOf(app), quotas);
}

/** The pulse of the runs of an app; `null` where its storage cannot find the runs of a time. */
export async function pulseOf(app: App, options: PulseOptions): Promise<Pulse | null> {
  const host = hostOf(app);
  return pulseIn(await host.storage(), { ...options, prices: options.prices ?? host.options.prices });
}

/** The runs of an app that failed in a time, the newest first; `null` where its storage cannot find the runs of a time. */
export async function failedDuring(
  app: App,
  time: Pick<PulseOptions, "since" | "until">,
): Promise<readonly RunDuring[] | null> {
  return failedIn(await hostOf(app).storage(), time);
}

/** Sums of the cost of some days; `null` where the storage of the app cannot find the runs of a time. */
export async function costsOf(app: App, options: CostsOptions): Promise<Costs | null> {
  const host = hostOf(app);
  return costsIn(await host.storage(), { ...options, prices: options.prices ?? host.options.prices });
}

/** The storage of an app. */
export function storageOf(app: App): Promise<Storage> {
  return hostOf(app).storage();
}

/**
 * What a run does, in one word, from a read of its storage: the word of its outcome and of lists. It needs no secret. `null` for
 * a run that is unknown, or where the storage gives no head.
 */
export async function stateIn(app: App, { head, blocked, driven }: ReadReply): Promise<RunStateName | null> {
  if (head === undefined) return null;
  return headState(hostOf(app), { ...noted(head, blocked ?? null), ...(driven !== undefined && { driven }) });
}

/** Runs as lists show them, read one by one; those that are unknown, or cannot be read, are left out. */
export function listedRuns(app: App, runIds: readonly string[]): Promise<ListedRun[]> {
  return listedAt(app, runIds.map(locatorOf));
}

/** The run of a trace, as lists show it: none for any other text, or where the run is unknown. */
export function listedOfTrace(app: App, traceId: string): Promise<ListedRun[]> {
  const locator = locatorOfTrace(traceId);
  return listedAt(app, locator === null ? [] : [locator]);
}

async function listedAt(app: App, locators: readonly string[]): Promise<ListedRun[]> {
  const { storage, cipher } = await hostOf(app).journals();
  const heads = locators.map(async (locator): Promise<ListedRun[]> => {
    const { head, blocked, driven, deleted } = await storage.read(locator, beyondEnd);
    if (head === undefined || deleted === true) return [];
    const seen = { ...noted(head, blocked ?? null), ...(driven !== undefined && { driven }) };
    return [await listedRun(hostOf(app), seen, cipher)];
  });
  return (await Promise.allSettled(heads)).flatMap((read) => (read.status === "fulfilled" ? read.value : []));
}

/**
 * What all processes on the storage of an app work on now, by run: attempts that began more than a second ago. Empty where the
 * storage cannot show it.
 */
export async function underWay(app: App): Promise<ReadonlyMap<string, readonly Doing[]>> {
  return underWayIn(await hostOf(app).keeping());
}

/**
 * Resolves when this process no longer drives the run in the background, or any run: after a cancel, a fork, a start, or the
 * end of a child.
 */
export function settled(app: App, runId?: string): Promise<void> {
  return hostOf(app).settled(runId);
}

/**
 * Hands over all runs that this process drives for an app, before its storage is closed: work under way is finished and
 * recorded, nothing more begins.
 */
export function handOver(app: App): Promise<void> {
  return hostOf(app).handOver();
}

type Ended = Parameters<typeof decodeEntry>[0];

function endOf(entry: Ended, runId: string): Replayed["end"] {
  const decoded = decodeEntry(entry, runId);
  if (decoded.kind === "run.completed") return { value: decoded.output };
  return decoded.kind === "run.failed" ? { error: decoded.error } : null;
}

function isEqual(a: Replayed["end"], b: Replayed["end"]): boolean {
  const text = (end: Replayed["end"]): string =>
    end === null
      ? "open"
      : JSON.stringify(
          "error" in end ? ["error", messageOf(end.error)] : ["value", encode(end.value, "output")],
        );
  return text(a) === text(b);
}

/** Errors are compared without their stacks, which change with every edit of the code. */
function messageOf(error: unknown): unknown {
  if (!(error instanceof Error)) return encodeThrown(error, "error");
  return [error.name, error.message];
}
