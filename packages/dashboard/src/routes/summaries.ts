/** What a line of the list shows besides the head. Only lines that are in view are asked for. */

import { describe } from "../text.ts";
import { viewRun, type RowView, type RunView } from "@durable/core/inspect";
import { type Call, json, mayDo, runIdOf } from "@durable/http/kit";
import type { Mark, Summary } from "../api.ts";
import type { Service } from "../options.ts";
import { listIn } from "./request.ts";

/** How many lines one request may ask for, and how many summaries are kept. */
const mostAsked = 60;
const mostKept = 1_000;
const mostMarks = 24;

/** `?runs=<id>:<updatedAt>,...`: a run that has not changed since is not read again. */
export async function summaries(service: Service, { request, url }: Call): Promise<Response> {
  const { summaries: known } = service;
  const asked = listIn(url, "runs").slice(0, mostAsked);
  const found = asked.map(async (name) => {
    const runId = runIdOf(name.split(":", 1)[0]);
    if (!(await mayDo(service, request, { type: "read", runId }))) return [runId, null] as const;
    const summary = known.get(name) ?? summaryOf(service, runId).catch(() => null);
    known.delete(name);
    known.set(name, summary);
    return [runId, await summary] as const;
  });
  const reply = await Promise.all(found);
  for (const name of known.keys()) {
    if (known.size <= mostKept) break;
    known.delete(name);
  }
  return json(200, Object.fromEntries(reply.filter(([, summary]) => summary !== null)));
}

async function summaryOf({ app, prices }: Service, runId: string): Promise<Summary> {
  const view = viewRun(await app.get(runId).entries({ struck: true }), { prices, now: app.world.now() });
  const { totals, waits, lineage } = view;
  const failed = view.rows.findLast(({ status, attempts }) => status === "failed" && attempts.length > 0);
  const message = view.status === "failed" ? describe(view.error) : null;
  const at = lineage?.from[0] ?? lineage?.edited[0] ?? lineage?.after[0] ?? null;
  return {
    marks: marksOf(view.rows),
    waits: waits.map(({ name, openedAt, expiresAt }) => ({ name, since: openedAt, expiresAt })),
    sleepsUntil: view.sleeping ? view.wakeAt : null,
    error:
      message === null ? null : failed === undefined ? message : `${failed.key}: ${describe(failed.error)}`,
    running: runningOf(view),
    settled: totals.settled,
    fromJournal: totals.fromJournal,
    at,
    tokens: totals.spent.inputTokens + totals.spent.outputTokens,
    cost: totals.spent.cost,
    endedAt: view.endedAt,
  };
}

function runningOf({ rows, status }: RunView): string | null {
  if (status !== "running") return null;
  const open = rows.findLast(
    (row) => row.attempts.length > 0 && (row.status === "open" || row.status === "retrying"),
  );
  if (open === undefined) return null;
  const failed = open.attempts.filter((attempt) => "error" in attempt).length;
  return failed === 0 ? open.key : `${open.key}, attempt ${failed + 1}`;
}

/** One mark per call. Of a long run the last ones are shown. */
function marksOf(rows: readonly RowView[]): Mark[] {
  const marks = rows.flatMap((row) => markOf(row) ?? []);
  return marks.slice(-mostMarks);
}

/** `null` for groups, branches, sleeps, and clean-ups that did not begin. */
export function markOf({ kind, status, fromJournal }: RowView): Mark | null {
  if (kind === "parallel" || kind === "race" || kind === "branch" || kind === "sleep") return null;
  if (kind === "cleanup" && (status === "registered" || status === "closed")) return null;
  if (status === "failed" || status === "expired") return "x";
  if (fromJournal) return "h";
  return status === "open" && kind === "suspend" ? "w" : "r";
}
