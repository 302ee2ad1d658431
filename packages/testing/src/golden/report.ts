/** The result of replaying golden journals, as data and as text. Proven in test/golden.test.ts. */

import type { GoldenVerdict, Judged } from "./replay.ts";

/** The verdict on one journal. */
export interface GoldenResult extends Judged {
  /** The file it came from, or its index in the list. */
  readonly source: string;
  readonly runId: string;
  readonly workflow: string;
}

/** What `replayGolden` found. */
export interface GoldenReport {
  readonly journals: readonly GoldenResult[];
  /** True when every journal replays. */
  readonly ok: boolean;
  /** The report as text, in colour on a terminal. */
  toString(): string;
}

/** Thrown when a journal does not replay; its message is the report. */
export class GoldenError extends Error {
  override readonly name = "GoldenError";
  readonly report: GoldenReport;

  constructor(report: GoldenReport) {
    super(`${report.toString()}\n`);
    this.report = report;
  }
}

export function reportOf(journals: readonly GoldenResult[]): GoldenReport {
  const ok = journals.every(({ verdict }) => verdict === "replays");
  return { journals, ok, toString: () => textOf(journals, isTerminal()) };
}

function isTerminal(): boolean {
  return Boolean(process.stdout.isTTY) && !process.env["NO_COLOR"];
}

const colours = { green: 32, red: 31, dim: 2 } as const;

export function textOf(journals: readonly GoldenResult[], coloured: boolean): string {
  const paint = (colour: keyof typeof colours, text: string): string =>
    coloured ? `\u001B[${colours[colour]}m${text}\u001B[0m` : text;
  const wrong = journals.filter(({ verdict }) => verdict !== "replays");
  const columns = (["verdict", "source", "workflow", "runId"] as const).map((name) => ({
    name,
    width: Math.max(0, ...journals.map((result) => result[name].length)),
  }));
  const lines = journals.flatMap((result) => {
    const cells = columns.map(({ name, width }) => {
      const cell = result[name].padEnd(width);
      return name === "verdict" ? paint(colourOf(result.verdict), cell) : cell;
    });
    const notes = [result.message ?? [], ...result.warnings.map((text) => `warned: ${text}`)].flat();
    return [`  ${cells.join("  ").trimEnd()}`, ...notes.map((note) => paint("dim", `      ${note}`))];
  });
  const count = journals.length === 1 ? "1 journal" : `${journals.length} journals`;
  const sum =
    wrong.length === 0
      ? paint("green", `${count}: all replay`)
      : paint("red", `${count}: ${wrong.length} ${wrong.length === 1 ? "does" : "do"} not replay`);
  return [sum, ...lines].join("\n");
}

function colourOf(verdict: GoldenVerdict): "green" | "red" {
  return verdict === "replays" ? "green" : "red";
}
