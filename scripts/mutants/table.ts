/** Results as lines of one table: in columns for a screen, in Markdown for docs/simulation-mutants.md. */
import type { Found } from "./hunt.ts";

export interface Row {
  readonly name: string;
  /** The law or invariant that no longer holds; unknown for a random mutant. */
  readonly breaks: string;
  /** What goes wrong with a planted bug; only the Markdown table shows it. */
  readonly why?: string;
  /** The line of a random mutant, before and after. */
  readonly change?: string;
  readonly found: Found;
  /** Why the bug may survive; `null` if it must be caught. */
  readonly excuse: string | null;
}

export interface Table {
  readonly head: string;
  line(row: Row): string;
}

const piped = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** Column widths depend on the names only, so that lines can be printed one by one. */
export function tableOf(names: readonly string[], markdown: boolean): Table {
  const widths = [Math.max(...names.map((name) => name.length)), 9, 26, 5, 7];
  const plain = (cells: readonly string[]): string =>
    cells.map((cell, i) => (i < 3 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ");
  if (markdown) {
    return {
      head: `${piped(["Bug", "Breaks", "What goes wrong", "Caught by", "Seeds"])}\n|---|---|---|---|--:|`,
      line: ({ name, breaks, why, change, found, excuse }) =>
        piped([name, breaks, why ?? change ?? "", asCode(verdict(found, excuse)), seedsOf(found)]),
    };
  }
  return {
    head: plain(["name", "breaks", "caught by", "seeds", "time"]),
    line: ({ name, breaks, found, excuse, change }) => {
      const time = `${(found.tookMs / 1_000).toFixed(1)} s`;
      const cells = [name, breaks, verdict(found, excuse), seedsOf(found), time];
      return plain(change === undefined ? cells : [...cells, change]);
    },
  };
}

function asCode(verdict: string): string {
  return verdict.endsWith(".ts") ? `\`${verdict}\`` : verdict;
}

function verdict(found: Found, excuse: string | null): string {
  switch (found.kind) {
    case "caught":
      return found.by;
    case "survived":
      return excuse === null ? "SURVIVED" : "redundant";
    case "unfit":
      return "DOES NOT RUN";
  }
}

function seedsOf(found: Found): string {
  if (found.kind === "unfit") return "";
  return found.kind === "caught" && found.seed === 0 ? "" : String(found.tried);
}
