/**
 * Checks on every history of a crash test.
 *
 * C1. It ends like the calm one, with an equal output.
 * C2. Every key of a chapter settles once, every batch has its own write id, and nothing follows the end.
 * C3. A fresh process with all but the end of the journal reaches the same end, runs no body, and resolves no
 *     uncertain step.
 * C4. All passes over one journal make the same calls in the same order, as far as they get.
 * C5. The service can recognize a repeated effect.
 * C6. A process that keeps the run in memory, as on a developer's desk, reaches the end of one that replays every wait.
 *
 * Proven in test/kit-caught.test.ts and test/kit-parts.test.ts.
 */

import { inspect, isDeepStrictEqual } from "node:util";
import type { Outcome } from "@durable/core";
import { callSite } from "./call-site.ts";
import { compareEffects, type EffectFinding } from "./effects.ts";
import { coldReplay, type History, type Setup } from "./history.ts";
import type { Notes, Pass } from "./observed-life.ts";
import type { Ending } from "./drive.ts";

/** What went wrong in one history. `word` is short enough for a table. */
export interface Problem {
  readonly check: "outcome" | "output" | "memory" | "journal" | "replay" | "order" | "effect";
  readonly word: string;
  readonly text: string;
}

export interface Verdict {
  readonly problems: readonly Problem[];
  readonly effects: readonly EffectFinding[];
}

type Same<Output> = ((calm: Output, other: Output) => boolean) | null;

/** Compares one history with the calm one, and replays it cold. */
export async function judge<Input, Output>(
  setup: Setup<Input, Output>,
  { calm, other, same }: { calm: History<Output>; other: History<Output>; same: Same<Output> },
): Promise<Verdict> {
  const effects = compareEffects(calm.effects, other.effects);
  const problems = [
    ...sameEnding(calm.ending, other.ending, same),
    ...checkJournals(other),
    ...(await checkReplay(setup, other)),
    ...effects.map(({ name, text }): Problem => ({
      check: "effect",
      word: "effect",
      text: `${name}: ${text}`,
    })),
  ];
  return { problems, effects };
}

function sameEnding<Output>(calm: Ending<Output>, other: Ending<Output>, same: Same<Output>): Problem[] {
  if (other.kind !== "ended") {
    return [{ check: "outcome", word: other.kind, text: other.error.message }];
  }
  if (calm.kind !== "ended") return [];
  const [before, now] = [calm.outcome, other.outcome];
  if (before.status !== now.status) {
    const text = `the run is ${shown(now)}; in calm it was ${shown(before)}`;
    return [{ check: "outcome", word: now.status, text }];
  }
  if (same === null || isSame(before, now, same)) return [];
  const text = `in calm ${shown(before)}, here ${shown(now)}`;
  return [{ check: "output", word: "output", text }];
}

/** C6. */
export function checkMemory<Output>(
  calm: History<Output>,
  warm: History<Output>,
  same: Same<Output>,
): Problem[] {
  const [found] = sameEnding(calm.ending, warm.ending, same);
  if (found === undefined) return [];
  const texts = [warm, calm].map(({ ending }) =>
    ending.kind === "ended" ? shown(ending.outcome) : `${ending.kind}: ${ending.error.message}`,
  );
  const text = `in one process that keeps the run in memory ${texts[0]}; with a restart at every wait ${texts[1]}`;
  return [{ check: "memory", word: "memory", text }];
}

function isSame<Output>(a: Outcome<Output>, b: Outcome<Output>, same: NonNullable<Same<Output>>): boolean {
  if (a.status === "completed" && b.status === "completed") return same(a.output, b.output);
  if (a.status === "failed" && b.status === "failed") return a.error.message === b.error.message;
  return a.status === b.status;
}

export function shown(outcome: Outcome<unknown>): string {
  if (outcome.status === "completed") return `completed with ${show(outcome.output)}`;
  if ("error" in outcome) return `${outcome.status}: ${outcome.error.message}`;
  return outcome.status;
}

function show(value: unknown): string {
  const text = inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY });
  return text.length > 300 ? `${text.slice(0, 297)}...` : text;
}

interface Entry {
  readonly kind: string;
  readonly key?: string;
}

