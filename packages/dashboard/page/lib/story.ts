/** What a run does now, in one sentence, and what just happened in it. Proven in test/run-page.test.ts. */

import type { Row, RunPage } from "../../src/api.ts";
import { clock, cost, duration, plural } from "./format.ts";

/** A part of a sentence: plain, the name of a call, or a length that grows. */
export interface Phrase {
  readonly text: string;
  readonly is?: "name" | "time" | "undone";
}

const plain = (text: string): Phrase => ({ text });
const named = (text: string): Phrase => ({ text, is: "name" });
const timed = (ms: number): Phrase => ({ text: duration(Math.max(0, ms)), is: "time" });

const isGroup = ({ kind }: Row): boolean => kind === "branch" || kind === "parallel" || kind === "race";

/** Work that runs now, the longest first. */
export function runningRows({ rows }: Pick<RunPage, "rows">): Row[] {
  return rows
    .filter(
      (row) => row.struck === undefined && row.endedAt === null && row.attempts.at(-1)?.endedAt === null,
    )
    .toSorted((a, b) => a.startedAt - b.startedAt);
}

/** The call in which a run failed. */
export function failedRow({ rows }: Pick<RunPage, "rows">): Row | undefined {
  return rows.findLast(
    (row) => row.status === "failed" && row.struck === undefined && !isGroup(row) && !isUndo(row),
  );
}

/** Work that takes back what a step did, or a clean-up that has begun. */
export function isUndo({ key, kind, status, attempts }: Row): boolean {
  if (key.endsWith("/compensate")) return true;
  return kind === "cleanup" && status !== "registered" && (status !== "closed" || attempts.length > 0);
}

/** Whether everything that had to be undone is undone; `null` where nothing had to be. */
export function undoneIn({ rows, uncompensated }: Pick<RunPage, "rows" | "uncompensated">): boolean | null {
  const undo = rows.filter((row) => row.key.endsWith("/compensate"));
  if (undo.length === 0) return null;
  return uncompensated.length === 0 && undo.every(({ status }) => status === "completed");
}

/** What stands beside the word of the state. */
export function sentenceOf(run: RunPage, now: number): Phrase[] {
  switch (run.state) {
    case "running":
      return doing(run, now);
    case "waiting":
      return waiting(run, now);
    case "sleeping":
      return sleeping(run, now);
    case "failed":
      return failed(run);
    case "completed":
      return [plain("in "), timed((run.endedAt ?? now) - run.startedAt)];
    case "cancelled":
      return [plain("after "), timed((run.endedAt ?? now) - run.startedAt)];
    case "queued":
      return run.wakeAt === null || run.wakeAt === 0
        ? [plain("until a worker takes it")]
        : [plain("since "), timed(now - run.wakeAt), plain(", until a worker takes it")];
    case "paused":
      return run.paused === null ? [] : [plain("for "), timed(now - run.paused.since)];
    case "blocked":
      return run.blocked === null ? [] : [plain("for "), timed(now - run.blocked.since)];
    case "cancelling":
    case "failing":
      return [plain("and takes back what it did, for "), timed(now - (run.undoing?.since ?? now))];
    default:
      return [];
  }
}

/** What an open step said last that it has reached: live where its driver tells, else as recorded. */
export function reachedIn({ kind, endedAt, words, progress }: Row): string | null {
  return kind === "step" && endedAt === null ? (words ?? progress ?? null) : null;
}

function doing(run: RunPage, now: number): Phrase[] {
  const [row, ...others] = runningRows(run);
  if (row === undefined) return retrying(run, now) ?? openWait(run, now) ?? [];
  const attempt = row.attempts.at(-1);
  return [
    named(row.name),
    plain(attempt !== undefined && attempt.number > 1 ? `, attempt ${attempt.number}, for ` : ", for "),
    timed(now - (attempt?.startedAt ?? row.startedAt)),
    ...(others.length === 0 ? [] : [plain(`, and ${plural(others.length, "other call")}`)]),
  ];
}

function retrying({ rows }: RunPage, now: number): Phrase[] | null {
  const row = rows.find(({ status, struck }) => status === "retrying" && struck === undefined);
  const last = row?.attempts.at(-1);
  if (row === undefined || last?.retryAt === undefined || isGroup(row)) return null;
  const left = last.retryAt - now;
  return [
    named(row.name),
    plain(left > 0 ? `, attempt ${last.number + 1} in ` : `, attempt ${last.number + 1} is due`),
    ...(left > 0 ? [timed(left)] : []),
  ];
}

function openWait(run: RunPage, now: number): Phrase[] | null {
  return run.waits.some(({ answered }) => !answered) ? waiting(run, now) : null;
}

function waiting(run: RunPage, now: number): Phrase[] {
  const open = run.waits.filter(({ answered }) => !answered);
  const [wait] = open.toSorted((a, b) => (a.expiresAt ?? Infinity) - (b.expiresAt ?? Infinity));
  if (wait === undefined) return childWait(run);
  const rest = open.length - 1;
  return [
    plain(wait.topic === undefined ? "for " : "for a message about "),
    named(wait.topic ?? wait.name),
    ...(wait.expiresAt === null ? [] : expiry(wait.expiresAt, now)),
    ...(rest === 0 ? [] : [plain(`, and ${rest} more`)]),
  ];
}

function expiry(at: number, now: number): Phrase[] {
  return at > now ? [plain(", expires in "), timed(at - now)] : [plain(`, expired at ${clock(at, now)}`)];
}

