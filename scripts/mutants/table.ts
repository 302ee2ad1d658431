/** Results as lines that stand under each other, on a screen or in a page. */
import type { Found } from "./hunt.ts";

export interface Row {
  readonly name: string;
  /** What no longer holds; of a random mutant nobody knows. */
  readonly breaks: string;
  /** The line of a random mutant, before and after. */
  readonly change?: string;
  readonly found: Found;
  /** Why it may survive. */
  readonly excuse: string | null;
}

export interface Table {
  readonly head: string;
  line(row: Row): string;
}

const piped = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** Widths follow from the names, so that lines can be said one by one. */
export function tableOf(names: readonly string[], markdown: boolean): Table {
  const widths = [Math.max(...names.map((name) => name.length)), 9, 26, 5, 7];
  const plain = (cells: readonly string[]): string =>
    cells.map((cell, i) => (i < 3 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ");
  const line = markdown ? piped : plain;
  const head = ["name", "breaks", "caught by", "seeds", "time"];
  return {
    head: markdown ? `${piped(head)}\n|---|---|---|--:|--:|` : plain(head),
    line: ({ name, breaks, found, excuse, change }) => {
      const time = `${(found.tookMs / 1_000).toFixed(1)} s`;
      const cells = [name, breaks, verdict(found, excuse), seedsOf(found), time];
      return line(change === undefined ? cells : [...cells, change]);
    },
  };
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
