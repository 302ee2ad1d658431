/** What the demo prints around its steps. */

import { join } from "node:path";
import type { Entry } from "@durable/core/types";
import { wrapped, type Terminal } from "example-llm";
import { nearby } from "example-llm/play";
import type { Answer, Turn } from "./turn.ts";

/** The longest line of text, however wide the screen is. */
const readable = 100;

export interface Head {
  readonly question: string;
  readonly model: string;
  readonly id: string;
  readonly folder: string;
  /** The journal before the run. */
  readonly before: readonly Entry[];
}

export function showHead(out: Terminal, { question, model, id, folder, before }: Head): void {
  fact(out, "question", question);
  fact(out, "model", model);
  fact(out, "run", `${id} (${stateOf(before)}), journal in ${nearby(join(folder, "journal.db"))}`);
  if (!before.some(({ kind }) => kind in ends)) {
    out.line(`${" ".repeat(10)}${out.paint("yellow", "press Ctrl-C at any time and run it again")}`);
  }
  out.line();
}

const ends: Readonly<Record<string, string>> = {
  "run.completed": "finished",
  "run.failed": "failed",
  "run.cancelled": "cancelled",
};

function stateOf(before: readonly Entry[]): string {
  if (before.length === 0) return "new";
  const steps = before.filter(({ kind }) => kind === "step.completed").length;
  return ends[before.at(-1)?.kind ?? ""] ?? `continued, ${steps} steps recorded`;
}

function fact(out: Terminal, name: string, text: string): void {
  const [first = "", ...rest] = wrapped(text, Math.min(out.width, readable), " ".repeat(10));
  out.line(`${out.paint("bold", name.padEnd(10))}${first.trimStart()}`);
  for (const line of rest) out.line(line);
}

export function showAnswer(out: Terminal, { text, sources }: Answer): void {
  out.line();
  for (const line of wrapped(text, Math.min(out.width, readable), "  ")) out.line(line);
  out.line();
  out.line(`  ${out.paint("dim", `sources: ${sources.join(", ") || "none"}`)}`);
}

/** The tokens of all model calls, and those that this process paid for. */
export function showTokens(out: Terminal, entries: readonly Entry[], ran: ReadonlySet<string>): void {
  const sum = (only: (key: string) => boolean): string => {
    const tokens = { in: 0, out: 0 };
    for (const entry of entries) {
      if (entry.kind !== "step.completed" || !entry.key.startsWith("think") || !only(entry.key)) continue;
      const turn = entry.value as Turn;
      tokens.in += turn.tokens.in;
      tokens.out += turn.tokens.out;
    }
    return `${tokens.in} in, ${tokens.out} out`;
  };
  out.line(
    `  ${out.paint("dim", `tokens:  ${sum(() => true)}; paid by this process: ${sum((key) => ran.has(key))}`)}`,
  );
}