function childWait({ rows }: RunPage): Phrase[] {
  const open = rows.filter(({ kind, endedAt, struck }) => kind === "child" && endedAt === null && !struck);
  const [child] = open;
  if (child === undefined) return [];
  return [
    plain("for the child "),
    named(child.name),
    ...(open.length === 1 ? [] : [plain(`, and ${open.length - 1} more`)]),
  ];
}

function sleeping(run: RunPage, now: number): Phrase[] {
  const parts = retrying(run, now);
  if (parts !== null) return parts;
  if (run.wakeAt === null) return [];
  if (run.wakeAt <= now) return [plain(`due since ${clock(run.wakeAt, now)}`)];
  return [plain(`until ${clock(run.wakeAt, now)}, wakes in `), timed(run.wakeAt - now)];
}

function failed(run: RunPage): Phrase[] {
  const row = failedRow(run);
  const done = undoneIn(run);
  const undone: Phrase[] =
    done === null
      ? []
      : done
        ? [plain("; "), { text: "↶ all undone", is: "undone" }]
        : [plain("; "), { text: "↶ not all undone", is: "undone" }];
  if (row === undefined)
    return [plain("after "), timed((run.endedAt ?? run.startedAt) - run.startedAt), ...undone];
  const tries = row.attempts.length;
  return [
    plain("in "),
    named(row.name),
    ...(tries > 1 ? [plain(`, after ${tries} attempts`)] : []),
    ...undone,
  ];
}

/** Something that happened. */
export interface Happening {
  readonly at: number;
  readonly name: string;
  readonly text: string;
  readonly is: "good" | "bad" | "wait" | "now" | "plain";
  /** The call that it is about. */
  readonly key: string | null;
}

/** How many are shown. */
const mostShown = 6;

/** The last things that happened in a run, the latest first. */
export function happeningsOf(run: RunPage, most = mostShown): Happening[] {
  const all = run.rows.filter((row) => row.fromJournal !== true && !isGroup(row)).flatMap(happeningsIn);
  for (const { at, problem } of run.retries)
    all.push({
      at,
      name: "retry",
      text: problem === undefined ? "the run goes on" : `after ${problem}`,
      is: "plain",
      key: null,
    });
  if (run.paused !== null)
    all.push({ at: run.paused.since, name: "pause", text: "no new work begins", is: "wait", key: null });
  if (run.endedAt !== null) all.push(ending(run, run.endedAt));
  // What happened in the same millisecond stands in the order of the journal.
  return all
    .map((one, i) => ({ one, i }))
    .toSorted((a, b) => b.one.at - a.one.at || b.i - a.i)
    .slice(0, most)
    .map(({ one }) => one);
}

function ending({ status, startedAt }: RunPage, at: number): Happening {
  const is = status === "completed" ? "good" : status === "failed" ? "bad" : "plain";
  return { at, name: "run", text: `${status} after ${duration(at - startedAt)}`, is, key: null };
}

function happeningsIn(row: Row): Happening[] {
  const { key, name, kind, startedAt, endedAt, status } = row;
  const about = {
    name: kind === "step" && key.endsWith("/compensate") ? `undo ${key.slice(0, -11)}` : name,
    key,
  };
  if (kind === "sleep" || kind === "suspend" || kind === "child" || kind === "spawn")
    return waitHappenings(row);
  const list = row.attempts.flatMap(
    ({ number, startedAt: from, endedAt: to, failed: why }, i): Happening[] => {
      const before = row.attempts[i - 1];
      const pause =
        before?.endedAt === null || before === undefined
          ? ""
          : `, after a pause of ${duration(from - before.endedAt)}`;
      const began: Happening[] =
        number > 1 || to === null
          ? [
              {
                ...about,
                at: from,
                text: number > 1 ? `attempt ${number} begins${pause}` : "begins",
                is: to === null ? "now" : "plain",
              },
            ]
          : [];
      if (to === null) return began;
      if (why !== undefined)
        return [
          ...began,
          {
            ...about,
            at: to,
            text: row.attempts.length > 1 ? `attempt ${number} failed: ${why}` : `failed: ${why}`,
            is: "bad",
          },
        ];
      const price = cost(row.cost);
      return [
        ...began,
        {
          ...about,
          at: to,
          text: `completed in ${duration(to - from)}${price === "" ? "" : `, ${price}`}`,
          is: "good",
        },
      ];
    },
  );
  if (list.length > 0 || endedAt === null) return list;
  if (status === "registered" || status === "closed") return [];
  return [{ ...about, at: endedAt, text: `${status} after ${duration(endedAt - startedAt)}`, is: "plain" }];
}

function waitHappenings({ key, name, kind, startedAt, endedAt, status, until }: Row): Happening[] {
  const asks = kind === "suspend" ? "asks" : kind === "sleep" ? "sleeps" : "child begins";
  const long = until === undefined ? "" : ` for ${duration(until - startedAt)}`;
  const began: Happening = { at: startedAt, name, key, text: `${asks}${long}`, is: "wait" };
  if (endedAt === null || status === "closed") return [began];
  const ends: Readonly<Record<string, string>> = {
    suspend: "answered",
    sleep: "woke",
    child: "child completed",
  };
  const word = status === "failed" ? "failed" : status === "expired" ? "expired" : (ends[kind] ?? status);
  return [
    began,
    {
      at: endedAt,
      name,
      key,
      text: `${word} after ${duration(endedAt - startedAt)}`,
      is: status === "completed" ? "good" : "bad",
    },
  ];
}
