/**
 * Scores of a run, from outside: what people and checks thought of it.
 *
 * score.1. A score only appends an entry, also to a run that has ended. It drives nothing, and changes nothing that the code sees.
 * score.2. The last score of a name counts. One that says what the last one said appends nothing.
 * score.3. The value is never encrypted, because lists filter by it. The note is a value.
 * score.4. A run that is blocked is still shown as such, for the reason that it had.
 */

import { writeFact } from "../journal/batch.ts";
import type { Entry } from "../journal/entry.ts";
import { sealNote } from "../journal/envelope.ts";
import type { RunJournal } from "../journal/journal.ts";
import { DurableError, show } from "../values/errors.ts";
import { limits } from "../values/limits.ts";
import { defined } from "../values/options.ts";
import { isTagName } from "../values/run-tags.ts";
import { scrub } from "../values/scrub.ts";
import type { Host } from "./host.ts";
import { openRun } from "./lookup.ts";

/** The scores of a run, by name. */
export type Scores = Readonly<Record<string, number>>;

type Scored = Extract<Entry, { kind: "run.scored" }>;

interface Given {
  readonly name: string;
  readonly value: number | boolean | null;
  readonly note: string | undefined;
}

/** Records a score, and returns all scores of the run. */
export async function scoreRun(host: Host, runId: string, given: Given): Promise<Scores> {
  assertScore(runId, given);
  const { name, value, note } = given;
  const score = value === null ? null : Number(value);
  const fact = { kind: "run.scored", name, score, ...defined({ note: note && scrub(note) }) } as const;
  const journal = await openRun(host, runId);
  while (!isSaid(journal, fact)) {
    assertCount(journal, fact);
    await journal.append([writeFact(fact, host.world.now())], { outside: true });
  }
  await keepBlocked(host, journal);
  return journal.state.summary.scores ?? {};
}

/** The batch has made the note of the run void. */
async function keepBlocked(host: Host, { locator, position, blocked }: RunJournal): Promise<void> {
  if (blocked === null || position !== blocked.length + 1) return;
  const { storage, cipher = null } = await host.journals();
  const note = await sealNote({ ...blocked, length: position }, locator, cipher);
  // The score is recorded, and the next driver writes the note again.
  await storage.note?.(locator, note).catch(() => {});
}

type ScoreFact = Pick<Scored, "name" | "score" | "note">;

/** True when the last score of this name says the same. Its note may be in an earlier chapter. */
function isSaid({ entries, state }: RunJournal, { name, score, note }: ScoreFact): boolean {
  const last = entries.findLast(
    (entry): entry is Scored => entry.kind === "run.scored" && entry.name === name,
  );
  if (last !== undefined) return last.score === score && last.note === note;
  return (state.summary.scores?.[name] ?? null) === score && note === undefined;
}

function assertScore(runId: string, { name, value, note }: Given): void {
  const isNote = note === undefined || (typeof note === "string" && note.length <= limits.scoreNote);
  const isValue = value === null || typeof value === "boolean" || Number.isFinite(value);
  if (isTagName(name) && isValue && isNote) return;
  throw new DurableError(
    "invalid-options",
    `Run ${runId} got the score ${show(name)}: ${show(value)}. Use a name of 1 to ${limits.tagName} letters, digits and . _ : / -, a finite number, true or false, or null to remove it, and a note of at most ${limits.scoreNote} characters.`,
  );
}

function assertCount({ runId, state }: RunJournal, { name, score }: ScoreFact): void {
  const { [name]: known, ...others } = state.summary.scores ?? {};
  if (score === null || known !== undefined || Object.keys(others).length < limits.scores) return;
  throw new DurableError(
    "limit",
    `Run ${runId} has ${limits.scores} scores, the most that a run may have. Remove one with run.score(name, null).`,
  );
}
