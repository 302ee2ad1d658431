/**
 * Forks as callers request them: at a call, a branch, a group, an open call or two places, with an edited
 * value or another input. Proven in test/sim.test.ts.
 */

import type { Run } from "@durable/core";
import type { Random } from "@durable/testing";
import type { Cluster, ProcessLife } from "./cluster.ts";
import type { History } from "./history.ts";
import type { ForkNote } from "./notes.ts";
import { chapterIn } from "./chapter-inputs.ts";
import type { RunInput } from "./input-checks.ts";
import { isSettlement, type RunLog } from "./run-log.ts";

export interface ForkRequest {
  /** The library chooses the id if it is missing. */
  readonly id?: string;
  /** Replaces a recorded value instead of cutting. */
  readonly edit?: boolean;
}

/** Where a fork goes back to, as the options of `fork`. */
interface Places {
  readonly from?: string[];
  readonly after?: string[];
  readonly edit?: Record<string, unknown>;
}

/** Forks a run, and returns the id of the fork, or a note when nothing is recorded yet. */
export async function forkRun(
  cluster: Cluster,
  { process, app }: ProcessLife,
  runId: string,
  { id, edit = false }: ForkRequest,
): Promise<string> {
  const { history } = cluster;
  const run = app.get(runId);
  const chapter = chapterOf(process.random, history.run(runId));
  const entries = await run.entries(chapter);
  const calls = callsOf(entries);
  const places = edit ? editOf(process.random, calls) : cutOf(process.random, calls);
  if (places === null) return "nothing to fork at";
  const changes = cluster.changesInputs && process.random.chance(0.25);
  const input = changes ? { input: inputAs(entries, cluster.given()) } : {};
  // The request may be applied although no reply arrives, so it is noted before it is sent.
  history.forks.push({ parent: runId, id: id ?? null, ...noteOf(places), ...input, ...chapter });
  if (calls.some(({ key, settled }) => !settled && places.from?.includes(key) === true))
    history.meet("a fork from an open call");
  const made = await run.fork({ ...places, ...input, ...chapter, ...(id === undefined ? {} : { id }) });
  noteKind(history, history.run(runId), { ...noteOf(places), ...input });
  if (chapter.chapter !== undefined) history.meet("a fork of a chapter");
  return made.id;
}

/** A chapter by its number, if the run has several; otherwise the current one. */
function chapterOf(random: Random, run: RunLog | undefined): { readonly chapter?: number } {
  if (run === undefined || run.chapter === 1 || random.chance(0.4)) return {};
  return { chapter: random.between(1, run.chapter) };
}

/** Another input for the chapter that these entries are from. */
function inputAs(entries: Awaited<ReturnType<Run["entries"]>>, given: RunInput): unknown {
  const begins = entries.findLast((entry) => "input" in entry && entry.kind.startsWith("run."));
  const { chapter, carried } = chapterIn((begins as { readonly input?: unknown } | undefined)?.input);
  return chapter === 1 ? given : { given, chapter, carried };
}

/** The calls of a run by key: how each was made, and whether it has settled. */
interface RecordedCall {
  readonly key: string;
  readonly kind: string;
  readonly settled: boolean;
}

function callsOf(entries: Awaited<ReturnType<Run["entries"]>>): RecordedCall[] {
  const calls = new Map<string, RecordedCall>();
  for (const entry of entries) {
    if (!("key" in entry) || /^(parallel|race)\./.test(entry.kind)) continue;
    const { key, kind } = entry;
    // A fork cannot begin at the deadline of a call.
    if (key.endsWith("[]/deadline")) continue;
    const settled = isSettlement(kind) || calls.get(key)?.settled === true;
    calls.set(key, { key, kind: kind.slice(0, kind.indexOf(".")), settled });
  }
  return [...calls.values()];
}

function cutOf(random: Random, calls: readonly RecordedCall[]): Places | null {
  const settled = calls.filter((call) => call.settled);
  const open = calls.filter((call) => !call.settled);
  if (open.length > 0 && random.chance(0.1)) return { from: [random.pick(open).key] };
  if (settled.length === 0) return null;
  const path = pathOf(random, random.pick(settled).key);
  if (random.chance(0.1)) return { from: [path], after: [random.pick(settled).key] };
  return random.chance(0.5) ? { from: [path] } : { after: [path] };
}

/** The key itself, or a branch or a group around it. */
function pathOf(random: Random, key: string): string {
  const parts = key.split("/");
  const branches = parts.flatMap((part, i) => (part.endsWith("]") ? [i + 1] : []));
  if (branches.length === 0 || random.chance(0.6)) return key;
  const branch = parts.slice(0, random.pick(branches)).join("/");
  return random.chance(0.6) ? branch : branch.slice(0, branch.lastIndexOf("["));
}

function editOf(random: Random, calls: readonly RecordedCall[]): Places | null {
  // A question about an uncertain attempt accepts only a resolution, not an arbitrary value.
  const editable = calls.filter(
    ({ key, kind, settled }) =>
      !key.includes("/uncertain") && kind !== "sleep" && (settled || kind === "suspend"),
  );
  if (editable.length === 0) return null;
  const { key, kind } = random.pick(editable);
  return { edit: { [key]: kind === "stream" ? ["edited"] : kind === "suspend" ? edited : "edited" } };
}

const edited = { ok: "edited" };

function noteOf({ from = [], after = [], edit = {} }: Places): Pick<ForkNote, "cuts" | "edits"> {
  const cuts = [...from.map((key) => ({ key, keep: false })), ...after.map((key) => ({ key, keep: true }))];
  return { cuts, edits: Object.keys(edit) };
}

function noteKind(
  history: History,
  run: RunLog | undefined,
  { cuts, edits, input }: Pick<ForkNote, "cuts" | "edits" | "input">,
): void {
  history.meet(edits.length > 0 ? "a fork with an edit" : "a fork");
  if (input !== undefined) history.meet("a fork with another input");
  if (cuts.length > 1) history.meet("a fork at two places");
  if (cuts.some(({ key }) => key.endsWith("]"))) history.meet("a fork at a branch");
  if (cuts.some(({ key }) => /\[.*[^\]]$/.test(key))) history.meet("a fork inside of a branch");
  if (run === undefined) return;
  if (/running|suspended/.test(run.status)) history.meet("a fork of an open run");
  if (history.lineage(run).length > 2) history.meet("a fork of a fork of a fork");
}