interface Batch {
  readonly by: string;
  readonly entries: readonly Entry[];
}

function settles({ kind }: Entry): boolean {
  return /^(?:step|stream|child|cleanup)\.(?:completed|failed)$|^spawn\.(?:started|failed)$|^sleep\.fired$|^suspend\.(?:resolved|expired)$/.test(
    kind,
  );
}

/** Each chapter has keys of its own. */
function chaptersOf(entries: readonly Entry[]): Entry[][] {
  const chapters: Entry[][] = [[]];
  for (const entry of entries) {
    if (entry.kind === "run.continued") chapters.push([]);
    chapters.at(-1)?.push(entry);
  }
  return chapters;
}

function problem(text: string): Problem {
  return { check: "journal", word: "journal", text };
}

/** The run's own journal, and those of its children and of other runs it started. */
function checkJournals({ batches, others }: History<unknown>): Problem[] {
  const found = others.flatMap(({ runId, batches: texts }) =>
    checkJournal(texts).map(({ text }) => problem(`run ${runId}: ${text}`)),
  );
  return [...checkJournal(batches), ...found];
}

export function checkJournal(texts: readonly string[]): Problem[] {
  const batches = texts.map((text) => JSON.parse(text) as Batch);
  const entries = batches.flatMap((batch) => batch.entries);
  const twice = chaptersOf(entries).flatMap((chapter) =>
    [...Map.groupBy(chapter.filter(settles), ({ key }) => key)].filter(([, list]) => list.length > 1),
  );
  const writers = new Set(batches.map(({ by }) => by));
  const end = entries.findIndex(({ kind }) => /^run\.(completed|failed|cancelled)$/.test(kind));
  const late = end === -1 ? [] : entries.slice(end + 1);
  return [
    ...twice.map(([key, list]) => problem(`"${key}" has ${list.length} settlements`)),
    ...(writers.size < batches.length ? [problem("two batches have one write id")] : []),
    ...(late.length > 0 ? [problem(`after the end comes ${late.map(({ kind }) => kind).join(", ")}`)] : []),
  ];
}

async function checkReplay<Input, Output>(
  setup: Setup<Input, Output>,
  other: History<Output>,
): Promise<Problem[]> {
  const { ending, notes } = other;
  const over = ending.kind === "ended" && /^(completed|failed)$/.test(ending.outcome.status);
  if (!over) return checkOrders(notes);
  const cold = await coldReplay(setup, other);
  return [
    ...sameEnding(ending, cold.ending, isDeepStrictEqual).map(({ text }) => replayed(text)),
    ...worked(cold.notes),
    ...checkOrders(notes, cold.notes),
  ];
}

function replayed(text: string): Problem {
  const replayText = text.replace("in calm", "live").replace(", here", ", replayed");
  return { check: "replay", word: "replay", text: `replay from the journal alone: ${replayText}` };
}

function worked({ ran, found }: Notes): Problem[] {
  const keys = [...ran.keys(), ...found].map((key) => `"${key}"`);
  return keys.length === 0 ? [] : [replayed(`ran ${keys.join(", ")}, which has no record in the journal`)];
}

/** C4, run by run. */
function checkOrders(...noted: readonly Notes[]): Problem[] {
  const runs = new Set(noted.flatMap(({ passes }) => [...passes.keys()]));
  return [...runs].flatMap((run) => checkOrder(noted.flatMap(({ passes }) => passes.get(run) ?? [])));
}

/** C4: each pass is a prefix of the longest. */
export function checkOrder(passes: readonly Pass[]): Problem[] {
  const longest = passes.toSorted((a, b) => b.length - a.length)[0] ?? [];
  for (const pass of passes) {
    const index = pass.findIndex(({ what }, i) => what !== longest[i]?.what);
    const [one, two] = [pass[index], longest[index]];
    if (one === undefined || two === undefined) continue;
    const text = `call ${index + 1} is ${callText(one)} in one pass and ${callText(two)} in another`;
    return [{ check: "order", word: "order", text }];
  }
  return [];
}

function callText({ what, from }: Pass[number]): string {
  return `${what} (${callSite(from) ?? "inside the library"})`;
}
