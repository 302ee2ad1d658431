/**
 * Checks after the end of a simulation.
 *
 * I1. Every pass over a run gets the same values: each is a prefix of the longest.
 * I2. A cold start from the journal without its end reproduces the end, and does no work (cold-start.ts).
 * I3. Every recorded result came from a body, under one idempotency key.
 * I5. A calm workflow returns its expected output; any other returns values that its journal holds.
 * I6. One answer per wait: the accepted answer is the one that the workflow got.
 * I7. A fork gets what its ancestors recorded, for everything it kept.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Outcome } from "@durable/core";
import { judgeBlobs } from "./blob-checks.ts";
import { isCancelled, judgeChildren } from "./child-checks.ts";
import { judgeChapters } from "./chapter-storage-checks.ts";
import { coldStart } from "./cold-start.ts";
import { decidedOutcomes } from "./effect-checks.ts";
import { judgeFork } from "./fork-checks.ts";
import { judgeMail } from "./mail-checks.ts";
import { isTaken, type TakenAnswer } from "./failure-answers.ts";
import { isReceive } from "./message-checks.ts";
import type { History } from "./history.ts";
import type { AnswerAttempt } from "./notes.ts";
import type { ReplayPass } from "./replay-pass.ts";
import { areOneStart, isEnd, isRetried, isSettlement, type RunLog, type WrittenEntry } from "./run-log.ts";
import { judgeSwallowed } from "./rename-checks.ts";
import { judgeAcknowledged } from "./queue-checks.ts";
import { judgeRecords } from "./recorders.ts";
import { isOfCleanUp } from "./undo-checks.ts";
import { judgeStreams } from "./stream-checks.ts";
import type { Cluster } from "./cluster.ts";

export async function judge(cluster: Cluster): Promise<void> {
  const { history } = cluster;
  await judgeBlobs(cluster);
  for (const run of history.runs) {
    if (history.lineage(run).some((log) => log.tainted || isRetried(log))) continue;
    if (run.workflow === "") {
      judgeRecords(cluster, run);
      continue;
    }
    const entries = history.entries(run);
    judgePasses(history, run);
    judgeBodies(history, run, entries);
    judgeChildren(history, run);
    judgeAnswers(history, run, entries);
    judgeInheritance(history, run, entries);
    if (history.codeChanges) judgeSwallowed(history, run);
    judgeFork(history, run);
    judgeOutput(cluster, run, await coldStart(cluster, run));
  }
  await judgeChapters(cluster);
  await judgeMail(cluster);
  judgeAcknowledged(history, cluster.plan);
  cluster.disk.schedules?.judgeEnd();
}

function judgePasses(history: History, run: RunLog): void {
  const passes = history.passes.filter((pass) => pass.run === run);
  if (passes.length > 1) history.meet("a replay");
  for (const same of Map.groupBy(passes, ({ code }) => code).values()) {
    if (history.foreign) judgeValues(history, run, same);
    if (history.foreign) continue;
    const ofCode = same.map(({ seen, process }) => ({
      process,
      seen: seen.filter((what) => !cleansUp(what)),
    }));
    const longest = ofCode.reduce((a, b) => (b.seen.length > a.seen.length ? b : a));
    for (const { seen, process } of ofCode) {
      const at = seen.findIndex((what, i) => what !== longest.seen[i]);
      if (at === -1) continue;
      const difference = `${process} got ${seen[at]}, ${longest.process} got ${longest.seen[at]}`;
      return history.violate("I1", `run ${run.runId}: ${difference}`);
    }
    judgeValues(history, run, same, cleansUp);
  }
}

/** In a clean-up. The next pass leaves out a clean-up that is over. */
function cleansUp(what: string): boolean {
  return isOfCleanUp(parse(what).key);
}

/** Where the order may differ, each recorded key still has one value. A group has what its strands got. */
function judgeValues(
  history: History,
  run: RunLog,
  passes: readonly ReplayPass[],
  isJudged: (what: string) => boolean = () => true,
): void {
  const values = new Map<string, string>();
  const recorded = settledKeys(history.lineage(run).flatMap((log) => history.entries(log)));
  for (const { key, what } of passes.flatMap(({ seen }) => seen.filter(isJudged).map(parse))) {
    if (!recorded.has(key)) continue;
    if ((values.get(key) ?? what) !== what)
      return history.violate("I1", `run ${run.runId}: ${key} is ${what} and ${values.get(key)}`);
    values.set(key, what);
  }
}

