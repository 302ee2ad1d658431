/**
 * Answers from outside. `resume` runs the workflow's code; with `drive: false` it does not need it.
 *
 * resume.1. The MAC of a token is checked before any look-up; a token that fails is `unknown`.
 * resume.2. The append makes a token single-use: the first valid answer settles the wait, later ones are `duplicate`. An
 *     answer that comes while others wait for their check is recorded behind them, unless one of them is known to be valid.
 * resume.3. Write, then wake (law 7): the answer is durable before the run is driven.
 */

import { encode, encodeThrown } from "../values/codec/encode.ts";
import { acquire } from "./create.ts";
import { advance, outcomeAfter, recordLoss, toNextStop, wakeParent } from "./drive.ts";
import { codeOf } from "./replay.ts";
import type { OnReplayEnd, ReplayEnd } from "../engine/stop.ts";
import type { Definition } from "../engine/definition.ts";
import { SuspendCall } from "../engine/calls/suspend.ts";
import { writeFact } from "../journal/batch.ts";
import type { Fact } from "../journal/entry.ts";
import type { WaitState } from "../journal/waits.ts";
import { DurableError } from "../values/errors.ts";
import type { Host } from "./host.ts";
import { isRegression } from "../journal/errors.ts";
import { RunJournal } from "../journal/journal.ts";
import type { Keyring } from "../journal/tokens.ts";
import type { Json } from "../values/codec/tags.ts";
import { assertOptions } from "../values/options.ts";
import { markOf } from "../journal/keys.ts";
import { limits } from "../values/limits.ts";
import {
  definitionOf,
  openJournal,
  openRun,
  locatorIn,
  orUnknown,
  outcomeWithChildren,
  readerOf,
} from "./lookup.ts";
import { runningOutcome, type Outcome } from "../journal/outcome.ts";
import { isUnbegun } from "./flow.ts";

/**
 * `accepted`: recorded. After `resume` it has settled the wait, unless the code does not fit the run, whose outcome is then
 * `blocked`; there, and with `drive: false`, it is still to be checked, and the first answer that fits settles the wait.
 * `duplicate`: another answer has settled the wait, or will, or the same value waits for its check. `expired`: too late. `invalid`: does not fit the schema, and the wait stays open. `unknown`: not a valid token,
 * no such run, or a token of an earlier chapter or of a deleted run with the same id.
 */
export type ResumeStatus = "accepted" | "duplicate" | "expired" | "invalid" | "unknown";

/** What happened to an answer. */
export interface ResumeResult<T = unknown> {
  readonly status: ResumeStatus;
  /** An answer with this id was given before. This one was not recorded. */
  readonly repeated: boolean;
  /** Where the run is now; missing for `unknown`. */
  readonly outcome?: Outcome<T>;
  /** Why an `invalid` answer does not fit. */
  readonly issues?: string;
}

/** Options of `resume`. */
export interface ResumeOptions {
  /** Names this answer. Given again with the same id, it is `repeated` and counts once. */
  readonly id?: string | undefined;
  /**
   * False only records the answer, without running code: the wait checks it when a worker, a sweep or an `advance` drives
   * the run. True by default.
   */
  readonly drive?: boolean | undefined;
  /**
   * Answers with a failure: the wait rejects with this error, whatever its schema. Pass `undefined` as the
   * value.
   */
  readonly error?: unknown;
}

/** An answer as the caller passed it. */
interface Answered {
  readonly value: unknown;
  readonly options: ResumeOptions;
}

type Placed = Omit<ResumeResult, "outcome">;

/** What became of an answer that was not given before. */
const now = (status: ResumeStatus): Placed => ({ status, repeated: false });
/** What the journal says of an answer: it is accepted only because it was given before. */
const asRecorded = (status: ResumeStatus): Placed => ({ status, repeated: status === "accepted" });

interface Answer {
  readonly wait: string;
  readonly value: unknown;
  readonly answerId: string | null;
  /** The encoded error, if the answer is a failure. */
  readonly failure: Json | null;
}

