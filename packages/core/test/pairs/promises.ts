/** Promises about services, limits, lists and storages, whatever the verbs were. Each gives what is broken, in words. */

import { deadlineMs, rateMs, type Call } from "./program.ts";
import type { Seen, SeenRun } from "./play.ts";

/** How long a driver may take to notice that its run was ended or deleted elsewhere. */
const noticeMs = 5_500;

export function broken(seen: Seen): string[] {
  return promises.flatMap((promise) => [...promise(seen)]);
}

type Promised = (seen: Seen) => Iterable<string>;

const ended = ["completed", "failed", "cancelled"];
const has = ({ replies }: Seen, verb: string, word?: string): boolean =>
  replies.some((reply) => reply.verb === verb && (word === undefined || reply.word === word));

/** The runs of which something is promised to the end: a deleted one may come again under its id, as another run. */
const wasDeleted = (seen: Seen): boolean => has(seen, "delete", "deleted") || has(seen, "purge", "purged");

/** Recorded work is never done again. */
function* once({ calls, copy }: Seen): Iterable<string> {
  for (const list of [calls, copy?.calls ?? []])
    for (const [n, { run, name, id, from }] of list.entries()) {
      const done = list
        .slice(0, n)
        .find((other) => other.id === id && other.name === name && other.how === "done");
      if (done !== undefined && done.to !== null && done.to <= from)
        yield `${name} of ${run} was called again`;
    }
}

/** All that was recorded when a copy was made is used by the copy. */
function* copied({ calls, copy, doneAt, issuedAt }: Seen): Iterable<string> {
  if (copy === null) return;
  const before = calls.filter(({ how, to }) => how === "done" && to !== null && to < issuedAt);
  for (const call of copy.calls)
    if (before.some(({ id, name }) => id === call.id && name === call.name))
      yield `${call.name} was called again in the copy`;
  for (const [id, { status }] of copy.end)
    if (!ended.includes(status)) yield `the copy of ${id} stays ${status}, ${doneAt - issuedAt} ms after`;
}

/** An answer and a message that were accepted reach the code. */
function* kept(seen: Seen): Iterable<string> {
  const run = seen.end.get(seen.subject.id);
  if (run?.output === null || run === undefined || wasDeleted(seen)) return;
  const answers = seen.replies.flatMap((reply) => reply.answers ?? []);
  const expected =
    answers.length > 0 ? answers : [`canary-${seen.cell.state === "completed" ? "setup" : "finish"}`];
  if (!expected.includes(String(run.output.answer)))
    yield `the answer ${expected.join(" or ")} became ${String(run.output.answer)}`;
  const note = has(seen, "send", "accepted") ? "canary-note" : null;
  if (run.output.note !== note) yield `the message ${note} became ${String(run.output.note)}`;
}

/** A clean-up runs once, in a run that is cancelled, and not in any other. */
function* tidied(seen: Seen): Iterable<string> {
  const { cell, calls, end, subject } = seen;
  for (const [id, { status, head }] of end) {
    const done = calls.filter(({ run, name, how }) => run === id && name === "tidy" && how === "done").length;
    if (done > 0 && status !== "cancelled" && !wasDeleted(seen))
      yield `${id} was cleaned up, and is ${status}`;
    if (done > 1) yield `${id} was cleaned up ${done} times`;
    const cleans = cell.option === "clean-up" || (cell.state === "cancelling" && id === subject.id);
    const begun = calls.some(({ run, name }) => run === id && name === "first") || head.ancestors.length > 0;
    if (cleans && begun && status === "cancelled" && done !== 1) yield `${id} was cleaned up ${done} times`;
  }
}

/** What a run did is undone once if it ends in another way than it should, and never otherwise. */
function* undone(seen: Seen): Iterable<string> {
  const { cell, calls, end, subject } = seen;
  for (const [n, { run, name, id, how }] of calls.entries()) {
    if (name !== "first") continue;
    // A chapter drops the compensations of the one before.
    if (
      cell.state === "chapter" &&
      calls.slice(n + 1).some((later) => later.run === run && later.name === name)
    )
      continue;
    const compensates =
      cell.option === "compensation" || (cell.state === "compensated" && run === subject.id);
    const undos = calls.filter((other) => other.name === "undo" && other.id === id && other.how === "done");
    const status = end.get(run)?.status ?? "none";
    const due = compensates && (status === "failed" || status === "cancelled");
    if (undos.length > 1) yield `first of ${run} was undone ${undos.length} times`;
    if (due && undos.length === 0 && how === "done" && !wasDeleted(seen))
      yield `first of ${run} was not undone`;
    if (undos.length > 0 && status === "completed" && !wasDeleted(seen))
      yield `first of ${run} was undone, and it completed`;
  }
  for (const { run, name, id } of calls)
    if (name === "undo" && !calls.some((call) => call.id === id && call.run === run && call.name === "first"))
      yield `${run} undid what it did not do`;
}

