/**
 * One recorded journal against today's code: a cold replay, in virtual time, in which no step's work can run.
 *
 * G1. A run that ended is replayed without its end, and must come to the same one.
 * G2. A run that is parked must come to the same open waits, and want to wake at the same time.
 * G3. A run that was under way or cancelled must not be blocked; where it goes on, it may.
 */

import { isDeepStrictEqual } from "node:util";
import { createApp, DurableError, type AnyWorkflow, type Outcome, type Secret } from "@durable/core";
import { virtualWorld, type VirtualWorld } from "../world.ts";
import { guarded } from "./guard.ts";
import {
  entriesOf,
  goldenFormat,
  load,
  withoutEnd,
  type GoldenBatch,
  type GoldenJournal,
} from "./journal.ts";

/** What today's code makes of a journal. */
export type GoldenVerdict =
  | "replays"
  | "diverged"
  | `would run ${string}`
  | "newer-format"
  | "unknown-workflow"
  | "corrupt";

export interface Judged {
  readonly verdict: GoldenVerdict;
  /** What is wrong, in the library's own words where it has any. */
  readonly message: string | null;
  /** What the library warned about on the way. */
  readonly warnings: readonly string[];
}

export interface ReplayParts {
  readonly against: readonly AnyWorkflow[];
  readonly secret: Secret;
}

/** How a replay stopped: the outcome the journal now has, or the step that would have run. */
type Stopped = Outcome<unknown> | { readonly status: "would run"; readonly key: string };

export async function judge(journal: GoldenJournal, parts: ReplayParts): Promise<Judged> {
  const world = virtualWorld({ start: latestTime(journal) });
  const told = (verdict: GoldenVerdict, message: string | null = null): Judged => ({
    verdict,
    message,
    warnings: world.warnings,
  });
  try {
    checkFrame(journal);
    const recorded = await recordedOutcome(journal, parts, world);
    checkStart(journal);
    const { batches, end } = withoutEnd(journal.batches);
    const replayed = await replay({ ...journal, batches }, parts, world);
    return told(...verdictOn(recorded, replayed, { recorded: end, replayed: replayed.end }));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return told(verdictFor(error, DurableError.is(error) ? "corrupt" : "diverged"), error.message);
  }
}

/** The verdict an error stands for by itself. */
function verdictFor(error: Error, otherwise: GoldenVerdict): GoldenVerdict {
  const known = ["newer-format", "unknown-workflow", "corrupt", "diverged"] as const;
  return known.find((code) => DurableError.is(error, code)) ?? otherwise;
}

function latestTime(journal: GoldenJournal): number {
  const times = entriesOf(allBatches(journal)).map(({ at }) => (typeof at === "number" ? at : 0));
  return times.reduce((latest, at) => Math.max(latest, at), 0);
}

function allBatches({ batches, ancestors = [] }: GoldenJournal): readonly GoldenBatch[] {
  const inherited = Array.isArray(ancestors) ? ancestors.flatMap((ancestor) => ancestor.batches) : [];
  return Array.isArray(batches) ? [...inherited, ...batches] : [];
}

function checkFrame({ format, runId, batches, ancestors }: GoldenJournal): void {
  if (typeof format === "number" && format > goldenFormat) {
    throw new DurableError(
      "newer-format",
      `It was recorded in format ${format}, newer than this build of @durable/testing reads (${goldenFormat}). Upgrade it.`,
    );
  }
  const whole = typeof runId === "string" && Array.isArray(batches) && batches.length > 0;
  if (format === goldenFormat && whole && (ancestors === undefined || Array.isArray(ancestors))) return;
  throw new DurableError(
    "corrupt",
    "It is no journal that recordGolden made: { format, runId, workflow, batches } is what it should have.",
  );
}

/** Only asked once the library has read all of it: it knows better what is wrong. */
function checkStart({ runId, batches }: GoldenJournal): void {
  const [first] = entriesOf(batches.slice(0, 1));
  if (/^run\.(started|forked)$/.test(first?.kind ?? "") && first?.["runId"] === runId) return;
  throw new DurableError("corrupt", `It does not begin with the start of run ${runId}.`);
}