/** The status of an answer that the journal refuses now; `null` when it may be appended. */
function refusalOf(journal: RunJournal, { wait, answerId }: Answer, now: number): ResumeStatus | null {
  // A token of another incarnation or chapter. As an early answer it would be kept for ever.
  if (!wait.startsWith(markOf(journal.nonce))) return "unknown";
  const state = journal.state.wait(wait);
  const { opened, answers, settled } = state;
  // It was a suspend point, and now waits for messages.
  if (opened?.topic !== undefined) return "unknown";
  if (answerId !== null && [state, ...answers].some((known) => known.answerId === answerId))
    return "accepted";
  if (settled === "resolved" || answers.some(isValid(state))) return "duplicate";
  if (settled !== null || journal.state.end !== null || journal.state.undone) return "expired";
  if ((journal.state.endsBy ?? Infinity) <= now) return "expired";
  return opened !== null && opened.expiresAt !== null && opened.expiresAt <= now ? "expired" : null;
}

/** An answer to this wait that needs no check: a failure, or any answer where the code has no schema. */
function isValid({ opened }: WaitState): (answer: WaitState["answers"][number]) => boolean {
  const isFree = opened !== null && opened.schema === null && opened.checked !== true;
  return ({ rejects }) => isFree || rejects === true;
}

/** The same for an answer that is not checked here. The same value gets the same verdict, so it is not recorded twice. */
function uncheckedRefusal(journal: RunJournal, answer: Answer, now: number): ResumeStatus | null {
  const refused = refusalOf(journal, answer, now);
  const { answers } = journal.state.wait(answer.wait);
  if (refused !== null || answers.length === 0) return refused;
  const text = JSON.stringify(encodedIn(journal, answer));
  return answers.some(({ value }) => JSON.stringify(value) === text) ? "duplicate" : null;
}

function encodedIn({ runId }: RunJournal, { value, failure }: Answer): Json {
  return failure ?? encode(value, `answer to a suspend point of run ${runId}`);
}

type Named = NonNullable<ReturnType<Keyring["verify"]>>;

/** The run and the wait that a token names; `null` for one that was not signed here. */
async function verified(host: Host, token: string, { value, options }: Answered): Promise<Named | null> {
  assertOptions(options, "id drive error", "The answer to a suspend point");
  if (options.error !== undefined && value !== undefined)
    throw new DurableError(
      "invalid-options",
      "An answer is a value or an error: with { error }, pass undefined.",
    );
  const keyring = await host.keyring();
  if (keyring instanceof DurableError) throw keyring;
  return keyring.verify(token);
}

function answerTo(wait: string, { value, options: { id, error } }: Answered): Answer {
  const failure = error === undefined ? null : encodeThrown(error, "error of an answer");
  return { wait, value, answerId: id ?? null, failure };
}

async function find(
  host: Host,
  token: string,
  answered: Answered,
): Promise<{ journal: RunJournal; answer: Answer } | null> {
  const named = await verified(host, token, answered);
  if (named === null) return null;
  const { locator, wait } = named;
  const journal = (await host.parked.checkOut(locator)) ?? (await openJournal(host, locator));
  return journal === null ? null : { journal, answer: answerTo(wait, answered) };
}

/** Checks the answer against the schema of the wait, appends it, and drives the run until it stops. */
async function answer(host: Host, token: string, answered: Answered): Promise<ResumeResult> {
  const found = await find(host, token, answered);
  if (found === null) return now("unknown");
  const user = host.parked.user(found.journal);
  try {
    return await resumeFound(host, token, { answered, ...found });
  } finally {
    host.parked.checkIn(found.journal, user);
  }
}

