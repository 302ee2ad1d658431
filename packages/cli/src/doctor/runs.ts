/** Checks of the runs: who drives them, and whether the code still fits. */

import { DurableError, type ListedRun, type RunHead } from "@durable/core";
import { replayRun, underWay } from "@durable/core/inspect";
import { allRuns, filterOfText, shortId } from "../runs.ts";
import type { Session } from "../session.ts";
import { duration, plural } from "../text/format.ts";
import type { Finding } from "./finding.ts";

/** A driver that records nothing for this long is reported. */
const silentMs = 10 * 60_000;
/** How many runs are named, and how many are replayed. */
const named = 5;
const replayed = 50;

/** `wake` says what to type so that a run is driven. */
export async function checkRuns(
  session: Session,
  now: number,
  wake: (runId: string) => string,
): Promise<Finding[]> {
  const { app } = session;
  const open: ListedRun[] = [];
  for (const status of ["running", "suspended", "blocked"] as const)
    for await (const head of allRuns(app, filterOfText(`status:${status}`))) open.push(head);
  // A damaged row may say anything of its run, also that it has ended.
  const listed = new Set(open.map(({ locator }) => locator));
  for await (const head of allRuns(app)) if (isDamaged(head) && !listed.has(head.locator)) open.push(head);
  const due = new Set((await app.list({ dueAt: now, limit: 500 })).runs.map(({ runId }) => runId));
  const doing = await underWay(app);
  const mine = session.appFile === null ? null : new Set(app.workflows);
  const foreign = open.filter((head) => mine !== null && isForeign(head, mine));
  const known = open.filter((head) => !foreign.includes(head));
  return [
    ...stranded(
      known.filter(({ runId, status }) => due.has(runId) && status !== "blocked"),
      wake,
    ),
    ...zombies(
      known.filter(
        ({ runId, state, updatedAt }) =>
          state === "running" && !due.has(runId) && !doing.has(runId) && now - updatedAt > silentMs,
      ),
      now,
    ),
    ...blocked(
      known.filter(({ status }) => status === "blocked"),
      wake,
    ),
    ...(mine === null ? [] : await diverged(session, known)),
    ...twoApps(foreign),
  ];
}

/** Children are found through their parents, so their workflows need not be in the app. */
function isForeign({ workflow, parent, ancestors }: RunHead, mine: ReadonlySet<string>): boolean {
  const isChild = parent !== null && ancestors.length === 0;
  return workflow !== "" && !isChild && !mine.has(workflow);
}

function isDamaged({ blocked: note }: RunHead): boolean {
  return note?.code === "corrupt";
}

function ids(heads: readonly RunHead[]): string {
  const some = heads.slice(0, named).map(({ runId }) => shortId(runId));
  return `${some.join(", ")}${heads.length > named ? ", ..." : ""}`;
}

function stranded(heads: readonly RunHead[], wake: (runId: string) => string): Finding[] {
  const died = heads.filter(({ status }) => status === "running");
  const late = heads.filter(({ status }) => status === "suspended");
  const [one] = heads;
  const runs = heads.map(({ runId }) => runId);
  if (one === undefined) return [{ level: "ok", check: "stranded", text: "every due run has a driver" }];
  const parts = [
    ...(died.length > 0
      ? [
          `${plural(died.length, "run")} started and ${died.length === 1 ? "has" : "have"} no driver: ${ids(died)}`,
        ]
      : []),
    ...(late.length > 0
      ? [`${plural(late.length, "run")} ${late.length === 1 ? "is" : "are"} due: ${ids(late)}`]
      : []),
  ];
  return [
    {
      level: "fail",
      check: "stranded",
      text: parts.join("; "),
      fix: `start a worker, or: ${wake(one.runId)}`,
      runs,
    },
  ];
}

function zombies(heads: readonly RunHead[], now: number): Finding[] {
  return heads.map((head) => ({
    level: "warn",
    check: "zombie",
    text: `${shortId(head.runId)} has a driver that has recorded nothing for ${duration(now - head.updatedAt)}`,
    fix: `durable show ${shortId(head.runId)}, then restart its process or: durable cancel ${shortId(head.runId)}`,
    runs: [head.runId],
  }));
}

