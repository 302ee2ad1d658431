/**
 * Replays one recorded journal against today's code, cold and in virtual time, without running any step.
 *
 * G1. A run that ended is replayed without its end, and must reach the same one.
 * G2. A parked run must reach the same open waits and the same wake time.
 * G3. A run that was running or cancelled must not be blocked; it may continue anywhere.
 *
 * Proven in test/golden.test.ts and test/golden-work.test.ts.
 */

import { inspect, isDeepStrictEqual } from "node:util";
import {
  createApp,
  DurableError,
  type AnyWorkflow,
  type AppOptions,
  type Outcome,
  type Secret,
} from "@durable/core";
import { otherFormat, type Cipher } from "@durable/core/storage";
import { virtualWorld, type VirtualWorld } from "../virtual-world.ts";
import { trackedCipher } from "./tracked-cipher.ts";
import { guarded } from "./guarded-workflow.ts";
import { renameProblems, type AskedCall } from "./renames.ts";
import {
  abandonedBy,
  entriesOf,
  goldenFormat,
  load,
  withoutEnd,
  type GoldenBatch,
  type GoldenJournal,
} from "./journal.ts";

/** What the present code does with a journal. */
export type GoldenVerdict =
  | "replays"
  | "diverged"
  | `would run ${string}`
  | "newer-format"
  | "pre-release"
  | "unknown-workflow"
  | "no-key"
  | "tampered"
  | "corrupt";

export interface Judged {
  readonly verdict: GoldenVerdict;
  /** What is wrong, in the library's words if it has any. */
  readonly message: string | null;
  /** Warnings of the library during the replay. */
  readonly warnings: readonly string[];
}

export interface ReplayParts {
  readonly against: readonly AnyWorkflow[];
  readonly secret: Secret;
  readonly encryption: Cipher | undefined;
}

/** How a replay stopped: the outcome of the run, or the step that would have run. */
type Stopped =
  | Outcome<unknown>
  | { readonly status: "blocked"; readonly error: DurableError }
  | { readonly status: "would run"; readonly kind: string; readonly key: string };

export async function judge(journal: GoldenJournal, given: ReplayParts): Promise<Judged> {
  const { cipher, hold } = trackedCipher(given.encryption);
  const world = virtualWorld({ start: latestTime(journal), hold });
  const parts = { ...given, encryption: cipher };
  const judged = (verdict: GoldenVerdict, message: string | null = null): Judged => ({
    verdict,
    message,
    warnings: world.warnings,
  });
  try {
    checkFrame(journal);
    const recorded = await recordedOutcome(journal, parts, world);
    checkStart(journal);
    const calls: AskedCall[] = [];
    const [verdict, message] = verdictOn(recorded, await replay(journal, { ...parts, calls }, world));
    const renames = renameProblems(allBatches(journal), calls);
    if (verdict !== "replays") return judged(verdict, [message, ...renames].join(" "));
    // Code may rename recorded calls in another order on purpose.
    return { ...judged(verdict, message), warnings: [...world.warnings, ...renames] };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return judged(verdictFor(error, DurableError.is(error) ? "corrupt" : "diverged"), error.message);
  }
}

/** The verdict for an error. */
function verdictFor(error: Error, otherwise: GoldenVerdict): GoldenVerdict {
  const known = [
    "newer-format",
    "pre-release",
    "unknown-workflow",
    "no-key",
    "tampered",
    "corrupt",
    "diverged",
  ] as const;
  return known.find((code) => DurableError.is(error, code)) ?? otherwise;
}

function latestTime(journal: GoldenJournal): number {
  // A score may come years later, and wakes nothing.
  const times = entriesOf(allBatches(journal)).map(({ at, kind }) =>
    typeof at === "number" && kind !== "run.scored" ? at : 0,
  );
  return times.reduce((latest, at) => Math.max(latest, at), 0);
}

function allBatches({ batches, ancestors = [], children = [] }: GoldenJournal): readonly GoldenBatch[] {
  const others = [ancestors, children].filter((list) => Array.isArray(list)).flat();
  return Array.isArray(batches) ? [...others.flatMap((other) => other.batches), ...batches] : [];
}