async function resumeFound(
  host: Host,
  token: string,
  { answered, journal, answer }: { answered: Answered; journal: RunJournal; answer: Answer },
): Promise<ResumeResult> {
  // The code of a child may be known only to its parent's code, and no longer be available after the parent has ended.
  const found = await codeOf(host, journal);
  if (found === null && journal.childOf !== undefined) return recordFound(host, { journal, answer });
  const definition = found ?? definitionOf(host, journal);
  if (await waitsToBegin(definition, journal)) {
    // Its limits decide when it begins, and so when its code can check the answer.
    const given = await recordFound(host, { journal, answer });
    return given.status === "unknown"
      ? given
      : { ...given, outcome: await advance(host, definition, journal) };
  }
  const refused = refusalOf(journal, answer, host.world.now());
  if (refused === "unknown") return now(refused);
  if (refused !== null) {
    // The process that sent the first answer may be dead, so a repeated answer continues a run that has no driver.
    const due = isDue(journal, asRecorded(refused));
    const outcome = due
      ? await advance(host, definition, journal)
      : await outcomeWithChildren(host, journal, true);
    return { ...asRecorded(refused), outcome };
  }
  // The answer is recorded, and the run is left as it is.
  const isPaused = await host.isPaused(definition.name);
  const leased = await acquire(host, journal);
  const placed: { result: Placed | null } = { result: null };
  // A journal that has seen another driver writes nothing more, so the run is opened anew.
  const drives = (): boolean => leased.owned && !journal.lost && !isPaused;
  const { position } = journal;
  if (drives()) await recordLoss(host, leased);
  // It is due then, and parks again whatever becomes of the answer.
  const hasLost = journal.position > position;
  const onReplayEnd: OnReplayEnd = async (engine) => {
    const result = await place(engine, answer, host);
    if (result === "again") return result;
    placed.result = result;
    // A parked run goes on even without a new answer: it parks again as it was, and its lease is released.
    const parked = journal.state.summary.status === "suspended";
    // Answers that were recorded before are due for their verdict, whatever this one is.
    const isBehind = journal.state.wait(answer.wait).answers.length > 0;
    return drives() && (parked || isBehind || hasLost || isDue(journal, placed.result)) ? "go on" : "leave";
  };
  const stop = await toNextStop(host, definition, leased, { onReplayEnd });
  // The storage has lost what the code has seen: it goes on from what is left, as any drive does.
  if (stop.kind === "blocked" && leased.owned && isRegression(stop.error)) {
    if (placed.result === null) return resume(host, token, answered);
    return { ...placed.result, outcome: await advance(host, definition, await openRun(host, journal.runId)) };
  }
  if (placed.result === null) {
    // The code does not fit the run. The answer is kept for code that does, as an answer that is given without code is.
    if (stop.kind === "blocked") {
      const kept = await recordFound(host, { journal, answer });
      return { ...kept, outcome: await advance(host, definition, await openRun(host, journal.runId)) };
    }
    // Another driver took over before the answer was appended. Append it unchecked; the wait checks it when it is reached.
    return record(host, token, answered);
  }
  // The driver with the lease may have released it just before the answer was appended. Then this process drives.
  if (stop.kind === "left" && !drives() && isDue(journal, placed.result)) {
    const current = journal.lost ? await openRun(host, journal.runId) : journal;
    return { ...placed.result, outcome: await advance(host, definition, current) };
  }
  const outcome = await outcomeAfter(host, journal, stop);
  if (journal.state.end !== null) wakeParent(host, journal);
  return { ...placed.result, outcome };
}

/** Slots are taken with the lease. */
async function waitsToBegin({ flow }: Definition, journal: RunJournal): Promise<boolean> {
  if (flow?.rate === undefined && journal.state.summary.flow?.startAt === undefined) return false;
  return isUnbegun(journal);
}

/** True when the journal has an answer and the run may be without a driver. */
function isDue(journal: RunJournal, placed: Placed | null): boolean {
  const answered = placed?.status === "accepted" || placed?.status === "duplicate";
  return answered && journal.state.summary.status === "running";
}

/** Appends an answer at the end of replay. Where the code does not reach its wait, the answer is kept unchecked. */
async function place(engine: ReplayEnd, answer: Answer, host: Host): Promise<Placed | "again"> {
  const { journal } = engine;
  const { position } = journal;
  const refused = refusalOf(journal, answer, host.world.now());
  if (refused !== null) return asRecorded(refused);
  const call = engine.calls.byWait(answer.wait);
  // A race around the wait is decided, so its answer is no longer used.
  if (call?.scope.closed === true) return now("expired");
  const isKnown = call instanceof SuspendCall && call.topic === undefined;
  const fact = isKnown ? await checkedFact(call, journal, answer) : rawFact(journal, answer);
  // New entries arrived while the answer was checked. The code must see them first.
  if (journal.position !== position) return "again";
  if ("status" in fact) return fact;
  const appended = await journal.append([writeFact(fact, host.world.now())], { outside: true });
  return appended.kind === "landed" ? now("accepted") : "again";
}

async function checkedFact(
  call: SuspendCall,
  journal: RunJournal,
  answer: Answer,
): Promise<Fact<Json> | Placed> {
  const { wait, value, answerId, failure } = answer;
  const verdict = failure === null ? await call.check(value) : { value: failure };
  if (typeof verdict === "string") return { ...now("invalid"), issues: verdict };
  // Answers that were recorded before come first. Their verdicts are written by the driver, and so is that on this one.
  const { answers } = journal.state.wait(wait);
  for (const earlier of answers) if (typeof (await call.judge(earlier)) !== "string") return now("duplicate");
  if (answers.length > 0) return answeredFact(journal, answer);
  const { key, after } = call;
  return {
    kind: "suspend.resolved",
    key,
    after,
    wait,
    value: verdict.value,
    ...(answerId === null ? {} : { answerId }),
    ...(failure === null ? {} : { rejects: true }),
  };
}