function judgeBodies(history: History, run: RunLog, entries: readonly WrittenEntry[]): void {
  const bodies = history.bodies.filter((body) => body.run === run);
  const keys = new Map<string, string>();
  for (const { key, idempotencyKey } of bodies) {
    if ((keys.get(key) ?? idempotencyKey) !== idempotencyKey)
      history.violate("I3", `run ${run.runId}: ${key} had two idempotency keys`);
    keys.set(key, idempotencyKey);
  }
  const shared = history.bodies.find(
    ({ run: other, key, idempotencyKey }) =>
      other !== run &&
      keys.get(key) === idempotencyKey &&
      (other === undefined || !(other.tainted || areOneStart(other, run))),
  );
  if (shared !== undefined)
    history.violate("I3", `run ${run.runId}: ${shared.key} has the idempotency key of a step of another run`);
  judgeStreams(history, run, bodies);
  for (const { kind, key = "", value, attempt = 1 } of entries) {
    if (!/^(step\.(completed|failed)|attempt\.failed)$/.test(kind)) continue;
    const decided = decidedOutcomes(history, run, key).filter(({ status }) => kind === `step.${status}`);
    if (decided.some(({ comparable, value: said }) => comparable === false || isSame(said, value))) continue;
    const tries = bodies.filter((body) => body.key === key && body.attempt === attempt);
    if (tries.length === 0) history.violate("I3", `run ${run.runId}: ${key} is recorded but never ran`);
    else if (
      kind === "step.completed" &&
      !tries.some((body) => !body.comparable || isGiven(body.value, value))
    )
      history.violate("I3", `run ${run.runId}: ${key} is recorded as ${show(value)}, which no body returned`);
  }
}

interface Settled extends TakenAnswer {
  /** Answers that were recorded behind the one that was taken. */
  readonly behind: readonly TakenAnswer[];
}

/** The answer that each wait of a run took, by key. */
function answersTaken(entries: readonly WrittenEntry[]): Map<string, Settled> {
  const kept = new Map<number, TakenAnswer & { readonly wait: string | undefined }>();
  const taken = new Map<string, Settled>();
  // A fork continues the numbering of its parent.
  let seq = entries[0]?.base ?? 0;
  for (const { kind, key = "", wait, value, answer = 0, rejects = false } of entries) {
    seq += 1;
    if (kind === "suspend.answered") kept.set(seq, { wait, value, rejects });
    if (kind !== "suspend.resolved") continue;
    const behind = [...kept].filter(([at, other]) => at > answer && answer > 0 && other.wait === wait);
    taken.set(key, {
      value: value ?? kept.get(answer)?.value,
      rejects,
      behind: behind.map(([, other]) => other),
    });
  }
  return taken;
}

/** A request that was on its way when the run was deleted has recorded it again, so its tokens fit both lives. */
function isRepeated({ runs }: History, { runId, batches }: RunLog): boolean {
  const by = batches[0]?.by;
  return runs.filter((other) => other.runId === runId && other.batches[0]?.by === by).length > 1;
}

function judgeAnswers(history: History, run: RunLog, entries: readonly WrittenEntry[]): void {
  if (isRepeated(history, run)) return;
  const sent = Map.groupBy(
    history.answers.filter((answer) => answer.run === run),
    ({ key }) => key,
  );
  const receives = new Set(entries.filter((entry) => isReceive(history, run, entry)).map(({ key }) => key));
  for (const [key, taken] of answersTaken(entries)) {
    if (receives.has(key)) continue;
    const tries = sent.get(key) ?? [];
    const what = show(taken.value);
    if (!tries.some((attempt) => isTaken(attempt, taken, isSame)))
      history.violate("I6", `run ${run.runId}: ${key} took ${what}, which was never sent to it`);
    for (const attempt of tries) {
      const isBehind = taken.behind.some((other) => isTaken(attempt, other, isSame));
      if (isBinding(attempt) && !isBehind && !isTaken(attempt, taken, isSame))
        history.violate(
          "I6",
          `run ${run.runId}: ${key} accepted ${attempt.failure ?? show(attempt.value)} but took ${what}`,
        );
    }
  }
}

/**
 * An accepted answer that fits the schema is final, unless it was recorded behind one that fits, too; one that may not fit
 * is judged when its wait is reached.
 */
function isBinding({ status, valid }: AnswerAttempt): boolean {
  return status === "accepted" && valid;
}

/** A fork gets the values of its ancestors for everything it did not settle itself, unless it was edited. */
function judgeInheritance(history: History, run: RunLog, entries: readonly WrittenEntry[]): void {
  const [, ...ancestors] = history.lineage(run);
  if (ancestors.length === 0) return;
  // Changed code calls and draws in another order, and so does code with foreign awaits.
  if (!history.codeChanges && !history.foreign) judgeDraws(history, run);
  const own = settledKeys(entries);
  const written = ancestors.flatMap((ancestor) => history.entries(ancestor));
  const theirs = settledKeys(written);
  const recorded = show(written);
  const expired = new Set(written.flatMap(({ kind, key }) => (kind === "suspend.expired" ? [key] : [])));
  const given = new Map<string, Set<string>>();
  for (const [key, what] of givenTo(history, ancestors))
    given.set(key, (given.get(key) ?? new Set()).add(what));
  for (const [key, what] of givenTo(history, [run])) {
    const values = given.get(key);
    if (
      values === undefined ||
      own.has(key) ||
      own.has(`${key}[]/deadline`) ||
      !theirs.has(key) ||
      /^("edited"|\[ 'edited' \]|\{ ok: 'edited' \})$/.test(what)
    )
      continue;
    history.meet("work reused by a fork");
    // The ancestor may have died after it recorded the value and before its code got it.
    const [mark] = /(nonce|said) \d+/.exec(what) ?? [];
    const isExpired = what.includes("suspend-expired") && expired.has(key);
    const known = isExpired || (mark === undefined ? recorded.includes(what) : holds(recorded, mark));
    if (!values.has(what) && !known)
      history.violate(
        "I7",
        `run ${run.runId}: ${key} returned ${what}, but ${[...values].join(" or ")} in its ancestors`,
      );
  }
}

