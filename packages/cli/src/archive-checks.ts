/**
 * Checks what an export says before any of it is written. Its author may be anybody. Proven in test/archives.test.ts.
 *
 * archive-checks.1. The locator of a run is that of its id, and its first entry names the same run and workflow.
 * archive-checks.2. Runs that read each other, and numbers that are not positions, are refused, so that an import ends.
 */

import { limits } from "@durable/core";
import { locatorOf } from "@durable/core/inspect";

type Raw = Readonly<Record<string, unknown>>;

const statuses = ["running", "suspended", "paused", "completed", "failed", "cancelled", "blocked"];
/** Dropped batches are appended as fillers, one by one. */
const mostDropped = 1_000_000;

const isRaw = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const isTime = (value: unknown): boolean => Number.isFinite(value) && Math.abs(Number(value)) <= 8.64e15;
const isTimeOrNull = (value: unknown): boolean => value === null || isTime(value);
const isPosition = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31;
const isLocator = (value: unknown): value is string => isText(value) && /^[a-z2-7]{18}$/.test(value);
const isId = (value: unknown): value is string =>
  isText(value) && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(value);
const isListOf =
  (fits: (item: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(fits);
const isMapOf =
  (fits: (item: unknown) => boolean) =>
  (value: unknown): boolean =>
    isRaw(value) && Object.values(value).every(fits);
const isMissingOr =
  (fits: (item: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || fits(value);

const headFields: Readonly<Record<string, (value: unknown) => boolean>> = {
  locator: isLocator,
  runId: (value) => value === "" || isId(value),
  workflow: (value) => isText(value) && value.length <= limits.nameLength,
  status: (value) => isText(value) && statuses.includes(value),
  wakeAt: isTimeOrNull,
  dueSince: isTimeOrNull,
  createdAt: isTime,
  updatedAt: isTime,
  steps: isPosition,
  label: isTextOrNull,
  parent: isTextOrNull,
  ancestors: isListOf(isLocator),
  readsFrom: isMissingOr(isListOf(isPosition)),
  chapter: isMissingOr(isPosition),
  tags: isMissingOr(isMapOf(isText)),
  version: isMissingOr(isText),
  flow: isMissingOr(isRaw),
};

/** What is wrong with the runs of an export; `null` when they fit. */
export function problemIn(runs: readonly unknown[]): string | null {
  const ancestors = new Map<string, readonly string[]>();
  for (const [n, run] of runs.entries()) {
    const problem = problemOf(run);
    if (problem !== null) return `run ${n + 1}: ${problem}`;
    const { locator, ancestors: above } = (run as { head: Raw }).head as { locator: string } & {
      ancestors: string[];
    };
    if (ancestors.has(locator)) return `run ${n + 1} is there twice`;
    ancestors.set(locator, above);
  }
  const inCircle = circleIn(ancestors);
  return inCircle === null ? null : `the journal ${inCircle} reads itself`;
}

function problemOf(run: unknown): string | null {
  if (!isRaw(run) || !isRaw(run["head"])) return "it has no head";
  const { head, batches, blobs, from = 0, deleted } = run as Raw & { head: Raw };
  const wrong = Object.entries(headFields).find(([name, fits]) => !fits(head[name]));
  if (wrong !== undefined) return `"${wrong[0]}" of its head is ${shown(head[wrong[0]])}`;
  if (deleted !== undefined && deleted !== true) return `"deleted" is ${shown(deleted)}`;
  const { runId, locator } = head as { runId: string; locator: string };
  if (runId === "" ? deleted !== true : locatorOf(runId) !== locator)
    return `its locator is not that of ${shown(runId)}`;
  if (!isListOf(isText)(batches) || (batches as string[]).length === 0) return "it has no batches";
  if (!isMapOf(isText)(blobs)) return "its blobs are no texts";
  if (!isPosition(from) || from > mostDropped) return `"from" is ${shown(from)}`;
  const { chapter = 0 } = head as { chapter?: number };
  if (from > chapter || chapter > from + (batches as string[]).length)
    return `its chapter begins at ${chapter}, and its batches at ${from}`;
  return batchProblem(batches as string[], head, from);
}

function batchProblem(batches: readonly string[], head: Raw, from: number): string | null {
  for (const [i, text] of batches.entries()) {
    const entries = entriesIn(text);
    if (entries === null) return `batch ${from + i} is invalid`;
    if (i > 0 || from > 0) continue;
    const { kind, runId, workflow } = entries[0] ?? {};
    if (kind !== "run.started" && kind !== "run.forked") return "it does not begin with the start of a run";
    if (head["runId"] !== "" && (runId !== head["runId"] || workflow !== head["workflow"]))
      return `it is the journal of ${shown(runId)}, of workflow ${shown(workflow)}`;
  }
  return null;
}

function entriesIn(text: string): readonly Raw[] | null {
  try {
    const batch: unknown = JSON.parse(text);
    const entries = isRaw(batch) && Number.isInteger(batch["v"]) ? batch["entries"] : null;
    return Array.isArray(entries) && entries.length > 0 && entries.every(isRaw) ? entries : null;
  } catch {
    return null;
  }
}

/** A run that reads itself, through others or not. */
function circleIn(ancestors: ReadonlyMap<string, readonly string[]>): string | null {
  const done = new Set<string>();
  for (const first of ancestors.keys()) {
    const open = new Set<string>();
    // Each run is entered once, and left after all that it reads.
    const left: { readonly locator: string; readonly leaves: boolean }[] = [
      { locator: first, leaves: false },
    ];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { locator, leaves } = next;
      if (leaves) {
        open.delete(locator);
        done.add(locator);
      } else if (open.has(locator)) return locator;
      else if (!done.has(locator)) {
        open.add(locator);
        left.push({ locator, leaves: true });
        for (const above of ancestors.get(locator) ?? []) left.push({ locator: above, leaves: false });
      }
    }
  }
  return null;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
