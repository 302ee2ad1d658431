/**
 * The list of events that a sweep must have met, so that a sweep that tested nothing cannot pass. It names
 * every fault, entry kind, way a conflict ends and way of recovery. Proven in test/sim-seeds-1.test.ts.
 */

import { faultTargets } from "./faults.ts";
import { findingEvents } from "./finding-checks.ts";
import { actionKinds } from "./plan.ts";

const entries = [
  "run.started",
  "run.forked",
  "run.continued",
  "run.suspended",
  "run.completed",
  "run.failed",
  "run.cancelled",
  "step.progress",
  "step.completed",
  "step.failed",
  "attempt.failed",
  "sleep.opened",
  "sleep.fired",
  "suspend.opened",
  "suspend.answered",
  "suspend.resolved",
  "suspend.rejected",
  "suspend.expired",
  "suspend.closed",
  "parallel.opened",
  "race.opened",
  "step.started",
  "stream.chunks",
  "stream.completed",
  "stream.failed",
  "child.opened",
  "child.completed",
  "child.failed",
  "child.closed",
  "cleanup.opened",
  "cleanup.started",
  "cleanup.completed",
  "run.failing",
  "run.cancelling",
  "spawn.opened",
  "spawn.started",
  "tag.set",
  "message.sent",
  "report.set",
  "run.paused",
  "run.unpaused",
  "run.retried",
  "run.queued",
];

const steered = [
  "a paused run",
  "a retry",
  "a run that missed its deadline",
  "a run beside others with slots",
  "an answer that is a failure",
];

const schedules = [
  "a run of a tick",
  "a schedule that was defined",
  "a schedule that was paused",
  "a schedule that was unpaused",
  "a schedule that was deleted",
  "a tick that was missed",
  "a tick that was queued",
  "a tick left out beside a run",
  "a tick that cancels the run before",
];

const queued = [
  "a run that began at its time",
  "a run that waited for its turn",
  "a start that moved a run",
  "a start that found a run with its key",
  "a start with a priority",
  "a key that waited for its turn",
  "an attempt under a limit",
  "two attempts under a limit at the same time",
];

const fleet = [
  "a paused workflow",
  "work in a worker of some workflows",
  "work in a worker of version first",
  "work in a worker of version changed",
];

const blobs = [
  "a blob",
  "a blob named without its body",
  "a blob that two runs name",
  "a blob sent again after a conflict",
  "a blob that went with its run",
];

const families = [
  "a child that reported its end",
  "a child that reported to its parent's driver",
  "a child found ended",
  "a child that was cancelled before it began",
  "a child of a child",
  "a cancel of a child",
  "a cancel of a run with children",
];

const cuts = [
  "a fork with another input",
  "a fork at two places",
  "a fork from an open call",
  "a fork that does not fit its input",
  "a fork at a branch",
  "a fork inside of a branch",
  "a fork of a fork of a fork",
  "a cut that a step asked for",
  "a cut of a fork of a fork",
  "a cut in changed code",
];

const streams = [
  "a reader that came back",
  "a reset seen by a reader",
  "a stream read to its end",
  "a stream that timed out",
  "a stream that ended after a timeout",
];

const chapters = [
  "a chapter of a child",
  "a chapter of a fork",
  "a third chapter",
  "a chapter that another process took up",
  "a border that another driver reached",
  "a border that an open child forbids",
  "a chapter with work left behind",
  "a fork of a chapter",
  "a fork of an earlier chapter",
  "an answer to an earlier chapter",
  "a border that a cold start reached again",
  "a stream of an earlier chapter read to its end",
  "chapters that were dropped",
  "chapters that a fork keeps from being dropped",
  "a blob that went with its chapter",
];

const undoing = [
  "the code of a run ended: failing",
  "the code of a run ended: cancelling",
  "several steps undone",
  "a compensation that failed",
  "a fork of a run that was undone",
];
const messages = [
  ...["accepted", "repeated", "ended"].map((status) => `a message ${status}`),
  "a message that was recorded",
  "a chapter that begins with unread messages",
  "a report in the head",
];
const purges = ["a purge of a run", "a purge of a child", "a purge of a run that a fork reads"];

/** The rule of a step and how its uncertain attempt was settled. */
const uncertain = [
  "a start that was called off",
  "an effect that happened twice",
  ...["retry", "completed", "failed"].map((how) => `an uncertain end: suspend, ${how}`),
  ...["retry", "completed"].map((how) => `an uncertain end: reconcile, ${how}`),
  "an uncertain end: retry, retry",
];

export const toBeMet: readonly string[] = [
  ...Object.keys(faultTargets).map((fault) => `fault ${fault}`),
  "fault disk full",
  ...actionKinds.map((kind) => `action ${kind}`),
  ...entries.map((kind) => `entry ${kind}`),
  ...["accepted", "duplicate", "expired", "invalid", "unknown"].map((status) => `an answer ${status}`),
  "a conflict",
  "a conflict with an outside batch",
  "a conflict with another driver's batch",
  "a conflict with one's own batch",
  "a request landed after its sender's death",
  "a start that failed",
  "a start that was acknowledged",
  "a replay",
  "a process began again",
  "taken over by another process",
  "taken up again by the same process",
  "a shared append",
  "an answer from outside",
  "an answer before its wait",
  "an answer behind one without a verdict",
  "an answer after a park",
  "a cancel from outside",
  "a fork",
  "a fork with an edit",
  "a fork of an open run",
  "an id that was used again",
  "a renamed wait that went on",
  "a run of a workflow that no worker has",
  "a due run of another workflow",
  "a claim that ended without a driver",
  "a notice that came",
  "a notice that was lost",
  "a lease that expired in the middle of a turn",
  "a foreign await",
  "a run blocked by a foreign await",
  "a run blocked by its own rejection",
  "an answer to a run that is gone",
  "work reused by a fork",
  ...cuts,
  "a body that ran twice",
  ...["it failed", "its process died", "its lease was lost", "its appends failed"].map(
    (reason) => `work that ran again: ${reason}`,
  ),
  "a warm run went on",
  "a line in the log",
  "a hook that failed",
  "a record that was sealed before the rotation",
  "a record made without a workflow",
  ...blobs,
  ...families,
  ...findingEvents,
  ...streams,
  ...chapters,
  ...messages,
  ...purges,
  ...uncertain,
  ...undoing,
  ...steered,
  ...schedules,
  ...fleet,
  ...queued,
  ...["completed", "failed", "suspended", "cancelled", "running", "blocked"].map(
    (status) => `a drive that ended ${status}`,
  ),
];

/** Events of the list that were never met. */
export function unmet(met: ReadonlyMap<string, number>): string[] {
  return toBeMet.filter((what) => !met.has(what));
}

/** Adds the events that one simulation met to the total. */
export function tally(all: Map<string, number>, met: ReadonlyMap<string, number>): void {
  for (const [what, count] of met) all.set(what, (all.get(what) ?? 0) + count);
}