/** The answer unchecked, within the limits of answers that nobody has checked. */
function rawFact(journal: RunJournal, answer: Answer): Fact<Json> {
  const { opened, answers } = journal.state.wait(answer.wait);
  if (opened === null && answers.length === 0 && journal.state.waits.early >= limits.openWaits) {
    throw new DurableError(
      "limit",
      `Run ${journal.runId} accepts no more early answers. Answer when the suspend point is open.`,
    );
  }
  if (answers.length >= limits.pendingAnswers) {
    const what = opened === null ? "A suspend point" : `The suspend point "${opened.key}"`;
    throw new DurableError(
      "limit",
      `${what} of run ${journal.runId} has ${answers.length} answers that are not checked yet. Advance the run, or use resume, which checks them; then answer again.`,
    );
  }
  return answeredFact(journal, answer);
}

function answeredFact(journal: RunJournal, answer: Answer): Fact<Json> {
  const { wait, answerId, failure } = answer;
  return {
    kind: "suspend.answered",
    wait,
    value: encodedIn(journal, answer),
    ...(answerId === null ? {} : { answerId }),
    ...(failure === null ? {} : { rejects: true }),
  };
}

/** Only appends the answer, without running code. The wait checks it when it is reached. */
async function record(host: Host, token: string, answered: Answered): Promise<ResumeResult> {
  const named = await verified(host, token, answered);
  if (named === null) return now("unknown");
  return host.inTurn(named.locator, async () => {
    const skimmed = await recordToOpenWait(host, named, answered);
    if (skimmed !== null) return skimmed;
    const found = await find(host, token, answered);
    if (found === null) return now("unknown");
    const user = host.parked.user(found.journal);
    try {
      return await recordFound(host, found);
    } finally {
      host.parked.checkIn(found.journal, user);
    }
  });
}

/** The usual answer, to a wait that is open: nothing else of the run is decoded. `null` in any other case. */
async function recordToOpenWait(
  host: Host,
  { locator, wait }: Named,
  answered: Answered,
): Promise<ResumeResult | null> {
  const answer = answerTo(wait, answered);
  for (;;) {
    const recent = await host.recent.takeOrOpen(locator, () => openJournal(host, locator));
    const journal = recent ?? (await RunJournal.open(locator, await host.journals(), wait));
    try {
      const { status } = journal?.state.summary ?? {};
      const isOpen = journal !== null && journal.state.wait(wait).opened !== null;
      if (!isOpen || (status !== "suspended" && status !== "running")) return null;
      if (uncheckedRefusal(journal, answer, host.world.now()) !== null) return null;
      const fact = writeFact(rawFact(journal, answer), host.world.now());
      const { kind } = await journal.append([fact], { outside: true });
      if (kind === "landed")
        return { ...now("accepted"), outcome: runningOutcome(journal, await readerOf(host, journal)) };
    } finally {
      if (recent !== null) host.recent.keep(recent);
    }
  }
}

async function recordFound(
  host: Host,
  { journal, answer }: { journal: RunJournal; answer: Answer },
): Promise<ResumeResult> {
  let placed: Placed | null = null;
  while (placed === null) {
    const refused = uncheckedRefusal(journal, answer, host.world.now());
    if (refused === "unknown") return now(refused);
    if (refused !== null) placed = asRecorded(refused);
    else {
      const fact = writeFact(rawFact(journal, answer), host.world.now());
      const { kind } = await journal.append([fact], { outside: true });
      if (kind === "landed") placed = now("accepted");
    }
  }
  return { ...placed, outcome: await outcomeWithChildren(host, journal, false) };
}

type Verb = (host: Host, token: string, answered: Answered) => Promise<ResumeResult>;

/** A run that is deleted meanwhile is `unknown`, to holders of a token. */
const known =
  (verb: Verb): Verb =>
  (host, ...given) =>
    orUnknown(
      host,
      () => locatorIn(host, given[0]),
      () => verb(host, ...given),
    );

/** Answers a wait, and drives its run; with `drive: false`, without running code. */
export const resume: Verb = known((host, token, answered) =>
  (answered.options.drive === false ? record : answer)(host, token, answered),
);