/** A deleted run is in no list, has no child, and calls nothing. */
function* deleted(seen: Seen): Iterable<string> {
  const { subject, soon, rest, calls, doneAt, cell } = seen;
  if (!wasDeleted(seen) || has(seen, "start", "created") || has(seen, "start", "found")) return;
  if (!has(seen, "delete", "deleted") || cell.state === "child") return;
  for (const runs of [soon, rest])
    for (const [id, { head }] of runs) {
      if (id === subject.id) yield `${id} was deleted, and is listed`;
      if (head.parent === subject.id && head.ancestors.length === 0)
        yield `a child of ${subject.id} is listed`;
    }
  const late = calls.find(({ run, from }) => run === subject.id && from > doneAt + noticeMs);
  if (late !== undefined)
    yield `${late.name} was called ${late.from - doneAt} ms after ${subject.id} was deleted`;
}

/** A fork inherits what is before its cut, and works for itself. What was undone is done again. */
function* forked({ calls, end, replies }: Seen): Iterable<string> {
  const undid = calls.some(({ name }) => name === "undo");
  for (const { verb, run } of replies) {
    if (verb !== "fork" || run === undefined) continue;
    if (!undid && calls.some((call) => call.run === run && call.name === "first"))
      yield `${run} did again what it inherits`;
    if (!end.has(run)) yield `${run} is not listed`;
  }
}

/**
 * All runs end when they are given what they wait for. With versions, a run that was begun or forked by hand with code that does not fit
 * its version is left alone by all workers.
 */
function* over({ end, cell }: Seen): Iterable<string> {
  const misfits = ({ status, code }: SeenRun): boolean =>
    cell.option === "versions" &&
    (code === "diverged" || (status === "suspended" && cell.verbs.includes("deploy")));
  for (const [id, { status, code, waiting, ...run }] of end)
    if (!ended.includes(status) && !misfits({ status, code, waiting, ...run }))
      yield `${id} stays ${status} ${code ?? ""} ${waiting.join()}`;
}

/** Calls of different runs that were under way together for longer than a driver needs to notice an end. */
function* overlaps(calls: readonly Call[]): Iterable<readonly [Call, Call]> {
  for (const [n, a] of calls.entries())
    for (const b of calls.slice(n + 1)) {
      const from = Math.max(a.from, b.from);
      const to = Math.min(a.to ?? Infinity, b.to ?? Infinity);
      if (a.run !== b.run && to - from > (a.how === "cut" || b.how === "cut" ? noticeMs : 0)) yield [a, b];
    }
}

/** Limits hold. */
function* limited({ cell, calls, before, end }: Seen): Iterable<string> {
  const flowOf = ({ run }: Call): string =>
    end.get(run)?.head.workflow ?? before.get(run)?.head.workflow ?? "work";
  if (cell.option === "concurrency")
    for (const [a, b] of overlaps(calls))
      if (flowOf(a) === flowOf(b)) yield `${a.run} and ${b.run} worked together`;
  const limitedCalls = calls.filter(({ name }) => name === "first" || name === "long");
  if (cell.option === "step limit")
    for (const [a, b] of overlaps(limitedCalls))
      yield `${a.name} of ${a.run} and ${b.name} of ${b.run} were together`;
  if (cell.option !== "rate") return;
  const begins = new Map<string, Call>();
  for (const call of calls) if (call.name === "first" && !begins.has(call.run)) begins.set(call.run, call);
  const sorted = [...begins.values()].filter((call) => flowOf(call) === "work");
  for (const [n, { from, run }] of sorted.entries()) {
    const next = sorted[n + 1];
    if (next !== undefined && next.from - from < 0.98 * rateMs)
      yield `${run} and ${next.run} began within ${next.from - from} ms`;
  }
}