function blocked(heads: readonly RunHead[], wake: (runId: string) => string): Finding[] {
  return heads.map((head) => {
    const { code = "", message = "" } = head.blocked ?? {};
    const id = shortId(head.runId);
    const isDiverged = code === "diverged" || code === "foreign-await";
    if (isDamaged(head))
      return {
        level: "fail",
        check: "blocked",
        text: `${id} is damaged: ${message}`,
        fix: "restore it from a backup",
        runs: [head.runId],
      };
    const fix = isDiverged
      ? `durable replay ${id}; durable explain ${code}`
      : `durable explain ${code}; then ${wake(head.runId)}`;
    return {
      level: "fail",
      check: code === "no-secret" ? "secret" : isDiverged ? "diverged" : "blocked",
      text: `${id} is blocked: ${code}: ${message}`,
      fix,
      runs: [head.runId],
    };
  });
}

/** Runs that wait now, and would not fit the code on disk when they are continued. */
async function diverged({ app }: Session, heads: readonly RunHead[]): Promise<Finding[]> {
  const found: Finding[] = [];
  const waiting = heads.filter(
    ({ status, workflow }) => status === "suspended" && app.workflows.includes(workflow),
  );
  for (const { runId } of waiting.slice(0, replayed)) {
    const { verdict, error, unreached, next } = await replayRun(app, runId);
    const about = { fix: `durable replay ${shortId(runId)}`, runs: [runId] };
    if (error !== null) {
      const check = error.code === "no-secret" ? "secret" : "diverged";
      found.push({ level: "fail", check, text: `${shortId(runId)}: ${error.message}`, ...about });
    } else if (verdict === "unsure") {
      const work = next.map(({ key }) => key).join(", ") || "other waits";
      const text = `${shortId(runId)} waits at ${unreached.join(", ")}, and the code on disk goes on with ${work} instead`;
      found.push({ level: "warn", check: "diverged", text, ...about });
    }
  }
  const checked = Math.min(replayed, waiting.length);
  if (found.length > 0 || checked === 0) return found;
  return [
    { level: "ok", check: "diverged", text: `the code on disk fits ${plural(checked, "waiting run")}` },
  ];
}

function twoApps(heads: readonly RunHead[]): Finding[] {
  if (heads.length === 0) return [];
  const workflows = [...new Set(heads.map(({ workflow }) => workflow))];
  return [
    {
      level: "fail",
      check: "two-apps",
      text: `${plural(heads.length, "open run")} of ${workflows.join(", ")} ${heads.length === 1 ? "is" : "are"} in this journal, and the app does not have ${workflows.length === 1 ? "that workflow" : "these workflows"}: two apps share one journal, or a workflow was removed`,
      fix: "add the workflow to createApp, or give each app its own DURABLE_DIR",
      runs: heads.map(({ runId }) => runId),
    },
  ];
}

/** Tokens need a secret. A storage that keeps one makes it at first use, so it is not asked here. */
export async function checkSecret({ app, storage }: Session, fileThere: boolean | null): Promise<Finding[]> {
  const { runs: waiting } = await app.list({ status: "suspended", limit: named * 4 });
  if (fileThere === true || waiting.length === 0) return [];
  if (fileThere === false)
    return [
      {
        level: "fail",
        check: "secret",
        text: "the secret file is missing, and runs wait: a new secret makes every token that was sent invalid",
        fix: "restore .durable/secret from a backup",
      },
    ];
  if (storage.secret !== undefined) return [];
  for (const { runId } of waiting) {
    const error: unknown = await app
      .get(runId)
      .outcome()
      .catch((reason: unknown) => reason);
    if (DurableError.is(error, "no-secret"))
      return [
        {
          level: "fail",
          check: "secret",
          text: "runs wait for answers, and there is no secret to sign their tokens",
          fix: "set DURABLE_SECRET, or pass { secret } to createApp",
        },
      ];
  }
  return [];
}
