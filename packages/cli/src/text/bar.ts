/** The bar of one row: attempts, failures, pauses and waits, as characters. */

import type { RowView } from "@durable/core/inspect";
import { styled, unstyled, type Style, type Terminal } from "../terminal.ts";
import { columnOf, type Columns } from "./axis.ts";

type Cell = readonly [string, Style | null];

export function barOf(
  row: RowView,
  columns: Columns,
  { term, now }: { term: Terminal; now: number },
): string {
  const cells: (Cell | undefined)[] = [];
  const draw = (from: number, to: number, character: string, style: Style | null): void => {
    const last = Math.max(columnOf(columns, from), columnOf(columns, Math.max(from, to - 1)));
    for (let at = columnOf(columns, from); at <= last; at++) cells[at] = [character, style];
  };
  const end = row.endedAt ?? now;
  if (row.kind === "parallel" || row.kind === "race" || row.kind === "branch") {
    if (row.kind === "branch") draw(row.startedAt, end, term.glyph("─", "-"), "dim");
  } else if (row.kind === "sleep") draw(row.startedAt, end, term.glyph("╌", "~"), "magenta");
  else if (row.kind === "suspend")
    draw(row.startedAt, end, term.glyph("┄", "."), row.status === "open" ? "yellow" : "dim");
  else if (row.kind === "child")
    draw(row.startedAt, end, term.glyph("▒", "="), row.fromJournal ? "dim" : "cyan");
  else attempts(row, { columns, cells, draw, term, now });
  const bar = join(cells);
  return row.struck === undefined ? bar : styled("dim", unstyled(bar));
}

interface Drawing {
  readonly columns: Columns;
  readonly cells: (Cell | undefined)[];
  readonly draw: (from: number, to: number, character: string, style: Style | null) => void;
  readonly term: Terminal;
  readonly now: number;
}

function attempts(row: RowView, { columns, cells, draw, term, now }: Drawing): void {
  const reused = term.glyph("░", ":");
  const ran = row.fromJournal ? reused : term.glyph("█", "#");
  for (const { startedAt, endedAt, retryAt, ...attempt } of row.attempts) {
    const failed = "error" in attempt;
    const end = endedAt ?? now;
    draw(
      startedAt,
      end,
      failed ? term.glyph("▓", "#") : ran,
      failed ? "red" : row.fromJournal ? "dim" : "cyan",
    );
    if (failed) cells[columnOf(columns, Math.max(startedAt, end - 1))] = [term.glyph("╳", "x"), "red"];
    const pause =
      retryAt === undefined
        ? end
        : (row.attempts.find((next) => next.startedAt >= end)?.startedAt ?? retryAt);
    for (let at = columnOf(columns, end); at < columnOf(columns, pause); at++)
      cells[at] ??= [term.glyph("·", "."), "dim"];
  }
  const first = row.firstAt === undefined ? -1 : columnOf(columns, row.firstAt);
  if (first > columnOf(columns, row.startedAt)) cells[first] = [term.glyph("┃", "|"), "yellow"];
}

/** Joins cells of the same style under one mark. */
function join(cells: readonly (Cell | undefined)[]): string {
  let line = "";
  for (let i = 0; i < cells.length;) {
    const [, style] = cells[i] ?? [" ", null];
    let text = "";
    for (; i < cells.length && (cells[i]?.[1] ?? null) === style; i++) text += cells[i]?.[0] ?? " ";
    line += style === null ? text : styled(style, text);
  }
  return line;
}
