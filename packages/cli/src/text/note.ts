/** The note of a wait: what a person reads before the answer. Proven in test/question.test.ts. */

import { inline } from "./format.ts";
import { fit, wrap } from "./width.ts";

/** A question is read whole before it is answered; what else the note has follows it. Other notes are one line. */
export function noteLines(note: unknown, columns: number): string[] {
  if (note === undefined || note === null) return [];
  const question = questionOf(note);
  if (question === null) return [`   asks   ${fit(inline(note, 1_000), columns)}`];
  const { question: _, ...rest } = note as Readonly<Record<string, unknown>>;
  const about = Object.keys(rest).length === 0 ? [] : wrap(inline(rest, 1_000), columns);
  return [...below("asks", wrap(question, columns)), ...below("note", about)];
}

/** The text of a note that asks something and has more than that. */
export function questionOf(note: unknown): string | null {
  const { question } = Object(note) as Readonly<Record<string, unknown>>;
  return typeof question === "string" ? question : null;
}

function below(name: string, lines: readonly string[]): string[] {
  return lines.map((line, i) => `   ${i === 0 ? name : "    "}   ${line}`.trimEnd());
}