async function recordedOutcome(
  journal: GoldenJournal,
  { secret }: ReplayParts,
  world: VirtualWorld,
): Promise<Outcome<unknown>> {
  const storage = await loaded(journal, world);
  const run = createApp({ storage, world, secret, workflows: [] }).get(journal.runId);
  return world.run(run.outcome());
}

async function loaded(journal: GoldenJournal, world: VirtualWorld): ReturnType<typeof load> {
  return load([...(journal.ancestors ?? []), journal], () => world.now());
}

async function replay(
  journal: GoldenJournal,
  { against, secret }: ReplayParts,
  world: VirtualWorld,
): Promise<Stopped & { readonly end: Readonly<Record<string, unknown>> | null }> {
  const storage = await loaded(journal, world);
  const asked = Promise.withResolvers<Stopped>();
  const workflows = against.map((workflow) =>
    guarded(workflow, (key) => asked.resolve({ status: "would run", key })),
  );
  const app = createApp({ storage, world, secret, workflows, patience: 0 });
  const stopped = await world.run(Promise.race([app.advance(journal.runId), asked.promise]));
  const [head] = (await storage.list({ limit: 1_000 })).runs.filter(({ runId }) => runId === journal.runId);
  const written = head === undefined ? [] : (await storage.read(head.locator)).batches;
  const { end } = withoutEnd(written.map((text) => JSON.parse(text) as GoldenBatch));
  return { ...stopped, end };
}

type Ends = Readonly<Record<"recorded" | "replayed", Readonly<Record<string, unknown>> | null>>;

function verdictOn(recorded: Outcome<unknown>, now: Stopped, ends: Ends): [GoldenVerdict, string | null] {
  if (now.status === "blocked") return [verdictFor(now.error, "diverged"), now.error.message];
  if (recorded.status === "running" || recorded.status === "cancelled") return ["replays", null];
  const { runId } = recorded;
  if (now.status === "would run") {
    const message = `Run ${runId} has no record of step "${now.key}": with this code it would run.`;
    return [`would run ${now.key}`, message];
  }
  if (recorded.status === "suspended") {
    const [was, is] = [whereabouts(recorded), whereabouts(now)];
    return was === is ? ["replays", null] : ["diverged", `Run ${runId} ${was}; with this code it ${is}.`];
  }
  const [was, is] = [endOf(ends.recorded), endOf(ends.replayed)];
  if (recorded.status === now.status && isDeepStrictEqual(was, is)) return ["replays", null];
  const said = now.status === recorded.status ? `ends with ${shown(is)}` : whereabouts(now);
  return [
    "diverged",
    `Run ${runId} ended as ${recorded.status} with ${shown(was)}; with this code it ${said}.`,
  ];
}

function whereabouts(outcome: Outcome<unknown>): string {
  if (outcome.status !== "suspended") return `ends as ${outcome.status}`;
  const keys = outcome.waiting.map(({ key }) => `"${key}"`).toSorted();
  const until = outcome.wakeAt === null ? "" : ` until ${new Date(outcome.wakeAt).toISOString()}`;
  return `waits${keys.length === 0 ? "" : ` for ${keys.join(", ")}`}${until}`;
}

/** What an end says, but for stack traces: those name lines of files. */
function endOf(end: Ends["recorded"]): unknown {
  return withoutStacks(end?.["output"] ?? end?.["error"] ?? null);
}

function withoutStacks(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withoutStacks);
  if (typeof json !== "object" || json === null) return json;
  const fields = Object.entries(json).filter(([name]) => name !== "stack" || !("$" in json));
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutStacks(field)]));
}

function shown(json: unknown): string {
  const text = JSON.stringify(json);
  return text.length <= 200 ? text : `${text.slice(0, 200)}...`;
}