/** At most one open run has a key. */
function* single({ cell, soon, rest, end, replies, subject, before }: Seen): Iterable<string> {
  if (cell.option !== "singleton") return;
  const own = ({ head }: SeenRun): boolean =>
    head.parent === null &&
    head.workflow === "work" &&
    (before.has(head.runId) || replies.some(({ run }) => run === head.runId));
  for (const runs of [soon, rest, end]) {
    const open = [...runs.values()].filter((run) => own(run) && !ended.includes(run.status));
    if (open.length > 1)
      yield `${open.map(({ head }) => head.runId).join(" and ")} are open together, beside ${subject.id}`;
  }
}

/** A run ends by its deadline, and begins no step after it. */
function* inTime(seen: Seen): Iterable<string> {
  if (seen.cell.option !== "deadline") return;
  for (const [id, { status, head }] of seen.rest)
    if (!ended.includes(status) && !["paused", "blocked"].includes(status) && !has(seen, "retry"))
      yield `${id} is ${status}, ${head.updatedAt - head.createdAt} ms after its start`;
  for (const { run, name, from } of seen.calls) {
    const created = (seen.end.get(run) ?? seen.before.get(run))?.head.createdAt;
    const isWork = name !== "undo" && name !== "tidy";
    if (created !== undefined && isWork && from > created + deadlineMs + 60_000 && !has(seen, "retry"))
      yield `${name} of ${run} began after its deadline`;
  }
}

/** A run does not begin before its time. */
function* punctual(seen: Seen): Iterable<string> {
  const { cell, calls, before, subject, issuedAt } = seen;
  const head = before.get(subject.id)?.head;
  if (cell.state !== "delayed" || head === undefined || wasDeleted(seen)) return;
  // A start with the key gives it another time.
  if (cell.option === "debounce" && (has(seen, "another") || has(seen, "start"))) return;
  const early = calls.find(
    ({ run, from }) => run === subject.id && from >= issuedAt && from < head.createdAt + 3_600_000,
  );
  if (early !== undefined)
    yield `${subject.id} began ${head.createdAt + 3_600_000 - early.from} ms before its time`;
}

/** A paused run begins nothing. */
function* still(seen: Seen): Iterable<string> {
  const { cell, calls, subject, doneAt, restAt } = seen;
  const isPaused = cell.state === "paused" || has(seen, "pause", "paused");
  if (
    !isPaused ||
    has(seen, "unpause") ||
    has(seen, "cancel") ||
    cell.state === "cancelling" ||
    wasDeleted(seen)
  )
    return;
  const call = calls.find(({ run, from }) => run === subject.id && from > doneAt && from < restAt);
  if (call !== undefined) yield `${call.name} began ${call.from - doneAt} ms after ${subject.id} was paused`;
}

/** Tags stay; a fork begins with those of its parent, a child has none. */
function* tagged({ cell, end, soon, rest }: Seen): Iterable<string> {
  if (cell.option !== "tags") return;
  for (const runs of [soon, rest, end])
    for (const [id, { head }] of runs)
      if (head.workflow === "work" && head.tags?.["of"] !== "ann")
        yield `${id} has the tags ${JSON.stringify(head.tags)}`;
}

/** Nothing that was recorded can be read without the key. */
function* sealed({ leaks }: Seen): Iterable<string> {
  if (leaks.length > 0) yield `${leaks.join()} in the storage`;
}

/** A time at which a run goes on is a time of its life. */
function* times({ soon, rest }: Seen): Iterable<string> {
  for (const runs of [soon, rest])
    for (const [id, { wakeAt, head }] of runs)
      if (wakeAt !== null && wakeAt < head.createdAt) yield `${id} wakes at ${wakeAt}`;
}

/** A verb that drives does so at once, without a worker. */
function* prompt(seen: Seen): Iterable<string> {
  const { cell, soon, subject, replies } = seen;
  const [reply] = replies;
  if (
    replies.length !== 1 ||
    reply === undefined ||
    ["concurrency", "rate", "step limit"].includes(cell.option)
  )
    return;
  const status = soon.get(subject.id)?.status;
  if ((reply.verb === "unpause" || reply.verb === "retry") && !reply.word.startsWith("refused"))
    if (status === "running" && !["running", "streaming", "cancelling", "queued"].includes(cell.state))
      yield `${subject.id} is not driven after ${reply.verb}`;
}

const promises: readonly Promised[] = [
  once,
  copied,
  kept,
  tidied,
  undone,
  deleted,
  forked,
  over,
  limited,
  single,
  inTime,
  punctual,
  still,
  tagged,
  sealed,
  times,
  prompt,
];
