/** Runs beside each other: the tree of forks, and the difference of two runs. Proven in test/server.test.ts. */

import type { RunHead } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { diff, type Given } from "@durable/core/inspect";
import { type RowView, viewRun, type Plain } from "@durable/core/inspect";
import { allow, type Call, json, mayDo, readable, runIdOf } from "@durable/http/kit";
import type { DiffPage, Mark, Tree, TreeNode } from "../api.ts";
import type { Service } from "../options.ts";
import { Room } from "../text.ts";

const mostNodes = 100;
const mostSteps = 40;
/** How far up the tree is followed from a run. */
const mostAbove = 100;

export async function forkTree(service: Service, { request, runId }: Call): Promise<Response> {
  const root = await rootOf(service, request, runId);
  const nodes: TreeNode[] = [await nodeOf(service, root, false)];
  let more = false;
  // The list grows while it is walked: the forks of each run come after it.
  for (const { runId: parent } of nodes) {
    const below = await service.app.list({ parent, limit: mostNodes });
    for (const head of (await readable(service, request, below.runs)).toReversed()) {
      if (nodes.length < mostNodes) nodes.push(await nodeOf(service, head.runId, isFork(head)));
      else more = true;
    }
  }
  return json(200, { nodes, more } satisfies Tree);
}

function isFork({ ancestors }: RunHead): boolean {
  return ancestors.length > 0;
}

/** The run from which all forks of this one come, or the last on the way to it that may be read. */
async function rootOf(service: Service, request: Request, runId: string): Promise<string> {
  const { app } = service;
  let root = runId;
  for (let i = 0; i < mostAbove; i++) {
    const { lineage, childOf } = viewRun(await app.get(root).entries());
    const above = lineage?.parent ?? childOf?.runId ?? null;
    if (above === null || !(await mayDo(service, request, { type: "read", runId: above }))) return root;
    if (!(await exists(app.get(above)))) return root;
    root = above;
  }
  return root;
}

/** A parent may have been deleted. */
async function exists(run: {
  entries(options: { limit: number }): Promise<readonly Entry[]>;
}): Promise<boolean> {
  return run.entries({ limit: 1 }).then(
    () => true,
    () => false,
  );
}

async function nodeOf({ app, prices }: Service, runId: string, fork: boolean): Promise<TreeNode> {
  const { lineage, rows, totals, status, childOf, workflow } = viewRun(
    await app.get(runId).entries({ struck: true }),
    { prices },
  );
  const steps = rows.flatMap((row) => {
    const mark = markOf(row);
    if (mark === null) return [];
    return [{ key: row.key, name: nameIn(row), mark, ...(row.edited ? { edited: true as const } : {}) }];
  });
  return {
    runId,
    workflow,
    parent: lineage?.parent ?? childOf?.runId ?? null,
    label: lineage?.label ?? null,
    status,
    isFork: fork,
    at: [...(lineage?.from ?? []), ...(lineage?.after ?? [])],
    edited: lineage?.edited ?? [],
    steps: steps.slice(0, mostSteps),
    more: steps.length > mostSteps,
    cost: totals.spent.cost,
    tokens: totals.spent.inputTokens + totals.spent.outputTokens,
  };
}

/** In a branch, with the name of the branch: the calls of several branches often have one name. */
function nameIn({ name, parent }: RowView): string {
  return parent?.endsWith("]") === true ? `${parent.slice(parent.lastIndexOf("[") + 1, -1)}/${name}` : name;
}

export async function diffRuns(service: Service, { request, url }: Call): Promise<Response> {
  const ids = ["before", "after"].map((name) => runIdOf(url.searchParams.get(name) ?? ""));
  for (const runId of ids) await allow(service, request, { type: "read", runId });
  const [before = [], after = []] = await Promise.all(ids.map((id) => service.app.get(id).entries()));
  const { calls, end } = diff(before, after);
  const room = new Room();
  const givenOf = (given: Given | null): Plain | null => shownGiven(given, room);
  return json(200, {
    before: nameOf(before),
    after: nameOf(after),
    calls: calls.map((call) => ({ ...call, before: givenOf(call.before), after: givenOf(call.after) })),
    end: { equal: end.equal, before: givenOf(end.before), after: givenOf(end.after) },
  } satisfies DiffPage);
}

function nameOf(entries: readonly Entry[]): DiffPage["before"] {
  const { runId, lineage } = viewRun(entries);
  return { runId, label: lineage?.label ?? null };
}

/** An error is shown as `{ error }`, a value as it is. */
function shownGiven(given: Given | null, room: Room): Plain | null {
  if (given === null) return null;
  return "error" in given
    ? { error: room.show(given.error, textLength) }
    : room.show(given.value, textLength);
}

const textLength = 50_000;

/** `null` for groups, branches, sleeps, and clean-ups that did not begin. */
function markOf({ kind, status, fromJournal }: RowView): Mark | null {
  if (kind === "parallel" || kind === "race" || kind === "branch" || kind === "sleep") return null;
  if (kind === "cleanup" && (status === "registered" || status === "closed")) return null;
  if (status === "failed" || status === "expired") return "x";
  if (fromJournal) return "h";
  return status === "open" && kind === "suspend" ? "w" : "r";
}