function checkFrame({ format, runId, batches, ancestors = [], children = [] }: GoldenJournal): void {
  if (Number.isInteger(format) && format > 0 && format !== goldenFormat)
    throw otherFormat("The journal has format", format, {
      reads: goldenFormat,
      instead: "Record it again.",
      upgrade: "@durable/testing",
    });
  const lists = [batches, ancestors, children].every((list) => Array.isArray(list));
  if (format === goldenFormat && typeof runId === "string" && lists && batches.length > 0) return;
  throw new DurableError(
    "corrupt",
    "The file is not a journal made by recordGolden, which has { format, runId, workflow, batches }.",
  );
}

/** Runs after the library has read the whole journal, because its errors are more exact. */
function checkStart({ runId, batches, from = 0 }: GoldenJournal): void {
  const [first] = entriesOf(batches.slice(0, 1));
  const begins = from === 0 ? ["run.started", "run.forked"] : ["run.continued"];
  if (begins.includes(first?.kind ?? "") && first?.["runId"] === runId) return;
  throw new DurableError("corrupt", `The journal does not begin with the start of run ${runId}.`);
}

async function recordedOutcome(
  journal: GoldenJournal,
  parts: ReplayParts,
  world: VirtualWorld,
): Promise<Outcome<unknown>> {
  const host = await hosted(journal, parts, world);
  return world.run(
    createApp({ ...host, workflows: [] })
      .get(journal.runId)
      .outcome(),
  );
}

async function hosted(
  journal: GoldenJournal,
  { secret, encryption }: ReplayParts,
  world: VirtualWorld,
): Promise<Omit<AppOptions, "workflows">> {
  const { ancestors = [], children = [] } = journal;
  const storage = await load([...ancestors, ...children, journal], () => world.now());
  return { storage, world, secret, patience: 0, ...(encryption === undefined ? {} : { encryption }) };
}

async function replay(
  ended: GoldenJournal,
  { calls, ...parts }: ReplayParts & { readonly calls: AskedCall[] },
  world: VirtualWorld,
): Promise<Stopped> {
  const journal = { ...ended, batches: withoutEnd(ended.batches) };
  const asked = Promise.withResolvers<Stopped>();
  // Work that the recorded run left behind has no result, and runs again. It is not waited for.
  const left = abandonedBy(ended.batches);
  const workflows = parts.against.map((workflow) =>
    guarded(workflow, {
      work: (key, kind) => {
        if (!left.has(key)) asked.resolve({ status: "would run", kind, key });
      },
      asked: (call) => void calls.push(call),
    }),
  );
  // A run waits for a child that is blocked, so its own outcome does not tell.
  const onBlocked = ({ runId, error }: { readonly runId: string; readonly error: DurableError }): void => {
    if (runId !== journal.runId) asked.resolve({ status: "blocked", error });
  };
  const app = createApp({
    ...(await hosted(journal, parts, world)),
    workflows,
    hooks: { onBlocked },
    bind: false,
  });
  return world.run(Promise.race([app.advance(journal.runId), asked.promise]));
}

function verdictOn(recorded: Outcome<unknown>, now: Stopped): [GoldenVerdict, string | null] {
  if (now.status === "blocked") return [verdictFor(now.error, "diverged"), now.error.message];
  if (recorded.status === "running" || recorded.status === "cancelled") return ["replays", null];
  const { runId } = recorded;
  if (now.status === "would run") {
    const message = `Run ${runId} has no record of ${now.kind} "${now.key}": with this code it would run.`;
    return [`would run ${now.key}`, message];
  }
  if (recorded.status === "suspended") {
    const [was, is] = [whereabouts(recorded), whereabouts(now)];
    return was === is ? ["replays", null] : ["diverged", `Run ${runId} ${was}; with this code it ${is}.`];
  }
  const [was, is] = [endOf(recorded), endOf(now)];
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

/** The value to compare. Stack traces are left out, because they contain line numbers. */
function endOf(outcome: Outcome<unknown>): unknown {
  if (outcome.status === "completed") return outcome.output;
  return "error" in outcome ? outcome.error : null;
}

function shown(value: unknown): string {
  const text = value instanceof Error ? `${value.name}: ${value.message}` : json(value);
  return text.length <= 200 ? text : `${text.slice(0, 200)}...`;
}

/** JSON where possible, as in the journal. */
function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? inspect(value);
  } catch {
    return inspect(value, { breakLength: Number.POSITIVE_INFINITY });
  }
}