/** While a fork gets the values of its parent in the same order, it draws the same random numbers. */
function judgeDraws(history: History, run: RunLog): void {
  const own = settledKeys(history.entries(run));
  const theirs = history.passes
    .filter((pass) => pass.run === run.parentLog)
    .map(({ seen }) => seen.map(parse));
  for (const { seen } of history.passes.filter((pass) => pass.run === run)) {
    let like = theirs;
    for (const [i, { key, what, chance }] of seen.map(parse).entries()) {
      like = like.filter((other) => other[i]?.key === key && other[i].what === what);
      if (like.length === 0 || own.has(key) || own.has(`${key}[]/deadline`)) break;
      if (!like.some((other) => other[i]?.chance === chance))
        return history.violate("I7", `run ${run.runId}: at ${key} it draws ${chance}, unlike its parent`);
    }
  }
}

function parse(text: string): { key: string; what: string; chance: string } {
  const [, key = "", what = "", chance = ""] = /^(.+?) = (.*) at \d+, ([\d.]+)$/s.exec(text) ?? [];
  return { key, what, chance };
}

function settledKeys(entries: readonly WrittenEntry[]): Set<string | undefined> {
  return new Set(entries.filter(({ kind }) => isSettlement(kind)).map(({ key }) => key));
}

/** The values that passes over these runs got, by key. */
function givenTo(history: History, runs: readonly RunLog[]): [string, string][] {
  const passes = history.passes.filter(({ run }) => run !== undefined && runs.includes(run));
  return passes.flatMap(({ seen }) =>
    seen.map((text): [string, string] => {
      const { key, what } = parse(text);
      return [key, what];
    }),
  );
}

function judgeOutput({ history, programs }: Cluster, run: RunLog, outcome: Outcome<unknown> | null): void {
  const lineage = history.sources(run);
  const isOf = (other: RunLog): boolean =>
    lineage.includes(other) || (other.above !== undefined && isOf(other.above));
  const changed = history.passes.some(
    ({ run: of, code }) => of !== undefined && code === "changed" && isOf(of),
  );
  const program = programs.find(({ name }) => name === run.workflow);
  // An edited run returns something else, and so do its forks and runs whose child was cancelled by another
  // caller.
  const entries = lineage.flatMap((ancestor) => history.entries(ancestor));
  const lostChild = history.runs.some((other) => isOf(other) && isCancelled(history.entries(other)));
  const edited = lostChild || entries.some(({ edits }) => edits?.length);
  if (outcome?.status === "failed" && !changed && !edited && program?.mayFail === false)
    history.violate("I5", `run ${run.runId} failed, but nothing in it can fail: ${outcome.error.message}`);
  if (outcome?.status !== "completed") return;
  const { output } = outcome;
  const wrong = changed || edited ? null : (program?.judge(output) ?? null);
  if (wrong !== null) history.violate("I5", `run ${run.runId} returned ${show(output)} ${wrong}`);
  // Every value in the output is in the journal of the run or of an ancestor.
  const recorded = JSON.stringify(entries.filter(({ kind }) => !isEnd(kind)));
  for (const [nonce] of show(output).matchAll(/nonce \d+/g))
    if (!holds(recorded, nonce))
      history.violate("I5", `run ${run.runId} returned ${nonce}, which is not in its journal`);
}

/** True when a text has this mark, which may be part of a text that was passed on. */
function holds(text: string, mark: string): boolean {
  return new RegExp(`${mark}(?!\\d)`).test(text);
}

/** True when the recorded value is the returned one as it was at that moment. */
function isGiven(given: unknown, recorded: unknown): boolean {
  const { nonce } = (given ?? {}) as { nonce?: string };
  if (nonce === undefined) return isSame(given, recorded);
  return (
    show(recorded).startsWith(`{"nonce":"${nonce}","at":{"$":"date"`) &&
    show(recorded).includes(`["${nonce}"]`)
  );
}

function isSame(a: unknown, b: unknown): boolean {
  return show(a) === show(b) || (a === undefined && show(b) === '{"$":"undefined"}');
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}
