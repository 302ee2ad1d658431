/** One line of a run on the screen, in columns. Proven in test/printer.test.ts. */

import { cut, type Style, type Terminal } from "./terminal.ts";

export interface Row {
  /** `failed` and `stopped` (cancelled) are attempts in this process; one that failed earlier is from the journal. */
  readonly from: "ran" | "journal" | "failed" | "stopped";
  readonly key: string;
  readonly ms: number | null;
  readonly attempt: number | null;
  readonly what: string;
}

const styles: Readonly<Record<Row["from"], Style>> = {
  ran: "green",
  journal: "cyan",
  failed: "red",
  stopped: "yellow",
};

/** Width of the first column, including the indent. */
const lead = 10;

/** Width of the key column by default. */
const usual = 14;

export function rowText(out: Terminal, { from, key, ms, attempt, what }: Row, width = usual): string {
  const took = ms === null ? "" : `${(ms / 1_000).toFixed(ms < 9_950 ? 2 : 0)} s`;
  const tries = attempt === null || attempt === 1 ? "" : String(attempt);
  // Cut first and coloured last, because escape codes have no width.
  const line = cut(columns(width, from, key, took, tries, what), out.width - 1);
  const rest = line.slice(lead);
  return out.paint(styles[from], line.slice(0, lead)) + (from === "journal" ? out.paint("dim", rest) : rest);
}

export function headText(out: Terminal, width = usual): string {
  return out.paint("dim", columns(width, "from", "step", "took", "try", "what came of it"));
}

export function runningText(keys: Iterable<string>): string {
  return columns(usual, "...", [...keys].join(", "), "", "", "");
}

function columns(
  width: number,
  ...[from, key, took, tries, what]: readonly [string, string, string, string, string]
): string {
  const first = `  ${from}`.padEnd(lead);
  return `${first} ${key.padEnd(width)} ${took.padStart(7)}  ${tries.padStart(3)}  ${what}`.trimEnd();
}
